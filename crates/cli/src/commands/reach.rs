//! Which commands can be about a daemon elsewhere (`--url`).

use super::{Command, agent, audit, flow, settings};
use crate::error::{Code, Error};

/// What a command is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The program itself, or files that are named: it does not matter where a daemon is.
    Program,
    /// A root here, or a daemon elsewhere.
    Anywhere,
    /// Files and processes of the daemon's own machine.
    Here,
}

impl Command {
    /// What it is about.
    pub(crate) fn reach(&self) -> Reach {
        match self {
            Self::Explain(_) | Self::Completions(_) | Self::Man(_) | Self::Reference(_) => Reach::Program,
            Self::Flow(command) => match command {
                flow::Command::New { .. } | flow::Command::Schema => Reach::Program,
                flow::Command::Check { .. } | flow::Command::Graph { .. } => Reach::Here,
            },
            Self::Settings(command) => match command {
                settings::Command::Schema => Reach::Program,
                settings::Command::Show | settings::Command::History(_) => Reach::Anywhere,
                settings::Command::Reload => Reach::Here,
            },
            Self::Agent(command) => match command {
                agent::Command::List(_) => Reach::Anywhere,
                agent::Command::Show(_)
                | agent::Command::Add(_)
                | agent::Command::Remove(_)
                | agent::Command::Detect(_)
                | agent::Command::Test(_)
                | agent::Command::Token(_) => Reach::Here,
            },
            Self::Audit(command) => match command {
                audit::Command::Tail(_) | audit::Command::Query(_) | audit::Command::Fenced(_) => Reach::Anywhere,
                audit::Command::Inference(_) | audit::Command::Verify(_) => Reach::Here,
            },
            Self::Status(_)
            | Self::Submit(_)
            | Self::Run(_)
            | Self::Task(_)
            | Self::Approvals(_)
            | Self::Approve(_)
            | Self::Deny(_)
            | Self::Dead(_)
            | Self::Msg(_)
            | Self::Lock(_)
            | Self::Ns(_)
            | Self::SettingsHistory(_)
            | Self::Metrics(_) => Reach::Anywhere,
            Self::Demo(_)
            | Self::Init(_)
            | Self::Up(_)
            | Self::Down(_)
            | Self::Top(_)
            | Self::Usage(_)
            | Self::Purge(_)
            | Self::ReloadSettings(_)
            | Self::Secret(_)
            | Self::Token(_)
            | Self::Open(_)
            | Self::Log(_)
            | Self::Backup(_)
            | Self::Restore(_)
            | Self::Doctor(_)
            | Self::Clock(_) => Reach::Here,
        }
    }
}

/// What to say about a command that is for the daemon's own machine alone.
pub(crate) fn local_only(url: &str) -> Error {
    let message = format!("this command works only on the daemon's machine, not on a remote daemon ({})", short(url));
    Error::new(Code::LocalOnly, message)
}

/// Without the part before an `@`, which may be a secret.
fn short(url: &str) -> String {
    url.split('@').next_back().unwrap_or_default().chars().filter(|c| !c.is_control()).take(100).collect()
}
