//! Whose token it is.
//!
//! The file of tokens is looked at with every request: a stat, and nothing more as long as it is the same. So a token that was revoked is
//! useless at once, whoever revoked it.

use crate::error::{Code as ErrorCode, Error};
use relaymesh_core::{hash::Hash, name::Name};
use relaymesh_runtime::{
    root_clock::RootClock,
    token::{AttemptTokens, Bound, Found, Grant, NAMED_FILE, Pair, Scope, Tokens},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The file in the root that holds the hash of a one-time code.
pub const CODE_FILE: &str = "http-code.json";

/// How long a one-time code is good.
const CODE_MS: u64 = 60_000;
/// How long a session is good that was begun with one.
const SESSION_MS: u64 = 12 * 3_600_000;
/// Sessions at once; the one that ends first goes first.
const SESSIONS_MAX: usize = 256;

/// A one-time code: its hash, and until when it is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    hash: Hash,
    until_ms: u64,
}

impl Code {
    /// Puts a code into the root, in the place of any other, and gives it in the clear. `random` is 16 bytes that nobody can guess.
    pub fn make(root: &Path, random: [u8; 16], now_ms: u64) -> io::Result<String> {
        let code: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let kept = Self { hash: Hash::sha256(code.as_bytes()), until_ms: now_ms.saturating_add(CODE_MS) };
        let (path, new) = (root.join(CODE_FILE), root.join(format!("{CODE_FILE}.new")));
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(&kept)?)?;
        fs::rename(new, path)?;
        Ok(code)
    }

    /// Whether the code is the one that waits in the root. It is gone from there if it is: it is good once.
    fn redeem(root: &Path, code: &str, now_ms: u64) -> bool {
        let path = root.join(CODE_FILE);
        let kept = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
        let Some(kept) = kept else { return false };
        let hash = Hash::sha256(code.as_bytes());
        let is_it = constant_time_eq::constant_time_eq_32(&kept.hash.0, &hash.0);
        // The caller that removes the file is the one that used the code.
        is_it && now_ms < kept.until_ms && fs::remove_file(path).is_ok()
    }
}

/// All tokens that are good.
pub(super) struct Keys {
    root: PathBuf,
    clock: Arc<RootClock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    stamp: Option<(u64, i64, i64, u64)>,
    tokens: Tokens,
    attempts: AttemptTokens,
    /// Begun with a one-time code: by hash, with their end.
    sessions: BTreeMap<Hash, (u64, Found)>,
}

/// Who has shown a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Holder {
    /// A token with a name, or a session.
    Named(Found),
    /// An attempt; its rows say whether it is under way.
    Attempt(Bound),
}

impl Keys {
    pub(super) fn new(root: PathBuf, clock: Arc<RootClock>) -> Self {
        Self { root, clock, state: Mutex::default() }
    }

    /// What time it is for a token: it never goes back, so what has expired stays so.
    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Whose token it is, if it is good.
    pub(super) fn find(&self, token: &str, now_ms: u64) -> Result<Option<Holder>, Error> {
        let mut state = self.fresh()?;
        if let Some(bound) = state.attempts.find(token) {
            return Ok(Some(Holder::Attempt(bound.clone())));
        }
        let hash = Hash::sha256(token.as_bytes());
        if let Some((until_ms, found)) = state.sessions.get(&hash).cloned() {
            if now_ms < until_ms {
                return Ok(Some(Holder::Named(found)));
            }
            state.sessions.remove(&hash);
        }
        Ok(state.tokens.find(token, now_ms).map(Holder::Named))
    }

    /// Exchanges a one-time code for a session: its token and its expiry.
    pub(super) fn begin(&self, code: &str) -> Option<(String, u64)> {
        let now_ms = self.now_ms();
        if !Code::redeem(&self.root, code, now_ms) {
            return None;
        }
        let random: [u8; 32] = rand::random();
        let token: String = "rms_".chars().chain(random.iter().flat_map(|byte| hex(*byte))).collect();
        let name: Name = "console".parse().ok()?;
        let found = Found { name, grant: Grant { scope: Scope::Rw, namespaces: None, agent: None } };
        let until_ms = now_ms + SESSION_MS;
        let mut state = self.state();
        state.sessions.retain(|_, (until_ms, _)| now_ms < *until_ms);
        if state.sessions.len() >= SESSIONS_MAX {
            let first = state.sessions.iter().min_by_key(|(_, (until_ms, _))| *until_ms).map(|(hash, _)| *hash);
            first.map(|hash| state.sessions.remove(&hash));
        }
        state.sessions.insert(Hash::sha256(token.as_bytes()), (until_ms, found));
        Some((token, until_ms))
    }

