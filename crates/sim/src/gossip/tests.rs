//! Meshes of 3, 10 and 100 nodes; a thousand are for the command.

use super::{measure::Summary, *};

/// A death is noticed by everybody within this time: a few probes, the time to refute, and a few rounds of gossip.
const NOTICED_MS_MAX: u64 = 25_000;

#[test]
fn the_same_seed_is_the_same_run() {
    assert_eq!(measure(10, 50, 7), measure(10, 50, 7));
    assert_ne!(measure(10, 50, 7), measure(10, 50, 8));
}

#[test]
fn r32_without_loss_a_death_is_noticed_by_all_and_nobody_who_lives_is_doubted() {
    for (nodes, worlds) in [(3, 5), (10, 5), (100, 1)] {
        for seed in 1..=worlds {
            let measured = measure(nodes, 0, seed);
            let all_dead_ms = measured.all_dead_ms.unwrap();
            assert!(measured.suspect_ms < measured.dead_ms, "{nodes} nodes, seed {seed}: {measured:?}");
            assert!(all_dead_ms <= NOTICED_MS_MAX, "{nodes} nodes, seed {seed}: {measured:?}");
            assert_eq!((measured.doubted, measured.buried_alive), (0.0, 0), "{nodes} nodes, seed {seed}");
        }
    }
}

#[test]
fn at_five_per_cent_loss_a_death_is_noticed_and_nobody_who_lives_is_buried() {
    for (nodes, worlds) in [(3, 5), (10, 3), (100, 1)] {
        for seed in 1..=worlds {
            let measured = measure(nodes, 50, seed);
            assert!(
                measured.all_dead_ms.is_some_and(|at| at <= NOTICED_MS_MAX),
                "{nodes} nodes, seed {seed}: {measured:?}"
            );
            assert_eq!(measured.buried_alive, 0, "{nodes} nodes, seed {seed}: {measured:?}");
        }
    }
}

#[test]
fn what_a_node_sends_does_not_grow_with_the_mesh() {
    let (few, many) = (measure(10, 0, 1), measure(100, 0, 1));
    assert!(many.messages < few.messages * 1.5, "{} and {}", few.messages, many.messages);
    assert!(few.messages < 10.0, "{}", few.messages);
}

#[test]
fn the_page_keeps_its_words_and_the_plot_its_lines() {
    let row = |nodes, loss_per_mille| Summary {
        nodes,
        loss_per_mille,
        worlds: 1,
        messages: 2.5,
        bytes: 100.0,
        doubted: 0.0,
        buried_alive: 0,
        suppressed: 0,
        suspect_ms: 1_200,
        dead_ms: 5_300,
        all_dead_ms: 5_900,
        all_dead_ms_max: Some(6_000),
    };
    let rows = [row(3, 0), row(10, 0), row(3, 50), row(10, 50)];
    let text = page(&format!("before\n{BEGIN}\nold\n{END}\nafter\n"), &rows).unwrap();
    assert!(text.starts_with("before\n") && text.ends_with("\nafter\n") && !text.contains("old"), "{text}");
    assert!(text.contains("| 3 | 0 % | 1 | 2.5 | 100 | 1.2 s | 5.3 s | 5.9 s | 6.0 s | 0.0 | 0 | 0 |"), "{text}");
    assert_eq!(page("no place", &rows), None);
    let svg = plot(&rows);
    assert_eq!(svg.matches("<polyline").count(), 5);
    assert_eq!(svg, plot(&rows));
}
