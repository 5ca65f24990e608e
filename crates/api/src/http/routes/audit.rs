//! Who did what, when, and from where: the log, filtered.

use super::{AUDIT_MAX, Answered, State, Who, id};
use crate::{
    error::{Code, Error},
    http::{
        json::{Query, Said},
        query::{Position, Whole},
    },
    view::{entry, fenced},
};
use relaymesh_core::{
    id::TaskId,
    name::Name,
    op::{Kind, Op, Scope},
};
use relaymesh_store::{Proven, Reader, proven};
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;

/// Ops that are looked at for one answer.
const LOOK_MAX: usize = 20_000;
/// Bytes of them: a page that has so many ends there.
const PAGE_BYTES_MAX: usize = 1 << 20;
/// Bytes of an entry besides what it is about.
const ENTRY_BYTES: usize = 512;
/// Ops that are read at once.
const READ: usize = 250;

/// Which of them.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct AuditQuery {
    /// Namespace; by default, all of the token.
    #[param(value_type = Option<String>)]
    namespace: Option<Name>,
    /// Only writes by this author.
    #[param(value_type = Option<String>)]
    author: Option<Name>,
    /// Only writes from this source: cli, http, driver, …
    #[param(value_type = Option<String>)]
    source: Option<Name>,
    /// Only ops of this kind: ScheduleJob, CancelTask, AuditEvent, …
    kind: Option<String>,
    /// Only ops of this task.
    task: Option<String>,
    /// Only ops at or after this time, in milliseconds since 1970.
    #[param(value_type = Option<u64>)]
    since_ms: Option<Position>,
    /// Only ops before this time, in milliseconds since 1970.
    #[param(value_type = Option<u64>)]
    until_ms: Option<Position>,
    /// Cursor: `next` of the previous page.
    #[param(value_type = Option<u64>)]
    cursor: Option<Position>,
    /// Maximum number of results, from 1 to 500; by default, 100.
    #[param(value_type = Option<u64>)]
    limit: Option<Whole<1, AUDIT_MAX>>,
}

/// Lists writes, oldest first. `next` is the cursor of the next page, if there may be more.
#[utoipa::path(get, path = "/audit", tag = "audit", params(AuditQuery), security(("token" = ["ro"])), responses((status = 200, body = entry::Page)))]
pub(super) async fn query(house: State, who: Who, Query(query): Query<AuditQuery>) -> Answered {
    if let Some(namespace) = &query.namespace {
        who.check(namespace)?;
    }
    let kind = query.kind.as_deref().map(kind).transpose()?;
    let task = query.task.as_deref().map(id::<TaskId>).transpose()?;
    let (who, limit) = (who.0, query.limit.map_or(100, Whole::count));
    let found = house.desk.readers.read(move |reader| {
        let fits = |op: &Op| {
            let header = &op.header;
            who.grant.admits(&header.namespace)
                && query.namespace.as_ref().is_none_or(|wanted| *wanted == header.namespace)
                && query.author.as_ref().is_none_or(|wanted| *wanted == header.author)
                && query.source.as_ref().is_none_or(|wanted| *wanted == header.source)
                && kind.is_none_or(|wanted| wanted == op.body.kind())
                && task.is_none_or(|wanted| header.scope == Scope::Task(wanted))
                && query.since_ms.is_none_or(|Whole(since)| since <= header.hlc.wall_ms)
                && query.until_ms.is_none_or(|Whole(until)| header.hlc.wall_ms < until)
        };
        let (mut pos, mut looked, mut bytes, mut entries) =
            (query.cursor.map_or(0, |Whole(cursor)| cursor), 0, 0, Vec::new());
        while looked < LOOK_MAX {
            let page = proven::ops(reader, pos, READ)?;
            if page.is_empty() {
                return Ok(json!(entry::Page { entries, next: None }));
            }
            looked += page.len();
            for proven in page {
                pos = proven.pos();
                match proven {
                    // Who wrote what is gone cannot be told any more.
                    Proven::Gone(..) => {}
                    Proven::Damaged(_, why) => return Err(damaged(pos, why)),
                    Proven::Op(op, hash) if fits(&op) => {
                        let entry = entry::shown(&op, hash);
                        let about = entry.about.values().map(|about| about.to_string().len()).sum::<usize>();
                        bytes += ENTRY_BYTES + about;
                        entries.push(entry);
                    }
                    Proven::Op(..) => {}
                }
                if entries.len() == limit || bytes >= PAGE_BYTES_MAX {
                    return Ok(json!(entry::Page { entries, next: Some(pos) }));
                }
            }
        }
        Ok(json!(entry::Page { entries, next: Some(pos) }))
    });
    Ok(Said(found.await?))
}

/// Which of them.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct FencedQuery {
    /// Only writes about this task.
    task: Option<String>,
    /// Maximum number of results, from 1 to 500; by default, 100.
    #[param(value_type = Option<u64>)]
    limit: Option<Whole<1, AUDIT_MAX>>,
}

/// Lists fenced writes, newest first: reports of workers whose lease was over. They were rejected and changed nothing.
#[utoipa::path(get, path = "/audit/fenced", tag = "audit", params(FencedQuery), security(("token" = ["ro"])), responses((status = 200, body = fenced::Page)))]
pub(super) async fn fenced(house: State, who: Who, Query(query): Query<FencedQuery>) -> Answered {
    let task = query.task.as_deref().map(id::<TaskId>).transpose()?;
    let (who, limit) = (who.0, query.limit.map_or(100, Whole::count));
    let found = house.desk.readers.read(move |reader| {
        // Whose a task was that is purged is unknown.
        let mut may_see = |reader: &mut dyn Reader, task| {
            Ok(who.grant.namespaces.is_none() || reader.task(task)?.is_some_and(|rows| who.check_task(&rows).is_ok()))
        };
        Ok(json!(fenced::newest(reader, task, limit, &mut may_see)?))
    });
    Ok(Said(found.await?))
}

/// An op that cannot be believed; and how to read on, if somebody must.
fn damaged(pos: u64, why: String) -> Error {
    Error::new(Code::Damaged, format!("{why}. Entries after it: cursor={pos}"))
}

/// The kind with this name.
pub(super) fn kind(text: &str) -> Result<Kind, Error> {
    let found = Kind::ALL.iter().find(|kind| format!("{kind:?}") == text);
    found.copied().ok_or_else(|| {
        let names: Vec<String> = Kind::ALL.iter().map(|kind| format!("{kind:?}")).collect();
        Error::new(Code::Usage, format!("a kind is one of {}", names.join(", ")))
    })
}
