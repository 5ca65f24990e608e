//! Sealing: the coordinator says up to where everybody has come.

use super::{
    command::{Command, Refused},
    node::Peer,
};
use crate::{
    feed::{Branch, FeedId, FeedLog, Place},
    register::{Register, SEAL_HEADS_MAX, SealWord, WORDS_MAX},
};
use rand_core::Rng;
use relaymesh_core::{
    hlc::Hlc,
    id::{NodeId, OpId},
    op::{Body, ChainHead, Scope},
    register,
};

/// A member that holds a seal up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behind {
    /// Who.
    pub node: NodeId,
    /// Up to when this node knows all that it wrote; none: it never wrote anything.
    pub as_of: Option<Hlc>,
}

/// Why nothing more is sealed here for now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsealed {
    /// It is another node's to seal.
    #[error("{coordinator} seals, not this node")]
    NotCoordinator {
        /// Who does.
        coordinator: NodeId,
    },
    /// Something has to be folded again first.
    #[error("{scopes} scopes have to be folded again")]
    Folding {
        /// How many.
        scopes: usize,
    },
    /// This node or a member lost its memory, and it is not known yet what the others know of it.
    #[error("somebody lost its memory, and not all that {node} wrote or has is known here yet")]
    Forgetful {
        /// Who has to be heard; this node itself: nobody was heard who knew of it.
        node: NodeId,
    },
    /// Something that was sealed before is not here.
    #[error("what was sealed of {} is not here", head.origin)]
    Missing {
        /// Up to where it was sealed.
        head: ChainHead,
    },
    /// A member has not come further. If it is gone for good, the owner freezes it.
    #[error("{} has not come further", behind.node)]
    Behind {
        /// Which, and up to when all of it is known.
        behind: Behind,
    },
    /// Nothing was written since.
    #[error("nothing was written since the last seal")]
    NothingNew,
    /// More feeds were begun than a seal has room for.
    #[error("{feeds} feeds were begun, and a seal has room for {SEAL_HEADS_MAX}")]
    TooMany {
        /// How many.
        feeds: usize,
    },
    /// The register has no room for another one of this node's.
    #[error("there are as many seals as there may be of this node's, {WORDS_MAX} at most with the owner's own")]
    Full,
}

/// The feed of a node that never lost its memory.
pub(super) const FIRST_EPOCH: u32 = 1;
/// The period doubles whenever this part of the register's room is used up: so the room lasts for decades, and old meshes seal less often.
const ROOM_PARTS: usize = 16;

/// A seal that could be said now.
struct Next {
    upto: Hlc,
    heads: Vec<ChainHead>,
}

impl<R: Rng> Peer<R> {
    /// Why nothing more is sealed here, if that is so.
    pub fn unsealed(&self) -> Option<Unsealed> {
        self.next_seal().err()
    }

    /// After how long the coordinator looks again.
    pub(super) fn seal_period_ms(&self) -> u64 {
        let seals = self.fold.registers().map_or(0, |registers| registers.seals().all().len());
        let doublings = (seals * ROOM_PARTS / WORDS_MAX).min(ROOM_PARTS) as u32;
        self.config.seal_period_ms.saturating_mul(1 << doublings)
    }

    /// The members from which least is known, the one that holds a seal up first.
    pub fn behind(&self, now: Hlc) -> Vec<Behind> {
        let members = self.fold.registers().map(|registers| registers.members(now)).unwrap_or_default();
        let mut behind: Vec<Behind> =
            members.iter().map(|member| Behind { node: member.node, as_of: self.passed(member.node) }).collect();
        behind.sort_by_key(|behind| (behind.as_of, behind.node));
        behind
    }

    /// Tells the fold up to when every member has said all that it will say.
    pub(super) fn pass(&mut self) {
        let now = self.clock.last();
        let slowest = self.behind(now).first().and_then(|behind| behind.as_of);
        if let Some(as_of) = slowest.filter(|_| self.unheard(now).is_none()) {
            self.fold.pass(as_of);
        }
    }

    /// For how long nothing was heard from the coordinator by now. It is told, and nobody is ever put in its place but by the owner (L6).
    pub fn coordinator_quiet_ms(&self, now_ms: u64) -> Option<u64> {
        let now = Hlc { wall_ms: now_ms, logical: 0, node: self.node };
        let by_ops_ms = self.fold.coordinator_quiet_ms(now);
        // Whoever has nothing to say promises so, again and again, and is not quiet.
        let promised = self.fold.registers().and_then(|registers| self.passed(registers.coordinator(now)));
        let by_promises_ms = promised.map(|as_of| now_ms.saturating_sub(as_of.wall_ms));
        by_ops_ms.into_iter().chain(by_promises_ms).min()
    }

    /// Seals what every member's feed has passed, if this node coordinates and there is anything new in it.
    pub(super) fn seal(&mut self, now_ms: u64) -> Option<Result<OpId, Refused>> {
        let Next { upto, heads } = self.next_seal().ok()?;
        let command = Command {
            author: self.name.clone(),
            source: self.name.clone(),
            namespace: self.namespace.clone(),
            scope: Scope::Register(Register::Seals),
            causal_deps: Vec::new(),
            body: Body::Register(register::Body::Seal { upto, heads }),
        };
        Some(self.handle_command(command, now_ms))
    }

