//! The registration token: what an agent that connects by itself must show (R22).
//!
//! The root keeps its hash, never the token: whoever reads the file cannot register. While it is changed for another one, both are good for
//! a time, so that no agent has to be told at the same moment. A token is 256 random bits, so its hash needs no salt and no slowness.

use relaymesh_core::hash::Hash;
use serde::{Deserialize, Serialize};
use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// The file, in the root.
pub const FILE: &str = "agent-token.json";

/// What every token begins with, so that people and scanners of sources know one when they see it.
pub const PREFIX: &str = "rmat_";

/// The tokens that are good.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// The newest.
    pub current: Option<Kept>,
    /// The one before it, as long as it is good.
    pub previous: Option<Kept>,
}

/// What is kept of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Its SHA-256.
    pub hash: Hash,
    /// When it was made, in milliseconds since 1970.
    pub made_ms: u64,
    /// Until when it is good; for ever if nobody has said.
    pub until_ms: Option<u64>,
}

impl Tokens {
    /// Those of this root. Without a file there are none, and nobody may register.
    pub fn read(root: &Path) -> io::Result<Self> {
        match std::fs::read(root.join(FILE)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// A new token in the place of the current one, which stays good for `overlap_ms`. `random` is 32 bytes that nobody can guess.
    pub fn rotate(&mut self, random: [u8; 32], overlap_ms: u64, now_ms: u64) -> String {
        let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let token = format!("{PREFIX}{digits}");
        let until_ms = Some(now_ms.saturating_add(overlap_ms));
        self.previous = self.current.take().filter(|_| overlap_ms > 0).map(|kept| Kept { until_ms, ..kept });
        self.current = Some(Kept { hash: Hash::sha256(token.as_bytes()), made_ms: now_ms, until_ms: None });
        token
    }

    /// Whether this token is good. It takes as long whichever it is like, and looks at both in any case.
    pub fn allows(&self, token: &str, now_ms: u64) -> bool {
        let hash = Hash::sha256(token.trim().as_bytes());
        let fits = |kept: &Option<Kept>| {
            let kept = kept.unwrap_or(Kept { hash: Hash([0; 32]), made_ms: 0, until_ms: Some(0) });
            let is_equal = constant_time_eq::constant_time_eq_32(&kept.hash.0, &hash.0);
            is_equal & kept.until_ms.is_none_or(|until_ms| now_ms < until_ms)
        };
        fits(&self.current) | fits(&self.previous)
    }

    /// Keeps them. They are durable when this returns.
    pub fn write(&self, root: &Path) -> io::Result<()> {
        let path: PathBuf = root.join(FILE);
        let new = path.with_added_extension("new");
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        std::fs::rename(&new, &path)?;
        File::open(root)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tokens_are_good_while_one_is_changed_for_the_other_and_neither_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let mut tokens = Tokens::read(root.path()).unwrap();
        assert!(!tokens.allows("", 0) && !tokens.allows(PREFIX, 0), "without a token nobody may register");
        let first = tokens.rotate([1; 32], 1_000, 0);
        assert!(tokens.allows(&first, u64::MAX) && !tokens.allows(&first[1..], 0));
        let second = tokens.rotate([2; 32], 1_000, 5_000);
        assert!(tokens.allows(&first, 5_999) && !tokens.allows(&first, 6_000) && tokens.allows(&second, 6_000));
        tokens.write(root.path()).unwrap();
        let text = std::fs::read_to_string(root.path().join(FILE)).unwrap();
        assert!(!text.contains(&second[PREFIX.len()..]), "{text}");
        let again = Tokens::read(root.path()).unwrap();
        assert_eq!(again, tokens);
        let third = tokens.rotate([3; 32], 0, 7_000);
        assert!(!tokens.allows(&second, 7_000) && tokens.allows(&third, 7_000), "no overlap, no second one");
        assert!(!Tokens::default().allows(&third, 0));
    }
}
