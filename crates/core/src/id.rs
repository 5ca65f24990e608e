//! Ids: a ULID behind a prefix that says what it names.
//!
//! A bare ULID pasted into the wrong command names nothing and says nothing. With the prefix a task id given
//! where a node id belongs is refused when it is parsed, by name. The text form is `<prefix>_<26 characters>`,
//! upper case Crockford base 32; the binary form is the 16 bytes.
//!
//! Making an id needs a time and randomness, and the kernel has neither: both come in as arguments.

use crate::{hash::Hash, name::Name};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, str::FromStr};
use ulid::Ulid;

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The prefix is missing or names another kind of id.
    #[error("`{found}` is not a {what} id: it must start with `{prefix}`")]
    Prefix {
        /// What the caller wanted to name.
        what: &'static str,
        /// The prefix that kind of id has.
        prefix: &'static str,
        /// The text that was given, shortened.
        found: String,
    },
    /// What follows the prefix is not a ULID.
    #[error("`{found}` is not a {what} id: after `{prefix}` come 26 characters of 0-9 A-Z without I L O U")]
    Ulid {
        /// What the caller wanted to name.
        what: &'static str,
        /// The prefix that kind of id has.
        prefix: &'static str,
        /// The text that was given, shortened.
        found: String,
    },
    /// A step id has no valid step number at its end.
    #[error("`{found}` is not a step id such as stp_<task ULID>_<number>")]
    Step {
        /// The text that was given, shortened.
        found: String,
    },
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident, $what:literal, $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Ulid);

        impl $name {
            /// What every id of this kind starts with.
            pub const PREFIX: &'static str = $prefix;

            /// An id made at `unix_ms` out of 80 random bits.
            pub const fn new(unix_ms: u64, random: u128) -> Self {
                Self(Ulid::from_parts(unix_ms, random))
            }

            /// The id with these 16 bytes.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Ulid::from_bytes(bytes))
            }

            /// The 16 bytes; their order is the order of making.
            pub const fn to_bytes(self) -> [u8; 16] {
                self.0.to_bytes()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                let rest = text.strip_prefix($prefix).ok_or_else(|| Error::Prefix {
                    what: $what,
                    prefix: $prefix,
                    found: shortened(text),
                })?;
                parse_ulid(rest).map(Self).ok_or_else(|| Error::Ulid {
                    what: $what,
                    prefix: $prefix,
                    found: shortened(text),
                })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(self)
                } else {
                    self.to_bytes().serialize(serializer)
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if deserializer.is_human_readable() {
                    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
                } else {
                    <[u8; 16]>::deserialize(deserializer).map(Self::from_bytes)
                }
            }
        }
    )*};
}

ids! {
    /// What a user submits.
    TaskId, "task", "tsk_";
    /// An accepted fact on the log.
    OpId, "op", "op_";
    /// A running relaymesh; also the origin of a chain of ops.
    NodeId, "node", "nod_";
    /// One intended submit, however often it is sent.
    RequestId, "request", "req_";
    /// Something that claims steps: a process, or the builtin executor.
    WorkerId, "worker", "wrk_";
    /// What the holder of a lease shows to prove that it is the holder.
    LeaseToken, "lease", "lse_";
    /// A conversation: the messages that are folded together.
    ThreadId, "thread", "thr_";
    /// One message in a thread.
    MessageId, "message", "msg_";
    /// A repository, or whatever else the keys of locks are counted in. Derived, see [`RepositoryId::of`].
    RepositoryId, "repository", "rep_";
    /// A namespace: a team or project. Derived, see [`NamespaceId::of`].
    NamespaceId, "namespace", "nsp_";
    /// One intended write, however often it is sent: what makes a replay idempotent.
    IntentId, "intent", "int_";
    /// A row of the write queue.
    WriteId, "queued write", "mq_";
    /// A plan: a mission and everything below it.
    PlanId, "plan", "pln_";
    /// One item of a plan: a mission, milestone, slice, feature or task.
    ItemId, "plan item", "itm_";
}

impl NodeId {
    /// The name of the node that signs with this key: the first half of BLAKE3 over it. It is derived, so that nobody can write
    /// under another's name, and no list of who has which key has to be believed.
    ///
    /// Half a hash is enough: what counts is that nobody finds a second key for a name that is there (2^128 tries), not
    /// that nobody makes two keys of his own with one name (2^64), who would only be taken for one liar.
    pub fn of_key(key: &[u8; 32]) -> Self {
        let mut half = [0; 16];
        half.copy_from_slice(&Hash::blake3(&[b"relaymesh/node/v1\0", key]).0[..16]);
        Self::from_bytes(half)
    }
}

impl RepositoryId {
    /// The id of the repository that a namespace calls by this name: the first half of SHA-256 over both.
    ///
    /// It is derived, so that nodes that never met lock in the same place. A namespace has no NUL in it, so no two
    /// pairs are written alike.
    pub fn of(namespace: &Name, repository: &str) -> Self {
        Self::from_bytes(half(&[namespace.as_str().as_bytes(), &[0], repository.as_bytes()].concat()))
    }
}

