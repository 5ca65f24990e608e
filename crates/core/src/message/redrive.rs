//! Redrive: a failed or dead message is delivered again, with a fresh count and a fresh time to live.

use super::{
    apply::{At, Effect, Refusal},
    held::message_for,
    state::ThreadRows,
    table::{State, Verb},
};
use crate::id::MessageId;

pub(super) fn redrive(
    rows: &mut ThreadRows,
    message: MessageId,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let row = message_for(rows, message, Verb::Redrive)?;
    row.go(Verb::Redrive, State::Queued, at.now_ms);
    row.deliveries = 0;
    row.due_ms = at.now_ms;
    row.dead = None;
    effects.push(Effect::Offer { message });
    if let Some(ttl_ms) = row.draft.ttl_ms {
        row.expires_ms = at.now_ms.saturating_add(ttl_ms);
        effects.push(Effect::Wake { message, at_ms: row.expires_ms });
    }
    Ok(())
}
