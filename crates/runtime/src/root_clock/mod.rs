//! The time of a root, and how far the system clock is believed (decision 0043).
//!
//! A daemon that is started once with its clock a year ahead must not delete what is a week old, and a token that has expired must not be
//! good again after the clock is set back. So a root keeps, in `clock.json`, what time it was when it was last looked at, and how long the
//! machine had been running then. From that follow two times:
//!
//! ```text
//! now_ms    stamps, deadlines, tokens: never goes back, not even over a restart; follows the system clock at a start,
//!           unless that is more than a month ahead of all that is known
//! aged_ms   what is deleted by age: the earlier of the system clock and the time that has passed for certain; follows the
//!           system clock at a start, unless that is more than three days ahead
//! ```
//!
//! While the two disagree with the system clock an operator is told. It ends when a person confirms the system clock (`relaymesh clock
//! confirm`, which leaves `clock-confirmed.json` here), when the clock is set right, or when it has agreed with the boot-time clock for
//! three days.

mod judge;

#[cfg(test)]
mod tests;

pub use judge::{AGREED_MS, Confirmed, Doubt, HELD_BACK_MS, Kept, Look, State, UNCONFIRMED_AHEAD_MS};

use crate::{
    clock::{Source as _, System},
    sealed,
};
use relaymesh_core::utc::Utc;
use serde::{Serialize, de::DeserializeOwned};
use std::{
    fs::OpenOptions,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The file of what is kept, in the root.
pub const FILE: &str = "clock.json";
/// The file of a person's word, in the root. It is removed once it is heeded.
pub const CONFIRMED_FILE: &str = "clock-confirmed.json";
/// How often what is known is kept while nothing happens.
const KEEP_MS: u64 = 60_000;

/// How to begin.
type Judge = fn(Option<&Kept>, Option<&Confirmed>, u64, Look<'_>) -> State;

/// The time of a root.
#[derive(Debug)]
pub struct RootClock {
    root: PathBuf,
    boot: String,
    state: Mutex<(State, u64)>,
}

impl RootClock {
    /// The clock of this root at a start. `newest_ms` is the newest time on its log, 0 if there is none. Only for the one that holds the root.
    pub fn start(root: &Path, newest_ms: u64) -> Self {
        let clock = Self::read(root, newest_ms, State::start);
        clock.keep(false);
        let _ = std::fs::remove_file(root.join(CONFIRMED_FILE));
        clock
    }

    /// The same for a command that only wants to know the time: nothing is written.
    pub fn glance(root: &Path, newest_ms: u64) -> Self {
        Self::read(root, newest_ms, State::glance)
    }

    fn read(root: &Path, newest_ms: u64, judge: Judge) -> Self {
        let boot = boot();
        let look = Look { wall_ms: System.wall_ms(), boot_ms: System.boot_ms(), boot: &boot };
        let (kept, confirmed) = (read::<Kept>(root, FILE), read::<Confirmed>(root, CONFIRMED_FILE));
        let state = judge(kept.as_ref(), confirmed.as_ref(), newest_ms, look);
        Self { root: root.to_owned(), state: Mutex::new((state, look.boot_ms)), boot }
    }

    /// Time of the root: for stamps, deadlines and tokens. It never goes back.
    pub fn now_ms(&self) -> u64 {
        self.state().0.now_ms(System.boot_ms())
    }

    /// The time by which it is decided what is old enough to be deleted.
    pub fn aged_ms(&self) -> u64 {
        self.state().0.aged_ms(self.see())
    }

    /// What is wrong with the system clock, if anything is.
    pub fn doubt(&self) -> Option<Doubt> {
        self.state().0.doubt(self.see())
    }

    /// The same in words, with what to do.
    pub fn problem(&self) -> Option<String> {
        self.doubt().map(|doubt| match doubt {
            Doubt::Ahead { wall_ms, by_ms, age_ms } => format!(
                "the system clock shows {}, {} after the last time this root is sure of ({}); nothing is deleted by age \
                 beyond that. If the clock is right, run `relaymesh clock confirm`; otherwise set it",
                Utc(wall_ms), days(by_ms), Utc(age_ms)
            ),
            Doubt::Behind { wall_ms, by_ms } => format!(
                "the system clock shows {}, {} before the time of this root; its time goes on from there. Set the clock, or \
                 run `relaymesh clock confirm` if it is right",
                Utc(wall_ms), days(by_ms)
            ),
        })
    }

    /// Looks at the clocks, heeds a person's word, and keeps what is known now and then. To be called every second or so.
    pub fn look(&self) {
        let confirmed = read::<Confirmed>(&self.root, CONFIRMED_FILE);
        let look = self.see();
        let is_due = {
            let mut state = self.state();
            state.0.look(confirmed.as_ref(), look);
            look.boot_ms >= state.1.saturating_add(KEEP_MS)
        };
        if is_due || confirmed.is_some() {
            self.keep(confirmed.is_some());
        }
        if confirmed.is_some() {
            let _ = std::fs::remove_file(self.root.join(CONFIRMED_FILE));
        }
    }

    /// Keeps what is known. A disk that is full costs the next start what happened since the last time, and nothing else; so it is no error.
    pub fn keep(&self, durably: bool) {
        let look = self.see();
        let kept = {
            let mut state = self.state();
            state.1 = look.boot_ms;
            state.0.kept(look)
        };
        let _ = write(&self.root, FILE, &kept, durably);
    }

    fn see(&self) -> Look<'_> {
        Look { wall_ms: System.wall_ms(), boot_ms: System.boot_ms(), boot: &self.boot }
    }

    fn state(&self) -> MutexGuard<'_, (State, u64)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a person's word that the system clock is right now; gives what it shows.
pub fn confirm(root: &Path) -> io::Result<u64> {
    let said = Confirmed { boot: boot(), boot_ms: System.boot_ms(), wall_ms: System.wall_ms() };
    write(root, CONFIRMED_FILE, &said, true)?;
    Ok(said.wall_ms)
}

/// Keeps the time of a root that was restored from a backup: today, though nothing in it has become older meanwhile.
pub fn restored(root: &Path, newest_ms: u64) -> io::Result<()> {
    let (boot, boot_ms, wall_ms) = (boot(), System.boot_ms(), System.wall_ms());
    let kept =
        Kept { boot, boot_ms, wall_ms, now_ms: wall_ms.max(newest_ms), age_ms: newest_ms.min(wall_ms), agreed_ms: 0 };
    write(root, FILE, &kept, true)
}

/// Which start of the machine this is.
fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// One that cannot be read is as good as none: the log still says how late it is at least.
fn read<T: Serialize + DeserializeOwned>(root: &Path, name: &str) -> Option<T> {
    let bytes = std::fs::read(root.join(name)).ok()?;
    sealed::decode(&bytes).ok().map(|(what, _)| what)
}

fn write<T: Serialize>(root: &Path, name: &str, what: &T, durably: bool) -> io::Result<()> {
    let (path, new) = (root.join(name), root.join(format!("{name}.new")));
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
    file.write_all(&sealed::encode(what)?)?;
    if durably {
        file.sync_all()?;
    }
    std::fs::rename(new, path)
}

/// A span for people.
fn days(ms: u64) -> String {
    let hours = ms / 3_600_000;
    if hours < 48 { format!("{hours} hours") } else { format!("{} days", hours / 24) }
}
