//! What the write queue promises: the table exactly, which failures wait, stories of replay, and random lives.

mod failures;
mod replays;
mod table_exact;
mod walks;

use super::*;
use crate::{
    fence::FenceToken,
    reconcile::{Decision, Outcome, Precondition, Why},
};
use relaymesh_bus::write_class::EntityType;
use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    id::{IntentId, NodeId, WriteId},
    op::WriteClass,
};

fn node(number: u128) -> NodeId {
    NodeId::new(1, number)
}

fn id(number: u128) -> WriteId {
    WriteId::new(1, number)
}

/// Write number `number`, made at `wall_ms` for `target`.
fn write(number: u8, wall_ms: u64, target: u128) -> Intent {
    Intent {
        id: id(number.into()),
        intent: IntentId::new(1, number.into()),
        created: Hlc { wall_ms, logical: 0, node: node(1) },
        origin: node(1),
        target: node(target),
        namespace: "default".parse().unwrap(),
        entity: EntityType::Task,
        entity_id: "tsk_1".into(),
        class: WriteClass::Strong,
        fence: Some(FenceToken { epoch: 3, coordinator: node(9), sequence: number.into() }),
        precondition: Precondition::default(),
        content: Hash([number; 32]),
    }
}

fn decided(outcome: Outcome) -> Decision {
    Decision { outcome, why: Why::Clear }
}

/// One pending row, number 1 for node 2, due at once.
fn one() -> Queue {
    let mut queue = Queue::default();
    queue.enqueue(write(1, 10, 2), Failure::ConnectionRefused, 10, 0).unwrap();
    queue
}
