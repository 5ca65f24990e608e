//! Whether two globs have a path in common, compared with the plainest way to find out: try all paths.

use crate::lock::{Key, overlap};
use proptest::{collection::vec, prelude::*, sample::select};

fn key(text: &str) -> Key {
    text.parse().unwrap()
}

fn both_ways(one: &str, other: &str) -> bool {
    let there = overlap(&key(one), &key(other), false);
    assert_eq!(there, overlap(&key(other), &key(one), false), "{one} {other}: the order must not matter");
    there
}

/// Whether the pattern matches the path, by the book and with no cleverness.
fn matches(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), None) => matches(rest, path),
        (Some((&"**", rest)), Some((_, tail))) => matches(rest, path) || matches(pattern, tail),
        (Some((part, rest)), Some((name, tail))) => {
            let (part, name): (Vec<char>, Vec<char>) = (part.chars().collect(), name.chars().collect());
            part_matches(&part, &name) && matches(rest, tail)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

fn part_matches(part: &[char], name: &[char]) -> bool {
    match (part.split_first(), name.split_first()) {
        (None, None) => true,
        (Some(('*', rest)), None) => part_matches(rest, name),
        (Some(('*', rest)), Some((_, tail))) => part_matches(rest, name) || part_matches(part, tail),
        (Some((mark, rest)), Some((c, tail))) => (*mark == '?' || mark == c) && part_matches(rest, tail),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

fn split(text: &str) -> Vec<&str> {
    text.split('/').collect()
}

#[test]
fn what_overlaps_and_what_does_not() {
    for (one, other, expected) in [
        ("a", "a", true),
        ("a", "b", false),
        ("a", "a/b", false),
        ("src/*", "src/?", true),
        ("a*", "*b", true),
        ("a*b", "*c*", true),
        ("a?", "?b", true),
        ("a?", "b?", false),
        ("*.rs", "*.md", false),
        ("*.rs", "lib.*", true),
        ("src/**", "src", true),
        ("src/**", "src/a/b/c", true),
        ("src/**/x", "src/x", true),
        ("**/x", "x/**", true),
        ("**/a/b", "c/**/b", true),
        ("a/**/b", "a/**/c", false),
        ("a/*/c", "a/**/b/c", true),
        ("*/*", "*", false),
        ("**", "anything/at/all", true),
        ("?", "ab", false),
        ("é?", "éé", true),
    ] {
        assert_eq!(both_ways(one, other), expected, "{one} {other}");
    }
}

/// Every pattern of up to three of these parts against every other one. A shortest common path has no part that is longer
/// than two characters and no more than four parts, so the paths below are all that have to be tried.
#[test]
fn all_small_patterns_agree_with_all_short_paths() {
    let sequences = |parts: &[&str], most: usize| {
        let mut all: Vec<Vec<String>> = vec![Vec::new()];
        for _ in 0..most {
            let longer = all.iter().flat_map(|s| parts.iter().map(|p| [s.clone(), vec![(*p).to_owned()]].concat()));
            let longer: Vec<_> = longer.collect();
            all.extend(longer);
        }
        all.retain(|s| !s.is_empty());
        all.sort();
        all.dedup();
        all.into_iter().map(|s| s.join("/")).collect::<Vec<String>>()
    };
    let paths = sequences(&["a", "b", "aa", "ab", "ba", "bb"], 4);
    let patterns = sequences(&["a", "?", "*", "a*", "*b", "?b", "**"], 3);
    let patterns: Vec<String> = patterns.into_iter().filter(|p| key(p).as_str() == p).collect();
    let matched: Vec<Vec<bool>> =
        patterns.iter().map(|p| paths.iter().map(|path| matches(&split(p), &split(path))).collect()).collect();
    for (index, one) in patterns.iter().enumerate() {
        for (at, other) in patterns.iter().enumerate().skip(index) {
            let expected = matched[index].iter().zip(&matched[at]).any(|(a, b)| *a && *b);
            assert_eq!(both_ways(one, other), expected, "{one} {other}");
        }
    }
}

/// The patterns that bring a matcher without a memory to its knees.
#[test]
fn runs_upon_runs_are_decided_at_once() {
    let nasty = "*a".repeat(127);
    assert!(both_ways(&format!("{nasty}*"), &"a".repeat(250)));
    assert!(!both_ways(&format!("{nasty}b"), &"a".repeat(250)));
    let deep = vec!["**/a"; 32].join("/");
    assert!(both_ways(&deep, &vec!["a"; 64].join("/")));
    assert!(!both_ways(&deep, &vec!["a/**/b"; 20].join("/")));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// A shortest common text of two parts takes a step in at least one of them with each character.
    #[test]
    fn single_parts_agree_with_all_texts_that_can_matter(one in "[ab*?]{1,4}", other in "[ab*?]{1,4}") {
        prop_assume!(!one.contains("**") && !other.contains("**"));
        let chars = |text: &str| text.chars().collect::<Vec<char>>();
        let (left, right) = (chars(&one), chars(&other));
        let mut texts: Vec<Vec<char>> = vec![Vec::new()];
        let mut found = false;
        for _ in 0..8 {
            texts = texts.iter().flat_map(|t| ['a', 'b'].map(|c| [t.clone(), vec![c]].concat())).collect();
            found |= texts.iter().any(|text| part_matches(&left, text) && part_matches(&right, text));
        }
        prop_assert_eq!(both_ways(&one, &other), found);
    }

    #[test]
    fn a_path_that_both_match_is_never_overlooked(
        one in vec(select(vec!["**", "*", "a*", "*b", "?", "a", "ab", "*a*"]), 1..6),
        other in vec(select(vec!["**", "*", "b*", "*a", "??", "b", "ab", "*b*"]), 1..6),
        path in vec("[ab]{1,3}", 1..7),
    ) {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        if matches(&one, &path) && matches(&other, &path) {
            prop_assert!(both_ways(&one.join("/"), &other.join("/")));
        }
    }

    #[test]
    fn a_path_made_from_a_pattern_overlaps_with_it(
        parts in vec("[abÄ?*]{1,5}".prop_filter("deep", |part| !part.contains("**")), 1..5), fill in "[a-zäÖ]{1,3}",
    ) {
        let pattern = parts.join("/");
        let path = pattern.replace('*', &fill).replace('?', "x");
        prop_assert!(both_ways(&pattern, &path));
        let upper: String = path.chars().map(|c| c.to_uppercase().next().unwrap()).collect();
        prop_assert!(overlap(&key(&pattern), &key(&upper), true), "{} {}", pattern, upper);
        prop_assert!(overlap(&key(&upper), &key(&path), true));
    }
}
