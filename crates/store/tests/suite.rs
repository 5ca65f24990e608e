//! A promise that nobody lists is a promise that nobody tests.

const LIST: &str = include_str!("../src/contract/mod.rs");
const AREAS: [(&str, &str); 9] = [
    ("log", include_str!("../src/contract/log.rs")),
    ("rows", include_str!("../src/contract/rows.rs")),
    ("queues", include_str!("../src/contract/queues.rs")),
    ("idempotency", include_str!("../src/contract/idempotency.rs")),
    ("content", include_str!("../src/contract/content.rs")),
    ("journal", include_str!("../src/contract/journal.rs")),
    ("atomicity", include_str!("../src/contract/atomicity.rs")),
    ("restart", include_str!("../src/contract/restart.rs")),
    ("readers", include_str!("../src/contract/readers.rs")),
];

#[test]
fn every_promise_is_listed_in_its_area() {
    for (area, source) in AREAS {
        let (_, after) = LIST.split_once(&format!("$backend, {area}:")).expect("the area is listed");
        let (list, _) = after.split_once(')').expect("the list ends");
        let mut listed: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let end = "<B: Backend>() {";
        let mut written: Vec<&str> =
            source.lines().filter_map(|line| line.strip_prefix("pub fn ")?.strip_suffix(end)).collect();
        listed.sort_unstable();
        written.sort_unstable();
        assert_eq!(listed, written, "in {area}");
    }
}
