//! Revocation: a link that was taken back, and with it everything below it.
//!
//! A revocation is itself a fact with a time, and facts arrive in any order. So what is kept for each link and each one who
//! takes it back is the earliest time, and whether it counts is asked when a deed is judged: only whoever issued the link,
//! or a link above it, may take it back. A stranger's revocation is kept and does nothing. Both together make the answer
//! the same on every node, whatever came first (L12).

use super::{chain::Authority, delegation::Link};
use relaymesh_bus::sign::PublicKey;
use relaymesh_core::{hash::Hash, hlc::Hlc};
use std::collections::BTreeMap;

/// What was taken back, by whom, and when first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Revocations {
    first: BTreeMap<(Hash, PublicKey), Hlc>,
}

impl Revocations {
    /// Takes in that `by` took back the link named `cid` at `at`. The order in which they are told does not matter.
    pub fn record(&mut self, cid: Hash, by: PublicKey, at: Hlc) {
        self.first.entry((cid, by)).and_modify(|first| *first = at.min(*first)).or_insert(at);
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.first.len()
    }

    /// Whether nothing was ever taken back.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The topmost link of a chain that was taken back at or before `at`, and when.
    pub(super) fn cut(&self, authority: &Authority, at: Hlc) -> Option<(usize, Hlc)> {
        let links = authority.links();
        let time = |index: usize, link: &Link| {
            let may = links.iter().take(index + 1).map(|above| above.delegation().iss);
            let times = may.filter_map(|by| self.first.get(&(link.cid(), by)));
            times.min().filter(|time| **time <= at).map(|time| (index, *time))
        };
        links.iter().enumerate().find_map(|(index, link)| time(index, link))
    }
}