impl NamespaceId {
    /// The id of the namespace with this name: the first half of SHA-256 over it. It is derived, so that nodes that never
    /// met mean the same one.
    pub fn of(name: &Name) -> Self {
        Self::from_bytes(half(name.as_str().as_bytes()))
    }
}

/// The first half of the SHA-256 of something.
fn half(bytes: &[u8]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&Hash::sha256(bytes).0[..16]);
    half
}

/// One step of a task: the task and the step's place in its graph. Text form `stp_<task ULID>_<number>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId {
    /// The task that the step belongs to.
    pub task: TaskId,
    /// The step's place in the task's list of steps, from 0.
    pub index: u16,
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stp_{}_{}", self.task.0, self.index)
    }
}

impl fmt::Debug for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for StepId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            (self.task, self.index).serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for StepId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
        } else {
            <(TaskId, u16)>::deserialize(deserializer).map(|(task, index)| Self { task, index })
        }
    }
}

impl FromStr for StepId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parse = || {
            let (task, index) = text.strip_prefix("stp_")?.split_once('_')?;
            let canonical = index == "0" || (!index.starts_with(['0', '+']) && !index.is_empty());
            let index = canonical.then(|| index.parse().ok()).flatten()?;
            Some(Self { task: TaskId(parse_ulid(task)?), index })
        };
        parse().ok_or_else(|| Error::Step { found: shortened(text) })
    }
}

/// Only the canonical spelling: 26 upper case characters that do not overflow 128 bits.
fn parse_ulid(text: &str) -> Option<Ulid> {
    let ulid = Ulid::from_string(text).ok()?;
    (ulid.to_string() == text).then_some(ulid)
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_form_names_the_kind() {
        let id = TaskId::new(1_700_000_000_000, 7);
        assert_eq!(id.to_string(), "tsk_01HF7YAT000000000000000007");
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn another_kind_of_id_is_refused_by_name() {
        let node = NodeId::new(1, 2).to_string();
        let error = node.parse::<TaskId>().unwrap_err().to_string();
        assert!(error.contains("is not a task id") && error.contains("tsk_"), "{error}");
    }

    #[test]
    fn rubbish_is_refused_and_shortened() {
        for text in [
            "",
            "tsk_",
            "tsk_01HF7YAT00000000000000000",
            "tsk_01hf7yat000000000000000007",
            "tsk_8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
        ] {
            assert!(text.parse::<TaskId>().is_err(), "{text}");
        }
        let long = format!("tsk_{}", "x".repeat(10_000));
        assert!(long.parse::<TaskId>().unwrap_err().to_string().len() < 250);
    }

    #[test]
    fn a_repository_is_named_by_its_namespace_and_its_name() {
        let of = |namespace: &str, repository: &str| RepositoryId::of(&namespace.parse().unwrap(), repository);
        assert_eq!(of("default", "app").to_string(), "rep_4NDAE241GFJJ6747SDX6BN8RNR");
        for other in [of("default", "ap"), of("default", ""), of("other", "app"), of("defaulta", "pp")] {
            assert_ne!(of("default", "app"), other);
        }
    }

    #[test]
    fn a_namespace_is_named_by_its_name() {
        let of = |name: &str| NamespaceId::of(&name.parse().unwrap());
        assert_eq!(of("team-a").to_string(), "nsp_4PRA46RMEHVYT907CZXK7ZCRGK");
        assert_ne!(of("team-a"), of("team-b"));
    }

    #[test]
    fn step_ids_have_one_spelling() {
        let id = StepId { task: TaskId::new(5, 6), index: 12 };
        assert_eq!(id.to_string().parse(), Ok(id));
        let task = "0000000005000000000000000A";
        for tail in ["", "_", "_012", "_+1", "_65536", "_1_2", "_-1"] {
            assert!(format!("stp_{task}{tail}").parse::<StepId>().is_err(), "{tail}");
        }
    }

    proptest! {
        #[test]
        fn every_id_survives_both_forms(bytes: [u8; 16]) {
            let id = OpId::from_bytes(bytes);
            prop_assert_eq!(id.to_string().parse(), Ok(id));
            prop_assert_eq!(serde_json::from_str::<OpId>(&serde_json::to_string(&id).unwrap()).unwrap(), id);
            let binary = postcard::to_allocvec(&id).unwrap();
            prop_assert_eq!(&binary, &bytes.to_vec());
            prop_assert_eq!(postcard::from_bytes::<OpId>(&binary).unwrap(), id);
        }

        #[test]
        fn parsing_never_panics(text in ".{0,60}") {
            let _ = text.parse::<TaskId>();
            let _ = text.parse::<StepId>();
        }
    }
}
