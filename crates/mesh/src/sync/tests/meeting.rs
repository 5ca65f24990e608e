//! L12: whatever the network does, once it heals all hold the same ops.

use super::{
    Around, Config, Sync,
    world::{self, FOUL, START_MS, World},
};
use crate::feed::{FeedId, FeedLog as _, RUN_OPS_MAX};
use proptest::prelude::*;

#[test]
fn f5_what_one_writes_all_have_soon_and_in_its_order() {
    let mut world = World::of(4, 1);
    world.run(3_000);
    world.write(0, 3);
    world.run(50);
    world.assert_agreed(0..4);
    for batch in 0..20 {
        world.write(batch % 4, 1 + batch as u64);
        world.run(30);
    }
    world.run(50);
    world.assert_agreed(0..4);
    for node in &world.nodes {
        for feed in node.log.feeds(None, 9) {
            let seqs: Vec<u64> = node.taken.iter().filter(|(of, _)| *of == feed).map(|(_, seq)| *seq).collect();
            assert!(seqs.iter().copied().eq(1..=seqs.len() as u64), "each op once, in the order of its origin");
        }
    }
}

#[test]
fn a_quiet_node_is_known_to_be_quiet() {
    let mut world = World::of(3, 2);
    world.write(0, 2);
    world.run(2_000);
    for quiet in 0..3 {
        world.promise(quiet);
    }
    world.run(100);
    for at in 0..3 {
        for of in 0..3 {
            let as_of_ms = world.nodes[at].sync.feed(world.feed(of), &world.nodes[at].log).as_of_ms;
            assert_eq!(as_of_ms, Some(START_MS + 2_000), "node {at} of node {of}");
        }
    }
}

#[test]
fn two_nodes_that_agree_say_little() {
    let mut world = World::of(2, 3);
    world.write(0, 500);
    world.run(20_000);
    let carried = world.carried;
    world.run(100_000);
    let bytes = (world.carried - carried) / 100;
    assert!(bytes < 400, "{bytes} bytes a second for one feed");
}

#[test]
fn a_node_far_behind_catches_up_run_by_run() {
    let mut world = World::of(2, 4);
    world.cut_off(1);
    for _ in 0..10 {
        world.write(0, 700);
        world.run(1_000);
    }
    world.heal();
    world.run(10_000);
    world.assert_agreed(0..2);
    let wants = world.nodes[1].sync.counters().wants;
    assert!(wants <= 7_000 / RUN_OPS_MAX as u64 + 5, "{wants} requests for 7,000 ops");
}

#[test]
fn f5_either_side_may_start_again_in_the_middle() {
    for restarted in [0, 1] {
        let mut world = World::of(2, 5);
        world.cut_off(1);
        for _ in 0..50 {
            world.write(0, 100);
        }
        world.heal();
        world.weather.travel_ms = 40;
        let mut restarts = 0;
        for _ in 0..2_000 {
            let before = world.seq(1, 0);
            world.run(10);
            if world.seq(1, 0) > before && world.seq(1, 0) < 5_000 {
                world.restart(restarted);
                restarts += 1;
            }
        }
        assert!(restarts >= 3, "{restarts} restarts of node {restarted}");
        world.assert_agreed(0..2);
        assert_eq!(world.seq(1, 0), 5_000);
        assert_eq!(world.nodes[1].taken.len(), 5_000, "nothing was taken in twice");
    }
}

#[test]
fn what_was_lost_in_memory_alone_comes_again() {
    let mut world = World::of(3, 6);
    world.write(0, 40);
    world.run(100);
    world.nodes[2].idle = true;
    world.write(1, 30);
    world.run(100);
    assert_eq!(world.seq(2, 1), 0, "accepted and never kept");
    world.restart(2);
    world.nodes[2].idle = false;
    world.run(10_000);
    world.assert_agreed(0..3);
}

#[test]
fn many_feeds_go_round() {
    let mut world = World::of(2, 7);
    let mut authors: Vec<_> = (0..200).map(|number| crate::feed::tests::Author::new(number as u8)).collect();
    for author in &mut authors[10..] {
        let run = author.run(2, START_MS, "x");
        world.nodes[0].log.append(run).unwrap();
    }
    world.run(60_000);
    world.assert_agreed(0..2);
    assert_eq!(world.nodes[1].log.feeds(None, 999).len(), 190);
}

