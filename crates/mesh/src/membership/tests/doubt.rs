//! A node that hears nobody.

use super::{
    dwell::Status::{Alive, Suspect},
    world::World,
    *,
};

#[test]
fn r34_a_node_that_hears_nobody_doubts_itself_and_pulls_no_work_until_it_has_heard_for_a_while() {
    let mut world = World::of(3, Config::default());
    world.cut.insert(2);
    world.run(7_000);
    assert_eq!(world.nodes[2].local(), Alive);
    world.run(2_000);
    assert_eq!((world.nodes[2].local(), world.nodes[2].may_pull()), (Suspect, false));
    for by in 0..2 {
        assert!(world.nodes[by].may_pull(), "those who hear each other go on");
    }
    let doubted_ms = world.when(2, 2, Suspect).unwrap();
    world.cut.clear();
    world.run(45_000);
    assert!(world.nodes[2].may_pull());
    let sure_ms = world.when(2, 2, Alive).unwrap();
    assert!(sure_ms - doubted_ms >= 5_000, "not before its window is over");
}

#[test]
fn a_node_that_knows_nobody_has_nobody_to_hear() {
    let mut world = World::strangers(1, Config::default());
    world.run(60_000);
    assert_eq!((world.nodes[0].local(), world.nodes[0].may_pull()), (Alive, true));
}

#[test]
fn r34_doubt_and_pause_are_settings() {
    for (config, local, may_pull) in [
        (Config::default(), Suspect, false),
        (Config { pause_worker_when_local_not_alive: false, ..Config::default() }, Suspect, true),
        (Config { self_suspect_after_ms: None, ..Config::default() }, Alive, true),
    ] {
        let mut world = World::of(2, config);
        world.cut.insert(1);
        world.run(20_000);
        assert_eq!((world.nodes[1].local(), world.nodes[1].may_pull()), (local, may_pull), "{config:?}");
    }
}
