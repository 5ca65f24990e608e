//! D24: forks end on all honest nodes as evidence, with both branches.

use super::{
    world::{FAIR, FOUL, START_MS, World},
    *,
};
use crate::feed::{BRANCHES_UNSEALED_MAX, Branch, FeedLog as _, Lie, RUN_OPS_MAX, tests::Author};
use proptest::prelude::*;
use relaymesh_core::op::ChainHead;

/// A world in which nobody is the liar, who has told two stories: a common beginning, and two branches. Node 0 heard one of them, node 1 the other.
fn two_stories(world: &mut World, common: u64, one: u64, other: u64) -> (Author, Author) {
    let mut liar = Author::new(99);
    let mut beginning = Vec::new();
    let mut at = 0;
    while at < common {
        let count = (common - at).min(300);
        beginning.push(liar.run(count, START_MS + at, "common"));
        at += count;
    }
    let mut stories = [liar.clone(), liar];
    for (index, count) in [one, other].into_iter().enumerate() {
        for run in &beginning {
            world.nodes[index].log.append(run.clone()).unwrap();
        }
        let about = ["one", "other"][index];
        let mut at = 0;
        while at < count {
            let batch = (count - at).min(RUN_OPS_MAX as u64);
            let run = stories[index].run(batch, START_MS + 10_000 + at, about);
            world.nodes[index].log.append(run).unwrap();
            at += batch;
        }
    }
    let [first, second] = stories;
    (first, second)
}

fn assert_proven(world: &World, liar: &Author, from_seq: u64) {
    for (index, node) in world.nodes.iter().enumerate() {
        let status = node.sync.feed(liar.feed(), &node.log);
        assert_eq!((status.forked_at, status.lies_from), (Some(from_seq - 1), Some(from_seq)), "node {index}");
        let told: Vec<_> = node.events.iter().filter(|event| matches!(event, Event::Evidence(_))).collect();
        let [Event::Evidence(evidence)] = told[..] else { panic!("node {index} was told {told:?}") };
        assert_eq!((evidence.lie, evidence.from_seq), (Lie::Fork, from_seq));
        assert!(evidence.known.verify().is_ok() && evidence.other.verify().is_ok());
    }
}

#[test]
fn d24_both_branches_reach_everybody_wherever_the_fork_is() {
    for (common, one, other) in [(0, 1, 1), (5, 3, 1), (5, 0, 0), (700, 300, 20), (3_000, 900, 3), (10, 1_024, 1_000)] {
        let mut world = World::of(4, common + one);
        let (first, second) = two_stories(&mut world, common, one, other);
        world.run(40_000);
        world.assert_agreed(0..4);
        if one + other == 0 {
            continue;
        }
        for node in &world.nodes {
            for end in [first.place(), second.place()] {
                assert!(node.log.find(first.feed(), end).is_some(), "{common} {one} {other}");
            }
        }
        assert_proven(&world, &first, common + 1);
    }
}

#[test]
fn d24_a_fork_far_back_in_a_long_feed_is_found_in_few_requests() {
    let mut world = World::of(2, 8);
    let (first, second) = two_stories(&mut world, 7_000, 2_900, 1);
    world.run(20_000);
    let node = &world.nodes[0];
    assert_eq!(node.log.forked_at(first.feed()), Some(7_000));
    assert!(node.log.find(second.feed(), second.place()).is_some_and(|branch| branch != Branch::TRUNK));
    let wants = node.sync.counters().wants;
    assert!(wants <= 6, "{wants} requests");
}

#[test]
fn a_head_can_be_asked_for_by_its_hash_on_either_branch() {
    let mut world = World::with(3, 9, Config { period_ms: 1_000_000, ..Config::default() });
    world.run(100);
    let (first, second) = two_stories(&mut world, 10, 4, 4);
    for end in [second.place(), first.place()] {
        let head: ChainHead = first.feed().head(end);
        assert!(world.with_node(2, |sync, around| sync.want(&head, around)));
        world.run(50);
        assert!(world.nodes[2].log.find(first.feed(), end).is_some());
    }
    assert_eq!(world.nodes[2].log.forked_at(first.feed()), Some(10));
    let nowhere = ChainHead { hash: relaymesh_core::hash::Hash::default(), ..first.feed().head(first.place()) };
    world.with_node(2, |sync, around| sync.want(&nowhere, around));
    world.run(50);
    assert_eq!(
        world.nodes[2].sync.feed(first.feed(), &world.nodes[2].log).lag_ops,
        0,
        "nobody has it: it is forgotten"
    );
}

