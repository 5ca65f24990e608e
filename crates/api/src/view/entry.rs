//! One op as somebody reads it who asks who did what.

use crate::time;
use relaymesh_core::{
    hash::Hash,
    id::{NodeId, OpId},
    lock,
    message::{self, Draft},
    name::Name,
    namespace,
    op::{Body, HeldMessage, Hold, Op, SeenItem, Via, log},
    plan::{self, NewItem},
    register, task,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// An op of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AuditEntry)]
pub struct Shown {
    /// Position on the log.
    pub pos: u64,
    /// Time, in milliseconds since 1970.
    pub at_ms: u64,
    /// Time, in RFC 3339.
    pub at: String,
    /// Author.
    #[schema(value_type = String)]
    pub author: Name,
    /// Source of the write, such as `cli` or `http`.
    #[schema(value_type = String)]
    pub source: Name,
    /// Id of the node.
    #[schema(value_type = String)]
    pub node: NodeId,
    /// Namespace.
    #[schema(value_type = String)]
    pub namespace: Name,
    /// Kind: ScheduleJob, CancelTask, …
    pub kind: String,
    /// Object of the op: a task, thread, repository, …
    pub scope: String,
    /// Further fields of the op.
    pub about: Map<String, Value>,
    /// Id of the op.
    #[schema(value_type = String)]
    pub op: OpId,
    /// Hash, which covers the op and the one before it.
    #[schema(value_type = String)]
    pub hash: Hash,
    /// HTTP request that made the write, if any.
    #[schema(value_type = Option<super::schema::Via>)]
    pub via: Option<Via>,
}

/// A page of log entries, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AuditPage)]
pub struct Page {
    /// Matching entries.
    pub entries: Vec<Shown>,
    /// Cursor of the next page, if there may be more.
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
        Body::Task(body) => of_task(body),
        Body::Lock(body) => of_lock(body),
        Body::Message(body) => of_message(body),
        Body::Namespace(namespace::Body::CreateNamespace { about }) => json!({ "about": about }),
        Body::Plan(body) => of_plan(body),
        Body::Register(body) => of_register(body),
        Body::Log(body) => of_log(body),
        Body::PurgeScope {} => json!({}),
    };
    value.as_object().cloned().unwrap_or_default()
}

fn of_task(body: &task::Body) -> Value {
    match body {
        task::Body::ScheduleJob { schedule } => {
            let agents: Vec<&str> = schedule.steps.iter().map(|step| step.agent.as_str()).collect();
            json!({ "name": schedule.name, "agents": agents, "request": schedule.fingerprint })
        }
        task::Body::ClaimWork { step, worker, lease_ms, .. } => {
            json!({ "step": step, "worker": worker, "lease_duration_ms": lease_ms })
        }
        task::Body::CompleteJob { held, result } => with(held, json!({ "result": result })),
        task::Body::FailJob { held, retryable, error, .. } => {
            with(held, json!({ "retryable": retryable, "error": hidden(error) }))
        }
        task::Body::YieldWork { held, reason } => with(held, json!({ "reason": hidden(reason) })),
        task::Body::PassWork { held } => with(held, json!({})),
        task::Body::SkipWork { held, reason } => with(held, json!({ "reason": reason })),
        task::Body::FanOut { held, count } => with(held, json!({ "items": count })),
        task::Body::ExpireWork { step, epoch, reason, .. } => {
            json!({ "step": step, "epoch": epoch, "reason": reason })
        }
        task::Body::TimeoutWork { step, epoch, .. } => json!({ "step": step, "epoch": epoch }),
        task::Body::CancelTask { mode, reason } => json!({ "mode": mode, "reason": reason }),
        task::Body::RedriveTask { reason } => json!({ "reason": reason }),
        task::Body::ApproveStep { step, ask } => json!({ "step": step, "ask": ask }),
        task::Body::DenyStep { step, ask, reason } => json!({ "step": step, "ask": ask, "reason": reason }),
        task::Body::RecordArtifact { held, kind, name, content, .. } => {
            with(held, json!({ "kind": kind, "name": name, "content": content }))
        }
    }
}

fn of_lock(body: &lock::Body) -> Value {
    match body {
        lock::Body::AcquireLock { repository, key, mode, holder, ttl_ms, purpose, .. } => json!({
            "repository": repository, "key": key, "mode": mode, "holder": holder, "ttl_ms": ttl_ms, "purpose": purpose,
        }),
        lock::Body::RenewLock { held, ttl_ms } => json!({ "fence": held.fence, "ttl_ms": ttl_ms }),
        lock::Body::ReleaseLock { held } | lock::Body::ExpireLock { held } => {
            json!({ "fence": held.fence })
        }
    }
}

fn of_message(body: &message::Body) -> Value {
    match body {
        message::Body::SendMessage { draft } => {
            let Draft { id, from, to, reply_to, content, .. } = draft;
            json!({ "message": id, "from": from, "to": to, "reply_to": reply_to, "content": content })
        }
        message::Body::DeliverMessage { message, recipient, worker, .. } => {
            json!({ "message": message, "recipient": recipient, "worker": worker })
        }
        message::Body::AcknowledgeMessage { held } => taken(held, json!({})),
        message::Body::ReplyMessage { held, answer, content } => {
            taken(held, json!({ "answer": answer, "content": content }))
        }
        message::Body::FailMessage { held, retryable, error, .. } => {
            taken(held, json!({ "retryable": retryable, "error": hidden(error) }))
        }
        message::Body::ReturnMessage { held, reason } => taken(held, json!({ "reason": hidden(reason) })),
        message::Body::ExpireDelivery { message, epoch, reason, .. } => {
            json!({ "message": message, "epoch": epoch, "reason": reason })
        }
        message::Body::ExpireMessage { message } => json!({ "message": message }),
        message::Body::RedriveMessage { message, reason } => {
            json!({ "message": message, "reason": reason })
        }
    }
}

