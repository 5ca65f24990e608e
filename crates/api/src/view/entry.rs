//! One op as somebody reads it who asks who did what.

use crate::time;
use relaymesh_core::{
    hash::Hash,
    id::{NodeId, OpId},
    message::Draft,
    name::Name,
    op::{Body, Held, HeldMessage, Op, Via},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// An op as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AuditEntry)]
pub struct Shown {
    /// Its position on the log.
    pub pos: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// When, in RFC 3339.
    pub at: String,
    /// Who.
    #[schema(value_type = String)]
    pub author: Name,
    /// From where.
    #[schema(value_type = String)]
    pub source: Name,
    /// At which node.
    #[schema(value_type = String)]
    pub node: NodeId,
    /// In which namespace.
    #[schema(value_type = String)]
    pub namespace: Name,
    /// What: ScheduleJob, CancelTask, …
    pub kind: String,
    /// About what.
    pub scope: String,
    /// What it says besides.
    pub about: Map<String, Value>,
    /// Its id.
    #[schema(value_type = String)]
    pub op: OpId,
    /// Its hash, which covers the op before it.
    #[schema(value_type = String)]
    pub hash: Hash,
    /// How it came in, if it came by HTTP.
    #[schema(value_type = Option<Object>)]
    pub via: Option<Via>,
}

/// A page of the log, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Audit)]
pub struct Page {
    /// Those that fit.
    pub entries: Vec<Shown>,
    /// Where to go on, as long as there may be more.
    pub next: Option<u64>,
}

/// The op as it is shown.
pub fn shown(op: &Op, hash: Hash) -> Shown {
    let header = &op.header;
    Shown {
        pos: op.pos,
        at_ms: header.hlc.wall_ms,
        at: time::rfc3339(header.hlc.wall_ms),
        author: header.author.clone(),
        source: header.source.clone(),
        node: header.origin,
        namespace: header.namespace.clone(),
        kind: format!("{:?}", op.body.kind()),
        scope: header.scope.to_string(),
        about: about(&op.body),
        op: header.op_id,
        hash,
        via: header.via.as_deref().cloned(),
    }
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
