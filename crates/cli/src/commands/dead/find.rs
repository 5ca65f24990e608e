//! What came to nothing, and which of it is meant.

use crate::{
    args::Context,
    error::{Code, Error},
    output,
    progress::Progress,
    remote::{self, Remote},
    root, time,
};
use relaymesh_api::view::dead::{self, All, Dead, Documents};
pub(super) use relaymesh_api::view::dead::{Shown, What};
use relaymesh_core::{
    id::{MessageId, ThreadId},
    name::Name,
};
use serde_json::Value;

/// Ids that a daemon elsewhere is asked about at once.
const NAMED_MAX: usize = 200;

/// Which of what came to nothing.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Selection {
    /// Only where this agent failed, or where a message was for it
    #[arg(long, value_name = "NAME")]
    agent: Option<Name>,
    /// Only tasks of the flow with this name
    #[arg(long, value_name = "NAME")]
    flow: Option<Name>,
    /// Only what died at this time or later: 2026-11-16, 2026-11-16T08:15:30Z, or how long ago (90s, 15m, 2h, 7d)
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    since: Option<u64>,
    /// Only what died before this time
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    before: Option<u64>,
}

/// Some of it by name, some by what they have in common, or all.
#[derive(Debug, clap::Args)]
pub(super) struct Chosen {
    /// Tasks, messages, or threads for their messages
    #[arg(value_name = "ID", conflicts_with_all = ["agent", "flow", "since", "before", "all"])]
    ids: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    /// Everything of this namespace
    #[arg(long)]
    all: bool,
}

impl Chosen {
    /// The same; everything if nothing is chosen. For whoever changes nothing.
    pub(super) fn find_or_all(&self, context: &Context) -> Result<Vec<Shown>, Error> {
        if self.ids.is_empty() { self.selection.find(context).map(|all| all.dead) } else { self.find(context) }
    }

    /// What is meant, in the order in which it was submitted or sent.
    pub(super) fn find(&self, context: &Context) -> Result<Vec<Shown>, Error> {
        match &self.ids[..] {
            [] if self.all || self.selection.meant() != dead::Selection::default() => {
                let All { dead, total } = self.selection.find(context)?;
                if dead.len() < total {
                    output::note(&format!("note: the first {} of {total}; repeat it for the others", dead.len()));
                }
                Ok(dead)
            }
            [] => {
                let error = Error::new(Code::Usage, "nothing is chosen");
                Err(error.hint("give ids, --agent, --flow, --since or --before, or --all"))
            }
            ids => named(context, ids),
        }
    }
}

impl Selection {
    /// All of the namespace that fits, in the order in which it was submitted or sent. A daemon elsewhere tells of a thousand at most.
    pub(super) fn find(&self, context: &Context) -> Result<All, Error> {
        if let Some(remote) = &context.remote {
            let text = |name: &Option<Name>| name.as_ref().map(Name::to_string);
            let query = [
                ("namespace", Some(context.namespace.to_string())),
                ("agent", text(&self.agent)),
                ("flow", text(&self.flow)),
                ("since_ms", self.since.map(|since| since.to_string())),
                ("before_ms", self.before.map(|before| before.to_string())),
            ];
            return remote.get(&["dead"], &query);
        }
        let (mut reader, mut progress) = (root::read(&context.root)?, Progress::new("looked at threads:", 0));
        let found = self.meant().find(&mut reader, &context.namespace, &mut |seen| progress.tell(seen))?;
        let total = found.len();
        Ok(All { dead: found.into_iter().map(Dead::shown).collect(), total })
    }

    fn meant(&self) -> dead::Selection {
        let Self { agent, flow, since, before } = self;
        dead::Selection { agent: agent.clone(), flow: flow.clone(), since_ms: *since, before_ms: *before }
    }
}

/// What has these ids, in the order in which it was submitted or sent.
fn named(context: &Context, ids: &[String]) -> Result<Vec<Shown>, Error> {
    let Some(remote) = &context.remote else {
        let (mut reader, mut progress) = (root::read(&context.root)?, Progress::new("looked at threads:", 0));
        let mut found = dead::named(&mut reader, ids, &mut |seen| progress.tell(seen))?;
        found.sort_by_key(|dead| dead.pos);
        return Ok(found.into_iter().map(Dead::shown).collect());
    };
    let whole = ids.iter().map(|text| whole(remote, context, text)).collect::<Result<Vec<_>, _>>()?;
    let mut found = Vec::new();
    for some in whole.chunks(NAMED_MAX) {
        found.extend(remote.get::<All>(&["dead"], &[("ids", Some(some.join(",")))])?.dead);
    }
    Ok(found)
}

/// Everything that is known of what has this id; several documents if it is a thread.
pub(super) fn documents(context: &Context, text: &str) -> Result<Vec<Value>, Error> {
    if let Some(remote) = &context.remote {
        let id = whole(remote, context, text)?;
        return Ok(remote.get::<Documents>(&["dead", &id], &[])?.documents);
    }
    let found = named(context, std::slice::from_ref(&text.to_owned()))?;
    let mut reader = root::read(&context.root)?;
    found.iter().filter_map(|dead| dead.ids.what()).map(|what| what.document(&mut reader)).collect()
}

/// The whole id of what is meant there.
fn whole(remote: &Remote, context: &Context, text: &str) -> Result<String, Error> {
    let is_message = text.parse::<MessageId>().is_ok() || text.parse::<ThreadId>().is_ok();
    if is_message { Ok(text.to_owned()) } else { remote::task(remote, context, text).map(|task| task.to_string()) }
}
