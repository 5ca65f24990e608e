//! Acknowledge: the recipient has dealt with the message, and has nothing to answer.
//!
//! It counts after the deadline too, as long as nobody expired the delivery.

use super::{
    apply::{At, Effect, Refusal},
    held::held_message,
    state::ThreadRows,
    table::{State, Verb},
};
use crate::op::HeldMessage;

pub(super) fn acknowledge(
    rows: &mut ThreadRows,
    held: &HeldMessage,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let row = held_message(rows, held)?;
    row.go(Verb::Acknowledge, State::Done, at.now_ms);
    row.error = None;
    effects.push(Effect::End { message: held.message, state: State::Done });
    Ok(())
}
