//! Judging: may this deed be done with this chain, as of the time of the deed?
//!
//! The time is the deed's HLC and never the time of the look: every node, whenever it hears of an op, answers the same
//! (D18). A deed that was allowed when it was done stays allowed when the chain runs out later.
//!
//! ```text
//!  every link began ──► no link is over ──► no link was taken back ──► a grant is about it ──► its caveats are met
//!  not_yet_valid        expired             revoked                    not_granted             caveat
//! ```

use super::{
    Kind,
    caveat::Sanitize,
    chain::Authority,
    delegation::Att,
    error::Refusal,
    resource::{Action, Resource},
    revoke::Revocations,
};
use relaymesh_core::hlc::Hlc;
use std::collections::BTreeSet;

/// Something that somebody does, or did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deed<'a> {
    /// To what.
    pub resource: Resource,
    /// What.
    pub action: Action,
    /// When.
    pub at: Hlc,
    /// Of which kind, if it is work.
    pub kind: Option<&'a Kind>,
    /// Where it came from, if it is evidence.
    pub source_type: Option<&'a str>,
    /// What it says, if it is a claim.
    pub predicate: Option<&'a str>,
}

impl<'a> Deed<'a> {
    /// A deed that is neither work nor evidence nor a claim.
    pub fn new(resource: Resource, action: Action, at: Hlc) -> Self {
        Self { resource, action, at, kind: None, source_type: None, predicate: None }
    }

    /// The same, of this kind.
    pub fn of_kind(self, kind: &'a Kind) -> Self {
        Self { kind: Some(kind), ..self }
    }
}

/// How much of an op's content a peer is shown. The op itself it always gets (L13).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// All of it.
    Whole,
    /// All of it, changed by these rules.
    Sanitized(BTreeSet<Sanitize>),
    /// Nothing of it.
    Withheld,
}

impl Authority {
    /// Whether all of the chain holds at a time, whatever it grants.
    pub fn holds(&self, revoked: &Revocations, at: Hlc) -> Result<(), Refusal> {
        for (link, delegation) in self.links().iter().map(super::delegation::Link::delegation).enumerate() {
            if at.wall_ms < delegation.nbf {
                return Err(Refusal::NotYetValid { link, nbf: delegation.nbf, at: at.wall_ms });
            }
            if let Some(exp) = delegation.exp.filter(|exp| at.wall_ms >= *exp) {
                return Err(Refusal::Expired { link, exp, at: at.wall_ms });
            }
        }
        match revoked.cut(self, at) {
            Some((link, revoked)) => Err(Refusal::Revoked { link, revoked, at }),
            None => Ok(()),
        }
    }

    /// The grant that admits a deed.
    pub fn admit(&self, revoked: &Revocations, deed: &Deed<'_>) -> Result<&Att, Refusal> {
        self.holds(revoked, deed.at)?;
        let Deed { resource, action, .. } = *deed;
        let mut refusal = Refusal::NotGranted { resource, action };
        for att in self.grants() {
            if att.action == action && att.resource.covers(resource) {
                match att.caveats.admit(deed) {
                    Ok(()) => return Ok(att),
                    Err(missing) => refusal = Refusal::Caveat { resource, action, missing },
                }
            }
        }
        Err(refusal)
    }

    /// How much of the content of something that is of `deed.at` is shown at `now`. Of several grants the one with the
    /// fewest rules decides. The chain has to hold now: whoever lost it is shown nothing more, of whatever time.
    pub fn shows(&self, revoked: &Revocations, deed: &Deed<'_>, now: Hlc) -> Shown {
        let deed = Deed { action: Action::Read, ..*deed };
        if self.holds(revoked, now).is_err() {
            return Shown::Withheld;
        }
        let about = |att: &&Att| att.action == Action::Read && att.resource.covers(deed.resource);
        let admitting = self.grants().iter().filter(about).filter(|att| att.caveats.admit(&deed).is_ok());
        match admitting.map(|att| &att.caveats.sanitize).min_by_key(|rules| rules.len()) {
            None => Shown::Withheld,
            Some(rules) if rules.is_empty() => Shown::Whole,
            Some(rules) => Shown::Sanitized(rules.clone()),
        }
    }

    /// Whether inference under this chain must leave a snapshot: at first hand always, else where a grant that admits the
    /// deed says so.
    pub fn audits(&self, att: &Att) -> bool {
        self.is_first_hand() || att.caveats.audit_inference
    }
}
