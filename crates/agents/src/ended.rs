//! What is known of an attempt when it is over: how it ended, and what a model was asked and said on the way.

use crate::{judge::End, tool::Usage};
use serde_json::{Map, Value};
use std::{sync::Arc, time::Duration};

/// How an attempt ended, and what a model did in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// How.
    pub end: End,
    /// What a model was asked and said, if one was asked. It is there however the attempt ended: what was used was used.
    pub inference: Option<Box<Inference>>,
}

impl From<End> for Ended {
    fn from(end: End) -> Self {
        Self { end, inference: None }
    }
}

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

/// Is told what an attempt has used so far, whenever that changes, and says whether it may go on. The error is why not.
pub type Used = Arc<dyn Fn(Usage) -> Result<(), String> + Send + Sync>;

/// What an attempt may use.
#[derive(Clone)]
pub struct Meter {
    /// Told of what it has used so far.
    pub used: Used,
    /// How long it may run, and why no longer.
    pub time: Option<(Duration, String)>,
}

impl Default for Meter {
    /// As much as it likes.
    fn default() -> Self {
        Self { used: Arc::new(|_| Ok(())), time: None }
    }
}
