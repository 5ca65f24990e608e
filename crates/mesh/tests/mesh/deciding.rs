//! Who is there is a rumour, and nothing is decided by it.

use std::{fs, path::Path};

/// Where membership may be named: the peer asks it whom to exchange feeds with, whom to listen to about clocks, and whether to pull.
const MAY_NAME_IT: [&str; 6] =
    ["lib.rs", "membership/", "peer/mod.rs", "peer/config.rs", "peer/node.rs", "peer/roster.rs"];

fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("it is there").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Fences, leases, registers, seals, the write queue and all the rest cannot ask who is alive, so no quorum of theirs hangs on it.
#[test]
#[expect(clippy::disallowed_methods, reason = "what is looked at is the source itself")]
fn d10_nothing_that_decides_knows_of_membership() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    files(&source, &mut found);
    let (mut named, mut looked_at) = (0, 0);
    for path in found {
        let text = fs::read_to_string(&path).expect("it is there");
        let inner = path.strip_prefix(&source).expect("it is there").to_string_lossy().replace('\\', "/");
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let names_it = code.clone().any(|line| line.to_lowercase().contains("membership"));
        let may = MAY_NAME_IT.iter().any(|allowed| inner.starts_with(allowed));
        assert!(may || !names_it, "{inner} names membership, which decides nothing");
        named += usize::from(names_it);
        looked_at += usize::from(!may);
    }
    assert!(named > 5 && looked_at > 100, "{named} files name it, {looked_at} must not: this looks in the wrong place");
}
