//! Random lives against a target that reconciles: answers get lost, nodes start again, coordinators change. Whatever
//! happens, each write is applied at most once, in the order of its author, and in the end every row has an answer.

use super::*;
use crate::{
    fence::Gate,
    reconcile::{Entity, land},
};
use proptest::prelude::*;

/// What happens in one moment.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// A write is tried, fails like this, and is queued or not.
    Write { failure: Failure, reached: bool },
    /// The next row is sent, and answered.
    Answered,
    /// The next row is sent and lands, and the answer is lost.
    Lost,
    /// The next row is sent and does not arrive.
    Unsent,
    /// The next row is sent and does not arrive, and the node starts again from its rows.
    Crash { reached: bool },
    /// The coordinator changes.
    Epoch,
    /// An operator redrives whatever failed.
    Redrive,
}

fn event() -> impl Strategy<Value = Event> {
    let failure = prop::sample::select(vec![
        Failure::Timeout,
        Failure::QuorumTimeout,
        Failure::ConnectionReset,
        Failure::ConnectionRefused,
        Failure::Http(503),
        Failure::Http(429),
        Failure::Http(409),
    ]);
    prop_oneof![
        4 => (failure, any::<bool>()).prop_map(|(failure, reached)| Event::Write { failure, reached }),
        3 => Just(Event::Answered),
        2 => Just(Event::Lost),
        1 => Just(Event::Unsent),
        2 => any::<bool>().prop_map(|reached| Event::Crash { reached }),
        1 => Just(Event::Epoch),
        1 => Just(Event::Redrive),
    ]
}

/// A node with its queue, and the target that it writes to.
#[derive(Default)]
struct World {
    queue: Queue,
    entity: Entity,
    gate: Gate,
    epoch: u64,
    written: u8,
    now_ms: u64,
    /// The contents in the order in which they took effect.
    landed: Vec<u8>,
}

impl World {
    fn land(&mut self, arriving: &crate::reconcile::Arriving) -> Decision {
        let decision = land(&mut self.entity, &mut self.gate, arriving);
        if decision.outcome == Outcome::Applied {
            self.landed.push(arriving.content.0[0]);
        }
        decision
    }

    fn send(&mut self) -> Option<(WriteId, crate::reconcile::Arriving)> {
        let id = self.queue.next(node(2), self.now_ms)?.write.id;
        let arriving = self.queue.begin(id, self.now_ms).unwrap().arriving();
        Some((id, arriving))
    }

    fn play(&mut self, event: Event) {
        self.now_ms += 1;
        match event {
            Event::Write { failure, reached } if self.written < u8::MAX => {
                self.written += 1;
                let fence = FenceToken { epoch: self.epoch, coordinator: node(9), sequence: self.written.into() };
                let write = Intent { fence: Some(fence), ..write(self.written, self.now_ms, 2) };
                // What is first in line may have reached the target before the failure.
                if failure.is_indeterminate() && reached && self.queue.depth().pending_writes == 0 {
                    let entry = {
                        let mut probe = Queue::default();
                        probe.enqueue(write.clone(), failure, 0, 0).unwrap();
                        probe.row(write.id).unwrap().arriving()
                    };
                    self.land(&entry);
                }
                self.queue.enqueue(write, failure, self.now_ms, 0).unwrap();
            }
            Event::Write { .. } => {}
            Event::Answered => {
                if let Some((id, arriving)) = self.send() {
                    let decision = self.land(&arriving);
                    self.queue.settle(id, decision, self.now_ms).unwrap();
                }
            }
            Event::Lost => {
                if let Some((id, arriving)) = self.send() {
                    self.land(&arriving);
                    self.queue.postpone(id, Failure::Timeout, self.now_ms, 1).unwrap();
                }
            }
            Event::Unsent => {
                if let Some((id, _)) = self.send() {
                    self.queue.postpone(id, Failure::ConnectionRefused, self.now_ms, 1).unwrap();
                }
            }
            Event::Crash { reached } => {
                let sent = self.send();
                if let Some((_, arriving)) = sent.filter(|_| reached) {
                    self.land(&arriving);
                }
                let rows: Vec<Entry> = self.queue.rows().cloned().collect();
                self.queue = Queue::load(rows).unwrap();
                self.queue.recover(self.now_ms).unwrap();
            }
            Event::Epoch => {
                self.epoch += 1;
                self.gate.advance(self.epoch, node(9));
            }
            Event::Redrive => {
                let failed = |entry: &&Entry| entry.status == Status::Failed;
                let ids: Vec<_> = self.queue.rows().filter(failed).map(|entry| entry.write.id).collect();
                for id in ids {
                    self.queue.redrive(id, None, self.now_ms).unwrap();
                }
            }
        }
        self.queue.validate().unwrap();
    }
}

proptest! {
    #[test]
    fn f8_whatever_happens_each_write_lands_at_most_once_and_every_row_gets_an_answer(
        events in prop::collection::vec(event(), 0..60),
    ) {
        let mut world = World { epoch: 1, ..World::default() };
        let redriven = events.iter().any(|event| matches!(event, Event::Redrive));
        let mut attempts = std::collections::BTreeMap::new();
        for event in events {
            world.play(event);
            for entry in world.queue.rows() {
                let before = attempts.insert(entry.write.id, entry.attempt_count);
                prop_assert!(before.is_none_or(|before| before <= entry.attempt_count));
            }
        }
        // The world heals: everything open is sent and answered.
        while world.queue.depth().pending_writes > 0 {
            world.now_ms += 10;
            world.play(Event::Answered);
        }
        let mut once = world.landed.clone();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), world.landed.len(), "nothing lands twice");
        if !redriven {
            prop_assert!(world.landed.is_sorted(), "in the order of the author: {:?}", world.landed);
        }
        for entry in world.queue.rows() {
            let landed = world.landed.contains(&entry.write.content.0[0]);
            prop_assert!(!entry.status.is_open());
            // A refusal at the first try may be wrong about nothing: those were never sent.
            prop_assert_eq!(landed, entry.status == Status::Applied, "{:?}", entry);
        }
    }
}
