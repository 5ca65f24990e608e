//! Routes by table, and in whatever order their words arrive.

use super::*;
use proptest::{collection::vec, prelude::*};

fn node(number: u8) -> NodeId {
    NodeId::new(1, number.into())
}

fn at(wall_ms: u64) -> Hlc {
    Hlc { wall_ms, logical: 0, node: node(0) }
}

fn kind(text: &str) -> Kind {
    text.parse().unwrap()
}

fn routes(words: &[(&str, Option<u8>, u64)]) -> Routes {
    let mut routes = Routes::default();
    for (pattern, target, time) in words {
        routes.record(pattern.parse().unwrap(), target.map(node), at(*time));
    }
    routes
}

#[test]
fn what_is_a_pattern() {
    for text in ["a", "a.*", "com.example.ocr", "com.example.*"] {
        let pattern: Pattern = text.parse().unwrap();
        assert_eq!(pattern.to_string(), text);
        assert_eq!(serde_json::from_value::<Pattern>(serde_json::to_value(&pattern).unwrap()).unwrap(), pattern);
    }
    for text in ["", "*", ".*", "a.*.b", "a.**", "a*", "a.*.*"] {
        assert!(text.parse::<Pattern>().is_err(), "{text}");
    }
}

#[test]
fn d26_the_longest_match_wins_and_an_exact_kind_wins_over_all() {
    let routes = routes(&[("a.*", Some(1), 1), ("a.b.*", Some(2), 1), ("a.b.c", Some(3), 1), ("a.b", Some(4), 1)]);
    for (text, target) in [
        ("a.x", Some(1)),
        ("a.b.x", Some(2)),
        ("a.b.c", Some(3)),
        ("a.b", Some(4)),
        ("a.b.c.d", Some(2)),
        ("a", None),
        ("ab.c", None),
    ] {
        let found = routes.route(&kind(text), at(9)).map(|routed| routed.target);
        assert_eq!(found, target.map(node), "{text}");
    }
}

#[test]
fn l5_the_last_word_counts_others_are_refused_and_clearing_restores_the_default() {
    let routes = routes(&[("a.b", Some(1), 10), ("a.b", Some(2), 20), ("a.b", None, 30), ("a.*", Some(3), 40)]);
    for (time, target) in
        [(9, None), (10, Some(1)), (19, Some(1)), (20, Some(2)), (29, Some(2)), (30, None), (40, Some(3))]
    {
        for claimer in 1..=3 {
            let admitted = routes.admit(&kind("a.b"), node(claimer), at(time));
            let refused = target.is_some_and(|target| target != claimer);
            assert_eq!(admitted.is_err(), refused, "{claimer} at {time}");
            if let Err(routed) = admitted {
                assert_eq!(Some(routed.target), target.map(node));
            }
        }
    }
}

proptest! {
    #[test]
    fn l12_the_order_in_which_words_arrive_does_not_matter(
        words in vec((0..4_usize, proptest::option::of(1..4_u8)), 0..12), time in 0..14_u64, turn in 0..12_usize,
    ) {
        const PATTERNS: [&str; 4] = ["a", "a.*", "a.b", "a.b.*"];
        let told: Vec<_> = (0..).zip(&words).map(|(time, (index, target))| (PATTERNS[*index], *target, time)).collect();
        let mut turned = told.clone();
        turned.rotate_left(turn % told.len().max(1));
        turned.reverse();
        prop_assert_eq!(routes(&told), routes(&turned));
        for text in ["a", "a.b", "a.b.c", "b"] {
            let one = routes(&told).route(&kind(text), at(time));
            // What is of later is not there yet.
            let earlier: Vec<_> = told.iter().filter(|(_, _, at)| *at <= time).copied().collect();
            prop_assert_eq!(one, routes(&earlier).route(&kind(text), at(99)));
        }
    }
}
