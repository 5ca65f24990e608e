//! What the checks want to know of one Rust file, read from its tokens.
//!
//! The tokens come from a lexer with the compiler's rules, so comments and strings can not be mistaken for code.
//! A syntax tree would stop at the edge of each macro; tokens do not, so a test inside `proptest! { … }` and a clock
//! inside `assert!( … )` are seen like any other. Rust's grammar leaves one trap, a braced constant in a return type
//! (`-> Few<{ N }>`), and `body_of` knows it.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

#[derive(Default)]
pub(super) struct Source {
    pub(super) functions: Vec<Function>,
    pub(super) mentions: Vec<Mention>,
    /// Macro calls outside function bodies: those can define tests.
    pub(super) macros: Vec<Macro>,
    /// Modules declared `#[cfg(test)] mod name;`: their files are test code.
    pub(super) test_modules: Vec<String>,
    /// Lines that say `allow(unsafe_code)`.
    pub(super) unsafe_allowed: Vec<usize>,
    /// The whole file is test code.
    pub(super) is_test: bool,
}

pub(super) struct Function {
    pub(super) name: String,
    /// The modules inside this file that hold it.
    pub(super) modules: Vec<String>,
    pub(super) line: usize,
    pub(super) lines: usize,
    /// Has it a `#[test]` attribute?
    pub(super) is_test: bool,
    /// Is it one, or beside one?
    pub(super) in_test: bool,
}

/// A path in the code, `use` groups spelled out; a macro's name ends in `!`.
pub(super) struct Mention {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) in_test: bool,
}

pub(super) struct Macro {
    pub(super) name: String,
    /// For `macro_rules! name`, the name.
    pub(super) defines: Option<String>,
    pub(super) words: BTreeSet<String>,
}

/// `tests.rs`, or anything under a `tests` folder.
pub(super) fn is_test_path(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// The folder where the modules of this file live, with a closing `/`.
pub(super) fn folder_of(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let slash = if folder.is_empty() { "" } else { "/" };
    match name.trim_end_matches(".rs") {
        "lib" | "main" | "mod" => format!("{folder}{slash}"),
        stem => format!("{folder}{slash}{stem}/"),
    }
}

#[derive(Clone, Default)]
struct Scope {
    modules: Vec<String>,
    prefix: Vec<String>,
    in_test: bool,
    in_function: bool,
}

impl Source {
    /// On failure: the line and what is wrong there.
    pub(super) fn lex(text: &str) -> Result<Source, (usize, String)> {
        let stream: TokenStream = text.parse().map_err(|error: proc_macro2::LexError| {
            (error.span().start().line, format!("not readable as Rust ({error})"))
        })?;
        let mut source = Source::default();
        source.walk(stream, Scope::default());
        Ok(source)
    }

    fn walk(&mut self, stream: TokenStream, scope: Scope) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        self.walk_tokens(&tokens, scope);
    }

    fn walk_tokens(&mut self, tokens: &[TokenTree], mut scope: Scope) {
        let (mut at, mut is_test) = (0, false);
        while at < tokens.len() {
            if let Some(attribute) = Attribute::at(tokens, at) {
                self.walk(attribute.content.clone(), scope.clone());
                at = attribute.end;
                is_test |= attribute.is_test();
                if attribute.is_cfg_test() && attribute.is_inner {
                    scope.in_test = true;
                } else if attribute.is_cfg_test() {
                    let end = item_end(tokens, at);
                    self.walk_tokens(&tokens[at..end], Scope { in_test: true, ..scope.clone() });
                    at = end;
                }
                continue;
            }
            if word(tokens, at) == Some("fn".into()) && word(tokens, at + 1).is_some() {
                at = self.function(tokens, at, is_test, &scope);
                is_test = false;
                continue;
            }
            at = match &tokens[at] {
                TokenTree::Ident(_) => self.path(tokens, at, &scope),
                TokenTree::Group(group) => {
                    is_test &= group.delimiter() != Delimiter::Brace;
                    self.walk(group.stream(), Scope { prefix: Vec::new(), ..scope.clone() });
                    at + 1
                }
                TokenTree::Punct(punct) => {
                    is_test &= punct.as_char() != ';';
                    at + 1
                }
                TokenTree::Literal(_) => at + 1,
            };
        }
    }

    /// `fn name … { … }` at `at`; gives the position behind it.
    fn function(&mut self, tokens: &[TokenTree], at: usize, is_test: bool, scope: &Scope) -> usize {
        let Some((body_at, body)) = body_of(tokens, at + 2) else { return at + 2 };
        let (line, last) = (line_of(&tokens[at]), body.span_close().end().line);
        let in_test = scope.in_test || is_test;
        let name = word(tokens, at + 1).unwrap_or_default();
        let modules = scope.modules.clone();
        self.functions.push(Function { name, modules, line, lines: last + 1 - line, is_test, in_test });
        let inner = Scope { in_test, in_function: true, prefix: Vec::new(), ..scope.clone() };
        self.walk_tokens(&tokens[at + 2..body_at], inner.clone());
        self.walk(body.stream(), inner);
        body_at + 1
    }

    /// A path, a macro call, or a module at `at`; gives the position behind it.
    fn path(&mut self, tokens: &[TokenTree], at: usize, scope: &Scope) -> usize {
        let line = line_of(&tokens[at]);
        let mut segments = scope.prefix.clone();
        segments.extend(word(tokens, at));
        let mut end = at + 1;
        let mut open = None;
        while is_punct(tokens, end, ':') && is_punct(tokens, end + 1, ':') {
            match tokens.get(end + 2) {
                Some(TokenTree::Ident(ident)) => segments.push(ident.to_string()),
                Some(TokenTree::Punct(punct)) if punct.as_char() == '*' => segments.push("*".into()),
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => open = Some(group),
                _ => break,
            }
            end += 3;
            if open.is_some() {
                break;
            }
        }
        if let Some(group) = open {
            self.walk(group.stream(), Scope { prefix: segments, ..scope.clone() });
            return end;
        }
        let name = segments.last().cloned().unwrap_or_default();
        if name == "mod"
            && let Some(module) = word(tokens, end)
        {
            return self.module(tokens, end + 1, module, scope);
        }
        if ["allow", "expect"].contains(&name.as_str())
            && let Some(TokenTree::Group(group)) = tokens.get(end)
            && words_of(group).contains("unsafe_code")
        {
            self.unsafe_allowed.push(line);
        }
        if let Some((defines, group)) = macro_call(tokens, end) {
            segments.pop();
            segments.push(format!("{name}!"));
            if !scope.in_function {
                self.macros.push(Macro { name, defines, words: words_of(group) });
            }
        }
        self.mentions.push(Mention { path: segments.join("::"), line, in_test: scope.in_test });
        end
    }

    /// What follows `mod name`: a body, or a file of its own.
    fn module(&mut self, tokens: &[TokenTree], at: usize, name: String, scope: &Scope) -> usize {
        if let Some(TokenTree::Group(group)) = tokens.get(at) {
            let mut inner = scope.clone();
            inner.modules.push(name);
            self.walk(group.stream(), inner);
            return at + 1;
        }
        if scope.in_test {
            self.test_modules.push(name);
        }
        at
    }
}

