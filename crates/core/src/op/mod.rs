//! The op: an accepted fact on the log.
//!
//! An op is written once, as bytes; its hash and later signatures are over those stored bytes, which are never
//! encoded again. The bytes are `[format][header][kind][version][body]` in postcard. A reader that does not know
//! the format, the kind or the version says so ([`DecodeError`]) and drops nothing.
//!
//! `pos`, the local arrival number, is not part of the bytes: it differs from node to node.

mod body;
mod chain;
mod earlier;
mod kind;
pub mod log;
mod proof;
mod stub;
mod subject;
#[cfg(test)]
mod tests;
mod via;

pub use body::Body;
pub(crate) use body::{Decoded, bodies};
pub use chain::{Break, Chain, ChainHead, Link, link_hash};
pub use kind::Kind;
pub use proof::{CancelMode, ExpireReason, HeldLock, HeldMessage, Hold, SeenItem};
pub use subject::{About, Subject};
pub use via::{VIA_FIELD_BYTES_MAX, Via};

use crate::{
    hlc::Hlc,
    id::{NamespaceId, NodeId, OpId, PlanId, RepositoryId, TaskId, ThreadId},
    name::Name,
    register::Register,
};
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

/// The longest body that an op may carry.
pub const BODY_BYTES_MAX: usize = 16 * 1024;

/// The most ops that an op may cite as its causes.
pub const CAUSAL_DEPS_MAX: usize = 256;

/// The format of an op that came from inside. A change of the bytes is a decision: the golden test in `op/tests.rs` fails first.
const FORMAT: u8 = 1;

/// The format of an op that says how it came in: the same with [`Via`] behind the header.
const FORMAT_VIA: u8 = 2;

/// An op as it was decoded. `pos` is where it arrived here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Op {
    /// Local arrival number; the event id of live streams. Not hashed.
    pub pos: u64,
    /// What every op says, whatever its kind.
    #[serde(flatten)]
    pub header: Header,
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
}

/// What every op says, whatever its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The op's own name.
    pub op_id: OpId,
    /// The node whose chain this op is on.
    pub origin: NodeId,
    /// Grows when the origin lost its memory or was restored: a new chain.
    pub origin_epoch: u32,
    /// Place on the chain, from 1, without gaps.
    pub seq: u64,
    /// When, in the order that all nodes agree on.
    pub hlc: Hlc,
    /// The principal that is answerable for it.
    pub author: Name,
    /// Who asked, from where: `cli`, `builtin`, `timer`, …
    pub source: Name,
    /// The team or project it belongs to.
    pub namespace: Name,
    /// What it is about; ops of one scope are folded together.
    pub scope: Scope,
    /// How it was ordered.
    pub write_class: WriteClass,
    /// Ops that must be applied before it.
    pub causal_deps: Vec<OpId>,
    /// How it came in, if it came from outside. It stands behind the header, and only where there is one.
    #[serde(skip)]
    pub via: Option<Arc<Via>>,
}

/// What an op is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// A task with all its steps.
    Task(TaskId),
    /// A conversation with all its messages.
    Thread(ThreadId),
    /// A repository with all its locks: the keys of two locks can overlap without being equal.
    Repository(RepositoryId),
    /// The log itself. It has no rows.
    Log,
    /// A namespace: that it is there.
    Namespace(NamespaceId),
    /// A plan with all its items: what must hold goes across all of its levels.
    Plan(PlanId),
    /// One of the registers of the mesh.
    Register(Register),
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(id) => id.fmt(f),
            Self::Thread(id) => id.fmt(f),
            Self::Repository(id) => id.fmt(f),
            Self::Log => f.pad("log"),
            Self::Namespace(id) => id.fmt(f),
            Self::Plan(id) => id.fmt(f),
            Self::Register(register) => register.fmt(f),
        }
    }
}

/// How a write was ordered (F3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteClass {
    /// Agreed on before it was acknowledged: by the store's own transaction, or by a quorum.
    Strong,
    /// Accepted by its author alone, merged by the others later.
    AppendOnly,
    /// Waiting for whoever has to agree.
    Queued,
    /// Of this node only.
    Local,
}

impl fmt::Display for WriteClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Strong => "strong",
            Self::AppendOnly => "append-only",
            Self::Queued => "queued",
            Self::Local => "local",
        })
    }
}

/// Why bytes are not an op that this program understands. Nothing is dropped because of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Written by a newer program, or not an op at all.
    #[error(
        "op format {found} is not known here (this program reads {FORMAT} and {FORMAT_VIA}); a newer relaymesh may read it"
    )]
    Format {
        /// The first byte, if there was one.
        found: u8,
    },
    /// A kind of op that this program does not have.
    #[error("op kind {kind} version {version} is not known here; a newer relaymesh may read it")]
    Kind {
        /// The number of the kind.
        kind: u16,
        /// The version of its body.
        version: u8,
    },
    /// The bytes end early or hold a value that cannot be.
    #[error("the op's {part} is damaged: {detail}")]
    Damaged {
        /// Which part of the op.
        part: &'static str,
        /// What the decoder said.
        detail: String,
    },
}

impl Op {
    /// The op's bytes, appended to `out`. Called once in an op's life, by its author.
    pub fn encode(header: &Header, body: &Body, out: &mut Vec<u8>) {
        out.push(if header.via.is_some() { FORMAT_VIA } else { FORMAT });
        append(header, out);
        if let Some(via) = &header.via {
            append(via.as_ref(), out);
        }
        append(&(body.kind() as u16, body.version()), out);
        body.encode(out);
    }

    /// The op in `bytes`, which arrived here at `pos`.
    pub fn decode(pos: u64, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (&format, rest) = bytes.split_first().ok_or(DecodeError::Format { found: 0 })?;
        if format != FORMAT && format != FORMAT_VIA {
            return Err(DecodeError::Format { found: format });
        }
        let damaged = |part| move |error: postcard::Error| DecodeError::Damaged { part, detail: error.to_string() };
        let (mut header, mut rest) = postcard::take_from_bytes::<Header>(rest).map_err(damaged("header"))?;
        let deps = header.causal_deps.len();
        if deps > CAUSAL_DEPS_MAX {
            let detail = format!("it cites {deps} ops, more than {CAUSAL_DEPS_MAX}");
            return Err(DecodeError::Damaged { part: "header", detail });
        }
        if format == FORMAT_VIA {
            let (via, after) = postcard::take_from_bytes::<Via>(rest).map_err(damaged("source"))?;
            if !via.is_short() {
                let detail = format!("a field is longer than {VIA_FIELD_BYTES_MAX} bytes");
                return Err(DecodeError::Damaged { part: "source", detail });
            }
            (header.via, rest) = (Some(Arc::new(via)), after);
        }
        let ((kind, version), rest) = postcard::take_from_bytes::<(u16, u8)>(rest).map_err(damaged("kind"))?;
        let body = Body::decode(kind, version, rest)?;
        Ok(Self { pos, header, body })
    }

    /// The task that the op is about, if it is about one.
    pub fn task(&self) -> Option<TaskId> {
        match self.header.scope {
            Scope::Task(task) => Some(task),
            Scope::Thread(_)
            | Scope::Repository(_)
            | Scope::Log
            | Scope::Namespace(_)
            | Scope::Plan(_)
            | Scope::Register(_) => None,
        }
    }
}

/// Appends the postcard form. Encoding into memory cannot fail for the types of this crate.
pub fn append<T: Serialize>(value: &T, out: &mut Vec<u8>) {
    let taken = std::mem::take(out);
    *out = postcard::to_extend(value, taken).expect("plain data always encodes into memory");
}