#[test]
fn nobody_has_agreed_who_lacks_the_feed_of_a_later_life() {
    let mut world = World::of(2, 8);
    let mut author = crate::feed::tests::Author::new(9);
    author.chain = FeedId { origin_epoch: 2, ..author.feed() }.chain();
    world.nodes[0].log.append(author.run(2, START_MS, "x")).unwrap();
    let teller = world.id(0);
    world.nodes[1].idle = true;
    (0..2).for_each(|index| world.restart(index));
    world.run(10_000);
    assert!(!world.nodes[1].sync.has_agreed(teller), "it was told of a feed, and does not have it");
    world.nodes[1].idle = false;
    world.run(10_000);
    world.assert_agreed(0..2);
    assert_eq!(world.nodes[1].log.chain(author.feed()).seq, 2);
    assert!(world.nodes[1].sync.has_agreed(teller));
}

/// What happens in a world.
#[derive(Debug, Clone)]
enum Turn {
    Write(usize, u64),
    Promise(usize),
    CutOff(usize),
    Heal,
    Restart(usize),
    Wait(u64),
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn = prop_oneof![
        4 => (0..5usize, 1..60u64).prop_map(|(node, count)| Turn::Write(node, count)),
        1 => (0..5usize).prop_map(Turn::Promise),
        1 => (0..5usize).prop_map(Turn::CutOff),
        1 => Just(Turn::Heal),
        1 => (0..5usize).prop_map(Turn::Restart),
        4 => (1..3_000u64).prop_map(Turn::Wait),
    ];
    prop::collection::vec(turn, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn l12_nodes_that_can_talk_again_come_to_hold_the_same(count in 2..=5usize, seed: u64, turns in turns()) {
        let mut world = World::of(count, seed);
        world.weather = FOUL;
        for turn in turns {
            match turn {
                Turn::Write(node, ops) => world.write(node % count, ops),
                Turn::Promise(node) => world.promise(node % count),
                Turn::CutOff(node) => world.cut_off(node % count),
                Turn::Heal => world.cut.clear(),
                Turn::Restart(node) => world.restart(node % count),
                Turn::Wait(for_ms) => world.run(for_ms),
            }
        }
        world.heal();
        world.run(30_000);
        world.assert_agreed(0..count);
        let wrote: u64 = (0..count).map(|index| world.seq(index, index)).sum();
        for node in &world.nodes {
            let own = node.log.chain(node.author.feed()).seq;
            prop_assert_eq!(node.taken.len() as u64, wrote - own, "each op of the others once");
            prop_assert_eq!(node.sync.counters().refused, 0);
        }
        prop_assert!(world.refused.is_empty());
    }

    #[test]
    fn a_bad_network_alone_stops_nobody(seed: u64) {
        let mut world = World::of(3, seed);
        world.weather = FOUL;
        for batch in 0..12 {
            world.write(batch % 3, 150);
            world.run(200);
        }
        world.run(120_000);
        world.assert_agreed(0..3);
    }
}

#[test]
fn nodes_that_start_together_do_not_tell_at_the_same_times() {
    let config = Config::default();
    let rounds = |seed: u8, config: Config| {
        let rng = <rand_pcg::Pcg64Mcg as rand_pcg::rand_core::SeedableRng>::seed_from_u64(seed.into());
        let own = relaymesh_core::id::NodeId::new(1, seed.into());
        let mut sync = Sync::new(own, config, rng, START_MS);
        let mut times = Vec::new();
        let (log, gate) = (crate::feed::MemoryFeedLog::default(), world::Door::default());
        for _ in 0..20 {
            let now_ms = sync.poll_timeout();
            times.push(now_ms);
            sync.handle_timeout(&Around { log: &log, gate: &gate, now_ms });
        }
        times
    };
    let (one, other) = (rounds(1, config), rounds(2, config));
    let gaps: Vec<u64> = one.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (earliest, latest) = (config.period_ms - config.jitter_ms, config.period_ms + config.jitter_ms);
    assert!(gaps.iter().all(|gap| (earliest..=latest).contains(gap)), "{gaps:?}");
    let (least, most) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
    assert!(most - least > config.jitter_ms, "they are spread over most of the range: {gaps:?}");
    let together = one.iter().zip(&other).filter(|(one, other)| one == other).count();
    assert!(together < 3, "{together} of 20 rounds at the same moment");
    let steady = rounds(1, Config { jitter_ms: 0, ..config });
    assert!(steady.windows(2).all(|pair| pair[1] - pair[0] == config.period_ms), "and without jitter they are not");
}