#[test]
fn d24_a_third_story_reaches_everybody_and_the_earliest_lie_counts() {
    let mut world = World::of(3, 10);
    let (first, second) = two_stories(&mut world, 10, 4, 4);
    world.run(10_000);
    let mut third = first.clone();
    let held = world.nodes[0].log.held(first.feed(), Branch::TRUNK, 3).unwrap();
    (third.chain.seq, third.chain.head, third.chain.hlc) = (3, held.hash, held.hlc);
    let run = third.run(2, START_MS + 50_000, "third");
    world.send(0, 2, Frame::Run(run).encode());
    world.run(20_000);
    for node in &world.nodes {
        assert_eq!(node.sync.feed(first.feed(), &node.log).lies_from, Some(4));
        for end in [first.place(), second.place(), third.place()] {
            assert!(node.log.find(first.feed(), end).is_some());
        }
    }
    world.assert_agreed(0..3);
}

#[test]
fn d24_a_story_too_many_is_refused_and_not_asked_for_again_and_again() {
    let mut world = World::of(3, 10);
    let (first, _) = two_stories(&mut world, 10, 4, 4);
    world.run(10_000);
    let mut last = first.clone();
    for number in 2..=BRANCHES_UNSEALED_MAX {
        last = first.clone();
        let held = world.nodes[0].log.held(first.feed(), Branch::TRUNK, 3).unwrap();
        (last.chain.seq, last.chain.head, last.chain.hlc) = (3, held.hash, held.hlc);
        let run = last.run(2, START_MS + 50_000, &format!("story {number}"));
        for _ in 0..5 {
            let frame = Frame::Frontier(Frontier { complete: None, heads: vec![run.head] }).encode();
            world.send(0, 2, frame);
            world.send(0, 2, Frame::Run(run.clone()).encode());
            world.run(1_000);
        }
    }
    world.run(20_000);
    for node in &world.nodes {
        assert_eq!(node.log.tips(first.feed()).len(), BRANCHES_UNSEALED_MAX);
        assert_eq!(node.log.find(first.feed(), last.place()), None);
    }
    assert!(world.nodes[2].sync.counters().refused <= 5);
    world.assert_agreed(0..3);
}

#[test]
fn whoever_breaks_a_promise_is_known_on_both_sides() {
    let mut world = World::of(2, 11);
    world.weather = FAIR;
    let mut liar = Author::new(99);
    let beginning = liar.run(3, START_MS, "x");
    let promise = liar.head(START_MS + 500);
    let broken = liar.run(2, START_MS + 400, "late");
    for node in &mut world.nodes {
        node.log.append(beginning.clone()).unwrap();
    }
    world.nodes[0].log.append(crate::feed::Run::promise(promise)).unwrap();
    world.nodes[1].log.append(broken).unwrap();
    world.run(10_000);
    for (index, node) in world.nodes.iter().enumerate() {
        let status = node.sync.feed(liar.feed(), &node.log);
        assert_eq!((status.seq, status.lies_from), (5, Some(4)), "node {index}");
    }
    world.assert_agreed(0..2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn d24_forks_end_everywhere_whatever_the_network_does(
        seed: u64, common in 0..400u64, one in 1..300u64, other in 1..300u64, wrote in 1..50u64,
    ) {
        let mut world = World::of(4, seed);
        world.weather = FOUL;
        let (first, _) = two_stories(&mut world, common, one, other);
        world.write(3, wrote);
        world.run(20_000);
        world.heal();
        world.run(30_000);
        world.assert_agreed(0..4);
        assert_proven(&world, &first, common + 1);
    }
}
