//! What it takes to say something: the table.

use crate::capability::{Action, Resource};
use relaymesh_core::{
    id::{LeaseToken, MessageId, NodeId},
    kernel::Rows,
    name::Name,
    op::{Body, ExpireReason, Held, HeldMessage, Scope, lock_bodies, message_bodies},
    task::TaskRows,
};

/// What it takes to say something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// To be the owner.
    Owner,
    /// To be the coordinator.
    Coordinator,
    /// To have issued a link of the chain.
    Issuer,
    /// Any chain that holds.
    Member,
    /// A grant.
    Deed(Resource, Action),
}

/// What a body takes. A purge takes what making the thing takes.
pub(super) fn need(body: &Body, scope: Scope) -> Need {
    use Action::{Claim, Complete, Schedule, Write};
    match body {
        Body::RouteKind { .. }
        | Body::DesignateCoordinator { .. }
        | Body::FreezeNode { .. }
        | Body::SetSetting { .. }
        | Body::SetFeatureLevel { .. } => Need::Owner,
        Body::DelegateUcan { .. } => Need::Issuer,
        Body::Seal { .. } => Need::Coordinator,
        Body::RevokeUcan { .. } | Body::AuditEvent { .. } | Body::Checkpoint { .. } => Need::Member,
        Body::ScheduleJob { .. } | Body::CancelTask { .. } | Body::RedriveTask { .. } => {
            Need::Deed(Resource::Job, Schedule)
        }
        Body::ClaimWork { .. } => Need::Deed(Resource::Job, Claim),
        Body::ApproveStep { .. } | Body::DenyStep { .. } => Need::Deed(Resource::UserAssertion, Write),
        Body::CompleteJob { .. }
        | Body::FailJob { .. }
        | Body::YieldWork { .. }
        | Body::ExpireWork { .. }
        | Body::TimeoutWork { .. }
        | Body::RecordArtifact { .. }
        | Body::PassWork { .. }
        | Body::SkipWork { .. }
        | Body::FanOut { .. } => Need::Deed(Resource::Job, Complete),
        lock_bodies!() | relaymesh_core::op::plan_bodies!() => Need::Deed(Resource::Entity, Write),
        message_bodies!() => Need::Deed(Resource::Claim, Write),
        Body::CreateNamespace { .. } => Need::Deed(Resource::Registration, Write),
        Body::PurgeScope {} => match scope {
            Scope::Task(_) => Need::Deed(Resource::Job, Schedule),
            Scope::Thread(_) => Need::Deed(Resource::Claim, Write),
            Scope::Repository(_) | Scope::Plan(_) => Need::Deed(Resource::Entity, Write),
            Scope::Namespace(_) | Scope::Register(_) | Scope::Log => Need::Owner,
        },
    }
}

/// The names of the agents that the work is for: of one step, or of all.
pub(super) fn agents<'a>(body: &'a Body, rows: Option<&'a Rows>) -> Vec<&'a Name> {
    if let Body::ScheduleJob { schedule } = body {
        return schedule.steps.iter().map(|step| &step.agent).collect();
    }
    let Some(rows) = rows.and_then(Rows::task) else { return Vec::new() };
    match step_of(body) {
        Some(step) => rows.steps.get(usize::from(step)).map(|step| &step.spec.agent).into_iter().collect(),
        None => rows.steps.iter().map(|step| &step.spec.agent).collect(),
    }
}

/// The step that something is said about, if it is about one.
fn step_of(body: &Body) -> Option<u16> {
    match body {
        Body::ClaimWork { step, .. }
        | Body::ExpireWork { step, .. }
        | Body::TimeoutWork { step, .. }
        | Body::ApproveStep { step, .. }
        | Body::DenyStep { step, .. } => Some(*step),
        Body::CompleteJob { held, .. }
        | Body::FailJob { held, .. }
        | Body::YieldWork { held, .. }
        | Body::RecordArtifact { held, .. }
        | Body::PassWork { held }
        | Body::SkipWork { held, .. }
        | Body::FanOut { held, .. } => Some(held.step),
        Body::ScheduleJob { .. } | Body::CancelTask { .. } | Body::RedriveTask { .. } | Body::PurgeScope {} => None,
        lock_bodies!()
        | message_bodies!()
        | relaymesh_core::op::log_bodies!()
        | relaymesh_core::op::namespace_bodies!()
        | relaymesh_core::op::plan_bodies!()
        | relaymesh_core::op::register_bodies!() => None,
    }
}

/// The node that alone may say this, if there is one: it claims for itself, or it claimed before.
pub(super) fn speaker(body: &Body, rows: Option<&Rows>) -> Option<NodeId> {
    match body {
        Body::ClaimWork { owner, .. } | Body::AcquireLock { owner, .. } | Body::DeliverMessage { owner, .. } => {
            Some(*owner)
        }
        Body::CompleteJob { held, .. }
        | Body::FailJob { held, .. }
        | Body::YieldWork { held, .. }
        | Body::RecordArtifact { held, .. }
        | Body::PassWork { held }
        | Body::SkipWork { held, .. }
        | Body::FanOut { held, .. } => holder(rows?.task()?, held),
        Body::TimeoutWork { step, .. } => lease_owner(rows?.task()?, *step),
        Body::ExpireWork { step, reason: ExpireReason::OwnerGone, .. } => lease_owner(rows?.task()?, *step),
        Body::RenewLock { held, .. } | Body::ReleaseLock { held } => lock_owner(rows?, held.token),
        Body::AcknowledgeMessage { held }
        | Body::ReplyMessage { held, .. }
        | Body::FailMessage { held, .. }
        | Body::ReturnMessage { held, .. } => delivery_owner(rows?, held),
        Body::ExpireDelivery { message, reason: ExpireReason::OwnerGone, .. } => message_owner(rows?, *message),
        Body::ExpireWork { reason: ExpireReason::DeadlinePassed, .. }
        | Body::ExpireDelivery { reason: ExpireReason::DeadlinePassed, .. }
        | Body::ScheduleJob { .. }
        | Body::CancelTask { .. }
        | Body::RedriveTask { .. }
        | Body::ApproveStep { .. }
        | Body::DenyStep { .. }
        | Body::ExpireLock { .. }
        | Body::SendMessage { .. }
        | Body::ExpireMessage { .. }
        | Body::RedriveMessage { .. }
        | Body::PurgeScope {} => None,
        relaymesh_core::op::log_bodies!()
        | relaymesh_core::op::namespace_bodies!()
        | relaymesh_core::op::plan_bodies!()
        | relaymesh_core::op::register_bodies!() => None,
    }
}

/// Who holds a step, if it is held under this epoch. Whoever shows another one is fenced anyway.
fn holder(rows: &TaskRows, held: &Held) -> Option<NodeId> {
    let step = rows.steps.get(usize::from(held.step)).filter(|step| step.epoch == held.epoch)?;
    step.lease.as_ref().map(|lease| lease.owner)
}

fn lease_owner(rows: &TaskRows, step: u16) -> Option<NodeId> {
    rows.steps.get(usize::from(step))?.lease.as_ref().map(|lease| lease.owner)
}

fn lock_owner(rows: &Rows, token: LeaseToken) -> Option<NodeId> {
    rows.repository()?.locks.get(&token).map(|lock| lock.owner)
}

fn delivery_owner(rows: &Rows, held: &HeldMessage) -> Option<NodeId> {
    message_owner(rows, held.message)
}

fn message_owner(rows: &Rows, message: MessageId) -> Option<NodeId> {
    rows.thread()?.messages.get(&message)?.lease.as_ref().map(|lease| lease.owner)
}
