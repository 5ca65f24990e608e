//! Commits: what is to be durable before anybody hears of it.

use super::node::Peer;
use crate::{
    feed::{FeedId, Linked},
    hlc::Hlc,
    op::Scope,
    sync::Accepted,
};
use rand_core::Rng;

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
        let taken: Vec<Accepted> = std::iter::from_fn(|| self.sync.poll_accepted()).collect();
        let ops = std::mem::take(&mut self.open);
        let promise_is_due = self.promise_ms <= now_ms;
        if ops.is_empty() && taken.is_empty() && !promise_is_due {
            return None;
        }
        // Whatever is written from now on is dated later than this.
        let as_of = if ops.is_empty() && !promise_is_due { None } else { self.clock.tick(now_ms).ok() };
        if as_of.is_some() {
            self.promise_ms = now_ms.saturating_add(self.config.promise_period_ms);
        }
        self.is_writing = true;
        Some(Commit { ops, as_of, taken })
    }

    /// It is durable: the log has it, others are told, and what others wrote is folded.
    pub fn handle_committed(&mut self, commit: Commit, now_ms: u64) {
        self.is_writing = false;
        self.write(&commit, now_ms);
        let feeds: Vec<FeedId> = commit.taken.iter().map(|accepted| accepted.news.feed).collect();
        let taken: Vec<Linked> = commit.taken.into_iter().flat_map(|accepted| accepted.news.ops).collect();
        if !commit.ops.is_empty() || taken.iter().any(|linked| matches!(linked.op.header.scope, Scope::Register(_))) {
            self.roster.look_again();
        }
        for linked in &taken {
            // A stamp that is too far ahead was held back by sync.
            let _ = self.clock.receive(linked.op.header.hlc, now_ms, self.config.max_clock_drift_ms);
        }
        self.fold.insert_all(taken);
        self.fold.settle(self.config.fold_batch);
        self.fetch_missing(now_ms);
        self.review(now_ms);
        for feed in feeds {
            self.with_sync(now_ms, |sync, around| sync.handle_taken(feed, around));
        }
        if commit.as_of.is_some() {
            self.sync.handle_local_news(self.feed, now_ms);
        }
    }

    /// Puts a commit into the log and does nothing else: what is left of a node that is killed right after.
    pub fn write(&mut self, commit: &Commit, _now_ms: u64) {
        for accepted in &commit.taken {
            if self.log.take(accepted.news.clone()).is_err() {
                self.sync.handle_put_back(accepted.news.feed);
            }
        }
        if let Some(as_of) = commit.as_of {
            let signed = self.log.author(&self.signer, self.feed.origin_epoch, commit.ops.clone(), as_of);
            debug_assert!(signed.is_ok(), "a node's own ops follow each other: {signed:?}");
        }
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
