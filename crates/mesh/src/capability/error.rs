//! Why a chain is worth nothing, and why it does not admit a deed. Neither changes anything.

use super::{
    CHAIN_BYTES_MAX, CHAIN_LINKS_MAX, DELEGATION_BYTES_MAX,
    resource::{Action, Resource},
};
use relaymesh_bus::sign::{self, PublicKey};
use relaymesh_core::{hash::Hash, hlc::Hlc};

/// Why bytes are no chain of delegations. It is so for ever: no time and no revocation has a say in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Too many bytes in one link.
    #[error("a delegation has {bytes} bytes, {DELEGATION_BYTES_MAX} are allowed")]
    DelegationSize {
        /// How many it has.
        bytes: usize,
    },
    /// Too many bytes altogether.
    #[error("a chain has {bytes} bytes, {CHAIN_BYTES_MAX} are allowed")]
    ChainSize {
        /// How many it has.
        bytes: usize,
    },
    /// No link, or too many.
    #[error("a chain has {links} links; it has 1 to {CHAIN_LINKS_MAX}")]
    Links {
        /// How many there are, as far as they were counted.
        links: usize,
    },
    /// The bytes end early, or are no delegation.
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
    #[error("not in canonical form")]
    NotCanonical,
    /// A field that this program does not know; it may take away what we would grant.
    #[error("the field `{field}` is not known here")]
    UnknownField {
        /// Which, cut at 40 characters.
        field: String,
    },
    /// A caveat that this program does not know.
    #[error("the caveat `{caveat}` is not known here, so nobody can keep it")]
    UnknownCaveat {
        /// Which, cut at 40 characters.
        caveat: String,
    },
    /// A caveat that nothing can meet or that says two things.
    #[error("a caveat is wrong: {detail}")]
    Caveat {
        /// What was found.
        detail: &'static str,
    },
    /// Nothing is granted, too much, or something twice.
    #[error("it grants {grants} things; it may grant 1 to {max}, each once and in order")]
    Grants {
        /// How many.
        grants: usize,
        /// How many it may grant.
        max: usize,
    },
    /// There is no such deed.
    #[error("there is no {action} of {resource}")]
    NoSuchDeed {
        /// What it would be done to.
        resource: Resource,
        /// What would be done.
        action: Action,
    },
    /// It ends before it begins.
    #[error("it ends at {exp} and begins at {nbf}")]
    Window {
        /// The beginning.
        nbf: u64,
        /// The end.
        exp: u64,
    },
    /// A wrong number of proofs: the first link has none, every other one.
    #[error("link {link} cites {found} proofs instead of {wanted}")]
    Proofs {
        /// Which link, from 0.
        link: usize,
        /// How many it cites.
        found: usize,
        /// How many it should.
        wanted: usize,
    },
    /// The link cites something else than the link before it.
    #[error("link {link} cites {found}, and the link before it is {wanted}")]
    Proof {
        /// Which link, from 0.
        link: usize,
        /// What it cites.
        found: Hash,
        /// What it should.
        wanted: Hash,
    },
    /// The first link is not from the owner's key.
    #[error("the chain begins with {found}, which is not the key of this mesh")]
    WrongRoot {
        /// Whose it is.
        found: PublicKey,
    },
    /// The link is from somebody who was given nothing.
    #[error("link {link} is from {found}, and the link before it is for {wanted}")]
    Audience {
        /// Which link, from 0.
        link: usize,
        /// Who made it.
        found: PublicKey,
        /// Who could have.
        wanted: PublicKey,
    },
    /// Somebody stands in the chain twice.
    #[error("link {link} leads back to {key}")]
    Cyclic {
        /// Which link, from 0.
        link: usize,
        /// Who is there already.
        key: PublicKey,
    },
    /// The signature does not count.
    #[error("link {link}: {refusal}")]
    Signature {
        /// Which link, from 0.
        link: usize,
        /// Why not.
        refusal: sign::Refusal,
    },
    /// The link gives more than its maker has.
    #[error("link {link} gives more than the link before it: {exceeds}")]
    Exceeds {
        /// Which link, from 0.
        link: usize,
        /// In what.
        exceeds: Exceeds,
    },
}

/// In what a child exceeds its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Exceeds {
    /// The parent has no grant on this resource with this action.
    #[error("{action} of {resource}")]
    Grant {
        /// What it would be done to.
        resource: Resource,
        /// What would be done.
        action: Action,
    },
    /// It begins earlier.
    #[error("it begins earlier")]
    Begins,
    /// It ends later.
    #[error("it ends later")]
    Ends,
    /// It may be handed on as often as the parent, or the parent may not be handed on.
    #[error("it may be handed on too often")]
    Depth,
    /// Sources that the parent does not have.
    #[error("source_types")]
    SourceTypes,
    /// Predicates that the parent does not have.
    #[error("predicates")]
    Predicates,
    /// A kind that the parent does not reach.
    #[error("kind_prefix")]
    KindPrefix,
    /// A time that the parent does not have.
    #[error("time_range")]
    TimeRange,
    /// A rule is gone.
    #[error("sanitize")]
    Sanitize,
    /// The duty is gone.
    #[error("audit_inference")]
    AuditInference,
}

/// Why a good chain does not admit a deed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// At the time of the deed it did not hold yet.
    #[error("not_yet_valid: link {link} holds from {nbf} on, and this is of {at}")]
    NotYetValid {
        /// Which link, from 0.
        link: usize,
        /// From when it holds.
        nbf: u64,
        /// When the deed was.
        at: u64,
    },
    /// At the time of the deed it did not hold any more.
    #[error("expired: link {link} held until {exp}, and this is of {at}")]
    Expired {
        /// Which link, from 0.
        link: usize,
        /// Until when it held.
        exp: u64,
        /// When the deed was.
        at: u64,
    },
    /// It was taken back before the deed, or a link above it was.
    #[error("revoked: link {link} was taken back at {revoked}, and this is of {at}")]
    Revoked {
        /// Which link, from 0.
        link: usize,
        /// When it was taken back.
        revoked: Hlc,
        /// When the deed was.
        at: Hlc,
    },
    /// Nothing in it is about this.
    #[error("not_granted: {action} of {resource}")]
    NotGranted {
        /// What it would be done to.
        resource: Resource,
        /// What would be done.
        action: Action,
    },
    /// There is a grant, and a caveat is in the way.
    #[error("caveat: {missing} of the grant on {action} of {resource} is not met")]
    Caveat {
        /// What it would be done to.
        resource: Resource,
        /// What would be done.
        action: Action,
        /// Which caveat, of the grant that is tried last.
        missing: Missing,
    },
    /// Only the owner may.
    #[error("owner_only: this is for the owner alone")]
    OwnerOnly,
}

/// The caveat that a deed does not meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// It came from elsewhere.
    #[error("source_types")]
    SourceTypes,
    /// It says something else.
    #[error("predicates")]
    Predicates,
    /// It is of another kind.
    #[error("kind_prefix")]
    KindPrefix,
    /// It is of another time.
    #[error("time_range")]
    TimeRange,
}
