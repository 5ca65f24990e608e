//! Commits: what is to be durable before anybody hears of it.

use super::{node::Peer, seal::FIRST_EPOCH};
use crate::{
    feed::{Admitted, FeedId, FeedLog as _, Linked},
    sync::Accepted,
};
use rand_core::Rng;
use relaymesh_core::{hlc::Hlc, op::Scope};

/// What is to be written at one go: this node's own ops with their signed end, and runs of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// This node's own ops.
    pub ops: Vec<Vec<u8>>,
    /// What is promised with them, or without any.
    pub as_of: Option<Hlc>,
    /// What others wrote.
    pub taken: Vec<Accepted>,
}

impl<R: Rng> Peer<R> {
    /// What is to be written next, if there is anything and nothing is under way.
    pub fn poll_commit(&mut self, now_ms: u64) -> Option<Commit> {
        if self.is_writing {
            return None;
        }
        let taken: Vec<Accepted> = std::iter::from_fn(|| self.next_accepted()).collect();
        let writes = !self.is_forgetful && (!self.open.is_empty() || self.promise_ms <= now_ms);
        // Whatever is written from now on is dated later than this. Without a stamp own ops wait for the next commit.
        let as_of = writes.then(|| self.clock.tick(now_ms).ok()).flatten();
        if as_of.is_none() && taken.is_empty() {
            return None;
        }
        let mut ops = Vec::new();
        if as_of.is_some() {
            ops = std::mem::take(&mut self.open);
            self.promise_ms = now_ms.saturating_add(self.config.promise_period_ms);
        }
        self.is_writing = true;
        Some(Commit { ops, as_of, taken })
    }

    /// The next run of others. Nobody else writes this node's own feed: whoever has more of it than the node itself heard it from a life that the
    /// node has forgotten, and whatever the node went on to write would fork it.
    fn next_accepted(&mut self) -> Option<Accepted> {
        loop {
            let accepted = self.sync.poll_accepted()?;
            if accepted.news.feed != self.feed {
                return Some(accepted);
            }
            self.is_forgetful = true;
            self.sync.handle_put_back(self.feed);
        }
    }

    /// It is durable: the log has it, others are told, and what others wrote is folded.
    pub fn handle_committed(&mut self, commit: Commit, now_ms: u64) {
        self.is_writing = false;
        let is_news = commit.as_of.is_some();
        let begins = |feed: FeedId| feed.origin_epoch != FIRST_EPOCH && self.log.tips(feed).is_empty();
        let begins_again = commit.taken.iter().any(|accepted| begins(accepted.news.feed));
        let has_own = !commit.ops.is_empty();
        let taken = self.write(commit);
        let feeds: Vec<FeedId> = taken.iter().map(|news| news.feed).collect();
        let taken: Vec<Linked> = taken.into_iter().flat_map(|news| news.ops).collect();
        if has_own || taken.iter().any(|linked| matches!(linked.op.header.scope, Scope::Register(_))) {
            self.roster.look_again();
        }
        // What this node promised in an earlier life binds it, too.
        let promised = feeds.iter().filter(|feed| feed.origin == self.node).filter_map(|feed| self.log.promised(*feed));
        for heard in taken.iter().map(|linked| linked.op.header.hlc).chain(promised) {
            // A stamp that is too far ahead was held back by sync.
            let _ = self.clock.receive(heard, now_ms, self.config.max_clock_drift_ms);
        }
        self.fold.insert_all(taken);
        self.fold.settle(self.config.fold_batch);
        if begins_again {
            self.sync.handle_another_life();
        }
        self.pass();
        self.fetch_missing(now_ms);
        self.review(now_ms);
        for feed in feeds {
            self.with_sync(now_ms, |sync, around| sync.handle_taken(feed, around));
        }
        if is_news {
            self.sync.handle_local_news(self.feed, now_ms);
        }
    }

    /// Puts a commit into the log and does nothing else: what is left of a node that is killed right after. What of others the log has taken.
    pub fn write(&mut self, commit: Commit) -> Vec<Admitted> {
        let mut taken = Vec::new();
        for Accepted { news, .. } in commit.taken {
            match self.log.take(news.clone()) {
                Ok(()) => taken.push(news),
                Err(_) => self.sync.handle_put_back(news.feed),
            }
        }
        if let Some(as_of) = commit.as_of {
            let signed = self.log.author(&self.signer, self.feed.origin_epoch, commit.ops, as_of);
            // Nobody else writes to this feed. To go on would lose what is acknowledged next.
            assert!(signed.is_ok(), "a node's own ops follow each other: {signed:?}");
        }
        taken
    }

    /// Asks for heads that were sealed and are not here.
    fn fetch_missing(&mut self, now_ms: u64) {
        for head in self.fold.missing() {
            self.with_sync(now_ms, |sync, around| {
                sync.want(&head, around);
            });
        }
    }
}
