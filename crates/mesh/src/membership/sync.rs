//! Anti-entropy: a sample of what this node knows, to one other node at a time.
//!
//! Both go around the ring of all known nodes instead of being drawn: a draw leaves somebody out for long, a ring is through
//! after n rounds, and each node starts behind itself, so that they do not all come to one.

use super::{
    frame::{Frame, SAMPLE_MAX, Sample},
    identity::Identity,
    node::Membership,
};
use foca::Member;
use rand_core::Rng;
use relaymesh_core::id::NodeId;
use std::collections::BTreeMap;

/// Where the two rings are.
#[derive(Debug)]
pub(super) struct Ring {
    target: NodeId,
    sample: NodeId,
}

impl Ring {
    pub(super) const fn new(node: NodeId) -> Self {
        Self { target: node, sample: node }
    }
}

impl<R: Rng> Membership<R> {
    /// Sends a sample to the next node of the ring, whether it is thought to be alive or not.
    pub(super) fn sync(&mut self) {
        let Some(target) = self.view.after(self.ring.target) else { return };
        self.ring.target = target;
        self.send_sample(target, true);
    }

    pub(super) fn send_sample(&mut self, to: NodeId, answer_wanted: bool) {
        let from = *self.swim.identity();
        let members = self.sample(from, to);
        self.transmit(to, &Frame::Sync(Sample { from, answer_wanted, members }));
    }

    /// The sender, the receiver, and then the next members of the ring.
    fn sample(&mut self, from: Identity, to: NodeId) -> Vec<Member<Identity>> {
        let known: BTreeMap<NodeId, &Member<Identity>> =
            self.swim.iter_membership_state().map(|member| (member.id().node, member)).collect();
        let size = self.config.gossip_sync_sample_size.clamp(1, SAMPLE_MAX - 2);
        let mut members = vec![Member::alive(from)];
        members.extend(known.get(&to).map(|member| (*member).clone()));
        let last = self.ring.sample;
        let behind = known.range(last..).skip_while(|(node, _)| **node == last);
        let around = behind.chain(known.range(..=last));
        for (node, member) in around.take(size) {
            self.ring.sample = *node;
            if *node != to && *node != from.node {
                members.push((*member).clone());
            }
        }
        members
    }

    /// Takes in another node's sample, and gives one back if it wants one.
    pub(super) fn handle_sample(&mut self, sample: Sample, now_ms: u64) {
        let state = |member: &Member<Identity>| (*member.id(), member.incarnation(), member.state());
        let before: BTreeMap<NodeId, _> =
            self.swim.iter_membership_state().map(|member| (member.id().node, state(member))).collect();
        let own = self.swim.identity().node;
        let to = sample.from.node;
        let told = self.swim.apply_many(sample.members.into_iter(), true, &mut self.asked);
        self.counted(told);
        self.settle(now_ms);
        let news = |member: &&Member<Identity>| before.get(&member.id().node) != Some(&state(member));
        let merged = self.swim.iter_membership_state().filter(news).count();
        self.counters.anti_entropy_merged += merged as u64;
        if sample.answer_wanted && to != own {
            self.send_sample(to, false);
        }
    }
}