struct Attribute {
    content: TokenStream,
    is_inner: bool,
    end: usize,
}

impl Attribute {
    fn at(tokens: &[TokenTree], at: usize) -> Option<Attribute> {
        let is_inner = is_punct(tokens, at + 1, '!');
        let group_at = at + 1 + usize::from(is_inner);
        match tokens.get(group_at) {
            Some(TokenTree::Group(group)) if is_punct(tokens, at, '#') && group.delimiter() == Delimiter::Bracket => {
                Some(Attribute { content: group.stream(), is_inner, end: group_at + 1 })
            }
            _ => None,
        }
    }

    /// `#[test]`, `#[tokio::test]`, `#[tokio::test(…)]`.
    fn is_test(&self) -> bool {
        let mut path = self.content.clone().into_iter().map_while(|token| match token {
            TokenTree::Ident(ident) => Some(ident.to_string()),
            TokenTree::Punct(punct) if punct.as_char() == ':' => Some(":".into()),
            TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => None,
        });
        path.by_ref().last().is_some_and(|name| name == "test")
    }

    /// `#[cfg(test)]` or `#[cfg(all(test, …))]`. Not `any(test, …)`: that is compiled without tests too.
    fn is_cfg_test(&self) -> bool {
        let tokens: Vec<TokenTree> = self.content.clone().into_iter().collect();
        let Some(TokenTree::Group(condition)) = tokens.get(1) else { return false };
        let condition: Vec<TokenTree> = condition.stream().into_iter().collect();
        word(&tokens, 0).is_some_and(|name| name == "cfg")
            && match (word(&condition, 0).as_deref(), condition.get(1)) {
                (Some("test"), None) => true,
                (Some("all"), Some(TokenTree::Group(all))) => {
                    all.stream().into_iter().any(|token| token.to_string() == "test")
                }
                _ => false,
            }
    }
}

