//! What several verbs ask before they move a message.

use super::{
    apply::Refusal,
    state::{Message, ThreadRows},
    table::{State, Verb, targets},
};
use crate::{id::MessageId, op::HeldMessage};

/// The message, wherever it rests.
pub(super) fn found(rows: &mut ThreadRows, message: MessageId) -> Result<&mut Message, Refusal> {
    rows.messages.get_mut(&message).ok_or(Refusal::NoMessage { message })
}

/// The message, if the table lets `verb` move it from where it rests.
pub(super) fn message_for(rows: &mut ThreadRows, message: MessageId, verb: Verb) -> Result<&mut Message, Refusal> {
    let row = found(rows, message)?;
    if targets(row.state, verb).is_empty() {
        return Err(Refusal::NotPossible { message, verb, found: row.state });
    }
    Ok(row)
}

/// The message that `held` names, if it shows the token and the epoch that are in force. The fence (D7).
pub(super) fn held_message<'a>(rows: &'a mut ThreadRows, held: &HeldMessage) -> Result<&'a mut Message, Refusal> {
    let row = delivery(rows, held.message, held.epoch)?;
    if row.lease.as_ref().is_some_and(|lease| lease.token == held.token) {
        return Ok(row);
    }
    Err(fenced(row, held.message, held.epoch))
}

/// The message that is being processed at this epoch.
pub(super) fn delivery(rows: &mut ThreadRows, message: MessageId, epoch: u32) -> Result<&mut Message, Refusal> {
    let row = found(rows, message)?;
    if row.state == State::Processing && row.epoch == epoch {
        return Ok(row);
    }
    Err(fenced(row, message, epoch))
}

fn fenced(row: &Message, message: MessageId, given: u32) -> Refusal {
    Refusal::Fenced { message, found: row.state, epoch: row.epoch, given }
}
