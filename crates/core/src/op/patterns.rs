//! The bodies of each machine, as patterns. A new kind that is in none of these lists does not compile.

/// The bodies of the task machine, as a pattern.
#[macro_export]
#[doc(hidden)]
macro_rules! task_bodies {
    () => {
        $crate::op::Body::ScheduleJob { .. }
            | $crate::op::Body::ClaimWork { .. }
            | $crate::op::Body::CompleteJob { .. }
            | $crate::op::Body::FailJob { .. }
            | $crate::op::Body::YieldWork { .. }
            | $crate::op::Body::ExpireWork { .. }
            | $crate::op::Body::TimeoutWork { .. }
            | $crate::op::Body::CancelTask { .. }
            | $crate::op::Body::RedriveTask { .. }
            | $crate::op::Body::ApproveStep { .. }
            | $crate::op::Body::DenyStep { .. }
            | $crate::op::Body::RecordArtifact { .. }
            | $crate::op::Body::PassWork { .. }
            | $crate::op::Body::SkipWork { .. }
            | $crate::op::Body::FanOut { .. }
    };
}

/// The bodies of the lock machine, as a pattern.
#[macro_export]
#[doc(hidden)]
macro_rules! lock_bodies {
    () => {
        $crate::op::Body::AcquireLock { .. }
            | $crate::op::Body::RenewLock { .. }
            | $crate::op::Body::ReleaseLock { .. }
            | $crate::op::Body::ExpireLock { .. }
    };
}

/// The bodies of the message machine, as a pattern.
#[macro_export]
#[doc(hidden)]
macro_rules! message_bodies {
    () => {
        $crate::op::Body::SendMessage { .. }
            | $crate::op::Body::DeliverMessage { .. }
            | $crate::op::Body::AcknowledgeMessage { .. }
            | $crate::op::Body::ReplyMessage { .. }
            | $crate::op::Body::FailMessage { .. }
            | $crate::op::Body::ReturnMessage { .. }
            | $crate::op::Body::ExpireDelivery { .. }
            | $crate::op::Body::ExpireMessage { .. }
            | $crate::op::Body::RedriveMessage { .. }
    };
}

/// The bodies about the log itself, as a pattern.
#[macro_export]
#[doc(hidden)]
macro_rules! log_bodies {
    () => {
        $crate::op::Body::Checkpoint { .. } | $crate::op::Body::AuditEvent { .. }
    };
}

/// The bodies of the namespace machine, as a pattern.
#[macro_export]
#[doc(hidden)]
macro_rules! namespace_bodies {
    () => {
        $crate::op::Body::CreateNamespace { .. }
    };
}

/// The bodies of the registers, as a pattern.
#[macro_export]
#[doc(hidden)]
macro_rules! register_bodies {
    () => {
        $crate::op::Body::RouteKind { .. }
            | $crate::op::Body::DesignateCoordinator { .. }
            | $crate::op::Body::DelegateUcan { .. }
            | $crate::op::Body::RevokeUcan { .. }
            | $crate::op::Body::FreezeNode { .. }
            | $crate::op::Body::SetSetting { .. }
            | $crate::op::Body::SetFeatureLevel { .. }
            | $crate::op::Body::Seal { .. }
    };
}

/// The bodies of the plan machine, as a pattern.
#[macro_export]
#[doc(hidden)]
macro_rules! plan_bodies {
    () => {
        $crate::op::Body::AddItem { .. }
            | $crate::op::Body::ChangeItem { .. }
            | $crate::op::Body::MoveItem { .. }
            | $crate::op::Body::SetItemStatus { .. }
            | $crate::op::Body::RemoveItem { .. }
    };
}

pub use {lock_bodies, log_bodies, message_bodies, namespace_bodies, plan_bodies, register_bodies, task_bodies};
