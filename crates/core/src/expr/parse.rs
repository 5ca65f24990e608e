//! Words and signs as an expression. One function for each level of binding, the loosest first.

use super::{
    DEPTH_MAX, EXPR_BYTES_MAX, Error, Function, Key, Node, Operator, Root,
    eval::short,
    lex::{Token, tokens},
};
use crate::name::Name;
use serde_json::Value;

pub(super) fn parse(text: &str) -> Result<Node, Error> {
    if text.len() > EXPR_BYTES_MAX {
        let message = format!("it has {} bytes; the maximum is {EXPR_BYTES_MAX}", text.len());
        return Err(Error { at: 1, message });
    }
    let mut parser = Parser { tokens: tokens(text)?, next: 0, end: text.chars().count() + 1, depth: 0 };
    let node = parser.or()?;
    match parser.tokens.get(parser.next) {
        None => Ok(node),
        Some((at, token)) => Err(Error { at: *at, message: format!("unexpected {}", told(token)) }),
    }
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
    /// Where to point when the text ends too early.
    end: usize,
    depth: usize,
}

impl Parser {
    fn or(&mut self) -> Result<Node, Error> {
        let mut left = self.and()?;
        while self.takes("||") {
            left = Node::Binary(Operator::Or, Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Node, Error> {
        let mut left = self.comparison()?;
        while self.takes("&&") {
            left = Node::Binary(Operator::And, Box::new(left), Box::new(self.comparison()?));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Node, Error> {
        const SIGNS: [(&str, Operator); 6] = [
            ("==", Operator::Equal),
            ("!=", Operator::Unequal),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        let left = self.unary()?;
        let Some((_, operator)) = SIGNS.iter().find(|(sign, _)| self.takes(sign)) else { return Ok(left) };
        Ok(Node::Binary(*operator, Box::new(left), Box::new(self.unary()?)))
    }

    fn unary(&mut self) -> Result<Node, Error> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.error(format!("it is nested more than {DEPTH_MAX} deep")));
        }
        let node = if self.takes("!") { Node::Not(Box::new(self.unary()?)) } else { self.primary()? };
        self.depth -= 1;
        Ok(node)
    }

    fn primary(&mut self) -> Result<Node, Error> {
        if self.takes("(") {
            let inside = self.or()?;
            self.expect(")")?;
            return Ok(inside);
        }
        if self.takes("[") {
            return Ok(Node::List(self.list("]")?));
        }
        let at = self.at();
        match self.take() {
            Some(Token::Number(number)) => Ok(Node::Value(Value::Number(number))),
            Some(Token::Text(text)) => Ok(Node::Value(Value::String(text))),
            Some(Token::Word(word)) => self.word(&word, at),
            Some(other @ Token::Sign(_)) => Err(Error { at, message: format!("unexpected {}", told(&other)) }),
            None => Err(Error { at, message: "unexpected end".to_owned() }),
        }
    }

    fn word(&mut self, word: &str, at: usize) -> Result<Node, Error> {
        if self.takes("(") {
            return self.call(word, at);
        }
        match word {
            "true" => Ok(Node::Value(Value::Bool(true))),
            "false" => Ok(Node::Value(Value::Bool(false))),
            "null" => Ok(Node::Value(Value::Null)),
            "input" => Ok(Node::Path { root: Root::Input, keys: self.keys()? }),
            "item" => Ok(Node::Path { root: Root::Item, keys: self.keys()? }),
            "index" => Ok(Node::Path { root: Root::Index, keys: Vec::new() }),
            "steps" => self.step(),
            other => {
                let other = short(other);
                let message =
                    format!("`{other}` is not known: use steps, input, item or index, and put strings in quotes");
                Err(Error { at, message })
            }
        }
    }

    /// After `steps`: the step's name, and what of it is meant.
    fn step(&mut self) -> Result<Node, Error> {
        let at = self.at();
        let name = match self.key()? {
            Some(Key::Field(name)) => name,
            Some(Key::At(_)) | None => {
                let message = "expected the name of a step: steps.NAME.result, or steps[\"NAME\"].result".to_owned();
                return Err(Error { at, message });
            }
        };
        let name: Name = name.parse().map_err(|error| Error { at, message: format!("{error}") })?;
        let at = self.at();
        match self.key()? {
            Some(Key::Field(part)) if part == "result" => {
                Ok(Node::Path { root: Root::Result(name), keys: self.keys()? })
            }
            Some(Key::Field(part)) if part == "status" => Ok(Node::Path { root: Root::Status(name), keys: Vec::new() }),
            Some(_) | None => Err(Error { at, message: format!("`.result` or `.status` must follow steps.{name}") }),
        }
    }

    fn call(&mut self, word: &str, at: usize) -> Result<Node, Error> {
        let Some((_, function, arity)) = Function::ALL.into_iter().find(|(name, ..)| *name == word) else {
            let known = Function::ALL.map(|(name, ..)| name).join(", ");
            return Err(Error {
                at,
                message: format!("there is no function `{}`; the functions are {known}", short(word)),
            });
        };
        let arguments = self.list(")")?;
        if arguments.len() != arity {
            let message = format!("`{word}` takes {arity} arguments, not {}", arguments.len());
            return Err(Error { at, message });
        }
        if matches!(function, Function::Has | Function::Default) && !matches!(arguments[0], Node::Path { .. }) {
            return Err(Error {
                at,
                message: format!("`{word}` needs a path as its first argument, such as input.name"),
            });
        }
        Ok(Node::Call(function, arguments))
    }

    fn list(&mut self, end: &'static str) -> Result<Vec<Node>, Error> {
        let mut items = Vec::new();
        if self.takes(end) {
            return Ok(items);
        }
        loop {
            items.push(self.or()?);
            if !self.takes(",") {
                self.expect(end)?;
                return Ok(items);
            }
        }
    }

    fn keys(&mut self) -> Result<Vec<Key>, Error> {
        let mut keys = Vec::new();
        while let Some(key) = self.key()? {
            keys.push(key);
        }
        Ok(keys)
    }

    fn key(&mut self) -> Result<Option<Key>, Error> {
        if self.takes(".") {
            let at = self.at();
            return match self.take() {
                Some(Token::Word(word)) => Ok(Some(Key::Field(word))),
                _ => Err(Error {
                    at,
                    message: "expected a name after the dot; write other names as [\"…\"]".to_owned(),
                }),
            };
        }
        if !self.takes("[") {
            return Ok(None);
        }
        let at = self.at();
        let key = match self.take() {
            Some(Token::Text(text)) => Some(Key::Field(text)),
            Some(Token::Number(number)) => number.as_u64().and_then(|at| usize::try_from(at).ok()).map(Key::At),
            Some(Token::Word(_) | Token::Sign(_)) | None => None,
        };
        let key =
            key.ok_or_else(|| Error { at, message: "expected an index from 0, or a name in quotes".to_owned() })?;
        self.expect("]")?;
        Ok(Some(key))
    }

    fn take(&mut self) -> Option<Token> {
        let (_, token) = self.tokens.get(self.next)?;
        self.next += 1;
        Some(token.clone())
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.tokens.get(self.next), Some((_, Token::Sign(found))) if *found == sign);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), Error> {
        if self.takes(sign) { Ok(()) } else { Err(self.error(format!("`{sign}` is missing here"))) }
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |(at, _)| *at)
    }

    fn error(&self, message: String) -> Error {
        Error { at: self.at(), message }
    }
}

fn told(token: &Token) -> String {
    match token {
        Token::Word(word) => format!("`{}`", short(word)),
        Token::Number(number) => format!("`{number}`"),
        Token::Text(_) => "a string".to_owned(),
        Token::Sign(sign) => format!("`{sign}`"),
    }
}
