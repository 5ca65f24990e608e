//! Nodes that die, come back, and find each other again.

use super::{
    dwell::Status::{Alive, Dead, Suspect},
    world::World,
    *,
};

#[test]
fn r32_a_node_that_stops_is_suspect_then_dead_for_everybody_and_nobody_else_is() {
    let mut world = World::of(4, Config::default());
    let killed_ms = world.now_ms;
    world.cut.insert(3);
    world.stopped.insert(3);
    world.run(20_000);
    for by in 0..3 {
        assert_eq!(world.status(by, 3), Some(Dead));
        let dead_ms = world.when(by, 3, Dead).unwrap() - killed_ms;
        assert!((4_000..15_000).contains(&dead_ms), "dead after {dead_ms} ms");
        assert!(world.when(by, 3, Suspect).is_some_and(|at_ms| at_ms < dead_ms + killed_ms), "suspect first");
        for of in (0..3).filter(|of| *of != by) {
            assert_eq!(world.status(by, of), Some(Alive));
            assert_eq!(world.when(by, of, Suspect), None, "nobody else was doubted");
        }
        assert_eq!(world.nodes[by].local(), Alive);
    }
}

#[test]
fn r32_whoever_comes_back_from_the_dead_early_is_suppressed_counted_and_believed_later() {
    let mut world = World::of(3, Config::default());
    world.cut.insert(2);
    world.stopped.insert(2);
    world.run(12_000);
    assert_eq!(world.status(0, 2), Some(Dead));
    let dead_ms = world.when(0, 2, Dead).unwrap();
    world.cut.clear();
    world.stopped.clear();
    world.restart(2, 2, Config::default());
    world.run(5_000);
    assert_eq!(world.status(0, 2), Some(Dead), "its window is not over");
    assert!(world.nodes[0].counters().recovery_suppressed >= 1);
    assert_eq!(world.nodes[2].members().count(), 2, "it works with the others all the while");
    world.run(dead_ms + 30_500 - world.now_ms);
    assert_eq!(world.status(0, 2), Some(Alive));
    let back_ms = world.when(0, 2, Alive).unwrap();
    assert!(back_ms - dead_ms >= 30_000, "after {} ms", back_ms - dead_ms);
}

#[test]
fn a_node_that_was_declared_dead_takes_a_new_life_and_is_dead_in_its_own_eyes_meanwhile() {
    let mut world = World::of(3, Config::default());
    // Its process stands still, as on a laptop whose lid is shut.
    world.stopped.insert(2);
    world.run(15_000);
    assert_eq!(world.status(0, 2), Some(Dead));
    world.stopped.clear();
    world.run(6_000);
    let renewed = world.events.iter().find_map(|(at, event)| match event {
        Event::Renewed { identity } if *at == 2 => Some(*identity),
        Event::Renewed { .. }
        | Event::Forgotten { .. }
        | Event::Changed { .. }
        | Event::Discovered { .. }
        | Event::RecoverySuppressed { .. } => None,
    });
    assert_eq!(renewed.map(|identity| identity.node), Some(node(2)));
    assert!(world.nodes[2].identity().life > 1);
    assert_eq!(world.nodes[2].local(), Dead);
    assert!(!world.nodes[2].may_pull());
    world.run(40_000);
    assert_eq!((world.nodes[2].local(), world.nodes[2].may_pull()), (Alive, true));
    for by in 0..2 {
        assert_eq!(world.status(by, 2), Some(Alive));
    }
}

#[test]
fn two_halves_that_gave_each_other_up_find_each_other_again() {
    for nodes in [2, 5] {
        let mut world = World::of(nodes, Config::default());
        // The last ones are cut off one by one: each sees everybody else die.
        world.cut.extend(nodes / 2..nodes);
        world.run(30_000);
        assert_eq!(world.status(0, nodes - 1), Some(Dead));
        assert_eq!(world.status(nodes - 1, 0), Some(Dead));
        world.cut.clear();
        world.run(100_000);
        for by in 0..nodes {
            for of in (0..nodes).filter(|of| *of != by) {
                assert_eq!(world.status(by, of), Some(Alive), "{of} in the eyes of {by}, {nodes} nodes");
            }
            assert_eq!(world.nodes[by].local(), Alive);
        }
    }
}

