//! Reply: the recipient answers. The question is done, the answer is there, and a step that waited for it is completed
//! (R38): all in one op, so no crash can leave an answer without its effect.
//!
//! Only whoever holds the question can answer it: otherwise anybody could complete somebody else's step.

use super::{
    apply::{At, Effect, Refusal},
    held::held_message,
    send::{queue, room_for},
    spec::Draft,
    state::{Message, ThreadRows},
    table::{State, Verb},
};
use crate::{content::ContentRef, id::MessageId, op::HeldMessage};

pub(super) fn reply(
    rows: &mut ThreadRows,
    held: &HeldMessage,
    answer: MessageId,
    content: ContentRef,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    held_message(rows, held)?;
    room_for(rows, answer)?;
    let question = held_message(rows, held)?;
    question.go(Verb::Reply, State::Done, at.now_ms);
    question.error = None;
    question.answered_by = Some(answer);
    let asked = question.draft.clone();
    let draft = Draft {
        id: answer,
        from: asked.to,
        to: asked.from,
        reply_to: Some(held.message),
        asks: None,
        content,
        ttl_ms: None,
        ..asked
    };
    effects.push(Effect::End { message: held.message, state: State::Done });
    let mut message = Message::fresh(draft, at.pos, at.now_ms);
    match asked.asks {
        Some(asks) => {
            (message.state, message.due_ms) = (State::Done, 0);
            rows.messages.insert(answer, message);
            effects.push(Effect::Answered { asks, question: held.message, message: answer, content });
        }
        None => queue(rows, message, effects),
    }
    Ok(())
}
