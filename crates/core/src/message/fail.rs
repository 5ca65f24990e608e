//! Fail: the recipient could not deal with the message. What comes of a lost delivery is decided here for expiry too.

use super::{
    apply::{At, Effect, Refusal},
    held::held_message,
    state::{DeadReason, Message, ThreadRows},
    table::{State, Verb},
};
use crate::{op::HeldMessage, task::fail::shortened};

/// What the recipient reports.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failure<'a> {
    pub(super) retryable: bool,
    pub(super) jitter_ms: u32,
    pub(super) error: &'a str,
}

pub(super) fn fail(
    rows: &mut ThreadRows,
    held: &HeldMessage,
    failure: Failure<'_>,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let row = held_message(rows, held)?;
    lose(row, Verb::Fail, failure, at, effects);
    Ok(())
}

/// A delivery is lost: hand it out again later, or give up. The caller has checked that it is being processed.
pub(super) fn lose(row: &mut Message, verb: Verb, failure: Failure<'_>, at: At, effects: &mut Vec<Effect>) {
    let message = row.draft.id;
    let used_up = row.deliveries >= row.draft.max_deliveries;
    let to = match () {
        () if !failure.retryable => State::Failed,
        () if used_up => State::Dead,
        () => State::Queued,
    };
    row.error = Some(shortened(failure.error));
    row.go(verb, to, at.now_ms);
    if to == State::Queued {
        let delay_ms = row.draft.backoff.delay_ms(row.deliveries, failure.jitter_ms.into());
        row.due_ms = at.now_ms.saturating_add(delay_ms);
        effects.push(Effect::Wake { message, at_ms: row.due_ms });
    } else {
        row.dead = (to == State::Dead).then_some(DeadReason::Exhausted);
        effects.push(Effect::End { message, state: to });
    }
}
