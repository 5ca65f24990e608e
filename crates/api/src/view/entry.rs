//! One op as somebody reads it who asks who did what.

use crate::time;
use relaymesh_core::{
    hash::Hash,
    id::{NodeId, OpId},
    message::Draft,
    name::Name,
    op::{Body, Held, HeldMessage, Op, SeenItem, Via},
    plan::NewItem,
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

/// Words about the mesh itself, as a pattern.
macro_rules! words {
    () => {
        Body::RouteKind { .. }
            | Body::DesignateCoordinator { .. }
            | Body::DelegateUcan { .. }
            | Body::RevokeUcan { .. }
            | Body::FreezeNode { .. }
            | Body::SetSetting { .. }
            | Body::SetFeatureLevel { .. }
            | Body::Seal { .. }
    };
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
        Body::AddItem { item } => planned(item),
        Body::ChangeItem { seen, title, notes, task } => {
            item(seen, json!({ "title": title, "notes": hidden(notes), "task": task }))
        }
        Body::MoveItem { seen, parent, place } => item(seen, json!({ "parent": parent, "place": place })),
        Body::SetItemStatus { seen, status, reason } => item(seen, json!({ "status": status, "reason": reason })),
        Body::RemoveItem { seen } => item(seen, json!({})),
        Body::AuditEvent { event, about } => {
            let about: Map<String, Value> =
                about.iter().map(|(name, value)| (name.to_string(), json!(value))).collect();
            json!({ "event": event, "said": about })
        }
        words!() => word(body),
        Body::PurgeScope {} => json!({}),
        Body::Checkpoint { pos, state, .. } => json!({ "ops": pos, "state": format!("{:032x}", state.0) }),
    };
    value.as_object().cloned().unwrap_or_default()
}

/// A word about the mesh itself.
fn word(body: &Body) -> Value {
    if let Body::RouteKind { pattern, target } = body {
        json!({ "kinds": pattern, "target": target })
    } else if let Body::DesignateCoordinator { coordinator } = body {
        json!({ "coordinator": coordinator })
    } else if let Body::DelegateUcan { ucan_bytes } = body {
        json!({ "chain": Hash::blake3(&[ucan_bytes]), "len": ucan_bytes.len() })
    } else if let Body::RevokeUcan { ucan_cid } = body {
        json!({ "link": ucan_cid })
    } else if let Body::FreezeNode { node, frozen } = body {
        json!({ "node": node, "frozen": frozen })
    } else if let Body::SetSetting { name, value } = body {
        // Names alone, as in the history of settings.
        json!({ "setting": name, "is_default": value.is_none() })
    } else if let Body::SetFeatureLevel { level } = body {
        json!({ "level": level })
    } else if let Body::Seal { upto, heads } = body {
        json!({ "upto": upto.to_string(), "chains": heads.len() })
    } else {
        json!({})
    }
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

/// What was added to a plan.
fn planned(item: &NewItem) -> Value {
    let NewItem { id, kind, parent, place, title, notes, task } = item;
    let notes = hidden(notes);
    json!({ "item": id, "kind": kind, "parent": parent, "place": place, "title": title, "notes": notes, "task": task })
}

/// Which item of a plan it is about, and on which revision of it.
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
                Body::AddItem { item: added },
                json!({ "item": id, "kind": "slice", "parent": parent, "place": 7, "title": "ship it", "notes": hash, "task": null }),
            ),
            (
                Body::ChangeItem { seen, title, notes, task: None },
                json!({ "item": id, "rev": 3, "title": "ship it", "notes": hash, "task": null }),
            ),
            (
                Body::SetItemStatus { seen, status: Status::Blocked, reason },
                json!({ "item": id, "rev": 3, "status": "BLOCKED", "reason": "no key" }),
            ),
            (Body::RemoveItem { seen }, of_item),
        ];
        for (body, expected) in table {
            assert_eq!(Value::Object(about(&body)), expected, "{:?}", body.kind());
        }
    }
}
