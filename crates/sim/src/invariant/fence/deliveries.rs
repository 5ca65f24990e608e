//! Deliveries of messages: one pair of hands at a time, epochs only grow, and none ends before its time. After a restart
//! each has one fresh term, because its holder may well be alive (D6).

use super::{
    super::{Verdict, ensure},
    clock::Clock,
};
use crate::{ledger::OpSeen, time::Ns};
use relaymesh_core::{
    id::{LeaseToken, MessageId, ThreadId},
    message,
    op::{Body, ExpireReason, HeldMessage},
};
use relaymesh_runtime::driver::{Answer, Error};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Deliveries {
    messages: BTreeMap<(ThreadId, MessageId), Model>,
}

/// What the ops say of a message.
#[derive(Debug, Default, Clone, Copy)]
struct Model {
    epoch: u32,
    holder: Option<LeaseToken>,
    /// The greatest epoch that a recipient was told.
    told: u32,
    /// When it was handed out, and for how long.
    heard: (Ns, Ns),
    lease_ms: u64,
    /// When it was sent or redriven, and how long it lives.
    born: (Ns, Ns),
    ttl_ms: Option<u64>,
}

impl Deliveries {
    pub(super) fn op(&mut self, thread: ThreadId, seen: &OpSeen<'_>, clock: &Clock) -> Verdict {
        let body = match &seen.op.body {
            Body::Message(body) => body,
            // Its name may be used again.
            Body::PurgeScope {} => {
                self.messages.retain(|(of, _), _| *of != thread);
                return Ok(());
            }
            Body::Task(_) | Body::Lock(_) | Body::Namespace(_) | Body::Plan(_) | Body::Register(_) | Body::Log(_) => {
                return Ok(());
            }
        };
        match body {
            message::Body::SendMessage { draft } => {
                let model = self.of(thread, draft.id);
                (model.born, model.ttl_ms) = (seen.decided, draft.ttl_ms);
                Ok(())
            }
            message::Body::RedriveMessage { message, .. } => {
                self.of(thread, *message).born = seen.decided;
                Ok(())
            }
            message::Body::DeliverMessage { message, token, lease_ms, .. } => {
                let model = self.of(thread, *message);
                ensure(model.holder.is_none(), || format!("{message} was handed out while it was held"))?;
                (model.epoch, model.holder) = (model.epoch + 1, Some(*token));
                (model.heard, model.lease_ms) = (seen.decided, *lease_ms);
                let found = seen.thread().and_then(|rows| rows.messages.get(message)).map_or(0, |row| row.epoch);
                ensure(found == model.epoch, || format!("{message} has epoch {found} after {} deliveries", model.epoch))
            }
            message::Body::AcknowledgeMessage { held }
            | message::Body::ReplyMessage { held, .. }
            | message::Body::FailMessage { held, .. }
            | message::Body::ReturnMessage { held, .. } => self.spoken(thread, held, seen.op.pos),
            message::Body::ExpireDelivery { message, epoch, reason, .. } => {
                let model = self.of(thread, *message);
                let holds = model.holder.take().is_some() && model.epoch == *epoch;
                ensure(holds, || format!("op {} ends epoch {epoch} of {message}; {model:?}", seen.op.pos))?;
                ensure(*reason == ExpireReason::DeadlinePassed, || format!("{message} lost its owner"))?;
                let fresh = clock.started();
                let heard = if model.heard.0 < fresh { (fresh, fresh) } else { model.heard };
                let what = format!("the delivery of {message}");
                clock.noticed(seen.decided.0, &what)?;
                clock.in_time(heard, seen.decided, model.lease_ms, &what)
            }
            message::Body::ExpireMessage { message } => {
                let model = self.of(thread, *message);
                model.holder = None;
                let ttl_ms = model.ttl_ms.ok_or_else(|| format!("{message} is too old, and lives for ever"))?;
                let what = format!("the life of {message}");
                clock.noticed(seen.decided.0, &what)?;
                clock.in_time(model.born, seen.decided, ttl_ms, &what)
            }
        }
    }

    pub(super) fn answer(&mut self, result: &Result<Answer, Error>) -> Verdict {
        let Ok(Answer::Taken(Some(delivery))) = result else { return Ok(()) };
        let (message, epoch) = (delivery.held.message, delivery.held.epoch);
        let before = std::mem::replace(&mut self.of(delivery.thread, message).told, epoch);
        ensure(epoch > before, || format!("{message} was handed out with epoch {epoch} after {before}"))
    }

    fn of(&mut self, thread: ThreadId, message: MessageId) -> &mut Model {
        self.messages.entry((thread, message)).or_default()
    }

    /// The holder's word ends its delivery.
    fn spoken(&mut self, thread: ThreadId, held: &HeldMessage, pos: u64) -> Verdict {
        let model = self.of(thread, held.message);
        let holds = model.holder == Some(held.token) && model.epoch == held.epoch;
        ensure(holds, || {
            format!("op {pos} on {} shows epoch {} and another token; {model:?}", held.message, held.epoch)
        })?;
        model.holder = None;
        Ok(())
    }
}
