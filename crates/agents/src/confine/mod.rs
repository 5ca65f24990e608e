//! Confinement: an attempt writes only where it may, and reads neither the daemon's memory nor its secrets.
//!
//! Watching what an agent does and stopping it in time is the tempting answer, and always comes late. Here the kernel refuses (Landlock): a
//! *sandbox* belongs to a thread, its children inherit it, and nobody can leave it again. So an attempt is started by a thread of its
//! own, which enters the sandbox first and ends as soon as the process runs: were it to stay, the process could reach the daemon
//! through it, for the two are in the same sandbox.
//!
//! A sandbox has two layers. The first is the attempt's own: where it writes. The second is for all of them, and kept (`reads.rs`): what they
//! read. Landlock has no "all but this"; so that layer allows everything *around* the secrets, folder by folder.

#[cfg(target_os = "linux")]
mod reads;
mod refusal;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(not(target_os = "linux"))]
#[path = "absent.rs"]
mod sandbox;
mod state;

pub(crate) use refusal::refusal;
pub(crate) use sandbox::{Sandbox, SandboxBuilder, protect_daemon};
pub(crate) use state::{configuration, expand, own_folders};

use crate::agent::Process;
use serde::{Deserialize, Deserializer, de};
use std::fmt;

/// How much of an agent is confined, as its entry has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Confine {
    /// What it writes and what it reads (`true`).
    #[default]
    All,
    /// What it writes alone (`"writes"`): it may read the files with the secrets.
    Writes,
    /// Nothing (`false`).
    Off,
}

impl<'de> Deserialize<'de> for Confine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Confine;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or \"writes\"")
            }
            fn visit_bool<E: de::Error>(self, is_on: bool) -> Result<Confine, E> {
                Ok(if is_on { Confine::All } else { Confine::Off })
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<Confine, E> {
                match word {
                    "writes" => Ok(Confine::Writes),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// How well an agent is confined on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Not at all.
    None,
    /// Something that it should not be able to do, it is.
    Partial,
    /// As well as we can.
    Full,
}

impl Level {
    /// As people and programs read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Partial => "partial",
            Self::Full => "full",
        }
    }
}

/// How well an agent is confined, and why not better.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// How well.
    pub level: Level,
    /// Why not better; of one that is confined in full, by what.
    pub why: String,
}

/// How well this process is confined on this machine.
pub fn level(process: &Process) -> Confinement {
    let said = |level, why: &str| Confinement { level, why: why.to_owned() };
    let machine = machine();
    match process.confine {
        Confine::Off => said(Level::None, "`confine = false` in its entry"),
        Confine::All | Confine::Writes if machine.level != Level::Full => machine,
        Confine::Writes => said(Level::Partial, "`confine = \"writes\"`: it can read the files with the secrets"),
        Confine::All if process.opens_root => {
            said(Level::Partial, "its `writable` includes the root: it can change the root and read the secrets")
        }
        Confine::All => machine,
    }
}

/// How well agents can be confined on this machine.
pub fn machine() -> Confinement {
    sandbox::machine()
}