    fn next_seal(&self) -> Result<Next, Unsealed> {
        let now = self.clock.last();
        let Some(registers) = self.fold.registers() else { return Err(Unsealed::NothingNew) };
        let coordinator = registers.coordinator(now);
        if coordinator != self.node {
            return Err(Unsealed::NotCoordinator { coordinator });
        }
        if let scopes @ 1.. = self.fold.lag() {
            return Err(Unsealed::Folding { scopes });
        }
        if let Some(node) = self.unheard(now) {
            return Err(Unsealed::Forgetful { node });
        }
        if let Some(head) = self.fold.missing().first().copied() {
            return Err(Unsealed::Missing { head });
        }
        let last = registers.seals().last();
        let Some(behind) = self.behind(now).first().copied() else { return Err(Unsealed::NothingNew) };
        let Some(upto) = behind.as_of.filter(|upto| last.is_none_or(|last| *upto > last.upto)) else {
            return Err(Unsealed::Behind { behind });
        };
        if !self.fold.has_news(last.map(|last| last.upto), upto) {
            return Err(Unsealed::NothingNew);
        }
        if registers.seals().all().len() >= WORDS_MAX || !registers.has_room(Register::Seals, self.node, now) {
            return Err(Unsealed::Full);
        }
        let heads = self.heads(upto, last);
        match heads.len() {
            0 => Err(Unsealed::NothingNew),
            feeds if feeds > SEAL_HEADS_MAX => Err(Unsealed::TooMany { feeds }),
            _ => Ok(Next { upto, heads }),
        }
    }

    /// Whoever has to be heard before anything is agreed on, where somebody writes another feed than its first. It may have forgotten everything, its
    /// own words among it, and what it promises now says nothing of them. So all members have to be heard since. The owner's node would know of no
    /// members then, so it needs the feed that it wrote before; any other may have died before anybody heard of that.
    pub(super) fn unheard(&self, now: Hlc) -> Option<NodeId> {
        let members: Vec<NodeId> = self.behind(now).into_iter().map(|behind| behind.node).collect();
        let is_later = |feed: FeedId| feed.origin_epoch != FIRST_EPOCH;
        if is_later(self.feed) {
            let own = self.log.feeds(Some(FeedId { origin: self.node, origin_epoch: 0 }), 1);
            let has_past = own.first().is_some_and(|feed| feed.origin == self.node && *feed < self.feed);
            let is_owner = self.fold.registers().is_some_and(|registers| self.signer.public_key() == registers.root());
            if (is_owner && !has_past) || !self.sync.has_any_agreed() {
                return Some(self.node);
            }
        } else if !members.iter().any(|node| self.newest_feed(*node).is_some_and(is_later)) {
            return None;
        }
        members.into_iter().find(|node| *node != self.node && !self.sync.has_agreed(*node))
    }

    /// Up to when all is here that a node wrote, and will ever write.
    fn passed(&self, node: NodeId) -> Option<Hlc> {
        self.log.promised(self.newest_feed(node)?)
    }

    /// The feed that a node writes now.
    fn newest_feed(&self, node: NodeId) -> Option<FeedId> {
        let feeds = self.log.feeds(Some(FeedId { origin: node, origin_epoch: 0 }), crate::feed::FEEDS_PER_ORIGIN_MAX);
        feeds.into_iter().rfind(|feed| feed.origin == node)
    }

    /// Where each feed stood at a time. Of a liar's feed nothing is sealed from where it lied on, but for what was sealed before.
    fn heads(&self, upto: Hlc, last: Option<&SealWord>) -> Vec<ChainHead> {
        let mut heads = Vec::new();
        let mut after = None;
        loop {
            let feeds = self.log.feeds(after, SEAL_HEADS_MAX);
            let Some(end) = feeds.last().copied() else { return heads };
            after = Some(end);
            heads.extend(feeds.into_iter().filter_map(|feed| {
                let sealed = last.and_then(|last| last.head(feed.origin, feed.origin_epoch)).copied();
                let now = self.head_of(feed, upto);
                match (sealed, now) {
                    (Some(sealed), Some(now)) if now.seq <= sealed.seq => Some(sealed),
                    (sealed, now) => now.or(sealed),
                }
            }));
        }
    }

    /// The newest op of a feed that is dated up to a time and lies before any lie.
    fn head_of(&self, feed: FeedId, upto: Hlc) -> Option<ChainHead> {
        let tip = self.log.tips(feed).first().map(|tip| tip.head.seq)?;
        let (mut known, mut end) = (0, self.log.forked_at(feed).unwrap_or(tip).min(tip));
        while known < end {
            let middle = known + (end - known).div_ceil(2);
            let dated = self.log.held(feed, Branch::TRUNK, middle).and_then(|held| held.hlc);
            if dated.is_some_and(|dated| dated <= upto) { known = middle } else { end = middle - 1 }
        }
        let held = self.log.held(feed, Branch::TRUNK, known)?;
        (known > 0).then(|| feed.head(Place { seq: known, hash: held.hash }))
    }
}
