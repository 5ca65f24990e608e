//! The same word twice: a holder that did not hear the answer to its last word says it again.
//!
//! The word that ended a hold cannot take effect a second time: the fence refuses it, because nobody holds anything any more. To
//! its author that refusal is no answer: did the first one count, or was the hold lost before it came? So a repeated word is
//! told apart from a late one. It shows the same proof (step or message, epoch, token) and says the same (result, content,
//! error); only what its author draws anew each time, jitter and the id of an answer, may differ.
//!
//! [`is_same`] compares two words in full. Rows keep no token of a hold that is over, so after a restart [`was_said_of_task`] and
//! [`was_said_of_message`] decide by what the rows do have: the epoch, and what was said under it. Of a lock that was given back the
//! rows keep nothing.

use crate::{
    lock,
    message::{self, State, ThreadRows},
    op::{HeldMessage, Hold, Subject},
    task::{self, Outcome, TaskRows, fail::shortened},
};

/// Whether the second word ends the same hold in the same way as the first.
pub fn is_same(said: &Subject, again: &Subject) -> bool {
    match (said, again) {
        (Subject::Task(a, said), Subject::Task(b, again)) => a == b && is_same_of_task(said, again),
        (Subject::Thread(a, said), Subject::Thread(b, again)) => a == b && is_same_of_message(said, again),
        (
            Subject::Repository(a, lock::Body::ReleaseLock { held: said }),
            Subject::Repository(b, lock::Body::ReleaseLock { held: again }),
        ) => (a, said) == (b, again),
        _ => false,
    }
}

fn is_same_of_task(said: &task::Body, again: &task::Body) -> bool {
    use task::Body::{CompleteJob, FailJob};
    match (said, again) {
        (CompleteJob { held: a, result: said }, CompleteJob { held: b, result: again }) => (a, said) == (b, again),
        (
            FailJob { held: a, retryable: for_now, error: said, jitter_ms: _ },
            FailJob { held: b, retryable: still, error: again, jitter_ms: _ },
        ) => (a, for_now, said) == (b, still, again),
        _ => false,
    }
}

fn is_same_of_message(said: &message::Body, again: &message::Body) -> bool {
    use message::Body::{AcknowledgeMessage, FailMessage, ReplyMessage};
    match (said, again) {
        (AcknowledgeMessage { held: a }, AcknowledgeMessage { held: b }) => a == b,
        (ReplyMessage { held: a, content: said, answer: _ }, ReplyMessage { held: b, content: again, answer: _ }) => {
            (a, said) == (b, again)
        }
        (
            FailMessage { held: a, retryable: for_now, error: said, jitter_ms: _ },
            FailMessage { held: b, retryable: still, error: again, jitter_ms: _ },
        ) => (a, for_now, said) == (b, still, again),
        _ => false,
    }
}

/// Whether the rows of a task show that a holder ended its attempt with this word.
pub fn was_said_of_task(rows: &TaskRows, again: &task::Body) -> bool {
    let ended = |held: &Hold<u16>| {
        let step = rows.steps.get(usize::from(held.step))?;
        Some((step, step.history.iter().find(|attempt| attempt.epoch == held.epoch)?))
    };
    if let task::Body::CompleteJob { held, result } = again {
        return ended(held)
            .is_some_and(|(step, attempt)| attempt.outcome == Outcome::Success && step.result == Some(*result));
    }
    let task::Body::FailJob { held, error, .. } = again else { return false };
    ended(held).is_some_and(|(_, attempt)| {
        attempt.outcome == Outcome::Failed && attempt.error.as_deref() == Some(&*shortened(error))
    })
}

/// Whether the rows of a thread show that the recipient ended its delivery with this word.
pub fn was_said_of_message(rows: &ThreadRows, again: &message::Body) -> bool {
    let ended = |held: &HeldMessage| {
        rows.messages.get(&held.message).filter(|row| row.epoch == held.epoch && row.state != State::Processing)
    };
    if let message::Body::AcknowledgeMessage { held } = again {
        return ended(held).is_some_and(|row| row.state == State::Done && row.answered_by.is_none());
    }
    if let message::Body::ReplyMessage { held, content, .. } = again {
        let answer = ended(held).and_then(|row| rows.messages.get(&row.answered_by?));
        return answer.is_some_and(|answer| answer.draft.content == *content);
    }
    let message::Body::FailMessage { held, error, .. } = again else { return false };
    ended(held).is_some_and(|row| row.error.as_deref() == Some(&*shortened(error)) && row.state != State::Done)
}
