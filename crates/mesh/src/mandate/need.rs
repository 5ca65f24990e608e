//! What it takes to say something: the table.

use crate::capability::{Action, Resource};
use relaymesh_core::{
    id::{LeaseToken, MessageId, NodeId},
    kernel::Rows,
    lock, message,
    name::Name,
    namespace,
    op::{Body, ExpireReason, HeldMessage, Hold, Scope, log},
    register,
    task::{self, TaskRows},
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
    use Action::Write;
    match body {
        Body::Register(body) => of_a_word(body),
        Body::Log(log::Body::AuditEvent { .. } | log::Body::Checkpoint { .. }) => Need::Member,
        Body::Task(body) => of_work(body),
        Body::Lock(_) | Body::Plan(_) => Need::Deed(Resource::Entity, Write),
        Body::Message(_) => Need::Deed(Resource::Claim, Write),
        Body::Namespace(namespace::Body::CreateNamespace { .. }) => Need::Deed(Resource::Registration, Write),
        Body::PurgeScope {} => match scope {
            Scope::Task(_) => Need::Deed(Resource::Job, Action::Schedule),
            Scope::Thread(_) => Need::Deed(Resource::Claim, Write),
            Scope::Repository(_) | Scope::Plan(_) => Need::Deed(Resource::Entity, Write),
            Scope::Namespace(_) | Scope::Register(_) | Scope::Log => Need::Owner,
        },
    }
}

fn of_a_word(body: &register::Body) -> Need {
    match body {
        register::Body::RouteKind { .. }
        | register::Body::DesignateCoordinator { .. }
        | register::Body::FreezeNode { .. }
        | register::Body::SetSetting { .. }
        | register::Body::SetFeatureLevel { .. } => Need::Owner,
        register::Body::DelegateUcan { .. } => Need::Issuer,
        register::Body::Seal { .. } => Need::Coordinator,
        register::Body::RevokeUcan { .. } => Need::Member,
    }
}

fn of_work(body: &task::Body) -> Need {
    match body {
        task::Body::ScheduleJob { .. } | task::Body::CancelTask { .. } | task::Body::RedriveTask { .. } => {
            Need::Deed(Resource::Job, Action::Schedule)
        }
        task::Body::ClaimWork { .. } => Need::Deed(Resource::Job, Action::Claim),
        task::Body::ApproveStep { .. } | task::Body::DenyStep { .. } => {
            Need::Deed(Resource::UserAssertion, Action::Write)
        }
        task::Body::CompleteJob { .. }
        | task::Body::FailJob { .. }
        | task::Body::YieldWork { .. }
        | task::Body::ExpireWork { .. }
        | task::Body::TimeoutWork { .. }
        | task::Body::RecordArtifact { .. }
        | task::Body::PassWork { .. }
        | task::Body::SkipWork { .. }
        | task::Body::FanOut { .. } => Need::Deed(Resource::Job, Action::Complete),
    }
}

/// The names of the agents that the work is for: of one step, or of all.
pub(super) fn agents<'a>(body: &'a Body, rows: Option<&'a Rows>) -> Vec<&'a Name> {
    let step = match body {
        Body::Task(task::Body::ScheduleJob { schedule }) => {
            return schedule.steps.iter().map(|step| &step.agent).collect();
        }
        Body::Task(body) => body.step(),
        Body::Lock(_) | Body::Message(_) | Body::Namespace(_) | Body::Plan(_) | Body::Register(_) | Body::Log(_) => {
            None
        }
        Body::PurgeScope {} => None,
    };
    let Some(rows) = rows.and_then(Rows::task) else { return Vec::new() };
    match step {
        Some(step) => rows.steps.get(usize::from(step)).map(|step| &step.spec.agent).into_iter().collect(),
        None => rows.steps.iter().map(|step| &step.spec.agent).collect(),
    }
}

/// The node that alone may say this, if there is one: it claims for itself, or it claimed before.
pub(super) fn speaker(body: &Body, rows: Option<&Rows>) -> Option<NodeId> {
    match body {
        Body::Task(body) => worker(body, rows),
        Body::Lock(body) => match body {
            lock::Body::AcquireLock { owner, .. } => Some(*owner),
            lock::Body::RenewLock { held, .. } | lock::Body::ReleaseLock { held } => lock_owner(rows?, held.token),
            lock::Body::ExpireLock { .. } => None,
        },
        Body::Message(body) => recipient(body, rows),
        Body::Namespace(_) | Body::Plan(_) | Body::Register(_) | Body::Log(_) | Body::PurgeScope {} => None,
    }
}

fn worker(body: &task::Body, rows: Option<&Rows>) -> Option<NodeId> {
    match body {
        task::Body::ClaimWork { owner, .. } => Some(*owner),
        task::Body::CompleteJob { held, .. }
        | task::Body::FailJob { held, .. }
        | task::Body::YieldWork { held, .. }
        | task::Body::RecordArtifact { held, .. }
        | task::Body::PassWork { held }
        | task::Body::SkipWork { held, .. }
        | task::Body::FanOut { held, .. } => holder(rows?.task()?, held),
        task::Body::TimeoutWork { step, .. } | task::Body::ExpireWork { step, reason: ExpireReason::OwnerGone, .. } => {
            lease_owner(rows?.task()?, *step)
        }
        task::Body::ExpireWork { reason: ExpireReason::DeadlinePassed, .. }
        | task::Body::ScheduleJob { .. }
        | task::Body::CancelTask { .. }
        | task::Body::RedriveTask { .. }
        | task::Body::ApproveStep { .. }
        | task::Body::DenyStep { .. } => None,
    }
}

fn recipient(body: &message::Body, rows: Option<&Rows>) -> Option<NodeId> {
    match body {
        message::Body::DeliverMessage { owner, .. } => Some(*owner),
        message::Body::AcknowledgeMessage { held }
        | message::Body::ReplyMessage { held, .. }
        | message::Body::FailMessage { held, .. }
        | message::Body::ReturnMessage { held, .. } => delivery_owner(rows?, held),
        message::Body::ExpireDelivery { message, reason: ExpireReason::OwnerGone, .. } => {
            message_owner(rows?, *message)
        }
        message::Body::ExpireDelivery { reason: ExpireReason::DeadlinePassed, .. }
        | message::Body::SendMessage { .. }
        | message::Body::ExpireMessage { .. }
        | message::Body::RedriveMessage { .. } => None,
    }
}

/// Who holds a step, if it is held under this epoch. Whoever shows another one is fenced anyway.
fn holder(rows: &TaskRows, held: &Hold<u16>) -> Option<NodeId> {
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
