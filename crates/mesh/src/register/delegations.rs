//! The delegations: chains that were given, and links that were taken back.

use super::apply::Refusal;
use crate::capability::Chain;
use relaymesh_core::{hash::Hash, hlc::Hlc, id::NodeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Who was given what, and what was taken back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegations {
    /// Chains by the hash of their bytes: since when, and the bytes.
    given: BTreeMap<Hash, (Hlc, Vec<u8>)>,
    /// Links by name and by whoever took them back: since when.
    taken: BTreeMap<(Hash, NodeId), Hlc>,
}

impl Delegations {
    /// Takes in a chain. Whether it holds is for whoever asks to judge; that it is one is checked here.
    pub(super) fn give(&mut self, at: Hlc, bytes: &[u8]) -> Result<(), Refusal> {
        Chain::decode(bytes).map_err(|error| Refusal::NoChain(Box::new(error)))?;
        let id = Hash::blake3(&[bytes]);
        if let Some((since, _)) = self.given.get(&id) {
            return Err(Refusal::GivenAlready { since: *since });
        }
        self.given.insert(id, (at, bytes.to_vec()));
        Ok(())
    }

    /// Takes in that somebody took a link back. The first time counts.
    pub(super) fn take(&mut self, at: Hlc, cid: Hash, by: NodeId) -> Result<(), Refusal> {
        if let Some(since) = self.taken.get(&(cid, by)) {
            return Err(Refusal::TakenAlready { since: *since });
        }
        self.taken.insert((cid, by), at);
        Ok(())
    }

    /// Every chain, with when it was given.
    pub fn given(&self) -> impl Iterator<Item = (Hlc, &[u8])> {
        self.given.values().map(|(at, bytes)| (*at, bytes.as_slice()))
    }

    /// Every link that was taken back: which, by whom, when.
    pub fn taken(&self) -> impl Iterator<Item = (Hash, NodeId, Hlc)> {
        self.taken.iter().map(|((cid, by), at)| (*cid, *by, *at))
    }

    pub(super) fn len(&self) -> usize {
        self.given.len() + self.taken.len()
    }
}
