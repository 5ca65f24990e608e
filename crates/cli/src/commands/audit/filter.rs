//! Which ops somebody wants to see.

use super::entry::to_text;
use crate::{
    args::Context,
    client::{Client, Found, Wanted},
    error::Error,
    output, time,
};
use relaymesh_core::{name::Name, op::Kind, suggest};
use serde_json::json;

/// What they have in common.
#[derive(Debug, clap::Args)]
pub(super) struct Filter {
    /// Only writes by this author
    #[arg(long, value_name = "NAME")]
    author: Option<Name>,
    /// Only writes from this source: cli, driver, …
    #[arg(long, value_name = "NAME")]
    source: Option<Name>,
    /// Only ops of this kind: ScheduleJob, ApproveStep, CancelTask, AcquireLock, SendMessage, …
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    kind: Option<Kind>,
    /// Only ops of this task (full id if it was purged)
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Only at or after this time: 2026-11-16, 2026-11-16T08:15:30Z, or an age (90s, 15m, 2h, 7d)
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    since: Option<u64>,
    /// Only before this time
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    until: Option<u64>,
}

impl Filter {
    /// The same, with what has to be looked up.
    pub(super) fn wanted(&self, client: &dyn Client, context: &Context) -> Result<Wanted, Error> {
        let task = self.task.as_deref().map(|text| client.audited(text)).transpose()?;
        Ok(Wanted {
            namespace: context.namespace_given.clone(),
            author: self.author.clone(),
            source: self.source.clone(),
            kind: self.kind,
            task: task.map(|(id, _)| id),
            since_ms: self.since,
            until_ms: self.until,
            after: task.map_or(0, |(_, after)| after),
        })
    }
}

/// Shows an op in one line.
pub(super) fn show(found: &Found, is_json: bool) {
    output::line(&match (found, is_json) {
        (Found::Op(shown), true) => json!(shown).to_string(),
        (Found::Op(shown), false) => to_text(shown),
        (Found::Gone(pos, hash), true) => json!({ "pos": pos, "gone": true, "hash": hash }).to_string(),
        (Found::Gone(pos, _), false) => format!("{pos:>8}  and the ops before it were purged and compacted"),
        (Found::Damaged(pos, why), true) => json!({ "pos": pos, "damaged": true, "detail": why }).to_string(),
        (Found::Damaged(pos, why), false) => format!("{pos:>8}  DAMAGED: {why}"),
    });
}

fn parse_kind(text: &str) -> Result<Kind, String> {
    let plain = |text: &str| text.to_ascii_lowercase().replace(['-', '_'], "");
    let names: Vec<String> = Kind::ALL.iter().map(|kind| format!("{kind:?}")).collect();
    let found = Kind::ALL.iter().zip(&names).find(|(_, name)| plain(name) == plain(text));
    found.map(|(kind, _)| *kind).ok_or_else(|| {
        let near = suggest::nearest(text, names.iter().map(String::as_str));
        let near = near.map_or_else(String::new, |near| format!("did you mean {near}? "));
        format!("{near}use one of {}", names.join(", "))
    })
}
