//! Admit: check and record in one step.

use super::Limits;
use crate::envelope::Envelope;
use relaymesh_store::traffic::{Admitted, Fingerprint, Mark, Nonce};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What an opened envelope says about its own place. It cannot be made of anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    peer: Fingerprint,
    epoch: u64,
    sequence: u64,
    nonce: Nonce,
}

impl Arrival {
    /// The place of this envelope.
    pub fn of(envelope: &Envelope) -> Self {
        let header = envelope.header();
        Self {
            peer: header.sender.fingerprint(),
            epoch: header.sender_epoch,
            sequence: header.sequence,
            nonce: header.nonce,
        }
    }

    /// Who sent it.
    pub fn peer(&self) -> Fingerprint {
        self.peer
    }

    /// Where it stands.
    pub fn mark(&self) -> Mark {
        Mark { epoch: self.epoch, sequence: self.sequence }
    }

    /// What makes it one of its own.
    pub fn nonce(&self) -> Nonce {
        self.nonce
    }
}

/// Why an envelope takes no effect. Nothing was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// This very envelope, or one with its nonce, was here before.
    #[error("replay: this nonce was here before")]
    Replay,
    /// It was overtaken, or was here before.
    #[error("bad_sequence: {found} where at least {wanted} is due")]
    BadSequence {
        /// The least that would be admitted.
        wanted: u64,
        /// What it has.
        found: u64,
    },
    /// It is of a life of its sender that is over.
    #[error("stale_epoch: epoch {found}, and the sender is in {newest}")]
    StaleEpoch {
        /// The newest epoch that was seen.
        newest: u64,
        /// What it has.
        found: u64,
    },
    /// There is no room for another sender.
    #[error("too_many_peers: {peers} senders are known, and no more are taken")]
    TooManyPeers {
        /// How many there are.
        peers: usize,
    },
}

/// What is remembered of all senders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbox {
    pub(super) limits: Limits,
    pub(super) peers: BTreeMap<Fingerprint, Peer>,
    /// How many nonces there are altogether.
    pub(super) nonces: usize,
    /// Counts admissions, to tell which nonce is older.
    pub(super) admitted: u64,
}

/// What is remembered of one sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Peer {
    pub(super) mark: Mark,
    /// Oldest first, each with its number of admission.
    pub(super) queue: VecDeque<(u64, Nonce)>,
    pub(super) seen: BTreeSet<Nonce>,
}

impl Peer {
    fn new(mark: Mark) -> Self {
        Self { mark, queue: VecDeque::new(), seen: BTreeSet::new() }
    }
}

/// What was kept cannot have been: nothing like it is ever written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the nonce of admission {number} is there twice, out of order, or of a sender without a mark")]
pub struct Unfit {
    /// The number of the admission.
    pub number: u64,
}

impl Inbox {
    /// Nothing is remembered yet.
    pub fn new(limits: Limits) -> Self {
        Self { limits, peers: BTreeMap::new(), nonces: 0, admitted: 0 }
    }

    /// What a store kept: all marks, and all nonces by the number of their admission. None of it is given up here: if there
    /// is room for less than before, the next admission gives up the nonces that are too many, and marks stay for ever.
    pub fn restore(
        limits: Limits,
        marks: impl IntoIterator<Item = (Fingerprint, Mark)>,
        nonces: impl IntoIterator<Item = (u64, Fingerprint, Nonce)>,
    ) -> Result<Self, Unfit> {
        let mut inbox = Self::new(limits);
        inbox.peers.extend(marks.into_iter().map(|(peer, mark)| (peer, Peer::new(mark))));
        for (number, peer, nonce) in nonces {
            let known = inbox.peers.get_mut(&peer).filter(|known| !known.seen.contains(&nonce));
            let (Some(known), true) = (known, number >= inbox.admitted) else { return Err(Unfit { number }) };
            known.queue.push_back((number, nonce));
            known.seen.insert(nonce);
            inbox.nonces += 1;
            inbox.admitted = number.saturating_add(1);
        }
        Ok(inbox)
    }

    /// Admits an envelope and remembers it; or refuses it and changes nothing.
    pub fn admit(&mut self, arrival: &Arrival) -> Result<Admitted, Refusal> {
        let Arrival { peer, nonce, .. } = *arrival;
        self.check(arrival)?;
        let (mark, number) = (arrival.mark(), self.admitted);
        let known = self.peers.entry(peer).or_insert_with(|| Peer::new(mark));
        known.mark = mark;
        known.queue.push_back((number, nonce));
        known.seen.insert(nonce);
        self.admitted += 1;
        self.nonces += 1;
        let forgotten = std::iter::from_fn(|| self.forget_one()).collect();
        Ok(Admitted { peer, mark, nonce, number, forgotten })
    }

    fn check(&self, arrival: &Arrival) -> Result<(), Refusal> {
        let Some(known) = self.peers.get(&arrival.peer) else {
            let peers = self.peers.len();
            return if peers < self.limits.peers_max { Ok(()) } else { Err(Refusal::TooManyPeers { peers }) };
        };
        if known.seen.contains(&arrival.nonce) {
            return Err(Refusal::Replay);
        }
        let (mark, found) = (known.mark, arrival.mark());
        if found.epoch < mark.epoch {
            return Err(Refusal::StaleEpoch { newest: mark.epoch, found: found.epoch });
        }
        if found.epoch == mark.epoch && found.sequence <= mark.sequence {
            return Err(Refusal::BadSequence { wanted: mark.sequence.saturating_add(1), found: found.sequence });
        }
        Ok(())
    }

    /// If there are too many: the sender that has the most gives up its oldest; of two with as many, the one whose oldest is older.
    fn forget_one(&mut self) -> Option<u64> {
        if self.nonces <= self.limits.nonces_max {
            return None;
        }
        let has = |peer: &Peer| (peer.queue.len(), std::cmp::Reverse(peer.queue.front().map(|(number, _)| *number)));
        let peer = self.peers.values_mut().max_by_key(|peer| has(peer))?;
        let (number, nonce) = peer.queue.pop_front()?;
        peer.seen.remove(&nonce);
        self.nonces -= 1;
        Some(number)
    }

    /// Whether a nonce of this sender is remembered.
    pub fn has_seen(&self, peer: &Fingerprint, nonce: &Nonce) -> bool {
        self.peers.get(peer).is_some_and(|peer| peer.seen.contains(nonce))
    }

    /// How far a sender has come.
    pub fn high_water(&self, peer: &Fingerprint) -> Option<Mark> {
        self.peers.get(peer).map(|peer| peer.mark)
    }

    /// How many nonces are remembered.
    pub fn nonces(&self) -> usize {
        self.nonces
    }
}