/// Where the item (or field, or arm) starting at `at` ends.
fn item_end(tokens: &[TokenTree], mut at: usize) -> usize {
    while let Some(attribute) = Attribute::at(tokens, at) {
        at = attribute.end;
    }
    let is_brace = |index: usize| matches!(&tokens[index], TokenTree::Group(g) if g.delimiter() == Delimiter::Brace);
    let is_end = |index: usize| is_brace(index) || is_punct(tokens, index, ';') || is_punct(tokens, index, ',');
    let head: Vec<String> = (at..tokens.len()).take_while(|i| !is_end(*i)).filter_map(|i| word(tokens, i)).collect();
    let has = |words: &[&str]| head.iter().any(|word| words.contains(&word.as_str()));
    let ends_here = |index: &usize| {
        if has(&["fn", "mod", "struct", "enum", "impl", "trait", "macro_rules"]) {
            is_brace(*index) || is_punct(tokens, *index, ';')
        } else if has(&["use", "const", "static", "type", "let"]) {
            is_punct(tokens, *index, ';')
        } else {
            is_end(*index)
        }
    };
    (at..tokens.len()).find(ends_here).map_or(tokens.len(), |index| index + 1)
}

/// The braces of a function whose name ends at `at`; none for a function without a body.
fn body_of(tokens: &[TokenTree], at: usize) -> Option<(usize, &Group)> {
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let is_constant = is_punct(tokens, index + 1, '>') || is_punct(tokens, index + 1, ',');
                if !is_constant {
                    return Some((index, group));
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => return None,
            TokenTree::Group(_) | TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    None
}

/// `! ( … )` or `! name { … }` at `at`.
fn macro_call(tokens: &[TokenTree], at: usize) -> Option<(Option<String>, &Group)> {
    if !is_punct(tokens, at, '!') {
        return None;
    }
    match (tokens.get(at + 1), tokens.get(at + 2)) {
        (Some(TokenTree::Group(group)), _) => Some((None, group)),
        (Some(TokenTree::Ident(name)), Some(TokenTree::Group(group))) => Some((Some(name.to_string()), group)),
        _ => None,
    }
}

fn words_of(group: &Group) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for token in group.stream() {
        match token {
            TokenTree::Ident(ident) => words.extend([ident.to_string()]),
            TokenTree::Group(inner) => words.extend(words_of(&inner)),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    words
}

fn word(tokens: &[TokenTree], at: usize) -> Option<String> {
    match tokens.get(at) {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

fn is_punct(tokens: &[TokenTree], at: usize, wanted: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn line_of(token: &TokenTree) -> usize {
    token.span().start().line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mentions(text: &str, in_test: bool) -> Vec<String> {
        let source = Source::lex(text).unwrap();
        source.mentions.into_iter().filter(|mention| mention.in_test == in_test).map(|mention| mention.path).collect()
    }

    #[test]
    fn groups_in_use_are_spelled_out() {
        let found = mentions("use std::{fs, time::{self, Instant}, io::*};", false);
        let expected = ["use", "std::fs", "std::time::self", "std::time::Instant", "std::io::*"];
        assert_eq!(found, expected);
    }

    #[test]
    fn comments_and_strings_are_not_code() {
        assert_eq!(mentions("//! a\n// b\n/* c */ const X: &str = \"d\";", false), ["doc", "const", "X", "str"]);
    }

    #[test]
    fn test_code_ends_where_its_item_ends() {
        let text = "#[cfg(test)] use a::{b, c}; d!(); #[cfg(all(test, unix))] mod e { f(); } g(); \
                    struct S { #[cfg(test)] h: i, j: k } #[cfg(any(test, x))] fn l() {} #[test] fn m() { n(); }";
        assert_eq!(mentions(text, true), ["use", "a::b", "a::c", "f", "h", "i", "n"]);
        let rest = mentions(text, false);
        assert!(["d!", "g", "j", "k"].iter().all(|name| rest.contains(&name.to_string())), "{rest:?}");
    }

    #[test]
    fn functions_are_measured_in_macros_and_behind_braced_constants() {
        let text =
            "fn a() -> Few<{ N }> {\n}\ntrait T { fn b(); }\nproptest! { #[test] fn c() {\n\n} }\nmod d { fn e() {} }";
        let source = Source::lex(text).unwrap();
        let found: Vec<_> = source.functions.iter().map(|f| (f.name.as_str(), f.lines, f.is_test)).collect();
        assert_eq!(found, [("a", 2, false), ("c", 3, true), ("e", 1, false)]);
        assert_eq!(source.functions[2].modules, ["d"]);
    }

    #[test]
    fn macros_outside_functions_are_kept_with_their_words() {
        let source = Source::lex("macro_rules! m { () => { n! { o } } } p::q!(r); fn s() { t!(u); }").unwrap();
        let found: Vec<_> = source.macros.iter().map(|m| (m.name.as_str(), m.defines.as_deref())).collect();
        assert_eq!(found, [("macro_rules", Some("m")), ("n", None), ("q", None)]);
        assert!(source.macros[2].words.contains("r"));
    }
}
