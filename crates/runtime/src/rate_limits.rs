//! Rate limits of providers: the agents of a provider that turns one of them away are *held*, and their steps wait without spending attempts.
//!
//! ```text
//! held ──time is over──► tried: one attempt at once ──it succeeded, or nobody was turned away for a while──► open
//!   ▲                      │
//!   └────turned away───────┘
//! ```
//!
//! When its time is over a provider is *tried*: a provider that turned one request away may not be able to take all of them. An attempt that
//! fails for another reason proves nothing. One that takes long is taken for an answer, since nobody is turned away that late.
//!
//! It is kept in a file, so that a restart does not ask too early and others can show it. The file is a courtesy: without it a held agent is
//! asked once more, is turned away, and is held again.

use relaymesh_core::name::Name;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// The file, in the root.
pub const FILE: &str = "held.json";

/// What the name of an agent that has used its budget begins with. A provider is a name, or the name of its only agent behind another word.
const BUDGET: &str = "budget of ";

/// How long a provider is left alone that does not say how long; twice as long each time in a row.
const FIRST_MS: u64 = 60_000;
/// The longest of those.
const LONGEST_MS: u64 = 16 * FIRST_MS;
/// No provider is left alone for longer than this, whatever it says.
const MOST_MS: u64 = 8 * 24 * 3_600_000;
/// Nor for less.
const LEAST_MS: u64 = 1_000;
/// A provider is tried for no longer than this.
const TRIED_MS: u64 = 30_000;

/// One provider that is held, or was a short time ago.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Until when, in milliseconds since 1970.
    pub until_ms: u64,
    /// Why, for people.
    pub reason: String,
    /// Whether it is over, and only remembered.
    pub is_over: bool,
    /// How often in a row it did not say how long.
    times: u32,
    /// Whether it took an attempt after that.
    #[serde(default)]
    is_open: bool,
}

impl Entry {
    /// Whether its time is over, and one attempt at once shows whether it takes more.
    fn is_tried(&self) -> bool {
        self.is_over && !self.is_open
    }

    /// When it needs to be looked at again.
    fn next_ms(&self) -> Option<u64> {
        match (self.is_over, self.is_open) {
            (false, _) => Some(self.until_ms),
            (true, false) => Some(self.until_ms.saturating_add(TRIED_MS)),
            (true, true) => None,
        }
    }
}

/// Where it is kept over a restart.
pub trait Keeper: Send {
    /// What was written last, if it can be read.
    fn read(&self) -> Option<Vec<u8>>;
    /// Writes all of it. If that fails, an agent is asked once more than it need be.
    fn write(&self, bytes: &[u8]);
}

/// Keeps it in this file.
struct InFile(PathBuf);

impl Keeper for InFile {
    fn read(&self) -> Option<Vec<u8>> {
        std::fs::read(&self.0).ok()
    }

    fn write(&self, bytes: &[u8]) {
        let new = self.0.with_added_extension("new");
        let mut options = OpenOptions::new();
        let written = options.create(true).truncate(true).write(true).mode(0o600).open(&new);
        let written = written.and_then(|mut file| file.write_all(bytes));
        let _ = written.and_then(|()| std::fs::rename(&new, &self.0));
    }
}

/// The rate limits that are known.
pub struct RateLimits {
    keeper: Box<dyn Keeper>,
    by_provider: BTreeMap<String, Entry>,
}

impl RateLimits {
    /// The rate limits that were known when the last life of this root ended.
    pub fn read(root: &Path) -> Self {
        Self::kept_by(Box::new(InFile(root.join(FILE))))
    }

    /// The same, kept elsewhere.
    pub fn kept_by(keeper: Box<dyn Keeper>) -> Self {
        let by_provider = keeper.read().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Self { keeper, by_provider }
    }

    /// Whether this provider is held.
    pub fn is_held(&self, provider: &str) -> bool {
        self.by_provider.get(provider).is_some_and(|entry| !entry.is_over)
    }

    /// Whether this provider is tried: one attempt at once.
    pub(crate) fn is_tried(&self, provider: &str) -> bool {
        self.by_provider.get(provider).is_some_and(Entry::is_tried)
    }

