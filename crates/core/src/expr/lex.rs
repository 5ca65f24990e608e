//! A text as words and signs.

use super::Error;
use serde_json::Number;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Word(String),
    Number(Number),
    Text(String),
    Sign(&'static str),
}

/// Longer ones first: `<=` is not `<` and `=`.
const SIGNS: [&str; 15] = ["||", "&&", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")", "[", "]", ".", ","];

/// The tokens, each with the character that it begins at.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, Error> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Ok(tokens) };
        let at = text[..text.len() - rest.len()].chars().count() + 1;
        let (token, len) = if is_word_start(first) {
            let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            (Token::Word(rest[..len].to_owned()), len)
        } else if first.is_ascii_digit() || (first == '-' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            number(rest, at)?
        } else if matches!(first, '\'' | '"') {
            quoted(rest, first, at)?
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Token::Sign(sign), sign.len())
        } else {
            return Err(Error { at, message: unknown(first) });
        };
        tokens.push((at, token));
        rest = &rest[len..];
    }
}

fn unknown(sign: char) -> String {
    match sign {
        '=' => "`=` does not compare: write `==`".to_owned(),
        '|' => "`|` is not known here: write `||` for or".to_owned(),
        '&' => "`&` is not known here: write `&&` for and".to_owned(),
        '+' | '-' | '*' | '/' | '%' => format!("`{sign}`: an expression does not calculate; let a step do that"),
        other => format!("`{}` has no meaning in an expression", other.escape_debug()),
    }
}

fn is_word_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

fn number(rest: &str, at: usize) -> Result<(Token, usize), Error> {
    let part = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    let len = rest.find(|c| !part(c)).unwrap_or(rest.len());
    let is_whole = !rest[..len].contains(['.', 'e', 'E']);
    match serde_json::from_str::<Number>(&rest[..len]) {
        Ok(number) if is_whole && number.is_f64() && number.as_f64() != Some(0.0) => {
            let message = "this number is too large and would be rounded: write it as a string".to_owned();
            Err(Error { at, message })
        }
        Ok(number) => Ok((Token::Number(number), len)),
        Err(_) => Err(Error { at, message: "this is not a number".to_owned() }),
    }
}

/// A quote inside is written twice or after a backslash.
fn quoted(rest: &str, quote: char, at: usize) -> Result<(Token, usize), Error> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((index, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, 't')) => text.push('\t'),
                Some((_, other)) => text.push(other),
                None => break,
            },
            c if c == quote => match chars.peek() {
                Some((_, next)) if *next == quote => {
                    text.push(quote);
                    chars.next();
                }
                Some(_) | None => return Ok((Token::Text(text), index + 1)),
            },
            c => text.push(c),
        }
    }
    Err(Error { at, message: format!("the string that begins here does not end: {quote} is missing") })
}
