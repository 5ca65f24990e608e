//! Answers to requests for runs. Every peer of the mesh may have every op (L13); content is another matter.

use super::{
    frame::{Frame, Want},
    gate::{Around, Gate},
    locator::newest_common,
    node::Sync,
};
use crate::feed::{FeedId, FeedLog, Place};
use rand_core::Rng;
use relaymesh_core::id::NodeId;

impl<R: Rng> Sync<R> {
    pub(super) fn serve<L: FeedLog, G: Gate>(&mut self, to: NodeId, want: &Want, around: &Around<'_, L, G>) {
        let (feed, place) = FeedId::of(&want.target);
        let lacking = |start| Frame::Lacking { target: want.target, start };
        let Some(branch) = around.log.find(feed, place) else { return self.transmit(to, &lacking(None)) };
        let common = newest_common(around.log, feed, branch, &want.locator);
        let Some(run) = around.log.run(feed, branch, common, want.until_ms) else {
            // No head is near enough: the branch is from another place on.
            let tip = around.log.tips(feed).into_iter().find(|tip| tip.branch == branch && tip.since > common);
            let start = tip.and_then(|tip| Some((tip.since, around.log.held(feed, branch, tip.since)?.hash)));
            return self.transmit(to, &lacking(start.map(|(seq, hash)| Place { seq, hash })));
        };
        let serves = self.peers.get_mut(&to).is_some_and(|peer| peer.budget.serve(run.bytes()));
        if !serves {
            return self.transmit(to, &lacking(None));
        }
        self.counters.served_runs += 1;
        self.transmit(to, &Frame::Run(run));
    }
}