    /// Whether any provider is.
    pub(crate) fn is_any_tried(&self) -> bool {
        self.by_provider.values().any(Entry::is_tried)
    }

    /// An attempt with this provider succeeded. Says whether it was tried until now.
    pub(crate) fn answered(&mut self, provider: &str) -> bool {
        let tried = self.by_provider.get_mut(provider).filter(|entry| entry.is_tried());
        let was_tried = tried.map(|entry| entry.is_open = true).is_some();
        if was_tried {
            self.write();
        }
        was_tried
    }

    /// Holds a provider; says until when. Of two that say how long, the later counts.
    pub(crate) fn hold(&mut self, provider: &str, reason: &str, until_ms: Option<u64>, now_ms: u64) -> u64 {
        let before = self.by_provider.get(provider);
        let running_ms = before.filter(|entry| !entry.is_over).map_or(0, |entry| entry.until_ms);
        let is_new = before.is_none_or(|entry| entry.is_over);
        // Several attempts are turned away at once; that is one time.
        let times = before.map_or(0, |entry| entry.times) + u32::from(is_new && until_ms.is_none());
        let doubled = FIRST_MS.saturating_mul(1 << times.saturating_sub(1).min(16)).min(LONGEST_MS);
        let wanted_ms = until_ms.unwrap_or_else(|| now_ms.saturating_add(doubled));
        let until_ms = wanted_ms.clamp(now_ms.saturating_add(LEAST_MS), now_ms.saturating_add(MOST_MS)).max(running_ms);
        let entry = Entry { until_ms, reason: reason.to_owned(), is_over: false, times, is_open: false };
        self.by_provider.insert(provider.to_owned(), entry);
        self.write();
        until_ms
    }

    /// Lets go of those whose time is over, opens those that were tried for long enough, and forgets what was over long ago. Says whether
    /// that changed anything.
    pub(crate) fn release(&mut self, now_ms: u64) -> bool {
        let mut released = false;
        for entry in self.by_provider.values_mut().filter(|entry| !entry.is_over && entry.until_ms <= now_ms) {
            (entry.is_over, released) = (true, true);
        }
        let tried_enough =
            |entry: &&mut Entry| entry.is_tried() && entry.next_ms().is_some_and(|at_ms| at_ms <= now_ms);
        for entry in self.by_provider.values_mut().filter(tried_enough) {
            (entry.is_open, released) = (true, true);
        }
        let before = self.by_provider.len();
        self.by_provider.retain(|_, entry| !entry.is_over || entry.until_ms.saturating_add(LONGEST_MS) > now_ms);
        if released || self.by_provider.len() < before {
            self.write();
        }
        released
    }

    /// Lets go of agents that have used their budget.
    pub(crate) fn release_budgets(&mut self) {
        let before = self.by_provider.len();
        self.by_provider.retain(|whose, _| !whose.starts_with(BUDGET));
        if self.by_provider.len() < before {
            self.write();
        }
    }

    /// When the next one's time is over.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.by_provider.values().filter_map(Entry::next_ms).min()
    }

    fn write(&self) {
        if let Ok(bytes) = serde_json::to_vec(&self.by_provider) {
            self.keeper.write(&bytes);
        }
    }
}

/// How an agent is called that is held because it has used its budget.
pub(crate) fn budget_of(agent: &Name) -> String {
    format!("{BUDGET}{agent}")
}

/// How people call what is held: a provider, or an agent.
pub fn called(whose: &str) -> String {
    whose.strip_prefix(BUDGET).map_or_else(|| whose.to_owned(), |agent| format!("agent {agent}"))
}

/// Why this agent is held, if it is.
pub fn of<'a>(entries: &'a BTreeMap<String, Entry>, agent: &Name, provider: &str) -> Option<&'a Entry> {
    let held = [provider, &budget_of(agent)].map(|whose| entries.get(whose).filter(|entry| !entry.is_over));
    held.into_iter().flatten().max_by_key(|entry| entry.until_ms)
}

