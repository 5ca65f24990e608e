//! What lockers lock, and which of it overlaps.
//!
//! The kernel decides whether two globs have a path in common by walking both at once. Here it is decided the simple way:
//! there is a list of paths, and two keys overlap when one of these is matched by both.

use relaymesh_core::lock::{Case, Key, RepositoryName};

/// A key, and where it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lockable {
    pub(crate) namespace: &'static str,
    pub(crate) repository: &'static str,
    pub(crate) key: &'static str,
    pub(crate) case: Case,
}

const fn at(namespace: &'static str, repository: &'static str, key: &'static str) -> Lockable {
    Lockable { namespace, repository, key, case: Case::Sensitive }
}

const fn folded(namespace: &'static str, repository: &'static str, key: &'static str) -> Lockable {
    Lockable { namespace, repository, key, case: Case::Folded }
}

/// Everything that is ever locked. One name in two namespaces is two repositories.
pub(crate) const KEYS: [Lockable; 17] = [
    at("default", "app", "src/lib.rs"),
    at("default", "app", "src/net/mod.rs"),
    at("default", "app", "src/net/*.rs"),
    at("default", "app", "src/?ib.rs"),
    at("default", "app", "src/**"),
    at("default", "app", "docs/a.md"),
    at("default", "app", "docs/*.md"),
    at("default", "app", "docs/A.md"),
    folded("default", "app", "docs/A.md"),
    at("default", "app", "build"),
    at("default", "site", "**"),
    at("default", "site", "**/index.html"),
    at("default", "site", "pages/*/index.html"),
    at("default", "site", "pages/home/**"),
    at("default", "site", "style.css"),
    at("team", "app", "src/lib.rs"),
    at("team", "app", "src/l*.rs"),
];

/// Paths: wherever two of the keys meet, they meet in one of these.
const PATHS: [&str; 11] = [
    "src/lib.rs",
    "src/fib.rs",
    "src/net/mod.rs",
    "src/net/tcp.rs",
    "docs/a.md",
    "docs/A.md",
    "docs/b.md",
    "build",
    "pages/home/index.html",
    "pages/news/index.html",
    "style.css",
];

/// Keys of two groups of a repository never overlap, so each group has a history of its own.
pub(crate) fn group(repository: &RepositoryName, key: &Key) -> String {
    let first = key.parts().next().unwrap_or_default();
    if repository.as_str() == "site" { "all".to_owned() } else { first.to_lowercase() }
}

/// Whether some path is matched by both keys.
pub fn overlap(one: &Key, other: &Key, folded: bool) -> bool {
    let lower = |text: &str| if folded { text.to_lowercase() } else { text.to_owned() };
    let (one, other) = (lower(one.as_str()), lower(other.as_str()));
    PATHS.iter().map(|path| lower(path)).any(|path| is_matched(&one, &path) && is_matched(&other, &path))
}

/// Whether the path is one that the key means.
fn is_matched(key: &str, path: &str) -> bool {
    let (key, path): (Vec<&str>, Vec<&str>) = (key.split('/').collect(), path.split('/').collect());
    parts_match(&key, &path)
}

fn parts_match(key: &[&str], path: &[&str]) -> bool {
    match (key, path) {
        ([], []) => true,
        (["**", rest @ ..], _) => (0..=path.len()).any(|skipped| parts_match(rest, &path[skipped..])),
        ([first, key @ ..], [part, path @ ..]) => text_matches(first, part) && parts_match(key, path),
        ([], _) | (_, []) => false,
    }
}

fn text_matches(pattern: &str, text: &str) -> bool {
    let mut chars = pattern.chars();
    match chars.next() {
        None => text.is_empty(),
        Some('*') => {
            text.char_indices().any(|(at, _)| text_matches(chars.as_str(), &text[at..])) || chars.as_str().is_empty()
        }
        Some(wanted) => {
            let mut rest = text.chars();
            rest.next().is_some_and(|found| wanted == '?' || wanted == found)
                && text_matches(chars.as_str(), rest.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relaymesh_core::lock;

    fn key(of: Lockable) -> Key {
        of.key.parse().unwrap()
    }

    #[test]
    fn the_simple_way_and_the_kernel_agree_on_every_pair_of_keys() {
        let mut overlapping = 0;
        for one in KEYS {
            for other in KEYS.into_iter().filter(|other| other.repository == one.repository) {
                for folded in [false, true] {
                    let found = overlap(&key(one), &key(other), folded);
                    assert_eq!(found, lock::overlap(&key(one), &key(other), folded), "{one:?} and {other:?}");
                    overlapping += usize::from(found && one.key != other.key);
                }
            }
        }
        assert!(overlapping > 30, "{overlapping} pairs overlap: too few to mean anything");
    }

    #[test]
    fn keys_of_two_groups_never_overlap() {
        for one in KEYS {
            for other in KEYS.into_iter().filter(|other| other.repository == one.repository) {
                let name = one.repository.parse().unwrap();
                let apart = group(&name, &key(one)) != group(&name, &key(other));
                assert!(!(apart && overlap(&key(one), &key(other), true)), "{one:?} and {other:?}");
            }
        }
    }
}
