//! What an op says about a message: one variant per verb.

use super::Draft;
use crate::{
    content::ContentRef,
    hlc::Hlc,
    id::{LeaseToken, MessageId, NodeId, WorkerId},
    name::Name,
    op::{ExpireReason, HeldMessage, bodies},
};

bodies! {
    /// What happened in a thread.
    Message {
        /// Somebody said something to somebody.
        SendMessage {
            /// What, from whom, to whom.
            draft: Draft,
        }
        /// The recipient took a message, or renewed its lease on it.
        DeliverMessage {
            /// The message.
            message: MessageId,
            /// Who takes it: the one whom it is for.
            recipient: Name,
            /// The node that answers for the worker.
            owner: NodeId,
            /// Who works on it.
            worker: WorkerId,
            /// What the worker will show to prove it.
            token: LeaseToken,
            /// How long the lease lasts from the op's HLC.
            lease_ms: u64,
            /// The newest op of the thread that the author had seen (D19).
            seen: Hlc,
        }
        /// The recipient has dealt with the message.
        AcknowledgeMessage {
            /// Who says so.
            held: HeldMessage,
        }
        /// The recipient answered the message, and has dealt with it so.
        ReplyMessage {
            /// Who says so.
            held: HeldMessage,
            /// The answer's own name.
            answer: MessageId,
            /// What it says.
            content: ContentRef,
        }
        /// The recipient could not deal with the message.
        FailMessage {
            /// Who says so.
            held: HeldMessage,
            /// Whether another delivery may help.
            retryable: bool,
            /// Random part of the backoff, drawn by the author.
            jitter_ms: u32,
            /// What went wrong, for people.
            error: String,
        }
        /// The recipient gave the message back undone; the delivery does not count.
        ReturnMessage {
            /// Who says so.
            held: HeldMessage,
            /// Why, for people.
            reason: String,
        }
        /// A delivery's lease ended without its holder's word.
        ExpireDelivery {
            /// The message.
            message: MessageId,
            /// The epoch of the delivery.
            epoch: u32,
            /// Why.
            reason: ExpireReason,
            /// Random part of the backoff, drawn by the author.
            jitter_ms: u32,
        }
        /// A message became too old. Any node may say so.
        ExpireMessage {
            /// The message.
            message: MessageId,
        }
        /// A failed or dead message is to be delivered again.
        RedriveMessage {
            /// The message.
            message: MessageId,
            /// Why, for people.
            reason: String,
        }
    }
}
