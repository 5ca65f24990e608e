//! What the liar says about who is there: nodes that do not exist, deaths that nobody died, lives that nobody lives, in its own name and in
//! others', and more of it than anybody can read.
//!
//! It does not stop when the owner freezes it: by then nobody should listen.

use super::{
    check::{Verdict, ensure},
    liar::Liar,
};
use crate::rng::Rng;
use relaymesh_core::id::NodeId;
use relaymesh_mesh::{
    membership::{Identity, Status, frame::sample_of},
    peer::{Channel, Peer},
};

/// How many frames a flood has: more than are read in a second.
const FLOOD: usize = 400;

pub(super) struct Rumours {
    rng: Rng,
    /// How many were told.
    pub(super) told: u64,
}

impl Rumours {
    pub(super) fn new(rng: Rng) -> Self {
        Self { rng, told: 0 }
    }

    /// Now and then a rumour, for one node or for all.
    pub(super) fn spread(&mut self, liar: &Liar) -> Vec<(NodeId, Channel, Vec<u8>)> {
        if !self.rng.chance(80) {
            return Vec::new();
        }
        self.told += 1;
        let own = liar.membership.identity();
        let known: Vec<Identity> = liar.membership.members().map(|known| known.identity).collect();
        let Some(first) = self.rng.pick(&known).copied() else { return Vec::new() };
        let frame = |bytes: &[u8], to: &Identity| (to.node, Channel::Membership, bytes.to_vec());
        match self.rng.weighted(&[30, 30, 25, 10, 5]) {
            0 => {
                let bytes = sample_of(own, self.invented());
                known.iter().map(|to| frame(&bytes, to)).collect()
            }
            1 => {
                let of = |identity| (self.bent(identity), Status::Dead);
                let bytes = sample_of(own, known.iter().copied().map(of).collect::<Vec<_>>());
                known.iter().map(|to| frame(&bytes, to)).collect()
            }
            2 => known.iter().map(|to| frame(&sample_of(own, [(*to, Status::Dead)]), to)).collect(),
            3 => {
                let posing = self.bent(first);
                let bytes = sample_of(posing, [(posing, Status::Alive), (own, Status::Alive)]);
                known.iter().map(|to| frame(&bytes, to)).collect()
            }
            _ => {
                let bytes = sample_of(own, self.invented().into_iter().take(4));
                std::iter::repeat_n(frame(&bytes, &first), FLOOD).collect()
            }
        }
    }

    fn invented(&mut self) -> Vec<(Identity, Status)> {
        let one = |rng: &mut Rng| Identity { node: NodeId::new(1, rng.wide() >> 48), life: rng.between(0, 3) };
        (0..self.rng.between(1, 250)).map(|_| (one(&mut self.rng), Status::Alive)).collect()
    }

    /// The life that somebody lives, or one that it does not.
    fn bent(&mut self, identity: Identity) -> Identity {
        let life = match self.rng.index(4) {
            0 => u64::MAX,
            1 => identity.life.saturating_add(1),
            _ => identity.life,
        };
        Identity { life, ..identity }
    }
}

/// Whatever was said, a node knows nobody who does not exist, and every bound holds.
pub(super) fn unmoved<R: rand_pcg::rand_core::Rng>(number: usize, peer: &Peer<R>, ids: &[NodeId]) -> Verdict {
    peer.validate().map_err(|rule| ("BOUNDED", format!("node {number}: {rule}")))?;
    let invented = peer.membership().members().find(|known| !ids.contains(&known.identity.node));
    ensure(invented.is_none(), "BOUNDED", || format!("node {number} knows {invented:?}, who does not exist"))
}
