//! Steps that are asked by a message: the question goes to the agent's inbox, and its answer completes the step (R38).
//!
//! Such a step is claimed by this node's *asker*, whose leases outlive a restart, because the answer may come from a person next week. A
//! kill may come between the claim and the question, so after a restart it is asked again: the question's name follows from the
//! attempt, and the same question twice is one.

use super::{command::Letter, engine::Engine, error::Error};
use crate::world::{Alert, Hold, Outcome, World};
use relaymesh_core::{
    content::Media,
    hash::Hash,
    id::{MessageId, NodeId, ThreadId, WorkerId},
    lanes::Priority,
    message::DELIVERIES_MAX,
    name::Name,
};
use relaymesh_store::{Content, Reader};

/// What is asked on behalf of a step.
pub(super) struct Question {
    pub(super) hold: Hold,
    pub(super) namespace: Name,
    /// The step's name: it is who asks.
    pub(super) name: Name,
    pub(super) agent: Name,
    pub(super) input: Content,
}

/// Who holds the steps of a node that wait for answers.
pub(super) fn asker(node: NodeId) -> WorkerId {
    WorkerId::from_bytes(derived(&[b"asker", &node.to_bytes()]))
}

impl<R: Reader, W: World> Engine<R, W> {
    /// Asks. An outcome comes at once only if that is not possible.
    pub(super) fn ask(&mut self, question: Question) -> Option<Outcome> {
        let Question { hold, namespace, name, agent, input } = question;
        let stowed = match input {
            Content::Inline(bytes) => self.world.stow(bytes),
            blob @ Content::Blob(_) => Ok(blob),
        };
        let content = match stowed {
            Ok(content) => content,
            Err(error) => return Some(Outcome::Failed { error: error.to_string(), retryable: true }),
        };
        let priority =
            self.step(hold.step.task, hold.step.index).map_or(Priority::Normal, |(row, _)| row.spec.priority);
        let parts: [&[u8]; 3] = [&hold.step.task.to_bytes(), &hold.step.index.to_be_bytes(), &hold.epoch.to_be_bytes()];
        let letter = Letter {
            namespace,
            // One conversation for all questions of a task.
            thread: Some(ThreadId::from_bytes(hold.step.task.to_bytes())),
            message: Some(MessageId::from_bytes(derived(&parts))),
            from: name,
            to: agent,
            priority,
            reply_to: None,
            asks: Some(hold),
            media: Media::Json,
            content,
            trace_id: self.live.task(hold.step.task)?.task.trace_id,
            ttl_ms: None,
            max_deliveries: DELIVERIES_MAX,
        };
        let caller = self.identity.driver.clone();
        match self.fits(&letter.content).and_then(|()| self.send(&caller, letter)) {
            Ok(_) => {
                self.pipeline.after().attempts.note_asked(hold);
                None
            }
            Err(Error::Store(error)) => {
                self.world.alert(Alert::Unreadable(error.to_string()));
                self.attempts.end(hold.step, hold.epoch);
                self.look_again();
                None
            }
            Err(error) => {
                Some(Outcome::Failed { error: format!("the message cannot be sent: {error}"), retryable: false })
            }
        }
    }
}

/// 128 bits that follow from these.
fn derived(parts: &[&[u8]]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&Hash::sha256(&parts.concat()).0[..16]);
    half
}
