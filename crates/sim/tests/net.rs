//! The everyday share of meshes. Many more: `cargo xtask sim --net --seeds 10000`.

use relaymesh_sim::net::{NetTotals, run};

/// In four parts, so that all processors share them and none takes long.
fn pass(from: u64) {
    let mut totals = NetTotals::default();
    for seed in from..from + 50 {
        let report = run(seed);
        assert!(report.passed(), "{}", report.failure());
        totals.add(&report);
    }
    let NetTotals { ops, stable, lies, forgot, .. } = totals;
    let enough = ops > 10_000 && stable > 2_000 && lies > 500 && forgot > 5;
    assert!(enough, "{ops} ops, {stable} stable, {lies} lies, {forgot} memories lost: too few");
}

#[test]
fn fifty_meshes_break_and_heal() {
    pass(0);
}

#[test]
fn another_fifty_meshes_break_and_heal() {
    pass(50);
}

#[test]
fn a_third_fifty_meshes_break_and_heal() {
    pass(100);
}

#[test]
fn a_fourth_fifty_meshes_break_and_heal() {
    pass(150);
}

#[test]
fn the_same_seed_is_the_same_mesh_event_by_event() {
    for seed in [3, 6, 1_000_003] {
        assert_eq!(run(seed).events, run(seed).events, "seed {seed}");
    }
    assert_ne!(run(1).events, run(2).events, "another seed is another run");
}
