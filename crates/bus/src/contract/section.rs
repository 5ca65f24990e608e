//! Promises about traffic with other nodes as a section of a batch: what an envelope did and that it was admitted are one (D15).

use crate::{
    contract::{arrived, numbered},
    inbound,
    outbound::{self, Item, OutboxId, Sender},
    sign::Fingerprint,
    store::{Limits, Traffic},
};
use relaymesh_store::{
    Batch, Reader,
    contract::{Backend, Dice, differential_with, gallery::gallery, graph::Graph, world::World},
    traffic::{Changes, Kept, OutboxPut},
};

/// Little room, so that a bound is met soon.
const LIMITS: Limits = Limits {
    inbound: inbound::Limits { nonces_max: 3, peers_max: 4 },
    outbound: outbound::Limits { items_max: 5, items_per_peer_max: 4, bytes_max: 100, attempts_max: 3 },
};

fn item(number: u8) -> Item {
    let (not_before_ms, expires_ms) = (5, u64::MAX);
    Item {
        peer_fp: Fingerprint([number; 32]),
        message: vec![number; 10],
        not_before_ms,
        expires_ms,
        attempts: 0,
        reason: None,
    }
}

/// Commits nothing but these changes.
fn alone<B: Backend>(world: &World<B>, changes: Changes) -> Batch {
    Batch { traffic: changes, ..Batch::new(world.reader().head().unwrap()) }
}

fn kept<B: Backend>(world: &World<B>) -> Kept {
    world.reader().traffic().unwrap()
}

/// Something that happens.
type Step = fn(&mut Traffic, &mut Changes);

/// What a world came to know by these steps, committed one by one.
fn after<B: Backend>(steps: &[Step]) -> (World<B>, Traffic) {
    let (mut world, mut traffic) = (World::<B>::new(), Traffic::new(LIMITS));
    for step in steps {
        let mut changes = Changes::default();
        step(&mut traffic, &mut changes);
        let batch = alone(&world, changes);
        world.try_commit(&batch).unwrap();
    }
    (world, traffic)
}

/// Something of everything.
fn busy<B: Backend>() -> (World<B>, Traffic) {
    after(&[
        |traffic, changes| (1..=5).for_each(|number| traffic.admit(&numbered(number), changes).unwrap()),
        |traffic, changes| traffic.admit(&arrived(2, 7, 1, 1), changes).unwrap(),
        |traffic, changes| assert!(traffic.begin_epoch(3, changes) && traffic.reserve(10, changes).is_ok()),
        |traffic, changes| (1..=3).for_each(|peer| assert!(traffic.enqueue(item(peer), changes).is_ok())),
        |traffic, changes| drop(traffic.fail(OutboxId(1), "unreachable", 90, changes)),
        |traffic, changes| traffic.hurry(&item(1).peer_fp, 60, changes),
        |traffic, changes| drop(traffic.remove(OutboxId(3), changes).unwrap()),
    ])
}

/// Nothing came and nothing went.
pub fn a_new_store_knows_of_no_traffic<B: Backend>() {
    assert_eq!(kept(&World::<B>::new()), Kept::default());
}

/// What the rules noted down is all there is: restored from it, they are as they were.
pub fn what_was_decided_is_restored_from_what_was_kept<B: Backend>() {
    let (mut world, traffic) = busy::<B>();
    assert_eq!(Traffic::restore(LIMITS, kept(&world)), Ok(traffic.clone()));
    world.restart();
    assert_eq!(Traffic::restore(LIMITS, kept(&world)), Ok(traffic));
}

/// Every field comes back, also a time that no clock reaches.
pub fn what_waits_comes_back_whole<B: Backend>() {
    let (world, _) = busy::<B>();
    let tried = Item { attempts: 1, reason: Some("unreachable".to_owned()), not_before_ms: 60, ..item(1) };
    assert_eq!(kept(&world).outbox, [(OutboxId(1), tried), (OutboxId(2), item(2))]);
    assert_eq!(kept(&world).outbox_last, 3, "ids go on behind what went");
}

