//! Texts that must be found nowhere, and a search that finds them in the forms in which they would come out.

use std::path::Path;

/// Shorter pieces would be found by accident.
const PATTERN_BYTES_MIN: usize = 8;

/// Everything that must be found nowhere.
#[derive(Default)]
pub(crate) struct Canaries {
    patterns: Vec<Pattern>,
    /// The patterns that begin with these two bytes.
    by_start: Vec<Vec<usize>>,
    /// Places whose very purpose is to hold one: the end of a path, and whose.
    places: Vec<(&'static str, &'static str)>,
}

struct Pattern {
    whose: &'static str,
    form: &'static str,
    bytes: Vec<u8>,
}

impl Canaries {
    pub(crate) fn add(&mut self, whose: &'static str, secret: impl AsRef<[u8]>) {
        self.by_start.resize(1 << 16, Vec::new());
        for (form, bytes) in forms(secret.as_ref()) {
            if bytes.len() >= PATTERN_BYTES_MIN {
                let start = usize::from(bytes[0]) << 8 | usize::from(bytes[1]);
                self.by_start[start].push(self.patterns.len());
                self.patterns.push(Pattern { whose, form, bytes });
            }
        }
    }

    /// This file is there to hold this one.
    pub(crate) fn allow(&mut self, path: &'static str, whose: &'static str) {
        self.places.push((path, whose));
    }

    /// Whose secrets are in these bytes, and in which form.
    pub(crate) fn found(&self, bytes: &[u8]) -> Vec<(&'static str, &'static str)> {
        let mut found = Vec::new();
        for at in 0..bytes.len().saturating_sub(1) {
            for number in &self.by_start[usize::from(bytes[at]) << 8 | usize::from(bytes[at + 1])] {
                let Pattern { whose, form, bytes: pattern } = &self.patterns[*number];
                if bytes[at..].starts_with(pattern) && !found.contains(&(*whose, *form)) {
                    found.push((*whose, *form));
                }
            }
        }
        found
    }

    /// Nothing is in these bytes, but for what is meant to be there.
    pub(crate) fn assert_none(&self, what: &str, bytes: &[u8], but: &[&str]) {
        let found: Vec<_> = self.found(bytes).into_iter().filter(|(whose, _)| !but.contains(whose)).collect();
        assert!(
            found.is_empty(),
            "{what} has {found:?}:\n{}",
            String::from_utf8_lossy(&bytes[..bytes.len().min(4_000)])
        );
    }

    /// Nothing is in any file below the folder. Says how many there were.
    pub(crate) fn assert_none_below(&self, folder: &Path) -> usize {
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type().unwrap())).unwrap();
            if kind.is_dir() {
                count += self.assert_none_below(&path);
            } else if kind.is_file() {
                let shown = path.display().to_string();
                let but = self.places.iter().filter(|(place, _)| shown.ends_with(place)).map(|(_, whose)| *whose);
                // What is renamed away while we look is looked at under its other name.
                if let Ok(bytes) = std::fs::read(&path) {
                    self.assert_none(&shown, &bytes, &but.collect::<Vec<_>>());
                    self.assert_none("the name of a file", shown.as_bytes(), &[]);
                    count += 1;
                }
            }
        }
        count
    }
}

/// The forms in which a secret would come out.
fn forms(secret: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let hex = |upper: bool| {
        let two = |byte: &u8| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
        secret.iter().map(two).collect::<String>().into_bytes()
    };
    let mut forms = vec![("plain", secret.to_vec()), ("hex", hex(false)), ("hex", hex(true))];
    // The heart of it, for whoever shows a part.
    if secret.len() >= 24 {
        forms.push(("the middle of it", secret[secret.len() / 2 - 6..secret.len() / 2 + 6].to_vec()));
    }
    for last_two in [b"+/", b"-_"] {
        // What stands before it decides where a group of three bytes begins.
        for skipped in 0..3 {
            let rest = &secret[skipped.min(secret.len())..];
            forms.push(("base64", base64(&rest[..rest.len() / 3 * 3], last_two)));
        }
    }
    for is_kept in
        [|byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte), |byte: u8| byte.is_ascii_graphic()]
    {
        for upper in [true, false] {
            forms.push(("percent", percent(secret, is_kept, upper)));
        }
    }
    if let Ok(text) = std::str::from_utf8(secret) {
        let inner = |text: &str| {
            let quoted = serde_json::Value::from(text).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        };
        forms.push(("in JSON", inner(text).into_bytes()));
        forms.push(("in JSON within JSON", inner(&inner(text)).into_bytes()));
        forms.push(("in Rust's own form", text.escape_debug().to_string().into_bytes()));
    }
    forms
}

fn percent(bytes: &[u8], is_kept: fn(u8) -> bool, upper: bool) -> Vec<u8> {
    let one = |byte: &u8| match (is_kept(*byte), upper) {
        (true, _) => char::from(*byte).to_string(),
        (false, true) => format!("%{byte:02X}"),
        (false, false) => format!("%{byte:02x}"),
    };
    bytes.iter().map(one).collect::<String>().into_bytes()
}

/// Of whole groups alone.
pub(crate) fn base64(bytes: &[u8], last_two: &[u8; 2]) -> Vec<u8> {
    let digits: Vec<u8> = (b'A'..=b'Z').chain(b'a'..=b'z').chain(b'0'..=b'9').chain(*last_two).collect();
    let group = |three: &[u8]| {
        let bits = three.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        [18, 12, 6, 0].map(|shift| digits[bits >> shift & 63])
    };
    bytes.chunks_exact(3).flat_map(group).collect()
}
