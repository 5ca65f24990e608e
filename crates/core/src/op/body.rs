//! What an op says happened, by the machine that it is said to.
//!
//! Each machine lists its own verbs beside its rules ([`task::Body`], [`lock::Body`], …) with the macro [`bodies!`] and applies
//! nothing else; what is here joins them to one type, which is what an op has. On the wire, as in JSON, a body is its kind and its
//! fields: the machine is not part of either, since the kind says which one it is.

use super::{BODY_BYTES_MAX, DecodeError, Kind, Scope, earlier, log};
use crate::{lock, message, namespace, plan, register, task};
use serde::{Deserialize, Serialize};

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "body")]
pub enum Body {
    /// What the op is about is over and is to be forgotten. Its rows go, and nothing can be said about it any more (D33).
    PurgeScope {},
    /// To a task.
    #[serde(untagged)]
    Task(task::Body),
    /// To the locks of a repository.
    #[serde(untagged)]
    Lock(lock::Body),
    /// In a thread.
    #[serde(untagged)]
    Message(message::Body),
    /// To a namespace.
    #[serde(untagged)]
    Namespace(namespace::Body),
    /// To a plan.
    #[serde(untagged)]
    Plan(plan::Body),
    /// In a register of the mesh.
    #[serde(untagged)]
    Register(register::Body),
    /// To the log itself.
    #[serde(untagged)]
    Log(log::Body),
}

/// What a decoder found: the body and the bytes behind it, or nothing if the kind is not one of its machine.
pub(crate) type Decoded<'a> = Result<Option<(Body, &'a [u8])>, postcard::Error>;

/// Every machine's decoder.
const DECODERS: [for<'a> fn(u16, &'a [u8]) -> Decoded<'a>; 8] = [
    task::Body::decode,
    lock::Body::decode,
    message::Body::decode,
    namespace::Body::decode,
    plan::Body::decode,
    register::Body::decode,
    log::Body::decode,
    purge,
];

/// Makes the body type of a machine: the enum, its kinds, its bytes, and the way into [`Body`].
macro_rules! bodies {
    (
        $(#[$what:meta])*
        $machine:ident {
            $($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident: $type:ty,)* })*
        }
    ) => {
        $(#[$what])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = "kind", content = "body")]
        pub enum Body { $($(#[$doc])* $name { $($(#[$fdoc])* $field: $type,)* },)* }

        impl Body {
            /// Which kind it is.
            pub fn kind(&self) -> $crate::op::Kind {
                match self { $(Self::$name { .. } => $crate::op::Kind::$name,)* }
            }

            /// Appends the fields, one after the other.
            pub(crate) fn encode(&self, out: &mut Vec<u8>) {
                match self { $(Self::$name { $($field,)* } => { $($crate::op::append($field, out);)* })* }
            }

            /// The body of this kind in `bytes`, if it is one of these kinds.
            pub(crate) fn decode(kind: u16, bytes: &[u8]) -> $crate::op::Decoded<'_> {
                match kind {
                    $(kind if kind == $crate::op::Kind::$name as u16 => {
                        let rest = bytes;
                        $(let ($field, rest) = postcard::take_from_bytes::<$type>(rest)?;)*
                        Ok(Some((Self::$name { $($field,)* }.into(), rest)))
                    })*
                    _ => Ok(None),
                }
            }
        }

        impl From<Body> for $crate::op::Body {
            fn from(body: Body) -> Self {
                Self::$machine(body)
            }
        }
    };
}
pub(crate) use bodies;

impl Body {
    /// Which kind it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Task(body) => body.kind(),
            Self::Lock(body) => body.kind(),
            Self::Message(body) => body.kind(),
            Self::Namespace(body) => body.kind(),
            Self::Plan(body) => body.kind(),
            Self::Register(body) => body.kind(),
            Self::Log(body) => body.kind(),
            Self::PurgeScope {} => Kind::PurgeScope,
        }
    }

    /// Whether this can be said about that scope. What is written fits ([`Subject`](super::Subject)); what is read may not.
    pub fn fits(&self, scope: Scope) -> bool {
        match self {
            Self::Task(_) => matches!(scope, Scope::Task(_)),
            Self::Lock(_) => matches!(scope, Scope::Repository(_)),
            Self::Message(_) => matches!(scope, Scope::Thread(_)),
            Self::Namespace(_) => matches!(scope, Scope::Namespace(_)),
            Self::Plan(_) => matches!(scope, Scope::Plan(_)),
            Self::Register(body) => scope == Scope::Register(body.register()),
            Self::Log(_) => scope == Scope::Log,
            Self::PurgeScope {} => scope != Scope::Log,
        }
    }

    /// The version of the body's form. A new form of a kind gets the next number here.
    pub fn version(&self) -> u8 {
        if matches!(self, Self::Task(task::Body::ScheduleJob { .. })) { 3 } else { 1 }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Task(body) => body.encode(out),
            Self::Lock(body) => body.encode(out),
            Self::Message(body) => body.encode(out),
            Self::Namespace(body) => body.encode(out),
            Self::Plan(body) => body.encode(out),
            Self::Register(body) => body.encode(out),
            Self::Log(body) => body.encode(out),
            Self::PurgeScope {} => {}
        }
    }

    pub(super) fn decode(kind: u16, version: u8, bytes: &[u8]) -> Result<Self, DecodeError> {
        let damaged = |detail: String| DecodeError::Damaged { part: "body", detail };
        if bytes.len() > BODY_BYTES_MAX {
            return Err(damaged(format!("{} bytes, more than {BODY_BYTES_MAX}", bytes.len())));
        }
        let decoded = match (kind, version) {
            (earlier::SCHEDULE_JOB, 1) => earlier::first_schedule(bytes),
            (earlier::SCHEDULE_JOB, 2) => earlier::second_schedule(bytes),
            (earlier::SCHEDULE_JOB, 3) | (_, 1) => any(kind, bytes),
            _ => Ok(None),
        };
        match decoded.map_err(|error| damaged(error.to_string()))? {
            None => Err(DecodeError::Kind { kind, version }),
            Some((body, [])) => Ok(body),
            Some((_, rest)) => Err(damaged(format!("{} bytes too many", rest.len()))),
        }
    }
}

fn any(kind: u16, bytes: &[u8]) -> Decoded<'_> {
    for decode in DECODERS {
        if let Some(found) = decode(kind, bytes)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn purge(kind: u16, bytes: &[u8]) -> Decoded<'_> {
    Ok((kind == Kind::PurgeScope as u16).then_some((Body::PurgeScope {}, bytes)))
}
