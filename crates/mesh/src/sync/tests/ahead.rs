//! D20: what is dated too far ahead waits until time has caught up, and its author is told.

use super::{world::World, *};
use crate::feed::tests::Author;
use relaymesh_core::hlc::MAX_CLOCK_DRIFT_MS;

#[test]
fn d20_ops_of_a_wild_clock_are_held_shown_and_let_in_when_time_has_caught_up() {
    let mut world = World::of(3, 1);
    world.nodes[0].ahead_ms = MAX_CLOCK_DRIFT_MS + 5_000;
    world.write(0, 3);
    world.run(100);
    for at in 1..3 {
        let node = &world.nodes[at];
        assert_eq!(world.seq(at, 0), 0);
        let held: Vec<_> = node.sync.quarantined().collect();
        assert_eq!((held.len(), held[0].feed, held[0].ops), (1, world.feed(0), 3));
        assert!((65_000 - 100..=65_000).contains(&held[0].ahead_ms), "{}", held[0].ahead_ms);
        let status = node.sync.feed(world.feed(0), &node.log);
        assert_eq!((status.quarantined, status.lag_ops), (true, 3));
        assert!(node.events.iter().any(|event| matches!(event, Event::Quarantined { .. })));
    }
    let now_ms = world.now_ms + world.nodes[0].ahead_ms;
    let ahead = world.nodes[0].sync.told_ahead(now_ms).unwrap();
    assert_eq!(ahead.peers, 2, "it should write nothing");
    world.run(4_800);
    assert_eq!(world.seq(1, 0), 0);
    world.run(300);
    for at in 1..3 {
        assert_eq!((world.seq(at, 0), world.nodes[at].sync.quarantined().count()), (3, 0), "let in by itself");
    }
    world.run(MAX_CLOCK_DRIFT_MS);
    let now_ms = world.now_ms + world.nodes[0].ahead_ms;
    assert_eq!(world.nodes[0].sync.told_ahead(now_ms), None, "nobody says so any more");
}

#[test]
fn d20_what_came_before_the_jump_is_taken_and_the_rest_is_held() {
    let mut world = World::of(2, 2);
    world.cut_off(1);
    world.write(0, 10);
    world.run(1_000);
    world.write(0, 5);
    world.nodes[0].ahead_ms = 100_000;
    world.write(0, 5);
    world.heal();
    world.run(5_000);
    assert_eq!(world.seq(1, 0), 15, "up to the last head that is not too far ahead");
    assert_eq!(world.nodes[1].sync.quarantined().map(|held| held.ops).collect::<Vec<_>>(), [5]);
    world.run(60_000);
    world.assert_agreed(0..2);
    assert_eq!(world.seq(1, 0), 20);
}

#[test]
fn d20_exactly_as_far_ahead_as_allowed_is_not_too_far() {
    for (ahead_ms, accepted) in [(MAX_CLOCK_DRIFT_MS, 1), (MAX_CLOCK_DRIFT_MS + 1, 0)] {
        let mut world = World::of(2, 3);
        let run = Author::new(9).run(1, world.now_ms + ahead_ms, "x");
        let (from, frame) = (world.id(1), Frame::Run(run).encode());
        world.with_node(0, |sync, around| sync.handle_frame(from, &frame, around)).unwrap();
        let counters = world.nodes[0].sync.counters();
        assert_eq!((counters.accepted_runs, counters.quarantined), (accepted, 1 - accepted), "{ahead_ms}");
    }
}

#[test]
fn d20_a_promise_too_far_ahead_is_not_believed_yet() {
    let mut world = World::of(2, 4);
    world.write(0, 1);
    world.run(100);
    let believed = world.nodes[1].sync.feed(world.feed(0), &world.nodes[1].log).as_of_ms;
    world.nodes[0].ahead_ms = 80_000;
    world.promise(0);
    world.run(1_000);
    assert_eq!(world.nodes[1].sync.feed(world.feed(0), &world.nodes[1].log).as_of_ms, believed);
    assert!(world.nodes[0].sync.told_ahead(world.now_ms + 80_000).is_some());
    world.run(30_000);
    assert!(world.nodes[1].sync.feed(world.feed(0), &world.nodes[1].log).as_of_ms > believed);
}

#[test]
fn d20_quarantine_is_bounded_and_what_did_not_fit_comes_again() {
    let config = Config { quarantined_max: 2, ..Config::default() };
    let mut world = World::with(2, 5, config);
    let mut authors: Vec<Author> = (50..55).map(Author::new).collect();
    for author in &mut authors {
        let run = author.run(1, world.now_ms + 90_000, "x");
        world.nodes[0].log.append(run).unwrap();
    }
    world.run(20_000);
    assert_eq!(world.nodes[1].sync.quarantined().count(), 2);
    assert!(world.nodes[1].sync.counters().dropped > 0);
    world.run(25_000);
    world.assert_agreed(0..2);
}

#[test]
fn a_word_that_we_are_ahead_counts_for_a_short_time_and_only_if_it_is_about_us() {
    let mut world = World::of(3, 6);
    world.run(100);
    let (own, other) = (world.id(0), world.id(2));
    world.send(1, 0, Frame::Notice { origin: other, ahead_ms: u64::MAX }.encode());
    world.run(10);
    assert_eq!(world.nodes[0].sync.told_ahead(world.now_ms), None);
    world.send(1, 0, Frame::Notice { origin: own, ahead_ms: u64::MAX }.encode());
    world.run(10);
    assert_eq!(world.nodes[0].sync.told_ahead(world.now_ms), Some(Ahead { ahead_ms: u64::MAX, peers: 1 }));
    assert_eq!(world.nodes[0].sync.told_ahead(world.now_ms + 60_000), None);
}
