//! The everyday share of meshes. Many more: `cargo xtask sim --net --seeds 10000`.

use relaymesh_sim::net::{NetTotals, run};

/// Two halves, so that two processors share them.
fn pass(from: u64, to: u64) {
    let mut totals = NetTotals::default();
    for seed in from..to {
        let report = run(seed);
        assert!(report.passed(), "{}", report.failure());
        totals.add(&report);
    }
    assert_eq!(totals.seeds, to - from);
    let NetTotals { ops, stable, lies, forgot, .. } = totals;
    let enough = ops > 20_000 && stable > 4_000 && lies > 1_000 && forgot > 10;
    assert!(enough, "{ops} ops, {stable} stable, {lies} lies, {forgot} memories lost: too few");
}

#[test]
fn a_hundred_meshes_break_and_heal() {
    pass(0, 100);
}

#[test]
fn another_hundred_meshes_break_and_heal() {
    pass(100, 200);
}

#[test]
fn the_same_seed_is_the_same_mesh_event_by_event() {
    for seed in [3, 6, 1_000_003] {
        assert_eq!(run(seed).events, run(seed).events, "seed {seed}");
    }
    assert_ne!(run(1).events, run(2).events, "another seed is another run");
}