fn of_plan(body: &plan::Body) -> Value {
    match body {
        plan::Body::AddItem { item } => planned(item),
        plan::Body::ChangeItem { seen, title, notes, task } => {
            item(seen, json!({ "title": title, "notes": hidden(notes), "task": task }))
        }
        plan::Body::MoveItem { seen, parent, place } => item(seen, json!({ "parent": parent, "place": place })),
        plan::Body::SetItemStatus { seen, status, reason } => item(seen, json!({ "status": status, "reason": reason })),
        plan::Body::RemoveItem { seen } => item(seen, json!({})),
    }
}

/// A word about the mesh itself.
fn of_register(body: &register::Body) -> Value {
    match body {
        register::Body::RouteKind { pattern, target } => {
            json!({ "kind": pattern, "route": target })
        }
        register::Body::DesignateCoordinator { coordinator } => {
            json!({ "coordinator": coordinator })
        }
        register::Body::DelegateUcan { ucan_bytes } => {
            json!({ "chain": Hash::blake3(&[ucan_bytes]), "len": ucan_bytes.len() })
        }
        register::Body::RevokeUcan { ucan_cid } => {
            json!({ "link": ucan_cid })
        }
        register::Body::FreezeNode { node, frozen } => {
            json!({ "node": node, "frozen": frozen })
        }
        register::Body::SetSetting { name, value } => {
            // Names alone, as in the history of settings.
            json!({ "setting": name, "is_default": value.is_none() })
        }
        register::Body::SetFeatureLevel { level } => {
            json!({ "level": level })
        }
        register::Body::Seal { upto, heads } => {
            json!({ "upto": upto.to_string(), "chains": heads.len() })
        }
    }
}

fn of_log(body: &log::Body) -> Value {
    match body {
        log::Body::AuditEvent { event, about } => {
            let about: Map<String, Value> =
                about.iter().map(|(name, value)| (name.to_string(), json!(value))).collect();
            json!({ "event": event, "said": about })
        }
        log::Body::Checkpoint { pos, state, .. } => {
            json!({ "ops": pos, "state": format!("{:032x}", state.0) })
        }
    }
}

/// The attempt, without the token of its lease.
fn with(held: &Hold<u16>, mut about: Value) -> Value {
    about["step"] = json!(held.step);
    about["epoch"] = json!(held.epoch);
    about
}

/// The delivery, without the token of its lease.
fn taken(held: &HeldMessage, mut about: Value) -> Value {
    about["message"] = json!(held.message);
    about["epoch"] = json!(held.epoch);
    about
}

/// What was added to a plan.
fn planned(item: &NewItem) -> Value {
    let NewItem { id, kind, parent, place, title, notes, task } = item;
    let notes = hidden(notes);
    json!({ "item": id, "kind": kind, "parent": parent, "place": place, "title": title, "notes": notes, "task": task })
}

/// The item of a plan and its revision.
fn item(seen: &SeenItem, mut about: Value) -> Value {
    about["item"] = json!(seen.item);
    about["rev"] = json!(seen.rev);
    about
}

/// What somebody wrote who may have quoted the work itself.
fn hidden(text: &str) -> Value {
    json!({ "hash": Hash::sha256(text.as_bytes()), "len": text.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use relaymesh_core::{
        id::ItemId,
        plan::{ItemKind, Status},
    };

    #[test]
    fn of_a_plan_titles_and_reasons_are_shown_and_notes_are_not() {
        let (id, notes) = (ItemId::new(1, 1), "secret plan".to_owned());
        let seen = SeenItem { item: id, rev: 3, by: OpId::new(1, 9) };
        let (kind, parent, title) = (ItemKind::Slice, Some(ItemId::new(1, 2)), "ship it".to_owned());
        let added = NewItem { id, kind, parent, place: 7, title: title.clone(), notes: notes.clone(), task: None };
        let reason = "no key".to_owned();
        let (of_item, hash) = (json!({ "item": id, "rev": 3 }), hidden(&notes));
        let table = [
            (
                Body::Plan(plan::Body::AddItem { item: added }),
                json!({ "item": id, "kind": "slice", "parent": parent, "place": 7, "title": "ship it", "notes": hash, "task": null }),
            ),
            (
                Body::Plan(plan::Body::ChangeItem { seen, title, notes, task: None }),
                json!({ "item": id, "rev": 3, "title": "ship it", "notes": hash, "task": null }),
            ),
            (
                Body::Plan(plan::Body::SetItemStatus { seen, status: Status::Blocked, reason }),
                json!({ "item": id, "rev": 3, "status": "BLOCKED", "reason": "no key" }),
            ),
            (Body::Plan(plan::Body::RemoveItem { seen }), of_item),
        ];
        for (body, expected) in table {
            assert_eq!(Value::Object(about(&body)), expected, "{:?}", body.kind());
        }
    }
}
