//! A promise that nobody lists is a promise that nobody tests.

const LIST: &str = include_str!("../src/contract/mod.rs");
/// An area, what it is generic over, and its source.
const AREAS: [(&str, &str, &str); 5] = [
    ("inbound", "MeshBackend", include_str!("../src/contract/inbound.rs")),
    ("outbound", "MeshBackend", include_str!("../src/contract/outbound.rs")),
    ("outbox", "MeshBackend", include_str!("../src/contract/outbox.rs")),
    ("restart", "MeshBackend", include_str!("../src/contract/restart.rs")),
    ("section", "Backend", include_str!("../src/contract/section.rs")),
];

#[test]
fn every_promise_is_listed_in_its_area() {
    for (area, backend, source) in AREAS {
        let (_, after) = LIST.split_once(&format!("$backend, {area}:")).expect("the area is listed");
        let (list, _) = after.split_once(')').expect("the list ends");
        let mut listed: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let end = format!("<B: {backend}>() {{");
        let mut written: Vec<&str> =
            source.lines().filter_map(|line| line.strip_prefix("pub fn ")?.strip_suffix(&end)).collect();
        listed.sort_unstable();
        written.sort_unstable();
        assert_eq!(listed, written, "in {area}");
        assert!(!listed.is_empty(), "in {area}");
    }
}
