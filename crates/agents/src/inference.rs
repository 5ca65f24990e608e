//! What a model was asked in an attempt, and what it said.

use crate::tool::Usage;
use serde_json::{Map, Value};

/// What a model was asked in one attempt, and what it said. Nothing in it is secret: secrets stand as references in the prompt, and are taken
/// out of the output.
#[derive(Debug, Clone, PartialEq)]
pub struct Inference {
    /// Which model, as its maker names it; empty if nobody said.
    pub model: String,
    /// Whatever changes what it says: the tool, its words, limits.
    pub parameters: Map<String, Value>,
    /// What it was given.
    pub prompt: Value,
    /// What it said.
    pub output: Value,
    /// What it used, of this attempt alone.
    pub usage: Usage,
    /// When the attempt began, in milliseconds since 1970.
    pub began_ms: u64,
    /// When it ended.
    pub ended_ms: u64,
}

impl Inference {
    /// Of an attempt that begins now.
    pub(crate) fn new(began_ms: u64) -> Self {
        Self {
            model: String::new(),
            parameters: Map::new(),
            prompt: Value::Null,
            output: Value::Null,
            usage: Usage::default(),
            began_ms,
            ended_ms: began_ms,
        }
    }
}
