//! What a task asks for, as it stands on the log.

use super::key::GivenKey;
use crate::{backoff::Backoff, content::ContentRef, hash::Hash, id::RequestId, lanes::Priority, name::Name};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The place of a task's own input among the content of its op: no step has it.
pub const INPUT_PLACE: u16 = 0x0fff;

/// The body of a ScheduleJob op.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// What people call the task.
    pub name: Name,
    /// Equal keys in a namespace are one task (R6, D5).
    pub key: IdempotencyKey,
    /// SHA-256 of the canonical request: the same key with another request is refused.
    pub fingerprint: Hash,
    /// One trace a task.
    #[serde(with = "crate::hex128")]
    pub trace_id: u128,
    /// What the task was given; its bytes lie at [`INPUT_PLACE`].
    pub input: Option<ContentRef>,
    /// The graph.
    pub steps: Vec<StepSpec>,
}

impl Schedule {
    /// How many bytes it takes on the log.
    pub fn body_len(&self) -> usize {
        let mut body = Vec::new();
        crate::op::append(self, &mut body);
        body.len()
    }
}

/// One step of the graph. `depends_on` and `compensates` are places in the list of steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepSpec {
    /// The step's name within its task.
    pub name: Name,
    /// Who is to do it.
    pub agent: Name,
    /// Which lane it waits in.
    pub priority: Priority,
    /// Steps that must succeed first.
    pub depends_on: Vec<u16>,
    /// Set on a compensating step: the step whose work it undoes (R4).
    pub compensates: Option<u16>,
    /// What it is given; without one it gets the results of the steps it depends on.
    pub input: Option<ContentRef>,
    /// How often and how soon it is tried again.
    pub retry: RetryPolicy,
    /// How long one attempt may take.
    pub timeout_ms: Option<u64>,
    /// What a person must agree to before it runs.
    pub approve: Option<Ask>,
    /// What has to be worked out before it can run; most steps have nothing of the kind.
    pub flow: Option<Box<Flow>>,
    /// What else was agreed on; most steps have nothing of the kind.
    pub terms: Option<Box<Terms>>,
}

/// What whoever does a step has to keep to. The kernel carries it and reads none of it: a schema is checked against content, and a
/// workspace is made, by whoever runs the attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// What its result must be like: a JSON schema, as canonical JSON text.
    pub result_schema: Option<String>,
    /// Where it works, if not in a folder of its own.
    pub workspace: Option<Workspace>,
}

/// A working tree of a repository, made for a step. Also written by users: a misspelt field is refused, not passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// The repository: a path, or an address that git understands.
    pub git: String,
    /// What it begins from; without one, from what is checked out there.
    pub reference: Option<String>,
    /// The branch that its work is put on; without one, a name is made for it.
    pub branch: Option<String>,
}

/// What a step needs of the rest of its task. The kernel keeps the expressions and does not read them: what they come to
/// depends on content, so the node that holds the step evaluates them and puts the outcome on the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// It runs only if this holds.
    pub when: Option<String>,
    /// It runs once for each item of this list.
    pub foreach: Option<String>,
    /// Whether its input has expressions in it.
    pub templated: bool,
    /// Set on a step that runs for one item of another.
    pub item: Option<Item>,
}

/// Which item a step runs for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The place of the step with the list.
    pub of: u16,
    /// The item's place in the list, from 0.
    pub index: u16,
}

impl StepSpec {
    /// Its condition, if it has one.
    pub fn when(&self) -> Option<&str> {
        self.flow.as_ref()?.when.as_deref()
    }

    /// Its list, if it runs for each item of one.
    pub fn foreach(&self) -> Option<&str> {
        self.flow.as_ref()?.foreach.as_deref()
    }

    /// The item that it runs for, if it runs for one.
    pub fn item(&self) -> Option<Item> {
        self.flow.as_ref()?.item
    }

    /// What its result must be like, if that was said: a JSON schema as text.
    pub fn result_schema(&self) -> Option<&str> {
        self.terms.as_ref()?.result_schema.as_deref()
    }

    /// Where it works, if not in a folder of its own.
    pub fn workspace(&self) -> Option<&Workspace> {
        self.terms.as_ref()?.workspace.as_ref()
    }

    /// Whether its input has expressions in it.
    pub fn is_templated(&self) -> bool {
        self.flow.as_ref().is_some_and(|flow| flow.templated)
    }
}

/// How often and how soon a failed step is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Attempts in all, at least 1.
    pub max_attempts: u32,
    /// Time between them.
    pub backoff: Backoff,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_attempts: 3, backoff: Backoff::default() }
    }
}

/// Exactly what a person is asked. Also written by users: a misspelt deadline is refused, not passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The question.
    pub text: String,
    /// Without an answer after this time the step is denied.
    pub deadline_ms: Option<u64>,
}

impl Ask {
    /// What a decision must cite, so that nobody approves something else than what they read.
    pub fn hash(&self) -> Hash {
        Hash::sha256(self.text.as_bytes())
    }
}

/// What makes two submits the same one (R6, D5).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum IdempotencyKey {
    /// The caller gave none: SHA-256 of the canonical request.
    Request(Hash),
    /// A ULID made per intended submit.
    RequestId(RequestId),
    /// The caller's own word.
    Given(GivenKey),
}

impl IdempotencyKey {
    /// The key as bytes: a tag and what follows; equal keys have equal bytes and no others.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(33);
        match self {
            Self::Request(hash) => {
                bytes.push(0);
                bytes.extend_from_slice(&hash.0);
            }
            Self::RequestId(id) => {
                bytes.push(1);
                bytes.extend_from_slice(&id.to_bytes());
            }
            Self::Given(key) => {
                bytes.push(2);
                bytes.extend_from_slice(key.as_str().as_bytes());
            }
        }
        bytes
    }

    /// The key with these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (tag, rest) = bytes.split_first()?;
        match tag {
            0 => Some(Self::Request(Hash(rest.try_into().ok()?))),
            1 => Some(Self::RequestId(RequestId::from_bytes(rest.try_into().ok()?))),
            2 => Some(Self::Given(GivenKey::exact(std::str::from_utf8(rest).ok()?).ok()?)),
            _ => None,
        }
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(hash) => hash.fmt(f),
            Self::RequestId(id) => id.fmt(f),
            Self::Given(key) => key.fmt(f),
        }
    }
}
