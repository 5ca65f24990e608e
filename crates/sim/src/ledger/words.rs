//! Words that ended a hold: a caller may say one again, and is then told the same without another op.

use crate::call::{Call, CallId, call_of, repository_of};
use relaymesh_core::{
    lock, message,
    op::{Body, Op, Scope, Subject},
    repeat, task,
};
use relaymesh_runtime::{
    driver::{Command, LockCommand, MessageCommand},
    world::Outcome,
};
use std::collections::BTreeMap;

/// The words that are durable, by what they are about.
#[derive(Debug, Default)]
pub(crate) struct Words(BTreeMap<Scope, Vec<(Subject, Option<CallId>)>>);

impl Words {
    pub(super) fn keep(&mut self, op: &Op) {
        let word = match (op.header.scope, &op.body) {
            (Scope::Task(id), Body::Task(body)) => Subject::Task(id, body.clone()),
            (Scope::Thread(id), Body::Message(body)) => Subject::Thread(id, body.clone()),
            (Scope::Repository(id), Body::Lock(body)) => Subject::Repository(id, body.clone()),
            _ => return,
        };
        // A word that is not its own repetition ends no hold.
        if repeat::is_same(&word, &word) {
            self.0.entry(op.header.scope).or_default().push((word, call_of(op)));
        }
    }

    /// Whether the call says again what was said before, and for which call that was written.
    pub(crate) fn said(&self, call: &Call) -> Option<Option<CallId>> {
        let word = word(&call.command)?;
        let said = self.0.get(&word.scope())?.iter().rev();
        said.clone().find(|(said, _)| repeat::is_same(said, &word)).map(|(_, first)| *first)
    }
}

/// What a call says that ends a hold.
fn word(command: &Command) -> Option<Subject> {
    if let Command::Finish { hold, outcome } = command {
        let held = hold.in_task();
        let body = if let Outcome::Done { media, result } = outcome {
            task::Body::CompleteJob { held, result: result.named(*media) }
        } else if let Outcome::Failed { error, retryable } = outcome {
            task::Body::FailJob { held, retryable: *retryable, jitter_ms: 0, error: task::fail::shortened(error) }
        } else {
            return None;
        };
        return Some(Subject::Task(hold.step.task, body));
    }
    if let Command::Lock(release @ LockCommand::Release { held, .. }) = command {
        return Some(Subject::Repository(repository_of(release), lock::Body::ReleaseLock { held: *held }));
    }
    let Command::Message(command) = command else { return None };
    let (thread, body) = if let MessageCommand::Acknowledge { thread, held } = command {
        (thread, message::Body::AcknowledgeMessage { held: *held })
    } else if let MessageCommand::Reply { thread, held, media, content } = command {
        let content = content.named(*media);
        (thread, message::Body::ReplyMessage { held: *held, answer: held.message, content })
    } else if let MessageCommand::Fail { thread, held, retryable, error } = command {
        let (held, retryable, error) = (*held, *retryable, task::fail::shortened(error));
        (thread, message::Body::FailMessage { held, retryable, jitter_ms: 0, error })
    } else {
        return None;
    };
    Some(Subject::Thread(*thread, body))
}
