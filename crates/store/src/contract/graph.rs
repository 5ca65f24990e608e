//! Task graphs to submit.

use crate::Content;
use relaymesh_core::{
    backoff::Backoff,
    lanes::Priority,
    name::Name,
    task::spec::{Ask, IdempotencyKey, RetryPolicy, StepSpec},
};

/// A name that is known to be one.
pub fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// A step that anybody can do at once.
pub fn step(text: &str) -> StepSpec {
    StepSpec {
        name: name(text),
        agent: name("worker"),
        priority: Priority::Normal,
        depends_on: Vec::new(),
        compensates: None,
        input: None,
        retry: RetryPolicy { max_attempts: 3, backoff: Backoff { base_ms: 1_000, max_ms: 60_000 } },
        timeout_ms: None,
        approve: None,
        flow: None,
        terms: None,
    }
}

/// A step that asks first.
pub fn asking(text: &str, deadline_ms: Option<u64>) -> StepSpec {
    StepSpec { approve: Some(Ask { text: format!("may {text} run?"), deadline_ms }), ..step(text) }
}

/// What is submitted: steps, their inputs, and whose it is.
#[derive(Debug, Clone)]
pub struct Graph {
    pub(super) namespace: Name,
    pub(super) key: Option<IdempotencyKey>,
    pub(super) steps: Vec<StepSpec>,
    pub(super) inputs: Vec<(u16, Content)>,
}

impl Graph {
    /// These steps, in the namespace `default`, under a key of their own.
    pub fn of(steps: Vec<StepSpec>) -> Self {
        Self { namespace: name("default"), key: None, steps, inputs: Vec::new() }
    }

    /// One step.
    pub fn single() -> Self {
        Self::of(vec![step("only")])
    }

    /// `count` steps, each after the one before it.
    pub fn chain(count: u16) -> Self {
        let after = |index: u16| index.checked_sub(1).into_iter().collect();
        Self::of((0..count).map(|index| StepSpec { depends_on: after(index), ..step(&format!("s{index}")) }).collect())
    }

    /// `count` steps side by side.
    pub fn wide(count: u16) -> Self {
        Self::of((0..count).map(|index| step(&format!("w{index}"))).collect())
    }

    /// In this namespace.
    pub fn namespace(self, text: &str) -> Self {
        Self { namespace: name(text), ..self }
    }

    /// Under this key.
    pub fn key(self, key: IdempotencyKey) -> Self {
        Self { key: Some(key), ..self }
    }

    /// All steps in this lane.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.steps.iter_mut().for_each(|step| step.priority = priority);
        self
    }

    /// With an input for the step at `place`.
    pub fn input(self, place: u16, bytes: &[u8]) -> Self {
        self.content(place, Content::Inline(bytes.to_vec()))
    }

    /// With an input that may be a blob.
    pub fn content(mut self, place: u16, content: Content) -> Self {
        self.inputs.push((place, content));
        self
    }
}
