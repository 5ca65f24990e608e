//! Messages: what waits, what was handed out, what was said.

mod shown;

pub use shown::{Asking, Conversation, Delivered, Inbox, Replied, Spoken, Taken, Told, Waiting};

use super::content;
use crate::error::{Code, Error};
use relaymesh_core::{
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
pub fn waiting(reader: &mut (impl Reader + ?Sized), rows: &ThreadRows, row: &Message) -> Result<Waiting, Error> {
    let draft = &row.draft;
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
        content: said(reader, row)?,
    })
}

/// What waits for an agent, urgent first: at most so many of each lane.
pub fn inbox(
    reader: &mut (impl Reader + ?Sized),
    namespace: &Name,
    agent: &Name,
    limit: usize,
) -> Result<Vec<Waiting>, Error> {
    let mut found = Vec::new();
    for priority in Priority::ALL {
        for (thread, id) in reader.inbox(namespace, agent, priority, NEVER_MS, limit)? {
            let rows = reader.scope(Scope::Thread(thread))?;
            // It may have been taken since it was listed.
            let Some(rows) = rows.as_ref().and_then(|rows| rows.thread()) else { continue };
            if let Some(row) = rows.messages.get(&id) {
                found.push(waiting(reader, rows, row)?);
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

/// Lists the messages of a thread, oldest first.
pub fn thread(reader: &mut (impl Reader + ?Sized), rows: &ThreadRows) -> Result<Vec<Spoken>, Error> {
    sorted(rows)
        .into_iter()
        .map(|row| {
            let draft = &row.draft;
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
                content: said(reader, row)?,
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

/// What a message says, checked against its hash.
pub fn said(reader: &mut (impl Reader + ?Sized), row: &Message) -> Result<Value, Error> {
    let what = || format!("the content of {}", row.draft.id);
    content(reader, ContentKey::new(row.content_pos, 0), row.draft.content, what)
}
