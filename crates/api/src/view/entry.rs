//! One op as somebody reads it who asks who did what.

use crate::time;
use relaymesh_core::{
    hash::Hash,
    message::Draft,
    op::{Body, Held, HeldMessage, Op},
};
use serde_json::{Map, Value, json};

/// The op for programs: one line.
pub fn to_json(op: &Op, hash: Hash) -> Value {
    let header = &op.header;
    json!({
        "pos": op.pos, "at_ms": header.hlc.wall_ms, "at": time::rfc3339(header.hlc.wall_ms), "author": header.author,
        "source": header.source, "node": header.origin, "namespace": header.namespace,
        "kind": format!("{:?}", op.body.kind()), "scope": header.scope.to_string(), "about": about(&op.body),
        "op": header.op_id, "hash": hash, "via": header.via.as_deref(),
    })
}

/// What the op says besides: what people gave as a reason in full, everything that an agent or a sender wrote as hash and length,
/// and nothing that proves a lease.
pub fn about(body: &Body) -> Map<String, Value> {
    let value = match body {
        Body::ScheduleJob { schedule } => {
            let agents: Vec<&str> = schedule.steps.iter().map(|step| step.agent.as_str()).collect();
            json!({ "name": schedule.name, "agents": agents, "request": schedule.fingerprint })
        }
        Body::ClaimWork { step, worker, .. } => json!({ "step": step, "worker": worker }),
        Body::CompleteJob { held, result } => with(held, json!({ "result": result })),
        Body::FailJob { held, retryable, error, .. } => {
            with(held, json!({ "retryable": retryable, "error": hidden(error) }))
        }
        Body::YieldWork { held, reason } => with(held, json!({ "reason": hidden(reason) })),
        Body::PassWork { held } => with(held, json!({})),
        Body::SkipWork { held, reason } => with(held, json!({ "reason": reason })),
        Body::FanOut { held, count } => with(held, json!({ "items": count })),
        Body::ExpireWork { step, epoch, reason, .. } => json!({ "step": step, "epoch": epoch, "reason": reason }),
        Body::TimeoutWork { step, epoch, .. } => json!({ "step": step, "epoch": epoch }),
        Body::CancelTask { mode, reason } => json!({ "mode": mode, "reason": reason }),
        Body::RedriveTask { reason } => json!({ "reason": reason }),
        Body::ApproveStep { step, ask } => json!({ "step": step, "ask": ask }),
        Body::DenyStep { step, ask, reason } => json!({ "step": step, "ask": ask, "reason": reason }),
        Body::RecordArtifact { held, kind, name, content, .. } => {
            with(held, json!({ "kind": kind, "name": name, "content": content }))
        }
        Body::AcquireLock { repository, key, mode, holder, ttl_ms, purpose, .. } => json!({
            "repository": repository, "key": key, "mode": mode, "holder": holder, "ttl_ms": ttl_ms, "purpose": purpose,
        }),
        Body::RenewLock { held, ttl_ms } => json!({ "fence": held.fence, "ttl_ms": ttl_ms }),
        Body::ReleaseLock { held } | Body::ExpireLock { held } => json!({ "fence": held.fence }),
        Body::SendMessage { draft } => {
            let Draft { id, from, to, reply_to, content, .. } = draft;
            json!({ "message": id, "from": from, "to": to, "reply_to": reply_to, "content": content })
        }
        Body::DeliverMessage { message, recipient, worker, .. } => {
            json!({ "message": message, "recipient": recipient, "worker": worker })
        }
        Body::AcknowledgeMessage { held } => taken(held, json!({})),
        Body::ReplyMessage { held, answer, content } => taken(held, json!({ "answer": answer, "content": content })),
        Body::FailMessage { held, retryable, error, .. } => {
            taken(held, json!({ "retryable": retryable, "error": hidden(error) }))
        }
        Body::ReturnMessage { held, reason } => taken(held, json!({ "reason": hidden(reason) })),
        Body::ExpireDelivery { message, epoch, reason, .. } => {
            json!({ "message": message, "epoch": epoch, "reason": reason })
        }
        Body::ExpireMessage { message } => json!({ "message": message }),
        Body::RedriveMessage { message, reason } => json!({ "message": message, "reason": reason }),
        Body::CreateNamespace { about } => json!({ "about": about }),
        Body::AuditEvent { event, about } => {
            let about: Map<String, Value> =
                about.iter().map(|(name, value)| (name.to_string(), json!(value))).collect();
            json!({ "event": event, "said": about })
        }
        Body::PurgeScope {} => json!({}),
        Body::Checkpoint { pos, state, .. } => json!({ "ops": pos, "state": format!("{:032x}", state.0) }),
    };
    value.as_object().cloned().unwrap_or_default()
}

/// Which attempt it is about, without what proves the lease.
fn with(held: &Held, mut about: Value) -> Value {
    about["step"] = json!(held.step);
    about["epoch"] = json!(held.epoch);
    about
}

/// Which delivery it is about, without what proves the lease.
fn taken(held: &HeldMessage, mut about: Value) -> Value {
    about["message"] = json!(held.message);
    about["epoch"] = json!(held.epoch);
    about
}

/// What somebody wrote who may have quoted the work itself.
fn hidden(text: &str) -> Value {
    json!({ "hash": Hash::sha256(text.as_bytes()), "len": text.len() })
}
