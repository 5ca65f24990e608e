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
            let found = format!("pid {} answers, version {}", status.pid, status.version);
            let health = status.health();
            match (health.reasons.first(), health.reasons.iter().find_map(|reason| reason.trouble.stops_with())) {
                (None, _) => report.ok("daemon", found),
                (Some(Reason { detail, .. }), Some(code)) => {
                    let advice = "`relaymesh explain` says more; see the end of daemon.log";
                    report.fail("daemon", code, format!("{found}; it is not ready: {detail}"), advice);
                }
                (Some(Reason { detail, .. }), None) => {
                    report.warn("daemon", format!("{found}; it warns: {detail}"), "see the end of daemon.log");
                }
            }
            true
        }
        Ok(None) => {
            match Endpoint::read(&context.root) {
                Ok(Some(left)) => report.warn(
                    "daemon",
                    format!("daemon.json names pid {}, and nobody answers there: it was killed", left.pid),
                    "nothing: the next command that needs a daemon starts one and puts this right",
                ),
                Ok(None) => report.ok("daemon", format!("none runs; whoever needs one starts it, version {ours}")),
                Err(error) => report.fail(
                    "daemon",
                    Code::StoreIo,
                    format!("cannot read daemon.json: {error}"),
                    "see that you may read it",
                ),
            }
            false
        }
        Err(error) if error.code == Code::OtherVersion => {
            report.warn("daemon", error.message, "`relaymesh down`, then the next command starts one of this version");
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
        report.ok("orphans", format!("no process of an attempt is without a daemon; {} under way", alive.len()));
    } else {
        let pids: Vec<String> = alive.iter().map(i32::to_string).collect();
        report.warn(
            "orphans",
            format!("{} processes of attempts whose daemon is gone: {}", pids.len(), pids.join(", ")),
            "`relaymesh up` starts a daemon, which ends them and does their work again",
        );
    }
    match left_folders(context) {
        Ok(0) => report.ok("attempts", "every folder in attempts belongs to a task"),
        Ok(count) => report.warn(
            "attempts",
            format!("{count} folders in attempts belong to no task any more"),
            "nothing: the daemon removes them when it tidies up",
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
        Self(Error::new(Code::StoreIo, format!("cannot look into attempts: {error}")))
    }
}

impl From<relaymesh_store::Error> for Unreadable {
    fn from(error: relaymesh_store::Error) -> Self {
        Self(error.into())
    }
}
