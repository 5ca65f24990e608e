//! Which ops somebody wants to see.

use super::entry::to_text;
use crate::{
    args::Context,
    error::{Code, Error},
    lookup, output,
    remote::{self, Remote},
    time,
};
use relaymesh_api::view::entry::{self, Shown};
use relaymesh_core::{
    hash::Hash,
    id::TaskId,
    name::Name,
    op::{Kind, Op, Scope},
    suggest,
};
use relaymesh_store::Reader;
use serde_json::json;

const PAGE: usize = 500;

/// What they have in common.
#[derive(Debug, clap::Args)]
pub(super) struct Filter {
    /// Only by this principal
    #[arg(long, value_name = "NAME")]
    author: Option<Name>,
    /// Only from there: cli, driver, …
    #[arg(long, value_name = "NAME")]
    source: Option<Name>,
    /// Only of this kind: ScheduleJob, ApproveStep, CancelTask, AcquireLock, SendMessage, …
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    kind: Option<Kind>,
    /// Only about this task; one that was purged needs its full id
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Only at this time or later: 2026-11-16, 2026-11-16T08:15:30Z, or how long ago (90s, 15m, 2h, 7d)
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    since: Option<u64>,
    /// Only before this time
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    until: Option<u64>,
}

/// The same, ready to be compared with ops.
pub(super) struct Wanted<'a> {
    filter: &'a Filter,
    namespace: Option<&'a Name>,
    task: Option<TaskId>,
    /// No earlier op can fit.
    pub(super) after: u64,
}

/// An op that was found.
pub(super) enum Found {
    Op(Box<Shown>),
    /// Ops that a compaction let go of, up to this one.
    Gone(u64, Hash),
}

impl Filter {
    /// Reads what has to be looked up.
    pub(super) fn wanted<'a>(&'a self, reader: &mut impl Reader, context: &'a Context) -> Result<Wanted<'a>, Error> {
        let (mut task, mut after) = (None, 0);
        if let Some(text) = &self.task {
            let full = text.parse::<TaskId>().ok();
            match (lookup::task(reader, text), full) {
                // A task's key is the position of the op that made it.
                (Ok(rows), _) => (task, after) = (Some(rows.task.id), rows.task.key - 1),
                // Its rows may be gone, and its ops still there.
                (Err(error), Some(id)) if error.code == Code::NoTask => task = Some(id),
                (Err(error), _) => return Err(error),
            }
        }
        Ok(Wanted { filter: self, namespace: context.namespace_given.as_ref(), task, after })
    }

    /// The same for a daemon elsewhere.
    pub(super) fn wanted_there<'a>(&'a self, remote: &Remote, context: &'a Context) -> Result<Wanted<'a>, Error> {
        let task = self.task.as_deref().map(|text| remote::task(remote, context, text)).transpose()?;
        Ok(Wanted { filter: self, namespace: context.namespace_given.as_ref(), task, after: 0 })
    }
}

impl Wanted<'_> {
    /// Whether every op is wanted.
    pub(super) fn is_all(&self) -> bool {
        let Filter { author, source, kind, task, since, until } = self.filter;
        let anybody = author.is_none() && source.is_none() && self.namespace.is_none();
        anybody && kind.is_none() && task.is_none() && since.is_none() && until.is_none()
    }

    /// What a daemon elsewhere is asked for, after this position.
    pub(super) fn query(&self, after: u64, limit: usize) -> [(&'static str, Option<String>); 9] {
        let Filter { author, source, kind, since, until, .. } = self.filter;
        let text = |name: Option<&Name>| name.map(Name::to_string);
        [
            ("namespace", text(self.namespace)),
            ("author", text(author.as_ref())),
            ("source", text(source.as_ref())),
            ("kind", kind.map(|kind| format!("{kind:?}"))),
            ("task", self.task.map(|task| task.to_string())),
            ("since_ms", since.map(|since| since.to_string())),
            ("until_ms", until.map(|until| until.to_string())),
            ("cursor", Some(after.to_string())),
            ("limit", Some(limit.to_string())),
        ]
    }

    fn fits(&self, op: &Op) -> bool {
        let header = &op.header;
        let Filter { author, source, kind, since, until, .. } = self.filter;
        let about = |task: &TaskId| header.scope == Scope::Task(*task);
        author.as_ref().is_none_or(|author| *author == header.author)
            && source.as_ref().is_none_or(|source| *source == header.source)
            && self.namespace.is_none_or(|namespace| *namespace == header.namespace)
            && kind.is_none_or(|kind| kind == op.body.kind())
            && self.task.as_ref().is_none_or(about)
            && since.is_none_or(|since| since <= header.hlc.wall_ms)
            && until.is_none_or(|until| header.hlc.wall_ms < until)
    }

    /// Tells of every op after `after` that fits, in order, and gives the position of the last one that was looked at. `looked` hears
    /// of each position.
    pub(super) fn each(
        &self,
        reader: &mut impl Reader,
        after: u64,
        looked: &mut dyn FnMut(u64),
        tell: &mut dyn FnMut(Found),
    ) -> Result<u64, Error> {
        let mut after = after;
        loop {
            let page = reader.ops(after, PAGE)?;
            let Some(last) = page.last() else { return Ok(after) };
            after = last.pos;
            for stored in page {
                if stored.stub().is_some() {
                    // Who wrote what is gone cannot be told any more.
                    if self.is_all() {
                        tell(Found::Gone(stored.pos, stored.hash));
                    }
                    continue;
                }
                let unreadable = |error| Error::new(Code::Damaged, format!("op {}: {error}", stored.pos));
                let op = Op::decode(stored.pos, &stored.bytes).map_err(unreadable)?;
                if self.fits(&op) {
                    tell(Found::Op(Box::new(entry::shown(&op, stored.hash))));
                }
            }
            looked(after);
        }
    }
}

impl Found {
    /// One line.
    pub(super) fn show(&self, is_json: bool) {
        output::line(&match (self, is_json) {
            (Self::Op(shown), true) => json!(shown).to_string(),
            (Self::Op(shown), false) => to_text(shown),
            (Self::Gone(pos, hash), true) => json!({ "pos": pos, "gone": true, "hash": hash }).to_string(),
            (Self::Gone(pos, _), false) => format!("{pos:>8}  and those before it: gone, about what was purged"),
        });
    }
}

fn parse_kind(text: &str) -> Result<Kind, String> {
    let plain = |text: &str| text.to_ascii_lowercase().replace(['-', '_'], "");
    let names: Vec<String> = Kind::ALL.iter().map(|kind| format!("{kind:?}")).collect();
    let found = Kind::ALL.iter().zip(&names).find(|(_, name)| plain(name) == plain(text));
    found.map(|(kind, _)| *kind).ok_or_else(|| {
        let near = suggest::nearest(text, names.iter().map(String::as_str));
        let near = near.map_or_else(String::new, |near| format!("did you mean {near}? "));
        format!("{near}a kind is one of {}", names.join(", "))
    })
}
