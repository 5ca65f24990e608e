//! The kernel: one op on the rows of its scope, whichever machine they belong to.
//!
//! An op has one scope, and the scope says which machine folds it: tasks, threads, repositories, namespaces, plans. What cannot be said
//! about a scope of that sort is refused here and reaches no machine. Each machine is a folder with one file per verb;
//! this file is only the switch between them. The driver's hot path, which knows that it has a task in its hands, calls
//! [`apply_task`] directly; the rules are the same.

use crate::{
    checkpoint,
    hlc::Hlc,
    lock::{self, RepositoryRows},
    message::{self, ThreadRows},
    namespace::{self, Namespace},
    op::{Body, Kind, Op, Scope, log},
    plan::{self, PlanRows},
    register::Register,
    task::{self, TaskRows},
};

/// All rows of one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rows {
    /// A task and its steps.
    Task(TaskRows),
    /// A thread and its messages.
    Thread(ThreadRows),
    /// A repository and its locks.
    Repository(RepositoryRows),
    /// A namespace.
    Namespace(Namespace),
    /// A plan and its items.
    Plan(PlanRows),
    /// Nothing but the memory that it was purged. It is stored nowhere and part of no hash: the op on the log is what
    /// remembers it, for as long as the log has it.
    Purged(Purged),
}

/// That a scope was purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purged {
    /// When.
    pub at: Hlc,
}

/// What is to be done because an op took effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// About a task.
    Task(task::Effect),
    /// About a thread.
    Thread(message::Effect),
    /// About a repository.
    Repository(lock::Effect),
}