/// Who is held in this root, by provider, as the daemon has written it down.
pub fn entries(root: &Path) -> Option<BTreeMap<String, Entry>> {
    serde_json::from_slice(&std::fs::read(root.join(FILE)).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_held_until_it_said_and_over_a_restart() {
        let root = tempfile::tempdir().unwrap();
        let mut limits = RateLimits::read(root.path());
        assert_eq!(limits.hold("openai", "limit", Some(5_000_000), 1_000_000), 5_000_000);
        assert_eq!(limits.hold("openai", "limit", Some(4_000_000), 1_000_000), 5_000_000, "the later one counts");
        let mut limits = RateLimits::read(root.path());
        assert!(limits.is_held("openai") && !limits.is_held("anthropic"));
        assert_eq!((limits.release(4_999_999), limits.next_ms()), (false, Some(5_000_000)));
        assert_eq!((limits.release(5_000_000), limits.next_ms()), (true, Some(5_000_000 + TRIED_MS)));
        assert!(!RateLimits::read(root.path()).is_held("openai"));
    }

    #[test]
    fn one_attempt_shows_whether_a_provider_takes_more() {
        let root = tempfile::tempdir().unwrap();
        let mut limits = RateLimits::read(root.path());
        let until_ms = limits.hold("p", "503", Some(5_000_000), 1_000_000);
        assert!(!limits.is_tried("p") && !limits.answered("p"), "what began before it was held proves nothing");
        assert!(limits.release(until_ms));
        let mut limits = RateLimits::read(root.path());
        assert!(limits.is_tried("p") && limits.is_any_tried() && !limits.is_held("p"));
        limits.hold("p", "503", Some(6_000_000), until_ms);
        assert!(limits.is_held("p") && !limits.is_tried("p"), "the attempt was turned away");
        assert!(limits.release(6_000_000) && limits.answered("p"));
        assert!(!limits.is_any_tried() && !limits.answered("p"));
        assert_eq!(limits.next_ms(), None);
        limits.hold("p", "503", Some(7_000_000), 6_000_000);
        assert!(limits.release(7_000_000) && !limits.release(7_000_000 + TRIED_MS - 1) && limits.is_tried("p"));
        assert!(limits.release(7_000_000 + TRIED_MS) && !limits.is_tried("p"), "nobody is turned away that late");
    }

    #[test]
    fn who_does_not_say_how_long_is_left_alone_longer_each_time() {
        let root = tempfile::tempdir().unwrap();
        let mut limits = RateLimits::read(root.path());
        let mut now_ms = 1_000_000;
        let mut waits = Vec::new();
        for _ in 0..6 {
            let until_ms = limits.hold("p", "429", None, now_ms);
            assert_eq!(limits.hold("p", "429", None, now_ms), until_ms, "turned away together counts once");
            waits.push((until_ms - now_ms) / FIRST_MS);
            now_ms = until_ms;
            assert!(limits.release(now_ms));
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 16]);
        limits.release(now_ms + LONGEST_MS);
        assert_eq!(
            limits.hold("p", "429", None, now_ms + LONGEST_MS) - now_ms - LONGEST_MS,
            FIRST_MS,
            "forgotten by now"
        );
    }

    #[test]
    fn new_budgets_end_the_holds_of_budgets_and_no_rate_limit() {
        let root = tempfile::tempdir().unwrap();
        let (agent, alone) = ("solo".parse().unwrap(), "agent solo");
        let mut limits = RateLimits::read(root.path());
        limits.hold(alone, "429", Some(5_000_000), 1_000_000);
        limits.hold(&budget_of(&agent), "over budget", Some(9_000_000), 1_000_000);
        let entries = entries(root.path()).unwrap();
        assert!(entries.keys().all(|whose| called(whose) == alone), "{entries:?}");
        assert_eq!(of(&entries, &agent, alone).unwrap().until_ms, 9_000_000);
        limits.release_budgets();
        let limits = RateLimits::read(root.path());
        assert!(limits.is_held(alone), "its provider has not changed its mind");
        assert!(!limits.is_held(&budget_of(&agent)));
    }

    #[test]
    fn nonsense_is_bounded() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join(FILE), "not json").unwrap();
        let mut limits = RateLimits::read(root.path());
        assert_eq!(limits.hold("p", "", Some(u64::MAX), 7), 7 + MOST_MS);
        assert_eq!(limits.hold("q", "", Some(0), 7_000), 7_000 + LEAST_MS);
    }
}
