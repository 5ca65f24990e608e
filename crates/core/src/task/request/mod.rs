//! A request: what a user writes down, in JSON or YAML, and what becomes of it on the log.
//!
//! Steps refer to each other by name here and by place on the log. Inputs stand here in full; the log gets their
//! hashes, and the bytes travel beside it.

mod mistakes;
mod references;
mod terms;
mod words;

pub use terms::WorkspaceRequest;
pub use words::duration;

use super::{
    graph,
    spec::{Ask, INPUT_PLACE, IdempotencyKey, RetryPolicy, Schedule, StepSpec},
};
use crate::{
    backoff::Backoff,
    canonical::{self, Numbers},
    content::{CONTENT_BYTES_MAX, ContentRef, Media},
    expr::template,
    hash::Hash,
    lanes::Priority,
    name::Name,
    op::BODY_BYTES_MAX,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a user asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What people call it.
    pub name: Name,
    /// What its input must be like: a JSON schema.
    #[serde(default, deserialize_with = "canonical::optional", skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The graph.
    pub steps: Vec<StepRequest>,
    /// The input itself, which is not part of the file.
    #[serde(skip)]
    pub given: Option<Value>,
}

/// One step of the graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepRequest {
    /// The step's name.
    pub id: Name,
    /// Who is to do it.
    pub agent: Name,
    /// What it is given; without one it gets `{step: result}` of the steps that it depends on.
    #[serde(default, deserialize_with = "canonical::optional", skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Which lane it waits in.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: Priority,
    /// Names of steps that must succeed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Name>,
    /// It runs only if this expression holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// It runs once for each item of this list: an expression, or the list itself.
    #[serde(default, deserialize_with = "canonical::optional", skip_serializing_if = "Option::is_none")]
    pub foreach: Option<Value>,
    /// How often and how soon it is tried again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retry: RetryRequest,
    /// How long one attempt may take: milliseconds, or `30s`, `5m`, `2h`.
    #[serde(default, alias = "timeout", deserialize_with = "words::duration", skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The step that undoes this one when a later step fails for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensate: Option<Name>,
    /// What a person must agree to first: the question, or the question and how long they have.
    #[serde(default, deserialize_with = "words::ask", skip_serializing_if = "Option::is_none")]
    pub approve: Option<Ask>,
    /// What its result must be like: a JSON schema. With `foreach`, the result of each item.
    #[serde(default, deserialize_with = "canonical::optional", skip_serializing_if = "Option::is_none")]
    pub result_schema: Option<Value>,
    /// A working tree of a repository, to work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceRequest>,
}

/// How often and how soon a step is tried again. What is not said here the settings of the node say, and those are no part of the
/// request: a request that is repeated after they have changed is the same request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetryRequest {
    /// Attempts in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Time before the second attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_backoff_ms: Option<u64>,
    /// The longest time between two attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_backoff_ms: Option<u64>,
}

impl RetryRequest {
    /// What holds for the step, if `otherwise` holds for one that says nothing.
    pub fn policy(self, otherwise: RetryPolicy) -> RetryPolicy {
        RetryPolicy {
            max_attempts: self.max_attempts.unwrap_or(otherwise.max_attempts),
            backoff: Backoff {
                base_ms: self.base_backoff_ms.unwrap_or(otherwise.backoff.base_ms),
                max_ms: self.max_backoff_ms.unwrap_or(otherwise.backoff.max_ms),
            },
        }
    }
}

/// A request that can be put on the log: the op's body and the content that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// What goes on the log.
    pub schedule: Schedule,
    /// The bytes of each step's input, by the step's place.
    pub inputs: Vec<(u16, Vec<u8>)>,
}

/// An expression that cannot be read, or refers to something that is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("step `{step}`: {field}: {why}")]
pub struct BadReference {
    /// The step.
    pub step: Name,
    /// Which of its fields.
    pub field: &'static str,
    /// What is wrong with it.
    pub why: String,
    /// The expression, to be found in the file.
    pub text: String,
    /// The word that nobody knows, and the words that would do.
    pub unknown: Option<(String, Vec<String>)>,
}

/// Why a request cannot be put on the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A step refers to a name that no step has.
    #[error("step `{step}`: {field} names `{unknown}`, but no step has that id")]
    UnknownStep {
        /// The step.
        step: Name,
        /// Which of its fields.
        field: &'static str,
        /// The name.
        unknown: Name,
    },
    /// The graph cannot be run.
    #[error(transparent)]
    Graph(#[from] graph::Error),
    /// An input has no canonical form.
    #[error("step `{step}`: the input cannot be encoded: {error}")]
    Input {
        /// The step.
        step: Name,
        /// Why not.
        error: canonical::Error,
    },
    /// The task's input has no canonical form.
    #[error("the task's input cannot be encoded: {error}")]
    Given {
        /// Why not.
        error: canonical::Error,
    },
    /// An expression cannot be read, or refers to something that is not there.
    #[error(transparent)]
    Reference(Box<BadReference>),
    /// What a step says about how it is done cannot be kept to.
    #[error("step `{step}`: {field}: {why}")]
    Terms {
        /// The step.
        step: Name,
        /// Which of its fields.
        field: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// A value has no canonical form.
    #[error("the request cannot be encoded: {0}")]
    Canonical(#[from] canonical::Error),
    /// An input is too long.
    #[error(
        "{}the input has {found} bytes; the maximum is {CONTENT_BYTES_MAX}. Put the data into a file and pass its path",
        step.as_ref().map(|step| format!("step `{step}`: ")).unwrap_or_default()
    )]
    InputTooLong {
        /// The step; none for the task's own.
        step: Option<Name>,
        /// Its length.
        found: usize,
    },
    /// The graph is too large for one op.
    #[error("the graph has {found} bytes; the maximum is {BODY_BYTES_MAX}. Split it into several tasks")]
    TooLarge {
        /// How many it takes.
        found: usize,
    },
}