/// Traffic is a journal: neither the log nor the state moves.
pub fn traffic_alone_moves_no_head<B: Backend>() {
    let mut world = World::<B>::new();
    gallery(&mut world.author);
    let head = world.commit().head;
    let mut changes = Changes::default();
    Traffic::new(LIMITS).admit(&numbered(1), &mut changes).unwrap();
    let batch = alone(&world, changes);
    assert!(!batch.is_empty());
    world.try_commit(&batch).unwrap();
    assert_eq!((world.reader().head().unwrap(), kept(&world).nonces.len()), (head, 1));
}

/// An envelope's effect and its admission are durable together.
pub fn an_effect_and_its_admission_are_one_commit<B: Backend>() {
    let mut world = World::<B>::new();
    let mut batch = effect(&mut world);
    let mut traffic = Traffic::new(LIMITS);
    traffic.admit(&numbered(1), &mut batch.traffic).unwrap();
    traffic.enqueue(item(1), &mut batch.traffic).unwrap();
    world.try_commit(&batch).unwrap();
    world.restart();
    assert_eq!(world.reader().head().unwrap(), batch.head);
    assert_eq!(Traffic::restore(LIMITS, kept(&world)), Ok(traffic));
}

/// A batch that fails for its rows leaves neither op nor nonce nor anything that waits; without the mistake it fits.
pub fn a_refused_batch_leaves_neither_op_nor_nonce<B: Backend>() {
    let mut world = World::<B>::new();
    let mut batch = effect(&mut world);
    let mut traffic = Traffic::new(LIMITS);
    traffic.admit(&numbered(1), &mut batch.traffic).unwrap();
    traffic.reserve(9, &mut batch.traffic).unwrap();
    traffic.enqueue(item(1), &mut batch.traffic).unwrap();
    let mut wrong = batch.clone();
    wrong.purged.push(777_777);
    world.refuse(&wrong);
    assert_eq!((kept(&world), world.reader().counts().unwrap()), (Kept::default(), (0, 0)));
    world.restart();
    assert_eq!(kept(&world), Kept::default());
    world.try_commit(&batch).unwrap();
}

/// A second copy of an envelope that somebody decided on without knowing the first: neither its nonce nor its effect is kept.
pub fn a_second_admission_takes_its_effect_along<B: Backend>() {
    let mut world = World::<B>::new();
    let [first, second] = [1, 2].map(|_| {
        let mut changes = Changes::default();
        Traffic::new(LIMITS).admit(&numbered(1), &mut changes).unwrap();
        changes
    });
    let batch = alone(&world, first);
    world.try_commit(&batch).unwrap();
    let batch = Batch { traffic: second, ..effect(&mut world) };
    world.refuse(&batch);
    assert_eq!(world.reader().counts().unwrap(), (0, 0));
}

/// Commits a mistake, alone and behind something that fits; nothing of either is kept.
fn refuse<B: Backend>(world: &mut World<B>, mistake: Changes) {
    let mut mixed = Changes { sender: Some(Sender { epoch: 9, reserved: 9 }), ..Changes::default() };
    mixed.outbox.push(OutboxPut::Added(OutboxId(90), item(9)));
    mixed.inbound.clone_from(&mistake.inbound);
    mixed.sender = mistake.sender.or(mixed.sender);
    mixed.outbox.extend(mistake.outbox.iter().cloned());
    for changes in [mistake, mixed] {
        let batch = alone(world, changes);
        world.refuse(&batch);
    }
}

/// Whatever stands beside it, a nonce that is there is not put there again, and a mark does not go back.
pub fn nonces_come_once_and_marks_only_grow<B: Backend>() {
    let (mut world, mut traffic) = busy::<B>();
    let mut good = Changes::default();
    traffic.admit(&numbered(6), &mut good).unwrap();
    let last = good.inbound[0].clone();
    let known = kept(&world).nonces.iter().find(|(_, peer, _)| *peer == last.peer).copied().unwrap();
    for wrong in [
        inbound::Admitted { nonce: known.2, ..last.clone() },
        inbound::Admitted { number: known.0, ..last.clone() },
        inbound::Admitted { mark: inbound::Mark { epoch: 0, sequence: 5 }, ..last.clone() },
        inbound::Admitted { forgotten: vec![777], ..last.clone() },
    ] {
        refuse(&mut world, Changes { inbound: vec![wrong], ..Changes::default() });
    }
    let batch = alone(&world, good);
    world.try_commit(&batch).unwrap();
}

