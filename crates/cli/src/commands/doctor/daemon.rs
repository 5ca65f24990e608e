//! The daemon, and what a daemon that is gone has left behind.

use super::report::Report;
use crate::{
    args::Context,
    error::{Code, Error},
};
use relaymesh_agents::tree;
use relaymesh_api::{
    health::Reason,
    local::{Client, Endpoint},
};
use relaymesh_core::id::NodeId;
use relaymesh_runtime::agents::{self, owner};
use relaymesh_store::Reader as _;
use relaymesh_store_sqlite::SqliteReader;

/// Says whether one answers.
pub(super) fn check(context: &Context, report: &mut Report) -> bool {
    let ours = env!("CARGO_PKG_VERSION");
    match Client::connect(&context.root, &context.caller).and_then(|client| client.map(|c| c.status()).transpose()) {
        Ok(Some(status)) => {
            let found = format!("running, pid {}, version {}", status.pid, status.version);
            let health = status.health();
            match (health.reasons.first(), health.reasons.iter().find_map(|reason| reason.trouble.stops_with())) {
                (None, _) => report.ok("daemon", found),
                (Some(Reason { detail, .. }), Some(code)) => {
                    let advice = "see `relaymesh explain` and the end of daemon.log";
                    report.fail("daemon", code, format!("{found}; not ready: {detail}"), advice);
                }
                (Some(Reason { detail, .. }), None) => {
                    report.warn("daemon", format!("{found}; warning: {detail}"), "see the end of daemon.log");
                }
            }
            true
        }
        Ok(None) => {
            match Endpoint::read(&context.root) {
                Ok(Some(left)) => report.warn(
                    "daemon",
                    format!("daemon.json names pid {}, but no daemon answers: it was killed", left.pid),
                    "nothing; the next command that needs a daemon starts one",
                ),
                Ok(None) => report.ok("daemon", format!("not running; a command that needs it starts version {ours}")),
                Err(error) => report.fail(
                    "daemon",
                    Code::StoreIo,
                    format!("cannot read daemon.json: {error}"),
                    "check its permissions",
                ),
            }
            false
        }
        Err(error) if error.code == Code::OtherVersion => {
            report.warn("daemon", error.message, "stop it with `relaymesh down`; the next command starts this version");
            true
        }
        Err(error) => {
            report.error("daemon", &error);
            true
        }
    }
}

/// Processes and folders of attempts that nobody looks after.
pub(super) fn orphans(context: &Context, node: NodeId, is_up: bool, report: &mut Report) {
    let alive = owner(&context.root, node).map_or_else(|_| Vec::new(), |owner| tree::alive(&owner));
    if alive.is_empty() || is_up {
        report.ok("orphans", format!("no orphaned processes; {} running", alive.len()));
    } else {
        let pids: Vec<String> = alive.iter().map(i32::to_string).collect();
        report.warn(
            "orphans",
            format!("{} orphaned processes of attempts: {}", pids.len(), pids.join(", ")),
            "start a daemon with `relaymesh up`: it ends them and repeats their work",
        );
    }
    match left_folders(context) {
        Ok(0) => report.ok("attempts", "every folder in attempts belongs to a task"),
        Ok(count) => report.warn(
            "attempts",
            format!("{count} folders in attempts belong to no task"),
            "nothing; the daemon removes them",
        ),
        Err(error) => report.error("attempts", &error),
    }
}

fn left_folders(context: &Context) -> Result<usize, Error> {
    let mut reader = SqliteReader::open(&context.root)?;
    let left = agents::left_folders(&context.root, &mut |task| Ok::<_, Unreadable>(reader.task(task)?.is_some()));
    left.map(|folders| folders.len()).map_err(|Unreadable(error)| error)
}

struct Unreadable(Error);

impl From<std::io::Error> for Unreadable {
    fn from(error: std::io::Error) -> Self {
        Self(Error::new(Code::StoreIo, format!("cannot read the folder attempts: {error}")))
    }
}

impl From<relaymesh_store::Error> for Unreadable {
    fn from(error: relaymesh_store::Error) -> Self {
        Self(error.into())
    }
}
