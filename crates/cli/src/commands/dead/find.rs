//! Failed tasks and messages, and their selection.

use crate::{
    client::Client,
    error::{Code, Error},
    output, time,
};
use relaymesh_api::view::dead::{self, All};
pub(super) use relaymesh_api::view::dead::{Shown, What};
use relaymesh_core::{
    id::{MessageId, TaskId, ThreadId},
    name::Name,
};

/// A selection of failed tasks and messages.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Selection {
    /// Only tasks in which this agent failed, and messages to it
    #[arg(long, value_name = "NAME")]
    agent: Option<Name>,
    /// Only tasks of this flow
    #[arg(long, value_name = "NAME")]
    flow: Option<Name>,
    /// Only failures at or after this time: 2026-11-16, 2026-11-16T08:15:30Z, or an age (90s, 15m, 2h, 7d)
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    since: Option<u64>,
    /// Only failures before this: an age (90s, 15m, 2h, 7d, 4w) or a time
    #[arg(long, value_name = "AGE", alias = "before", value_parser = time::parse)]
    older_than: Option<u64>,
}

/// Some of it by name, some by what they have in common, or all.
#[derive(Debug, clap::Args)]
pub(super) struct Chosen {
    /// Ids of tasks, messages, or threads (for all their failed messages)
    #[arg(value_name = "ID", conflicts_with_all = ["agent", "flow", "since", "older_than", "all"])]
    ids: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    /// All of this namespace
    #[arg(long)]
    all: bool,
}

impl Chosen {
    /// Whether it is chosen by when it failed.
    pub(super) fn is_by_age(&self) -> bool {
        self.selection.since.is_some() || self.selection.older_than.is_some()
    }

    /// The same, but selects all by default; for commands that change nothing.
    pub(super) fn find_or_all(&self, client: &dyn Client) -> Result<Vec<Shown>, Error> {
        if self.ids.is_empty() { self.selection.find(client).map(|all| all.dead) } else { self.find(client) }
    }

    /// The same, and ids of which there is nothing any more: for commands that can be repeated after they were interrupted.
    pub(super) fn find_left(&self, client: &dyn Client) -> Result<(Vec<Shown>, Vec<String>), Error> {
        let is_gone = |error: &Error| error.code == Code::NoTask && self.ids.iter().any(|text| is_whole(text));
        match self.find(client) {
            Err(error) if is_gone(&error) => {}
            found => return Ok((found?, Vec::new())),
        }
        let (mut found, mut gone) = (Vec::new(), Vec::new());
        for id in &self.ids {
            match client.dead_named(std::slice::from_ref(id)) {
                Err(error) if error.code == Code::NoTask && is_whole(id) => gone.push(id.clone()),
                dead => found.extend(dead?),
            }
        }
        Ok((found, gone))
    }

    /// What is meant, in the order in which it was submitted or sent.
    pub(super) fn find(&self, client: &dyn Client) -> Result<Vec<Shown>, Error> {
        match &self.ids[..] {
            [] if self.all || self.selection.meant() != dead::Selection::default() => {
                let All { dead, total } = self.selection.find(client)?;
                if dead.len() < total {
                    output::note(&format!(
                        "note: only the first {} of {total}; repeat the command for the others",
                        dead.len()
                    ));
                }
                Ok(dead)
            }
            [] => {
                let error = Error::new(Code::Usage, "nothing is selected");
                Err(error.hint("give ids, --agent, --flow, --since or --older-than, or --all"))
            }
            ids => client.dead_named(ids),
        }
    }
}

/// Whether this is a whole id, and not a part of one.
fn is_whole(text: &str) -> bool {
    text.parse::<TaskId>().is_ok() || text.parse::<MessageId>().is_ok() || text.parse::<ThreadId>().is_ok()
}

impl Selection {
    /// All of the namespace that fits, in the order in which it was submitted or sent. A daemon elsewhere tells of a thousand at most.
    pub(super) fn find(&self, client: &dyn Client) -> Result<All, Error> {
        client.dead(&self.meant())
    }

    fn meant(&self) -> dead::Selection {
        let Self { agent, flow, since, older_than } = self;
        dead::Selection { agent: agent.clone(), flow: flow.clone(), since_ms: *since, before_ms: *older_than }
    }
}