/// Numbers that may have been used are not given again, and an epoch that is over does not come back.
pub fn numbers_of_a_sender_only_grow<B: Backend>() {
    let (mut world, _) = busy::<B>();
    for (epoch, reserved) in [(3, 10), (3, 9), (2, 99), (0, 0)] {
        refuse(&mut world, Changes { sender: Some(Sender { epoch, reserved }), ..Changes::default() });
    }
    let batch = alone(&world, Changes { sender: Some(Sender { epoch: 4, reserved: 0 }), ..Changes::default() });
    world.try_commit(&batch).unwrap();
    assert_eq!(kept(&world).sender, Sender { epoch: 4, reserved: 0 });
}

/// An id is given once, also after what it named went; what is not there is neither changed nor removed.
pub fn ids_of_the_outbox_are_given_once<B: Backend>() {
    let (mut world, _) = busy::<B>();
    let changed = |id| OutboxPut::Changed { id, not_before_ms: 1, attempts: 1, reason: None };
    for wrong in [
        OutboxPut::Added(OutboxId(2), item(1)),
        OutboxPut::Added(OutboxId(3), item(1)),
        changed(OutboxId(3)),
        OutboxPut::Removed(OutboxId(3)),
    ] {
        refuse(&mut world, Changes { outbox: vec![wrong], ..Changes::default() });
    }
}

/// What comes, changes and goes within one batch does so in order.
pub fn traffic_of_one_batch_is_in_order<B: Backend>() {
    let (world, traffic) = after::<B>(&[|traffic, changes| {
        let id = traffic.enqueue(item(1), changes).unwrap();
        traffic.fail(id, "unreachable", 7, changes);
        traffic.remove(id, changes);
        traffic.enqueue(item(2), changes).unwrap();
        (1..=9).for_each(|number| traffic.admit(&numbered(number), changes).unwrap());
        (1..=3).for_each(|count| assert!(traffic.reserve(count, changes).is_ok()));
    }]);
    assert_eq!(Traffic::restore(LIMITS, kept(&world)), Ok(traffic));
    let numbers: Vec<u64> = kept(&world).nonces.iter().map(|(number, ..)| *number).collect();
    assert_eq!(numbers, [6, 7, 8]);
}

/// A batch with an op in it.
fn effect<B: Backend>(world: &mut World<B>) -> Batch {
    world.author.submit(&Graph::single());
    world.author.take()
}

/// Plays one history with traffic per seed on a fresh `A` and a fresh `B`, and stops at the first answer that differs.
pub fn differential<A: Backend, B: Backend>(seeds: impl IntoIterator<Item = u64>) {
    differential_with::<A, B, Recorded>(seeds, |traffic, dice, batch| talk(&mut traffic.0, dice, &mut batch.traffic));
}

/// Traffic with the room that a node has.
struct Recorded(Traffic);

impl Default for Recorded {
    fn default() -> Self {
        Self(Traffic::new(Limits::default()))
    }
}

/// Envelopes come, numbers are reserved, and something waits for a peer.
fn talk(traffic: &mut Traffic, dice: &mut Dice, changes: &mut Changes) {
    let peer = dice.below(3) as u8 + 1;
    for _ in 0..dice.below(4) {
        let inbound::Mark { epoch, sequence } =
            traffic.high_water(&arrived(peer, 1, 1, 1).peer()).unwrap_or(inbound::Mark { epoch: 1, sequence: 0 });
        let arrival = arrived(peer, epoch, (sequence + dice.below(3)).max(1), dice.below(1_000));
        // A refusal is a possible answer.
        let _ = traffic.admit(&arrival, changes);
    }
    let id = OutboxId(dice.below(20));
    match dice.below(6) {
        0 => _ = traffic.reserve(dice.below(9), changes),
        1 | 2 => {
            let (peer_fp, message) = (Fingerprint([peer; 32]), vec![peer; dice.index(50)]);
            let item =
                outbound::Item { peer_fp, message, not_before_ms: 9, expires_ms: u64::MAX, attempts: 0, reason: None };
            drop(traffic.enqueue(item, changes));
        }
        3 => drop(traffic.fail(id, "unreachable", dice.below(99), changes)),
        4 => drop(traffic.remove(id, changes)),
        _ => {}
    }
}
