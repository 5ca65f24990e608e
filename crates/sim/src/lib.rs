//! A seeded world: the production driver on a simulated clock and a simulated disk.
//!
//! One seed decides everything: what clients ask for, how long agents take, when the process is killed, what the disk
//! does. The same seed is the same run, event by event, so a failure can be looked at as often as it takes. First things
//! break, then the world heals and everything that was accepted must come to rest; the [`invariant`] files say what must
//! hold meanwhile.
//!
//! The engine, the kernel, the clock's guard and the memory store are the ones of production and of its tests. Only the
//! two threads are replaced, by `node::life`, and the time that a commit takes. There is no thread, no wall clock and no
//! hash map to iterate in here.
//!
//! Run it with `cargo xtask sim --seeds 1000`, repeat one run with `cargo xtask sim --seed N`.

#![forbid(unsafe_code)]

/// Ops that are about none of the things that the models follow step by step.
macro_rules! absent_bodies {
    () => {
        relaymesh_core::op::Body::RecordArtifact { .. }
            | relaymesh_core::op::Body::PurgeScope {}
            | relaymesh_core::op::Body::Checkpoint { .. }
            | relaymesh_core::op::Body::CreateNamespace { .. }
            | relaymesh_core::op::Body::AuditEvent { .. }
            | crate::plan_bodies!()
            | crate::register_bodies!()
    };
}

/// Ops about plans, as a pattern. Nobody here writes any.
macro_rules! plan_bodies {
    () => {
        relaymesh_core::op::Body::AddItem { .. }
            | relaymesh_core::op::Body::ChangeItem { .. }
            | relaymesh_core::op::Body::MoveItem { .. }
            | relaymesh_core::op::Body::SetItemStatus { .. }
            | relaymesh_core::op::Body::RemoveItem { .. }
    };
}

/// Words of registers, as a pattern. One node alone says none.
macro_rules! register_bodies {
    () => {
        relaymesh_core::op::Body::RouteKind { .. }
            | relaymesh_core::op::Body::DesignateCoordinator { .. }
            | relaymesh_core::op::Body::DelegateUcan { .. }
            | relaymesh_core::op::Body::RevokeUcan { .. }
            | relaymesh_core::op::Body::FreezeNode { .. }
            | relaymesh_core::op::Body::SetSetting { .. }
            | relaymesh_core::op::Body::SetFeatureLevel { .. }
            | relaymesh_core::op::Body::Seal { .. }
    };
}

/// Ops about locks, as a pattern.
macro_rules! lock_bodies {
    () => {
        relaymesh_core::op::Body::AcquireLock { .. }
            | relaymesh_core::op::Body::RenewLock { .. }
            | relaymesh_core::op::Body::ReleaseLock { .. }
            | relaymesh_core::op::Body::ExpireLock { .. }
    };
}

/// Ops about messages, as a pattern.
macro_rules! message_bodies {
    () => {
        relaymesh_core::op::Body::SendMessage { .. }
            | relaymesh_core::op::Body::DeliverMessage { .. }
            | relaymesh_core::op::Body::AcknowledgeMessage { .. }
            | relaymesh_core::op::Body::ReplyMessage { .. }
            | relaymesh_core::op::Body::FailMessage { .. }
            | relaymesh_core::op::Body::ReturnMessage { .. }
            | relaymesh_core::op::Body::ExpireDelivery { .. }
            | relaymesh_core::op::Body::ExpireMessage { .. }
            | relaymesh_core::op::Body::RedriveMessage { .. }
    };
}

/// Ops about tasks, as a pattern.
macro_rules! task_bodies {
    () => {
        relaymesh_core::op::Body::ScheduleJob { .. }
            | relaymesh_core::op::Body::ClaimWork { .. }
            | relaymesh_core::op::Body::CompleteJob { .. }
            | relaymesh_core::op::Body::FailJob { .. }
            | relaymesh_core::op::Body::YieldWork { .. }
            | relaymesh_core::op::Body::ExpireWork { .. }
            | relaymesh_core::op::Body::TimeoutWork { .. }
            | relaymesh_core::op::Body::CancelTask { .. }
            | relaymesh_core::op::Body::RedriveTask { .. }
            | relaymesh_core::op::Body::ApproveStep { .. }
            | relaymesh_core::op::Body::DenyStep { .. }
            | relaymesh_core::op::Body::PassWork { .. }
            | relaymesh_core::op::Body::SkipWork { .. }
            | relaymesh_core::op::Body::FanOut { .. }
    };
}
pub(crate) use {absent_bodies, lock_bodies, message_bodies, plan_bodies, register_bodies, task_bodies};

mod actor;
mod call;
mod fault;
pub mod gossip;
pub mod history;
pub mod invariant;
mod keys;
mod ledger;
pub mod net;
mod node;
mod plan;
mod report;
mod rng;
mod time;
mod totals;
mod trace;
mod world;

pub use call::{Actor, CallId};
pub use fault::Fault;
pub use keys::overlap;
pub use report::{FAULTS_MIN, OPS_MIN, Report, SUCCESS_PER_CENT_MIN, Verdict, run};
pub use time::{MS, Ns, SECOND};
pub use totals::Totals;
pub use trace::{Record, Trace, What};
