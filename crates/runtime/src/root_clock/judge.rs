//! What to believe of the clocks when a process starts, and while it runs. Pure.

use serde::{Deserialize, Serialize};

/// A machine may have been off this long without anybody being asked: a long weekend.
pub const UNCONFIRMED_AHEAD_MS: u64 = 3 * DAY_MS;
/// Beyond this, stamps do not follow the system clock either until it is confirmed: what is stamped ahead stays ahead for good.
pub const HELD_BACK_MS: u64 = 31 * DAY_MS;
/// Further behind, somebody should know.
const BEHIND_MS: u64 = 60 * 60 * 1_000;
/// After so long a time in which the clocks agree, the system clock is believed without a person.
pub const AGREED_MS: u64 = 3 * DAY_MS;
/// Two clocks that agree differ by less.
const AGREE_MS_MAX: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// One look at the clocks of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look<'a> {
    /// The system clock.
    pub wall_ms: u64,
    /// Time since the machine started.
    pub boot_ms: u64,
    /// Which start of the machine that is. Empty: nobody knows.
    pub boot: &'a str,
}

/// What is kept in `clock.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The start of the machine during which it was written.
    pub boot: String,
    /// Time since then.
    pub boot_ms: u64,
    /// The system clock.
    pub wall_ms: u64,
    /// Time of the root: stamps, deadlines and tokens.
    pub now_ms: u64,
    /// Time by which ages are judged.
    pub age_ms: u64,
    /// For how long the clocks have agreed since the system clock was found ahead; 0 while it is believed.
    pub agreed_ms: u64,
}

/// A person has said that the system clock is right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmed {
    /// The start of the machine.
    pub boot: String,
    /// Time since then.
    pub boot_ms: u64,
    /// The time that is right.
    pub wall_ms: u64,
}

/// What is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    boot: String,
    /// Time of the root minus boot time. It is fixed while the process runs (decision 0008).
    now_offset_ms: u64,
    /// Time of ages minus boot time.
    age_offset_ms: u64,
    agreed_ms: u64,
    /// The last look: both clocks.
    seen: (u64, u64),
}

/// What is wrong with the system clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// It is ahead of all that is known, and nobody has confirmed it.
    Ahead {
        /// What it says.
        wall_ms: u64,
        /// By how much.
        by_ms: u64,
        /// The time that ages are judged by.
        age_ms: u64,
    },
    /// It is behind.
    Behind {
        /// What it says.
        wall_ms: u64,
        /// By how much.
        by_ms: u64,
    },
}

/// How much time has passed for certain since then: nobody knows how long a machine was off.
fn passed(boot: &str, boot_ms: u64, look: Look<'_>) -> u64 {
    let is_same = !boot.is_empty() && boot == look.boot;
    if is_same { look.boot_ms.saturating_sub(boot_ms) } else { 0 }
}

impl State {
    /// What to believe at a start. `newest_ms` is the newest time on the log, 0 if there is none.
    pub fn start(kept: Option<&Kept>, confirmed: Option<&Confirmed>, newest_ms: u64, look: Look<'_>) -> Self {
        let Look { wall_ms, boot_ms, boot } = look;
        let said_ms = confirmed.map(|said| said.wall_ms.saturating_add(passed(&said.boot, said.boot_ms, look)));
        let certain_ms = kept.map_or(0, |kept| passed(&kept.boot, kept.boot_ms, look));
        let now_ms = kept.map_or(0, |kept| kept.now_ms.saturating_add(certain_ms)).max(newest_ms);
        let age_ms = match (said_ms, kept) {
            (Some(said_ms), _) => said_ms,
            (None, Some(kept)) => kept.age_ms.saturating_add(certain_ms),
            // A root from before: the log may have been stamped ahead.
            (None, None) if newest_ms > 0 => newest_ms.min(wall_ms),
            (None, None) => wall_ms,
        };
        let is_ahead = wall_ms > age_ms.saturating_add(UNCONFIRMED_AHEAD_MS);
        let agreed_ms = match kept.filter(|kept| kept.agreed_ms > 0) {
            Some(kept) if is_ahead => kept.agreed_ms_at(certain_ms, look),
            Some(_) | None => u64::from(is_ahead),
        };
        let is_believed = agreed_ms == 0 || agreed_ms >= AGREED_MS;
        let age_ms = if is_believed { age_ms.max(wall_ms) } else { age_ms };
        let base_ms = now_ms.max(said_ms.unwrap_or(0));
        let is_held_back = !is_believed && base_ms > 0 && wall_ms > base_ms.saturating_add(HELD_BACK_MS);
        let start_ms = if is_held_back { base_ms } else { base_ms.max(wall_ms) };
        Self {
            boot: boot.to_owned(),
            now_offset_ms: start_ms.saturating_sub(boot_ms),
            age_offset_ms: age_ms.saturating_sub(boot_ms),
            agreed_ms: if is_believed { 0 } else { agreed_ms },
            seen: (wall_ms, boot_ms),
        }
    }

