//! What is wrong with what came. Nothing is changed because of it.

use super::{
    evidence::Evidence,
    log::{BRANCHES_UNSEALED_MAX, FEEDS_UNSEALED_MAX},
    place::FeedId,
};
use relaymesh_bus::sign;
use relaymesh_core::{hash::Hash, hlc::Hlc, id::NodeId, op::Break};

/// Why bytes are not what they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Of a newer program, or not at all what was expected.
    #[error("format {found} of a {what} is not known here; a newer relaymesh may read it")]
    Format {
        /// What was expected.
        what: &'static str,
        /// The first byte, if there was one.
        found: u8,
    },
    /// The bytes end early, go on too long, or hold a value that cannot be.
    #[error("the {what} is damaged: {detail}")]
    Damaged {
        /// What was expected.
        what: &'static str,
        /// What the decoder said.
        detail: String,
    },
    /// The same could be said in fewer bytes.
    #[error("the {what} is not in its one spelling")]
    Spelling {
        /// What was expected.
        what: &'static str,
    },
    /// More than anybody may send.
    #[error("a {what} of {found} bytes: at most {max} are allowed")]
    TooLong {
        /// What was expected.
        what: &'static str,
        /// How long it is.
        found: usize,
        /// How long it may be.
        max: usize,
    },
}

impl DecodeError {
    pub(crate) fn damaged(what: &'static str, error: impl ToString) -> Self {
        Self::Damaged { what, detail: error.to_string() }
    }
}

/// Why a head or a run is not taken into a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The head is dated by another node.
    #[error("place {seq} of the feed is dated by {found}, and only {expected} may date it")]
    Stamp {
        /// Which place.
        seq: u64,
        /// Whose stamp it has.
        found: NodeId,
        /// Whose feed it is.
        expected: NodeId,
    },
    /// The head is of an empty feed and names something else than its start.
    #[error("a head of {feed} at place 0 does not name the start")]
    Start {
        /// Which feed.
        feed: FeedId,
    },
    /// The signature does not count.
    #[error(transparent)]
    Signature(#[from] sign::Refusal),
    /// The run's ops do not lead from its start to its head.
    #[error("a run of {ops} ops after place {after} cannot end at place {head}")]
    Length {
        /// Where it starts.
        after: u64,
        /// How many ops it has.
        ops: usize,
        /// Where its head is.
        head: u64,
    },
    /// The hashes of the run's ops do not lead to its head.
    #[error("the ops of the run lead to {found}, and its head is {expected}")]
    Hash {
        /// What the head says.
        expected: Hash,
        /// Where the ops lead.
        found: Hash,
    },
    /// An op of the run is not the next link.
    #[error(transparent)]
    Op(#[from] Break),
    /// The head promises less than its own last op.
    #[error("the head is as of {as_of}, before its own last op ({op})")]
    AsOf {
        /// What it promises.
        as_of: Hlc,
        /// The time of its last op.
        op: Hlc,
    },
    /// The run starts at a place that is not in the log.
    #[error("the run starts after place {after} of {feed}, which is not here")]
    Gap {
        /// Which feed.
        feed: FeedId,
        /// Where it starts.
        after: u64,
    },
    /// An op is dated at or before what its author promised would be the end of it.
    #[error("integrity failure: {} promised nothing before {promised}, and dates op {} {found}", evidence.feed, evidence.from_seq)]
    Promise {
        /// What was promised.
        promised: Hlc,
        /// When the op is dated.
        found: Hlc,
        /// The two heads.
        evidence: Box<Evidence>,
    },
    /// The feed has as many branches as are kept.
    #[error("integrity failure: a further branch of {} at place {}; {BRANCHES_UNSEALED_MAX} are kept, and those that were sealed", evidence.feed, evidence.from_seq)]
    Branches {
        /// The two heads.
        evidence: Box<Evidence>,
    },
    /// The origin has as many feeds as are kept.
    #[error("{origin} has {FEEDS_UNSEALED_MAX} feeds already, and begins another one that was not sealed")]
    Feeds {
        /// Whose.
        origin: NodeId,
    },
    /// What was admitted does not fit the log as it is now.
    #[error("what was admitted at place {seq} of {feed} does not fit the log any more")]
    Moved {
        /// Which feed.
        feed: FeedId,
        /// Where it was to go.
        seq: u64,
    },
}

impl Refusal {
    /// The proof that the author lies, if this is one.
    pub fn evidence(&self) -> Option<&Evidence> {
        match self {
            Self::Promise { evidence, .. } | Self::Branches { evidence } => Some(evidence),
            Self::Stamp { .. }
            | Self::Start { .. }
            | Self::Signature(_)
            | Self::Length { .. }
            | Self::Hash { .. }
            | Self::Op(_)
            | Self::AsOf { .. }
            | Self::Gap { .. }
            | Self::Feeds { .. }
            | Self::Moved { .. } => None,
        }
    }
}
