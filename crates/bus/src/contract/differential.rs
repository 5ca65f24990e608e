//! Two mesh stores, one random history, every answer compared.
//!
//! A seed derives the whole history: envelopes that come twice and out of order, blocks, epochs, an outbox that runs full, and
//! restarts of either store when it likes.

use super::{
    MeshBackend,
    world::{World, item},
};
use crate::outbound::{Item, OutboxId};
use relaymesh_store::contract::Dice;
use std::fmt::Debug;

const CALLS: u64 = 400;

/// Plays one history per seed on a fresh `A` and a fresh `B`, and stops at the first answer that differs.
pub fn differential<A: MeshBackend, B: MeshBackend>(seeds: impl IntoIterator<Item = u64>) {
    for seed in seeds {
        let mut dice = Dice(seed);
        let (mut a, mut b) = (World::<A>::new(), World::<B>::new());
        let mut now_ms = 0;
        for call in 0..CALLS {
            now_ms += dice.below(4);
            let step = Step::draw(&mut dice, now_ms);
            let same = |what: &str, one: String, other: String| {
                assert_eq!(one, other, "{what} (seed {seed}, call {call}, {step:?})");
            };
            same("the answers differ", step.play(&a), step.play(&b));
            if dice.below(20) == 0 {
                a.restart();
            }
            if dice.below(20) == 0 {
                b.restart();
            }
            same("the stores differ", state(&a, now_ms), state(&b, now_ms));
        }
    }
}

/// One call, with all that it needs.
#[derive(Debug)]
enum Step {
    Admit { sender: u8, epoch: u64, sequence: u64, nonce: u64 },
    Reserve(u64),
    Begin(u64),
    Enqueue(Item),
    Fail { id: OutboxId, not_before_ms: u64 },
    Hurry { peer: u8, now_ms: u64 },
    Remove(OutboxId),
    Expire(u64),
}

impl Step {
    fn draw(dice: &mut Dice, now_ms: u64) -> Self {
        let (peer, id) = (dice.below(6) as u8 + 1, OutboxId(dice.below(40)));
        match dice.below(12) {
            0..5 => Self::Admit {
                sender: peer,
                epoch: dice.below(3),
                sequence: now_ms / 4 + dice.below(5) + 1,
                nonce: now_ms + dice.below(9),
            },
            5 => Self::Reserve(dice.below(9)),
            6 => Self::Begin(dice.below(40)),
            7 | 8 => {
                let expires_ms = [now_ms + 50, u64::MAX][dice.index(2)];
                let message = vec![peer; dice.index(40)];
                Self::Enqueue(Item { message, ..item(peer, now_ms + dice.below(20), expires_ms) })
            }
            9 => Self::Fail { id, not_before_ms: now_ms + dice.below(20) },
            10 if dice.below(2) == 0 => Self::Hurry { peer, now_ms },
            10 => Self::Remove(id),
            _ => Self::Expire(now_ms),
        }
    }

    fn play<B: MeshBackend>(&self, world: &World<B>) -> String {
        match self {
            Self::Admit { sender, epoch, sequence, nonce } => said(world.admit(*sender, *epoch, *sequence, *nonce)),
            Self::Reserve(count) => said(world.reserve(*count)),
            Self::Begin(epoch) => said(world.begin(*epoch)),
            Self::Enqueue(item) => said(world.enqueue(item.clone())),
            Self::Fail { id, not_before_ms } => said(world.fail(*id, "unreachable", *not_before_ms)),
            Self::Hurry { peer, now_ms } => {
                world.hurry(*peer, *now_ms);
                String::new()
            }
            Self::Remove(id) => said(world.remove(*id)),
            Self::Expire(now_ms) => said(world.expire(*now_ms)),
        }
    }
}

fn said(answer: impl Debug) -> String {
    format!("{answer:?}")
}

/// Every answer that changes nothing.
fn state<B: MeshBackend>(world: &World<B>, now_ms: u64) -> String {
    let marks: Vec<_> = (1..=6).map(|sender| world.mark(sender)).collect();
    let seen: Vec<_> = (1..=6).flat_map(|sender| (0..9).map(move |back| (sender, back))).collect();
    let seen: Vec<bool> =
        seen.iter().map(|(sender, back)| world.has_seen(*sender, (now_ms + 8).saturating_sub(*back))).collect();
    let due = [now_ms, now_ms + 60].map(|now_ms| world.due(now_ms));
    said((marks, seen, world.sender(), due))
}
