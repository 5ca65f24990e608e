//! Expressions: how a flow refers to what earlier steps made of it.
//!
//! ```text
//! ${{ steps.find.result.files[0] }}      what a step delivered, or a part of it
//! ${{ steps.find.status }}               SUCCESS or SKIPPED
//! ${{ input.repository }}                what the task was given
//! ${{ item }}  ${{ index }}              the one of a `foreach`, and its number from 0
//! ${{ length(steps.find.result) > 3 && !input.dry_run }}
//! ```
//!
//! The language is small on purpose: it picks, compares and joins, and whatever needs more is a step of its own. It has
//! no loops and no way out, so an expression ends soon and says the same wherever it is evaluated. A word may contain
//! `-`, because names of steps do; so there is no subtraction.
//!
//! **What is missing is an error, what is nothing stays nothing.** A field that an object does not have is most often
//! misspelt, and an agent that is given `null` instead costs money before anybody notices. `null` itself may be asked for
//! anything and answers `null`: a step that was skipped has no result, and whoever stands behind it can say so with
//! `default(…)` or `has(…)`.

mod eval;
mod lex;
mod parse;
pub mod template;
#[cfg(test)]
mod tests;

pub use eval::{EvalError, StepValue, Values, is_true};

use crate::name::Name;
use serde_json::Value;
use std::collections::BTreeSet;

/// The longest expression, in bytes.
pub const EXPR_BYTES_MAX: usize = 4096;

/// How deep brackets, lists, calls and `!` may be inside each other.
const DEPTH_MAX: usize = 32;

/// An expression that can be evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr(Node);

/// Why a text is not an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (character {at})")]
pub struct Error {
    /// Which character of the text, from 1.
    pub at: usize,
    /// What was found, and what would do.
    pub message: String,
}

/// What an expression refers to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    /// Steps.
    pub steps: BTreeSet<Name>,
    /// Fields of the task's input; the empty path is all of it.
    pub input: BTreeSet<Vec<Key>>,
    /// Whether it needs the item of a `foreach`.
    pub item: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Value(Value),
    List(Vec<Node>),
    Path { root: Root, keys: Vec<Key> },
    Not(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Root {
    Input,
    Result(Name),
    Status(Name),
    Item,
    Index,
}

/// A way into a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// The field of an object.
    Field(String),
    /// The place in a list, from 0.
    At(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    /// Characters of a text, items of a list, fields of an object.
    Length,
    /// Whether a list has an item, a text a part, an object a field.
    Contains,
    /// Whether a path leads to something that is not `null`.
    Has,
    /// What a path leads to, or something else.
    Default,
}

impl Function {
    const ALL: [(&str, Self, usize); 4] = [
        ("length", Self::Length, 1),
        ("contains", Self::Contains, 2),
        ("has", Self::Has, 1),
        ("default", Self::Default, 2),
    ];
}

impl Expr {
    /// The expression in this text, which stands without `${{` and `}}`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        parse::parse(text).map(Self)
    }

    /// What it comes to.
    pub fn eval(&self, values: &Values) -> Result<Value, EvalError> {
        eval::eval(&self.0, values).map(std::borrow::Cow::into_owned)
    }

    /// Everything that it refers to.
    pub fn references(&self) -> References {
        let mut found = References::default();
        self.0.collect(&mut found, true);
        found
    }
}

/// What the task's input has at the end of this path.
pub(crate) fn input_at<'a>(path: &[Key], values: &'a Values) -> Result<std::borrow::Cow<'a, Value>, EvalError> {
    eval::path(&Root::Input, path, values)
}

impl References {
    /// These, too.
    pub fn extend(&mut self, other: Self) {
        self.steps.extend(other.steps);
        self.input.extend(other.input);
        self.item |= other.item;
    }
}

impl Node {
    /// `strict`: whether what is missing is an error here.
    fn collect(&self, found: &mut References, strict: bool) {
        match self {
            Self::Value(_) => {}
            Self::List(items) => items.iter().for_each(|item| item.collect(found, strict)),
            Self::Path { root, keys } => match root {
                Root::Input => {
                    found.input.insert(if strict { keys.clone() } else { Vec::new() });
                }
                Root::Result(step) | Root::Status(step) => {
                    found.steps.insert(step.clone());
                }
                Root::Item | Root::Index => found.item = true,
            },
            Self::Not(of) => of.collect(found, strict),
            Self::Binary(_, left, right) => {
                left.collect(found, strict);
                right.collect(found, strict);
            }
            Self::Call(function, of) => {
                let strict = strict && !matches!(function, Function::Has | Function::Default);
                of.iter().for_each(|argument| argument.collect(found, strict));
            }
        }
    }
}
