//! Send: a message comes to be; the first one makes its thread.
//!
//! The id is the sender's, so a send that is repeated because its answer got lost is found and refused with the state of
//! the first one. What it is about (`reply_to`) must be in the thread: a reference that leads nowhere helps nobody.

use super::{
    DELIVERIES_MAX, MESSAGES_MAX,
    apply::{At, Effect, Refusal},
    spec::Draft,
    state::{Message, Thread, ThreadRows},
};
use crate::{
    id::{MessageId, ThreadId},
    op::Header,
};
use std::collections::BTreeMap;

pub(super) fn send(
    rows: &mut Option<ThreadRows>,
    id: ThreadId,
    header: &Header,
    draft: &Draft,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    if !(1..=DELIVERIES_MAX).contains(&draft.max_deliveries) {
        return Err(Refusal::Deliveries { found: draft.max_deliveries });
    }
    if draft.ttl_ms == Some(0) {
        return Err(Refusal::NoTtl);
    }
    if let Some(rows) = rows {
        room_for(rows, draft.id)?;
    }
    let known = |message: &MessageId| rows.as_ref().is_some_and(|rows| rows.messages.contains_key(message));
    if let Some(message) = draft.reply_to.filter(|message| !known(message)) {
        return Err(Refusal::NoMessage { message });
    }
    let rows = rows.get_or_insert_with(|| fresh(id, header));
    queue(rows, Message::fresh(draft.clone(), at.pos, at.now_ms), effects);
    Ok(())
}

/// Whether one more message with this id can be put in.
pub(super) fn room_for(rows: &ThreadRows, message: MessageId) -> Result<(), Refusal> {
    if let Some(found) = rows.messages.get(&message) {
        return Err(Refusal::MessageExists { message, found: found.state });
    }
    let count = rows.messages.len();
    if count < MESSAGES_MAX { Ok(()) } else { Err(Refusal::ThreadFull { count }) }
}

/// Puts a fresh message in its queue.
pub(super) fn queue(rows: &mut ThreadRows, message: Message, effects: &mut Vec<Effect>) {
    let id = message.draft.id;
    effects.push(Effect::Offer { message: id });
    if message.expires_ms > 0 {
        effects.push(Effect::Wake { message: id, at_ms: message.expires_ms });
    }
    rows.messages.insert(id, message);
}

fn fresh(id: ThreadId, header: &Header) -> ThreadRows {
    let now_ms = header.hlc.wall_ms;
    let thread = Thread {
        rev: 0,
        id,
        namespace: header.namespace.clone(),
        created_ms: now_ms,
        updated_ms: now_ms,
        head: header.hlc,
    };
    ThreadRows { thread, messages: BTreeMap::new() }
}
