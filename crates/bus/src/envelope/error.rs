//! Why bytes are no envelope for us. Nothing has changed, not even what was seen before.

use super::{HEADER_BYTES_MAX, PAYLOAD_BYTES_MAX, PROTOCOL, VERSION, state::State};
use crate::sign::{self, Fingerprint, PublicKey};
use relaymesh_core::{hash::Hash, op::WriteClass};

/// Why bytes are no envelope for us.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Too many bytes in the header.
    #[error("the header has {bytes} bytes, {HEADER_BYTES_MAX} are allowed")]
    HeaderSize {
        /// How many it has.
        bytes: usize,
    },
    /// Too many bytes in the payload.
    #[error("the payload has {bytes} bytes, {PAYLOAD_BYTES_MAX} are allowed")]
    PayloadSize {
        /// How many it has.
        bytes: usize,
    },
    /// The bytes end early, or are no header.
    #[error("damaged: {detail}")]
    Damaged {
        /// What was found.
        detail: String,
    },
    /// A field stands there twice.
    #[error("the field `{field}` stands there twice")]
    DuplicateField {
        /// Which.
        field: String,
    },
    /// The same thing is written in another way than its one way.
    #[error("the header is not in canonical form")]
    NotCanonical,
    /// Not this protocol.
    #[error("the protocol is `{found}` and not `{PROTOCOL}`")]
    Protocol {
        /// What it is, cut at 40 characters.
        found: String,
    },
    /// A version that does not read `major.minor`.
    #[error("the version `{found}` does not read major.minor")]
    Version {
        /// What it is, cut at 40 characters.
        found: String,
    },
    /// Another major version: it may mean something else by the same words.
    #[error(
        "version {found} is refused: this node speaks {VERSION} and reads every 1.x; one of the two needs an update"
    )]
    Major {
        /// Which.
        found: super::Version,
    },
    /// An id of a wrong length, or with characters that an id does not have.
    #[error("an id is 1 to 128 printable ASCII characters without a space")]
    Id,
    /// No fence token, or one of another epoch than the lease.
    #[error("a fence token reads epoch:node:sequence and is of the epoch of the lease")]
    Fence,
    /// A number that counts from 1 is 0.
    #[error("`{field}` counts from 1")]
    Zero {
        /// Which.
        field: &'static str,
    },
    /// `committedAt` says that it was agreed on, and `state` that it was not, or the other way round.
    #[error("an envelope that is {state} {}", if *.has_time { "has no committedAt" } else { "says committedAt" })]
    CommittedAt {
        /// Where the write stands.
        state: State,
        /// Whether there is a time.
        has_time: bool,
    },
    /// This type is not written with this class, or never travels.
    #[error("a record of this type does not travel with the write class {class:?}")]
    WriteClass {
        /// The class.
        class: WriteClass,
    },
    /// For somebody else.
    #[error("it is for {found} and not for this node")]
    Recipient {
        /// For whom.
        found: Fingerprint,
    },
    /// Brought by somebody else than the one who signed it.
    #[error("it was signed by {found} and brought by somebody else")]
    Carrier {
        /// Who signed it, if the signature holds.
        found: PublicKey,
    },
    /// The signature does not count.
    #[error("{0}")]
    Signature(#[from] sign::Refusal),
    /// The payload is another one.
    #[error("the payload is {found} and not the one that was signed")]
    Payload {
        /// Its content id.
        found: Hash,
    },
}
