//! A scope and a body that fit, and an op as one machine sees it.

use super::{Body, Header, Op, Scope, log};
use crate::{
    id::{NamespaceId, PlanId, RepositoryId, TaskId, ThreadId},
    lock, message, namespace, plan, register, task,
};

/// What an op is about, and what it says of it: only what fits can be written. Whoever writes ops takes one of these, so that an
/// op about the wrong scope does not compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A task.
    Task(TaskId, task::Body),
    /// A thread.
    Thread(ThreadId, message::Body),
    /// A repository.
    Repository(RepositoryId, lock::Body),
    /// A namespace.
    Namespace(NamespaceId, namespace::Body),
    /// A plan.
    Plan(PlanId, plan::Body),
    /// The register that the body belongs in.
    Register(register::Body),
    /// The log itself.
    Log(log::Body),
    /// A task that is to be forgotten.
    PurgeTask(TaskId),
    /// A thread that is to be forgotten.
    PurgeThread(ThreadId),
    /// A plan that is to be forgotten.
    PurgePlan(PlanId),
}

impl Subject {
    /// What the op is about.
    pub fn scope(&self) -> Scope {
        match self {
            Self::Task(id, _) | Self::PurgeTask(id) => Scope::Task(*id),
            Self::Thread(id, _) | Self::PurgeThread(id) => Scope::Thread(*id),
            Self::Repository(id, _) => Scope::Repository(*id),
            Self::Namespace(id, _) => Scope::Namespace(*id),
            Self::Plan(id, _) | Self::PurgePlan(id) => Scope::Plan(*id),
            Self::Register(body) => Scope::Register(body.register()),
            Self::Log(_) => Scope::Log,
        }
    }
}

impl From<Subject> for Body {
    fn from(subject: Subject) -> Self {
        match subject {
            Subject::Task(_, body) => body.into(),
            Subject::Thread(_, body) => body.into(),
            Subject::Repository(_, body) => body.into(),
            Subject::Namespace(_, body) => body.into(),
            Subject::Plan(_, body) => body.into(),
            Subject::Register(body) => body.into(),
            Subject::Log(body) => body.into(),
            Subject::PurgeTask(_) | Subject::PurgeThread(_) | Subject::PurgePlan(_) => Self::PurgeScope {},
        }
    }
}

/// An op as its machine takes it: about something of the machine's own sort, with a body of the machine's own.
#[derive(Debug)]
pub struct About<'a, I, B> {
    /// Where it arrived here.
    pub pos: u64,
    /// What every op says.
    pub header: &'a Header,
    /// What it is about: the id in the header's scope.
    pub id: I,
    /// What happened.
    pub body: &'a B,
}

impl Op {
    /// The op as a machine takes it that has found its own id and body in it.
    pub fn about<'a, I, B>(&'a self, id: I, body: &'a B) -> About<'a, I, B> {
        About { pos: self.pos, header: &self.header, id, body }
    }
}