    /// What to believe in a command that starts nothing: a daemon that runs since that look goes on with its time, even if the system clock
    /// was set meanwhile, and what is made now must fit in there.
    pub fn glance(kept: Option<&Kept>, confirmed: Option<&Confirmed>, newest_ms: u64, look: Look<'_>) -> Self {
        let mut state = Self::start(kept, confirmed, newest_ms, look);
        if let Some(kept) = kept.filter(|kept| !kept.boot.is_empty() && kept.boot == look.boot) {
            let now_ms = kept.now_ms.saturating_add(passed(&kept.boot, kept.boot_ms, look)).max(newest_ms);
            state.now_offset_ms = now_ms.saturating_sub(look.boot_ms);
        }
        state
    }

    /// Another look while the process runs.
    pub fn look(&mut self, confirmed: Option<&Confirmed>, look: Look<'_>) {
        let Look { wall_ms, boot_ms, .. } = look;
        let passed_ms = boot_ms.saturating_sub(self.seen.1);
        let is_steady = wall_ms.abs_diff(self.seen.0.saturating_add(passed_ms)) <= AGREE_MS_MAX;
        self.seen = (wall_ms, boot_ms);
        if let Some(said) = confirmed {
            let said_ms = said.wall_ms.saturating_add(passed(&said.boot, said.boot_ms, look));
            self.age_offset_ms = said_ms.saturating_sub(boot_ms);
        }
        let is_ahead = wall_ms > self.age_ms(boot_ms).saturating_add(UNCONFIRMED_AHEAD_MS);
        self.agreed_ms = match (is_ahead, is_steady) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => self.agreed_ms.saturating_add(passed_ms).max(1),
        };
        if self.agreed_ms >= AGREED_MS {
            self.agreed_ms = 0;
            self.age_offset_ms = wall_ms.saturating_sub(boot_ms);
        }
    }

    /// Time of the root: it never goes back, not even over a restart.
    pub fn now_ms(&self, boot_ms: u64) -> u64 {
        self.now_offset_ms.saturating_add(boot_ms)
    }

    fn age_ms(&self, boot_ms: u64) -> u64 {
        self.age_offset_ms.saturating_add(boot_ms)
    }

    /// The time that ages are judged by: the earlier of the system clock and what is certain to have passed.
    pub fn aged_ms(&self, look: Look<'_>) -> u64 {
        self.age_ms(look.boot_ms).min(look.wall_ms)
    }

    /// What is wrong with the system clock, if anything is.
    pub fn doubt(&self, look: Look<'_>) -> Option<Doubt> {
        let (wall_ms, age_ms) = (look.wall_ms, self.age_ms(look.boot_ms));
        if wall_ms > age_ms.saturating_add(UNCONFIRMED_AHEAD_MS) {
            return Some(Doubt::Ahead { wall_ms, by_ms: wall_ms - age_ms, age_ms });
        }
        let by_ms = age_ms.saturating_sub(wall_ms);
        (by_ms > BEHIND_MS).then_some(Doubt::Behind { wall_ms, by_ms })
    }

    /// What to keep of it.
    pub fn kept(&self, look: Look<'_>) -> Kept {
        Kept {
            boot: self.boot.clone(),
            boot_ms: look.boot_ms,
            wall_ms: look.wall_ms,
            now_ms: self.now_ms(look.boot_ms),
            age_ms: self.age_ms(look.boot_ms),
            agreed_ms: self.agreed_ms,
        }
    }
}

impl Kept {
    /// For how long the clocks agree by now, this much later for certain. A machine that was off says nothing about that time.
    fn agreed_ms_at(&self, certain_ms: u64, look: Look<'_>) -> u64 {
        let expected_ms = self.wall_ms.saturating_add(certain_ms);
        let is_same_boot = !self.boot.is_empty() && self.boot == look.boot;
        let agrees = match is_same_boot {
            true => look.wall_ms.abs_diff(expected_ms) <= AGREE_MS_MAX,
            false => (expected_ms..=expected_ms.saturating_add(HELD_BACK_MS)).contains(&look.wall_ms),
        };
        if agrees { self.agreed_ms.saturating_add(certain_ms) } else { 1 }
    }
}
