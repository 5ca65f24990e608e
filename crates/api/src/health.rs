//! Whether a daemon can do its work, and if not, why.
//!
//! A probe that only says "up" is the tempting answer: the process runs, and every write is refused. Here each trouble has a code, says
//! whether it stops the work, and says in words what was found. One function decides, for `relaymesh status`, for a container's probe and for
//! whoever asks by HTTP.

use crate::error::Code;
use crate::local::Status;
use serde::{Deserialize, Serialize};

/// How a daemon is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Whether work is taken and done.
    pub is_ready: bool,
    /// Current problems, worst first.
    pub reasons: Vec<Reason>,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// What it is, for programs.
    pub trouble: Trouble,
    /// What was found, for people.
    pub detail: String,
}

/// What can be wrong. The worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// A commit or a sync failed; the node stops.
    Poisoned,
    /// Writes are refused until there is room again.
    DiskFull,
    /// The tokens of the HTTP API cannot be read: it lets nobody in.
    TokensRefused,
    /// Nobody has confirmed the system clock, and it cannot be believed: nothing is deleted by age.
    ClockUnconfirmed,
    /// The newest settings were not taken up.
    SettingsRefused,
    /// The newest agents were not taken up.
    AgentsRefused,
    /// Some agents get no work for a while.
    AgentsHeld,
    /// Something else that an operator should have seen.
    Alert,
}

impl Trouble {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Poisoned,
        Self::DiskFull,
        Self::TokensRefused,
        Self::ClockUnconfirmed,
        Self::SettingsRefused,
        Self::AgentsRefused,
        Self::AgentsHeld,
        Self::Alert,
    ];

    /// The word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Poisoned => "poisoned",
            Self::DiskFull => "disk_full",
            Self::TokensRefused => "tokens_refused",
            Self::ClockUnconfirmed => "clock_unconfirmed",
            Self::SettingsRefused => "settings_refused",
            Self::AgentsRefused => "agents_refused",
            Self::AgentsHeld => "agents_held",
            Self::Alert => "alert",
        }
    }

    /// The error that stands for it, if it stops the work.
    pub fn stops_with(self) -> Option<Code> {
        match self {
            Self::Poisoned => Some(Code::Indeterminate),
            Self::DiskFull => Some(Code::DiskFull),
            Self::TokensRefused => Some(Code::StoreIo),
            Self::ClockUnconfirmed | Self::SettingsRefused | Self::AgentsRefused | Self::AgentsHeld | Self::Alert => {
                None
            }
        }
    }
}

impl Status {
    /// Whether the work is done, and what is in its way.
    pub fn health(&self) -> Health {
        let mut reasons = Vec::new();
        let mut found = |trouble, detail: String| reasons.push(Reason { trouble, detail });
        if let Some(why) = &self.poisoned {
            found(Trouble::Poisoned, why.clone());
        }
        if self.disk_free_bytes < self.disk_needed_bytes {
            let (free, needed) = (self.disk_free_bytes >> 20, self.disk_needed_bytes >> 20);
            found(Trouble::DiskFull, format!("{free} MiB are free; writes stop below {needed} MiB"));
        } else if let Some(why) = &self.disk_full {
            found(Trouble::DiskFull, format!("a write was refused, and there is no room yet: {why}"));
        }
        if let Some(why) = &self.tokens_problem {
            found(Trouble::TokensRefused, why.clone());
        }
        if let Some(why) = &self.clock_problem {
            found(Trouble::ClockUnconfirmed, why.clone());
        }
        if let Some(why) = &self.settings_problem {
            found(Trouble::SettingsRefused, format!("the previous ones are still in use: {why}"));
        }
        if let Some(why) = &self.agents_problem {
            found(Trouble::AgentsRefused, format!("the previous ones are still in use: {why}"));
        }
        if !self.held.is_empty() {
            let shown: Vec<String> = self.held.iter().map(|held| format!("{}: {}", held.who, held.because)).collect();
            found(Trouble::AgentsHeld, shown.join("; "));
        }
        if let Some(alert) = &self.alert {
            found(Trouble::Alert, alert.clone());
        }
        reasons.sort_by_key(|reason| reason.trouble);
        Health { is_ready: reasons.iter().all(|reason| reason.trouble.stops_with().is_none()), reasons }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::HeldAgent;
    use relaymesh_core::id::NodeId;

    fn well() -> Status {
        Status { disk_free_bytes: 1 << 30, disk_needed_bytes: 16 << 20, ..Status::new(NodeId::new(1, 1)) }
    }

    #[test]
    fn each_trouble_is_told_and_only_some_stop_the_work() {
        let text = || Some("why".to_owned());
        let held = HeldAgent { who: "openai".to_owned(), until_ms: 7, because: "429".to_owned() };
        let table = [
            (well(), true, vec![]),
            (Status { poisoned: text(), ..well() }, false, vec!["poisoned"]),
            (Status { disk_free_bytes: 1, ..well() }, false, vec!["disk_full"]),
            (Status { tokens_problem: text(), ..well() }, false, vec!["tokens_refused"]),
            (Status { clock_problem: text(), ..well() }, true, vec!["clock_unconfirmed"]),
            (Status { disk_full: text(), ..well() }, false, vec!["disk_full"]),
            (Status { disk_free_bytes: 1, disk_full: text(), ..well() }, false, vec!["disk_full"]),
            (Status { settings_problem: text(), ..well() }, true, vec!["settings_refused"]),
            (Status { agents_problem: text(), ..well() }, true, vec!["agents_refused"]),
            (Status { held: vec![held.clone()], ..well() }, true, vec!["agents_held"]),
            (Status { alert: text(), ..well() }, true, vec!["alert"]),
            (
                Status { alert: text(), held: vec![held], poisoned: text(), ..well() },
                false,
                vec!["poisoned", "agents_held", "alert"],
            ),
        ];
        for (status, is_ready, troubles) in table {
            let health = status.health();
            let found: Vec<&str> = health.reasons.iter().map(|reason| reason.trouble.as_str()).collect();
            assert_eq!((health.is_ready, found), (is_ready, troubles), "{status:?}");
            assert!(health.reasons.iter().all(|reason| !reason.detail.is_empty()));
        }
    }
}