#[test]
fn a_suspicion_that_was_refuted_costs_nobody_a_life() {
    let mut world = World::of(3, Config::default());
    world.cut.insert(2);
    while world.when(0, 2, Suspect).is_none() && world.when(1, 2, Suspect).is_none() {
        world.run(100);
    }
    world.cut.clear();
    world.run(30_000);
    for (index, membership) in world.nodes.iter().enumerate() {
        assert_eq!((membership.identity().life, membership.local()), (1, Alive), "node {index}");
    }
    assert_eq!((world.status(0, 2), world.status(1, 2)), (Some(Alive), Some(Alive)));
    assert_eq!(world.when(0, 2, Dead).or(world.when(1, 2, Dead)), None);
}

#[test]
fn without_samples_two_nodes_that_gave_each_other_up_stay_apart() {
    let mut world = World::of(2, Config { sync_period_ms: u64::MAX, ..Config::default() });
    world.cut.insert(1);
    world.run(30_000);
    world.cut.clear();
    world.run(200_000);
    assert_eq!((world.status(0, 1), world.status(1, 0)), (Some(Dead), Some(Dead)), "so samples are what heals");
}

#[test]
fn r32_samples_are_no_larger_than_the_setting_and_bring_a_newcomer_everything() {
    let config = Config { gossip_sync_sample_size: 4, ..Config::default() };
    let mut world = World::strangers(2, config);
    // Node 0 knows twenty that do not exist; node 1 hears of them from it alone, by samples.
    world.nodes[0].remember((2..22).map(|number| Identity { node: node(number), life: 1 }), 0);
    world.nodes[0].remember([Identity { node: node(1), life: 1 }], 0);
    let mut heard = std::collections::BTreeSet::new();
    for _ in 0..6 {
        world.nodes[0].send_sample(node(1), false);
        while let Some(transmit) = world.nodes[0].poll_transmit() {
            if let Ok(frame::Frame::Sync(sample)) = frame::Frame::decode(&transmit.bytes) {
                assert!(sample.members.len() <= 2 + 4, "{} members", sample.members.len());
                assert_eq!(*sample.members[0].id(), world.nodes[0].identity(), "the sender first");
                world.nodes[1].handle_datagram(&transmit.bytes, 1).unwrap();
                heard.extend(sample.members.iter().map(|member| member.id().node));
            }
        }
    }
    assert_eq!(heard.len(), 22, "six samples of four go once around");
    assert_eq!(world.nodes[1].members().count(), 21);
    assert_eq!(world.nodes[1].counters().anti_entropy_merged, 21, "each was news once");
}

#[test]
fn dead_nodes_are_pruned_by_age_the_oldest_first_and_stay_away() {
    let mut world = World::of(4, Config::default());
    for gone in [3, 2] {
        world.cut.insert(gone);
        world.stopped.insert(gone);
        world.run(12_000);
    }
    let since = |world: &World, of: u128| {
        world.nodes[0].members().find(|known| known.identity.node == node(of)).unwrap().since_ms()
    };
    let (first_ms, now_ms) = (since(&world, 3), world.now_ms);
    assert!(first_ms < since(&world, 2));
    assert_eq!(world.nodes[0].prune(now_ms, now_ms - first_ms + 1, 9), []);
    assert_eq!(world.nodes[0].prune(now_ms, 0, 1), [node(3)]);
    assert_eq!(world.nodes[0].prune(now_ms, 0, 9), [node(2)]);
    world.run(2_000);
    assert_eq!(world.nodes[0].members().count(), 1, "the dead do not come back by being known to be dead");
}
