//! Sealing: the coordinator says up to where everybody has come.

use super::{
    command::{Command, Refused},
    node::Peer,
};
use crate::{
    feed::{Branch, FeedId, FeedLog, Place},
    hlc::Hlc,
    id::{NodeId, OpId},
    op::{Body, ChainHead, Scope},
    register::{Register, SEAL_HEADS_MAX, SealWord},
};
use rand_core::Rng;

/// A member that holds a seal up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behind {
    /// Who.
    pub node: NodeId,
    /// Up to when this node knows all that it wrote; none: it never wrote anything.
    pub as_of: Option<Hlc>,
}

impl<R: Rng> Peer<R> {
    /// The members from which least is known, the one that holds a seal up first.
    pub fn behind(&self, now: Hlc) -> Vec<Behind> {
        let members = self.fold.registers().map(|registers| registers.members(now)).unwrap_or_default();
        let mut behind: Vec<Behind> =
            members.iter().map(|member| Behind { node: member.node, as_of: self.passed(member.node) }).collect();
        behind.sort_by_key(|behind| (behind.as_of, behind.node));
        behind
    }

    /// Seals what every member's feed has passed, if this node coordinates and there is anything new in it.
    pub(super) fn seal(&mut self, now_ms: u64) -> Option<Result<OpId, Refused>> {
        let now = self.clock.last();
        let registers = self.fold.registers()?;
        if registers.coordinator(now) != self.node || self.fold.lag() > 0 {
            return None;
        }
        let last = registers.seals().last().cloned();
        let upto = self.behind(now).first()?.as_of?;
        if last.as_ref().is_some_and(|last| upto <= last.upto) || !self.fold.missing().is_empty() {
            return None;
        }
        if !self.fold.has_news(last.as_ref().map(|last| last.upto), upto) {
            return None;
        }
        let heads = self.heads(upto, last.as_ref());
        if heads.len() > SEAL_HEADS_MAX || heads.is_empty() {
            return None;
        }
        let command = Command {
            author: self.name.clone(),
            source: self.name.clone(),
            namespace: self.namespace.clone(),
            scope: Scope::Register(Register::Seals),
            causal_deps: Vec::new(),
            body: Body::Seal { upto, heads },
        };
        Some(self.handle_command(command, now_ms))
    }

    /// Up to when all is here that a node wrote, and will ever write.
    fn passed(&self, node: NodeId) -> Option<Hlc> {
        let newest = FeedId { origin: node, origin_epoch: u32::MAX };
        let feeds = self.log.feeds(Some(FeedId { origin: node, origin_epoch: 0 }), crate::feed::FEEDS_PER_ORIGIN_MAX);
        let newest = feeds.into_iter().rfind(|feed| *feed <= newest && feed.origin == node)?;
        self.log.tips(newest).first().map(|tip| tip.head.as_of)
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
            let dated = self.log.held(feed, Branch::Trunk, middle).and_then(|held| held.hlc);
            if dated.is_some_and(|dated| dated <= upto) { known = middle } else { end = middle - 1 }
        }
        let held = self.log.held(feed, Branch::Trunk, known)?;
        (known > 0).then(|| feed.head(Place { seq: known, hash: held.hash }))
    }
}