    /// A token for an attempt that was claimed from outside.
    pub(super) fn issue(&self, bound: Bound) -> String {
        self.state().attempts.issue(bound, rand::random())
    }

    /// The attempt of this token is over.
    pub(super) fn forget(&self, token: &str) {
        self.state().attempts.forget(token);
    }

    /// Whether this is the registration token.
    pub(super) fn may_register(&self, token: &str) -> Result<bool, Error> {
        Ok(Pair::read(&self.root).map_err(|error| unreadable(&error))?.allows(token, self.now_ms()))
    }

    /// Changes the tokens with names.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Tokens) -> T) -> Result<T, Error> {
        Tokens::change(&self.root, change).map_err(|error| unreadable(&error))
    }

    /// The tokens with names.
    pub(super) fn named(&self) -> Result<Tokens, Error> {
        Ok(self.fresh()?.tokens.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, read again if the file is another one.
    fn fresh(&self) -> Result<MutexGuard<'_, State>, Error> {
        let mut state = self.state();
        let stamp = match fs::metadata(self.root.join(NAMED_FILE)) {
            Ok(found) => Some((found.ino(), found.mtime(), found.mtime_nsec(), found.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(unreadable(&error)),
        };
        if stamp != state.stamp || stamp.is_none() {
            // One that cannot be read lets nobody in: better than letting in whom it may have shut out.
            state.tokens = Tokens::read(&self.root).map_err(|error| unreadable(&error))?.unwrap_or_default();
            state.stamp = stamp;
        }
        Ok(state)
    }
}

fn hex(byte: u8) -> [char; 2] {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    [digit(byte >> 4), digit(byte & 15)]
}

fn unreadable(error: &io::Error) -> Error {
    Error::new(ErrorCode::StoreIo, format!("the tokens cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_one_time_code_is_good_once_and_for_a_minute() {
        let root = tempfile::tempdir().unwrap();
        let clock = Arc::new(RootClock::start(root.path(), 0));
        let now_ms = clock.now_ms();
        let code = Code::make(root.path(), [7; 16], now_ms).unwrap();
        assert!(!Code::redeem(root.path(), "0707", now_ms));
        assert!(!Code::redeem(root.path(), &code, now_ms + CODE_MS), "too late");
        let keys = Keys::new(root.path().to_owned(), clock);
        let (token, until_ms) = keys.begin(&code).unwrap();
        assert_eq!(keys.begin(&code), None, "a second time");
        let found = keys.find(&token, now_ms).unwrap();
        assert!(matches!(found, Some(Holder::Named(found)) if found.grant.scope == Scope::Rw));
        assert_eq!(keys.find(&token, until_ms).unwrap(), None, "a session ends");
        assert_eq!(keys.find("", now_ms).unwrap(), None);
    }

    #[test]
    fn a_token_that_is_revoked_is_useless_at_once_and_a_file_that_cannot_be_read_lets_nobody_in() {
        let root = tempfile::tempdir().unwrap();
        let keys = Keys::new(root.path().to_owned(), Arc::new(RootClock::start(root.path(), 0)));
        let name: Name = "ci".parse().unwrap();
        let grant = Grant { scope: Scope::Ro, namespaces: None, agent: None };
        let token = keys.change(|tokens| tokens.create(name.clone(), grant, None, [3; 32], 0)).unwrap().unwrap();
        assert!(keys.find(&token, 1).unwrap().is_some());
        Tokens::change(root.path(), |tokens| tokens.revoke(&name)).unwrap();
        assert_eq!(keys.find(&token, 1).unwrap(), None);
        fs::write(root.path().join(NAMED_FILE), "{").unwrap();
        assert!(keys.find(&token, 1).is_err());
    }
}