/// Why an op has no effect. It changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// What the op says cannot be said about a scope of that sort.
    #[error("{kind:?} does not apply to {scope}")]
    WrongScope {
        /// What it says.
        kind: Kind,
        /// What it is about.
        scope: Scope,
    },
    /// What it is about was purged before.
    #[error("it was purged at {}, and can no longer change", crate::utc::Utc(.at.wall_ms))]
    Purged {
        /// When.
        at: Hlc,
    },
    /// The checkpoint says something that cannot be.
    #[error(transparent)]
    Log(#[from] checkpoint::Refusal),
    /// The task machine refused it.
    #[error(transparent)]
    Task(#[from] task::Refusal),
    /// The message machine refused it.
    #[error(transparent)]
    Thread(#[from] message::Refusal),
    /// The lock machine refused it.
    #[error(transparent)]
    Repository(#[from] lock::Refusal),
    /// The namespace machine refused it.
    #[error(transparent)]
    Namespace(#[from] namespace::Refusal),
    /// The plan machine refused it.
    #[error(transparent)]
    Plan(#[from] plan::Refusal),
    /// It is about a register of a mesh, and a node alone folds none.
    #[error("{register} is a register of a mesh, and this node is in none")]
    NoMesh {
        /// Which register.
        register: Register,
    },
}

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// Of a task.
    #[error(transparent)]
    Task(#[from] task::Invalid),
    /// Of a thread.
    #[error(transparent)]
    Thread(#[from] message::Invalid),
    /// Of a repository.
    #[error(transparent)]
    Repository(#[from] lock::Invalid),
    /// Of a namespace.
    #[error(transparent)]
    Namespace(#[from] namespace::Invalid),
    /// Of a plan.
    #[error(transparent)]
    Plan(#[from] plan::Invalid),
}

/// Applies `op` to the rows of its scope. A refusal has changed neither rows nor effects.
pub fn apply(rows: &mut Option<Rows>, op: &Op, effects: &mut Vec<Effect>) -> Result<(), Refusal> {
    let (kind, scope) = (op.body.kind(), op.header.scope);
    if !op.body.fits(scope) {
        return Err(Refusal::WrongScope { kind, scope });
    }
    if let Some(Rows::Purged(Purged { at })) = rows {
        return Err(Refusal::Purged { at: *at });
    }
    machine(rows, op, effects)?;
    if let Body::PurgeScope {} = &op.body {
        *rows = Some(Rows::Purged(Purged { at: op.header.hlc }));
    }
    Ok(())
}

/// Hands the op to the machine of its scope.
fn machine(rows: &mut Option<Rows>, op: &Op, effects: &mut Vec<Effect>) -> Result<(), Refusal> {
    let (kind, scope) = (op.body.kind(), op.header.scope);
    match (scope, rows.take()) {
        (Scope::Task(_), before @ (None | Some(Rows::Task(_)))) => {
            let mut own = before.and_then(Rows::into_task);
            let outcome = on(&mut own, op, effects, apply_task, Effect::Task);
            *rows = own.map(Rows::Task);
            outcome
        }
        (Scope::Thread(_), before @ (None | Some(Rows::Thread(_)))) => {
            let mut own = before.and_then(Rows::into_thread);
            let outcome = on(&mut own, op, effects, apply_thread, Effect::Thread);
            *rows = own.map(Rows::Thread);
            outcome
        }
        (Scope::Repository(_), before @ (None | Some(Rows::Repository(_)))) => {
            let mut own = before.and_then(Rows::into_repository);
            let outcome = on(&mut own, op, effects, apply_repository, Effect::Repository);
            *rows = own.map(Rows::Repository);
            outcome
        }
        (Scope::Namespace(_), before @ (None | Some(Rows::Namespace(_)))) => {
            let mut own = before.and_then(Rows::into_namespace);
            let outcome = apply_namespace(&mut own, op);
            *rows = own.map(Rows::Namespace);
            outcome
        }
        (Scope::Plan(_), before @ (None | Some(Rows::Plan(_)))) => {
            let mut own = before.and_then(Rows::into_plan);
            let outcome = apply_plan(&mut own, op);
            *rows = own.map(Rows::Plan);
            outcome
        }
        (Scope::Register(register), None) => Err(Refusal::NoMesh { register }),
        (Scope::Log, None) => apply_log(op),
        // Rows of another sort than the scope: whoever loaded them mixed them up. They stay as they are.
        (
            Scope::Task(_)
            | Scope::Thread(_)
            | Scope::Repository(_)
            | Scope::Namespace(_)
            | Scope::Plan(_)
            | Scope::Register(_)
            | Scope::Log,
            before,
        ) => {
            *rows = before;
            Err(Refusal::WrongScope { kind, scope })
        }
    }
}

/// An op on the rows of its task, where it is known that they are a task's.
pub fn apply_task(rows: &mut Option<TaskRows>, op: &Op, effects: &mut Vec<task::Effect>) -> Result<(), Refusal> {
    match (op.header.scope, &op.body) {
        (Scope::Task(id), Body::Task(body)) => Ok(task::apply(rows, &op.about(id, body), effects)?),
        (Scope::Task(_), Body::PurgeScope {}) => Ok(task::purge(rows)?),
        (scope, body) => Err(Refusal::WrongScope { kind: body.kind(), scope }),
    }
}

fn apply_thread(rows: &mut Option<ThreadRows>, op: &Op, effects: &mut Vec<message::Effect>) -> Result<(), Refusal> {
    match (op.header.scope, &op.body) {
        (Scope::Thread(id), Body::Message(body)) => Ok(message::apply(rows, &op.about(id, body), effects)?),
        (Scope::Thread(_), Body::PurgeScope {}) => Ok(message::purge(rows, &op.header)?),
        (scope, body) => Err(Refusal::WrongScope { kind: body.kind(), scope }),
    }
}

fn apply_repository(
    rows: &mut Option<RepositoryRows>,
    op: &Op,
    effects: &mut Vec<lock::Effect>,
) -> Result<(), Refusal> {
    match (op.header.scope, &op.body) {
        (Scope::Repository(id), Body::Lock(body)) => Ok(lock::apply(rows, &op.about(id, body), effects)?),
        (Scope::Repository(_), Body::PurgeScope {}) => Ok(lock::purge(rows, &op.header)?),
        (scope, body) => Err(Refusal::WrongScope { kind: body.kind(), scope }),
    }
}

fn apply_namespace(row: &mut Option<Namespace>, op: &Op) -> Result<(), Refusal> {
    match (op.header.scope, &op.body) {
        (Scope::Namespace(id), Body::Namespace(body)) => Ok(namespace::apply(row, &op.about(id, body))?),
        (Scope::Namespace(_), Body::PurgeScope {}) => Ok(namespace::purge(row.as_ref())?),
        (scope, body) => Err(Refusal::WrongScope { kind: body.kind(), scope }),
    }
}

fn apply_plan(rows: &mut Option<PlanRows>, op: &Op) -> Result<(), Refusal> {
    match (op.header.scope, &op.body) {
        (Scope::Plan(id), Body::Plan(body)) => Ok(plan::apply(rows, &op.about(id, body))?),
        (Scope::Plan(_), Body::PurgeScope {}) => Ok(plan::purge(rows, &op.header)?),
        (scope, body) => Err(Refusal::WrongScope { kind: body.kind(), scope }),
    }
}

fn apply_log(op: &Op) -> Result<(), Refusal> {
    match (op.header.scope, &op.body) {
        (Scope::Log, Body::Log(log::Body::Checkpoint { pos, heads, state })) => {
            Ok(checkpoint::check(*pos, heads, *state)?)
        }
        (Scope::Log, Body::Log(log::Body::AuditEvent { .. })) => Ok(()),
        (scope, body) => Err(Refusal::WrongScope { kind: body.kind(), scope }),
    }
}

/// Checks every rule of the machine that the rows belong to.
pub fn validate(rows: &Rows) -> Result<(), Invalid> {
    match rows {
        Rows::Task(rows) => Ok(task::validate(rows)?),
        Rows::Thread(rows) => Ok(message::validate(rows)?),
        Rows::Repository(rows) => Ok(lock::validate(rows)?),
        Rows::Namespace(row) => Ok(namespace::validate(row)?),
        Rows::Plan(rows) => Ok(plan::validate(rows)?),
        Rows::Purged(_) => Ok(()),
    }
}

/// One machine's apply, with its effects and refusals as the kernel's.
fn on<R, E>(
    rows: &mut Option<R>,
    op: &Op,
    effects: &mut Vec<Effect>,
    apply: impl FnOnce(&mut Option<R>, &Op, &mut Vec<E>) -> Result<(), Refusal>,
    wrap: fn(E) -> Effect,
) -> Result<(), Refusal> {
    let mut own = Vec::new();
    apply(rows, op, &mut own)?;
    effects.extend(own.into_iter().map(wrap));
    Ok(())
}

impl Rows {
    /// The task, if it is one.
    pub fn task(&self) -> Option<&TaskRows> {
        if let Self::Task(rows) = self { Some(rows) } else { None }
    }

    /// The newest op that took effect on them; claims and acquires cite it (D19).
    pub fn head(&self) -> Hlc {
        match self {
            Self::Task(rows) => rows.task.head,
            Self::Thread(rows) => rows.thread.head,
            Self::Repository(rows) => rows.repository.head,
            Self::Namespace(row) => row.head,
            Self::Plan(rows) => rows.plan.head,
            Self::Purged(purged) => purged.at,
        }
    }

    /// The thread, if it is one.
    pub fn thread(&self) -> Option<&ThreadRows> {
        if let Self::Thread(rows) = self { Some(rows) } else { None }
    }

    /// The repository, if it is one.
    pub fn repository(&self) -> Option<&RepositoryRows> {
        if let Self::Repository(rows) = self { Some(rows) } else { None }
    }

    /// The namespace, if it is one.
    pub fn namespace(&self) -> Option<&Namespace> {
        if let Self::Namespace(row) = self { Some(row) } else { None }
    }

    /// The plan, if it is one.
    pub fn plan(&self) -> Option<&PlanRows> {
        if let Self::Plan(rows) = self { Some(rows) } else { None }
    }

    fn into_task(self) -> Option<TaskRows> {
        if let Self::Task(rows) = self { Some(rows) } else { None }
    }

    fn into_thread(self) -> Option<ThreadRows> {
        if let Self::Thread(rows) = self { Some(rows) } else { None }
    }

    fn into_repository(self) -> Option<RepositoryRows> {
        if let Self::Repository(rows) = self { Some(rows) } else { None }
    }

    fn into_namespace(self) -> Option<Namespace> {
        if let Self::Namespace(row) = self { Some(row) } else { None }
    }

    fn into_plan(self) -> Option<PlanRows> {
        if let Self::Plan(rows) = self { Some(rows) } else { None }
    }
}
