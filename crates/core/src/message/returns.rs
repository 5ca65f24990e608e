//! Return: the recipient gives the message back undone, because its node stops. The delivery does not count; the epoch
//! does. Without it every restart of a node would use up deliveries of messages that nothing is wrong with.

use super::{
    apply::{At, Effect, Refusal},
    held::held_message,
    state::ThreadRows,
    table::{State, Verb},
};
use crate::{op::HeldMessage, task::fail::shortened};

pub(super) fn give_back(
    rows: &mut ThreadRows,
    held: &HeldMessage,
    reason: &str,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let row = held_message(rows, held)?;
    row.go(Verb::Return, State::Queued, at.now_ms);
    row.deliveries -= 1;
    row.due_ms = at.now_ms;
    row.error = Some(shortened(reason));
    effects.push(Effect::Offer { message: held.message });
    Ok(())
}
