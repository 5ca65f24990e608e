//! What is true of a thread's rows after every op. A broken rule is a bug here.

use super::{
    MESSAGES_MAX,
    state::{DeadReason, Message, ThreadRows},
    table::State,
};
use crate::id::MessageId;

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule}{}", message.map_or(String::new(), |message| format!(" ({message})")))]
pub struct Invalid {
    /// The rule.
    pub rule: &'static str,
    /// The message that breaks it, if it is about one.
    pub message: Option<MessageId>,
}

/// Checks every rule; the first broken one is the answer.
pub fn validate(rows: &ThreadRows) -> Result<(), Invalid> {
    for (id, message) in &rows.messages {
        if let Some((_, rule)) = rules(rows, *id, message).into_iter().find(|(holds, _)| !holds) {
            return Err(Invalid { rule, message: Some(*id) });
        }
    }
    let count = rows.messages.len();
    let rules = [
        (count > 0, "a thread is there because something was sent"),
        (count <= MESSAGES_MAX, "no more messages than allowed"),
    ];
    match rules.into_iter().find(|(holds, _)| !holds) {
        Some((_, rule)) => Err(Invalid { rule, message: None }),
        None => Ok(()),
    }
}

fn rules(rows: &ThreadRows, id: MessageId, message: &Message) -> [(bool, &'static str); 9] {
    let (state, draft) = (message.state, &message.draft);
    let answer = message.answered_by.map(|answer| rows.messages.get(&answer));
    let of = draft.reply_to.map(|of| rows.messages.contains_key(&of));
    let dead = |reason| message.dead == Some(reason);
    [
        (id == draft.id, "a message lies under its id"),
        ((state == State::Processing) == message.lease.is_some(), "a message is leased exactly while it is processed"),
        (message.deliveries <= message.epoch, "no delivery without an epoch of its own"),
        (message.deliveries <= draft.max_deliveries, "no more deliveries than allowed"),
        ((state == State::Queued) == (message.due_ms > 0), "a message is due exactly while it is queued"),
        ((state == State::Dead) == message.dead.is_some(), "a reason exactly when it is dead"),
        (!dead(DeadReason::Expired) || message.expires_ms > 0, "only what can become too old does"),
        (
            answer.is_none_or(|answer| {
                state == State::Done && answer.is_some_and(|answer| answer.draft.reply_to == Some(id))
            }),
            "an answer is there, is about its question, and the question is done",
        ),
        (of.unwrap_or(true), "what a message is about is in its thread"),
    ]
}
