//! The everyday share of seeds. Many more: `cargo xtask sim --seeds 10000`.

use relaymesh_sim::{Totals, run};

/// Two halves, so that two processors share them.
fn pass(from: u64, to: u64) {
    let mut totals = Totals::default();
    for seed in from..to {
        let report = run(seed);
        assert!(report.passed(), "{}", report.failure());
        totals.add(&report);
    }
    assert_eq!(totals.seeds, to - from);
    let (messages, locks, answered, made) = (totals.messages, totals.locks, totals.answered, totals.namespaces);
    let (holds, over_budget) = (totals.holds, totals.over_budget);
    let enough = messages > 10_000 && locks > 3_000 && answered > 800 && made > 150;
    assert!(
        enough && holds > 100 && over_budget > 300,
        "{messages} messages, {locks} locks, {answered} answers, {made} namespaces, {holds} holds, {over_budget} attempts over budget: \
         too few to mean anything"
    );
}

#[test]
fn a_hundred_worlds_break_and_heal() {
    pass(0, 100);
}

#[test]
fn another_hundred_worlds_break_and_heal() {
    pass(100, 200);
}

#[test]
fn the_same_seed_is_the_same_run_event_by_event() {
    for seed in [1, 77, 1_000_003] {
        let (first, second) = (run(seed), run(seed));
        assert_eq!(first.trace.hash(), second.trace.hash(), "seed {seed}");
        let text = |report: &relaymesh_sim::Report| -> Vec<String> {
            report.trace.records().iter().map(ToString::to_string).collect()
        };
        assert_eq!(text(&first), text(&second), "seed {seed}");
    }
    assert_ne!(run(1).trace.hash(), run(2).trace.hash(), "another seed is another run");
}