impl Request {
    /// A task of one step. Its input is meant as it stands.
    pub fn single(agent: Name, input: Option<Value>) -> Self {
        let step = StepRequest {
            id: agent.clone(),
            agent: agent.clone(),
            input: input.map(template::literal),
            priority: Priority::default(),
            depends_on: Vec::new(),
            retry: RetryRequest::default(),
            timeout_ms: None,
            when: None,
            foreach: None,
            compensate: None,
            approve: None,
            result_schema: None,
            workspace: None,
        };
        Self { name: agent, input: None, steps: vec![step], given: None }
    }

    /// Makes the op's body. Without a `key`, equal requests in a namespace are one task (R6).
    pub fn prepare(&self, namespace: &Name, key: Option<IdempotencyKey>, trace_id: u128) -> Result<Prepared, Error> {
        if self.steps.len() > graph::STEPS_MAX {
            return Err(graph::Error::TooMany { found: self.steps.len() }.into()); // before there are more than places
        }
        let fingerprint = self.fingerprint(namespace)?;
        let references = references::check(self)?;
        let places: BTreeMap<&Name, u16> = self.steps.iter().map(|step| &step.id).zip(0u16..).collect();
        let mut inputs = Vec::new();
        let mut steps = Vec::with_capacity(self.steps.len());
        for ((index, step), found) in (0u16..).zip(&self.steps).zip(references) {
            let input = step.input.as_ref().map(|value| content_bytes(Some(&step.id), value)).transpose()?;
            let reference = input.as_ref().map(|bytes| ContentRef::of(Media::Json, bytes));
            inputs.extend(input.map(|bytes| (index, bytes)));
            let mut undoes = self.steps.iter().filter(|other| other.compensate.as_ref() == Some(&step.id));
            let (undoes, more) = (undoes.next(), undoes.next());
            if more.is_some() {
                return Err(graph::Error::Compensation { name: step.id.clone() }.into());
            }
            if let Some(unknown) = step.compensate.as_ref().filter(|name| !places.contains_key(name)) {
                return Err(unknown_step(step, "compensate", unknown));
            }
            steps.push(StepSpec {
                name: step.id.clone(),
                agent: step.agent.clone(),
                priority: step.priority,
                depends_on: found.depends_on(step, &places)?,
                compensates: undoes.map(|other| places[&other.id]),
                input: reference,
                retry: step.retry.policy(RetryPolicy::default()),
                timeout_ms: step.timeout_ms,
                approve: step.approve.clone(),
                flow: found.flow.map(Box::new),
                terms: terms::of(step)?,
            });
        }
        graph::check(&steps)?;
        let key = key.unwrap_or(IdempotencyKey::Request(fingerprint));
        let given = self.given.as_ref().map(|value| content_bytes(None, value)).transpose()?;
        let input = given.as_ref().map(|bytes| ContentRef::of(Media::Json, bytes));
        inputs.extend(given.map(|bytes| (INPUT_PLACE, bytes)));
        let schedule = Schedule { name: self.name.clone(), key, fingerprint, trace_id, input, steps };
        let found = schedule.body_len();
        if found > BODY_BYTES_MAX {
            return Err(Error::TooLarge { found });
        }
        Ok(Prepared { schedule, inputs })
    }

    /// SHA-256 of the canonical request.
    fn fingerprint(&self, namespace: &Name) -> Result<Hash, Error> {
        #[derive(Serialize)]
        struct Canonical<'a> {
            namespace: &'a Name,
            request: &'a Request,
            #[serde(skip_serializing_if = "Option::is_none")]
            input: Option<&'a Value>,
        }
        let mut numbers = Numbers::Safe;
        if let Some(given) = &self.given {
            numbers = canonical::check(given).map_err(|error| Error::Given { error })?;
        }
        if let Some(schema) = &self.input {
            numbers = numbers.max(canonical::check(schema)?);
        }
        for step in &self.steps {
            let in_step = |error| Error::Input { step: step.id.clone(), error };
            for value in step.input.iter().chain(&step.foreach).chain(&step.result_schema) {
                numbers = numbers.max(canonical::check(value).map_err(in_step)?);
            }
            canonical::check_integer(step.retry.base_backoff_ms.unwrap_or(0), "`base_backoff_ms`")?;
            canonical::check_integer(step.retry.max_backoff_ms.unwrap_or(0), "`max_backoff_ms`")?;
            canonical::check_integer(step.timeout_ms.unwrap_or(0), "`timeout_ms`")?;
            let deadline_ms = step.approve.as_ref().and_then(|ask| ask.deadline_ms);
            canonical::check_integer(deadline_ms.unwrap_or(0), "`deadline_ms`")?;
        }
        let request = Canonical { namespace, request: self, input: self.given.as_ref() };
        Ok(Hash(canonical::sha256_of(&request, numbers)?))
    }
}

/// What a user need not write is not written, so that it costs nothing in the canonical form either.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn unknown_step(step: &StepRequest, field: &'static str, unknown: &Name) -> Error {
    Error::UnknownStep { step: step.id.clone(), field, unknown: unknown.clone() }
}

fn content_bytes(step: Option<&Name>, value: &Value) -> Result<Vec<u8>, Error> {
    let bytes = value.to_string().into_bytes();
    if bytes.len() > CONTENT_BYTES_MAX {
        return Err(Error::InputTooLong { step: step.cloned(), found: bytes.len() });
    }
    Ok(bytes)
}
