//! Messages: what waits, what was handed out, what was said.

mod shown;

pub use shown::{Asking, Conversation, Delivered, Inbox, Replied, Spoken, Taken, Told, Waiting};

use super::{
    Reference, Results, Room, content,
    document::{Around, Document},
};
use crate::error::{Code, Error};
use relaymesh_core::{
    content::ContentRef,
    hash::Hash,
    lanes::Priority,
    message::{Message, ThreadRows},
    name::Name,
    op::Scope,
};
use relaymesh_runtime::driver::{Delivery, Proof};
use relaymesh_store::{ContentKey, Reader};
use serde_json::{Value, json};

/// Later than everything: what is to be delivered again later waits, too.
const NEVER_MS: u64 = u64::MAX >> 1;

/// A waiting message.
pub fn waiting(
    reader: &mut (impl Reader + ?Sized),
    rows: &ThreadRows,
    row: &Message,
    room: &mut Room,
) -> Result<Waiting, Error> {
    let draft = &row.draft;
    let (content, content_ref) = said(reader, row, room)?;
    Ok(Waiting {
        thread: rows.thread.id,
        message: draft.id,
        from: draft.from.clone(),
        to: draft.to.clone(),
        priority: draft.priority,
        reply_to: draft.reply_to,
        deliveries: row.deliveries,
        error: row.error.clone(),
        sent_ms: row.sent_ms,
        due_ms: row.due_ms,
        content,
        content_ref,
    })
}

/// What waits for an agent, urgent first: at most so many of each lane.
pub fn inbox(
    reader: &mut (impl Reader + ?Sized),
    namespace: &Name,
    agent: &Name,
    limit: usize,
    results: Results,
) -> Result<Vec<Waiting>, Error> {
    let (mut found, mut room) = (Vec::new(), Room::new(results));
    for priority in Priority::ALL {
        for (thread, id) in reader.inbox(namespace, agent, priority, NEVER_MS, limit)? {
            let rows = reader.scope(Scope::Thread(thread))?;
            // It may have been taken since it was listed.
            let Some(rows) = rows.as_ref().and_then(|rows| rows.thread()) else { continue };
            if let Some(row) = rows.messages.get(&id) {
                found.push(waiting(reader, rows, row, &mut room)?);
            }
        }
    }
    Ok(found)
}

/// A delivered message, with the proof of its delivery.
pub fn delivered(reader: &mut (impl Reader + ?Sized), delivery: &Delivery) -> Result<Delivered, Error> {
    let Delivery { thread, held, draft, content } = delivery;
    let missing = || Error::new(Code::Damaged, format!("the content of {} is missing", draft.id));
    let bytes = reader.bytes(*content)?.ok_or_else(missing)?;
    draft.content.check(&bytes).map_err(|damaged| Error::new(Code::Damaged, damaged.to_string()))?;
    let said: Value = serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes)));
    Ok(Delivered {
        held: Proof { thread: *thread, held: *held }.to_string(),
        thread: *thread,
        message: draft.id,
        from: draft.from.clone(),
        to: draft.to.clone(),
        priority: draft.priority,
        reply_to: draft.reply_to,
        media: draft.content.media,
        content: said,
    })
}

/// The same as a document, whose content may be long.
pub fn delivery(delivery: &Delivery) -> Document {
    let Delivery { thread, held, draft, content } = delivery;
    let object = json!({
        "held": Proof { thread: *thread, held: *held }.to_string(), "thread": thread, "message": draft.id,
        "from": draft.from, "to": draft.to, "priority": draft.priority, "reply_to": draft.reply_to,
        "media": draft.content.media,
    });
    let what = format!("the content of {}", draft.id);
    Document::around(Around { object, field: "content", key: *content, named: draft.content, what })
}

/// Lists the messages of a thread, oldest first.
pub fn thread(reader: &mut (impl Reader + ?Sized), rows: &ThreadRows, results: Results) -> Result<Vec<Spoken>, Error> {
    let mut room = Room::new(results);
    sorted(rows)
        .into_iter()
        .map(|row| {
            let draft = &row.draft;
            let (content, content_ref) = said(reader, row, &mut room)?;
            Ok(Spoken {
                thread: rows.thread.id,
                message: draft.id,
                from: draft.from.clone(),
                to: draft.to.clone(),
                state: row.state,
                priority: draft.priority,
                reply_to: draft.reply_to,
                answered_by: row.answered_by,
                asks: draft.asks.map(|asks| asks.step.task),
                deliveries: row.deliveries,
                epoch: row.epoch,
                dead: row.dead,
                error: row.error.clone(),
                sent_ms: row.sent_ms,
                content,
                content_ref,
            })
        })
        .collect()
}

/// The messages of a thread, oldest first.
pub fn sorted(rows: &ThreadRows) -> Vec<&Message> {
    let mut messages: Vec<&Message> = rows.messages.values().collect();
    messages.sort_by_key(|row| (row.sent_ms, row.content_pos));
    messages
}

/// Where the content with this hash lies that messages of the thread name, of those for which it holds.
pub fn place(rows: &ThreadRows, hash: &Hash, holds: impl Fn(&Message) -> bool) -> Option<(ContentRef, ContentKey)> {
    let message = rows.messages.values().find(|row| row.draft.content.hash == *hash && holds(row))?;
    Some((message.draft.content, ContentKey::new(message.content_pos, 0)))
}

/// What a message says, checked against its hash; or its name, if there is no room for it.
fn said(
    reader: &mut (impl Reader + ?Sized),
    row: &Message,
    room: &mut Room,
) -> Result<(Value, Option<Reference>), Error> {
    let named = row.draft.content;
    if !room.take(u64::from(named.len)) {
        return Ok((Value::Null, Some(named.into())));
    }
    let what = || format!("the content of {}", row.draft.id);
    Ok((content(reader, ContentKey::new(row.content_pos, 0), named, what)?, None))
}
