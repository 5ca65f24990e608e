//! What a step asks of a person, with all that one should know before deciding.

use super::export;
use crate::{
    error::{Code, Error},
    lookup,
};
use relaymesh_core::{
    hash::Hash,
    id::{StepId, TaskId},
    name::Name,
    task::{Status, Step, Task, TaskRows, spec::Ask},
};
use relaymesh_store::{Proven, Reader, TaskFilter, proven};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A step's request for approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Approval)]
pub struct Shown {
    /// Id of the task.
    #[schema(value_type = String)]
    pub task: TaskId,
    /// Name of the task.
    #[schema(value_type = String)]
    pub name: Name,
    /// Namespace.
    #[schema(value_type = String)]
    pub namespace: Name,
    /// Name of the step.
    #[schema(value_type = String)]
    pub step: Name,
    /// Agent that will run the step.
    #[schema(value_type = String)]
    pub agent: Name,
    /// The question.
    pub asks: String,
    /// Hash of the request; a decision must cite it.
    #[schema(value_type = String)]
    pub ask: Hash,
    /// Deadline, in milliseconds since 1970; without a decision, the step is then denied.
    pub deadline_ms: Option<u64>,
    /// Input of the step.
    pub input: Value,
    /// Note on the parts of the input that are known only when the step runs.
    pub input_note: Option<String>,
    /// Author of the task, unless the log was compacted.
    #[schema(value_type = Option<String>)]
    pub author: Option<Name>,
    /// Source of the write, such as `cli` or `http`.
    #[schema(value_type = Option<String>)]
    pub source: Option<Name>,
    /// Time of the submit, in milliseconds since 1970.
    pub created_ms: u64,
}

/// All requests for approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Approvals)]
pub struct All {
    /// The requests, most urgent first.
    pub approvals: Vec<Shown>,
}

/// Answer to a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ApprovalDecided)]
pub struct Decided {
    /// Id of the task.
    #[schema(value_type = String)]
    pub task: TaskId,
    /// Status after the change.
    #[schema(value_type = String)]
    pub status: Status,
    /// Whether the step was approved.
    pub approved: bool,
}

/// What a step asks.
pub struct Asked {
    /// Which step.
    pub step: StepId,
    /// Name.
    pub name: Name,
    /// What a decision must cite.
    pub hash: Hash,
    /// The question.
    pub ask: Ask,
    /// When it is denied unless somebody decides; 0 for never.
    pub due_ms: u64,
    /// Id of the task.
    pub task: Task,
    /// Agent that will run the step.
    pub agent: Name,
    /// What the step will be given, and what is known of it only when it runs.
    pub input: (Value, Option<String>),
    /// The author and source of the submit, unless the log was compacted.
    pub submitter: Option<(Name, Name)>,
}

impl Asked {
    /// What the step at this place asks. It must wait for a decision.
    pub fn load(reader: &mut (impl Reader + ?Sized), rows: &TaskRows, index: u16) -> Result<Self, Error> {
        let step = &rows.steps[usize::from(index)];
        let ask = waiting(step)?;
        Ok(Self {
            step: rows.step_id(index),
            name: step.spec.name.clone(),
            hash: ask.hash(),
            ask: ask.clone(),
            due_ms: step.due_ms,
            task: rows.task.clone(),
            agent: step.spec.agent.clone(),
            input: export::given(reader, rows, index)?,
            submitter: submitter(reader, rows.task.key)?,
        })
    }

    /// The same as it is shown.
    pub fn shown(self) -> Shown {
        let Task { id, name, namespace, created_ms, .. } = self.task;
        let (author, source) = self.submitter.unzip();
        Shown {
            task: id,
            name,
            namespace,
            step: self.name,
            agent: self.agent,
            asks: self.ask.text,
            ask: self.hash,
            deadline_ms: (self.due_ms > 0).then_some(self.due_ms),
            input: self.input.0,
            input_note: self.input.1,
            author,
            source,
            created_ms,
        }
    }
}

/// Every step of the namespace that asks for a decision, the most urgent first. A step that has no deadline stands in no queue, so the
/// tasks that are under way are looked at.
pub fn all(reader: &mut (impl Reader + ?Sized), namespace: &Name) -> Result<Vec<Asked>, Error> {
    let mut found = Vec::new();
    for status in Status::ALL.into_iter().filter(|status| !status.is_terminal()) {
        let filter = TaskFilter { namespace: Some(namespace.clone()), status: Some(status) };
        lookup::each_task(reader, &filter, |reader, task| {
            let Some(rows) = reader.task_at(task.key)? else { return Ok(()) };
            for (index, step) in rows.indexed() {
                if step.status == Status::Waiting && step.spec.approve.is_some() {
                    found.push(Asked::load(reader, &rows, index)?);
                }
            }
            Ok(())
        })?;
    }
    // What never runs out comes last.
    found.sort_by_key(|asked: &Asked| (asked.due_ms.wrapping_sub(1), asked.task.key, asked.step.index));
    Ok(found)
}

/// The name of the only step that asks.
pub fn only(task: &super::Shown) -> Result<String, Error> {
    let asking: Vec<&str> = task.waiting().map(|step| step.step.as_str()).collect();
    match asking[..] {
        [only] => Ok(only.to_owned()),
        [] => {
            let message = format!("no step of {} waits for an approval: the task is {}", task.task, task.status);
            Err(Error::new(Code::Refused, message).hint("list requests with `relaymesh approvals list`"))
        }
        _ => {
            let message = format!("{} steps of {} wait for an approval: name one", asking.len(), task.task);
            Err(Error::new(Code::Usage, message).hint(format!("waiting: {}", asking.join(", "))))
        }
    }
}

fn waiting(step: &Step) -> Result<&Ask, Error> {
    let name = &step.spec.name;
    match &step.spec.approve {
        Some(ask) if step.status == Status::Waiting => Ok(ask),
        Some(_) => {
            let decided = step.decided_by.as_ref().map_or_else(String::new, |who| format!(" (decided by {who})"));
            let message = format!("step `{name}` does not wait for an approval: it is {}{decided}", step.status);
            Err(Error::new(Code::Refused, message))
        }
        None => Err(Error::new(Code::Refused, format!("step `{name}` does not need an approval"))),
    }
}

/// A task's key is the position of the op that submitted it. One that is gone names nobody; one that is damaged is an error, because
/// who decides should not be told a wrong name.
fn submitter(reader: &mut (impl Reader + ?Sized), key: u64) -> Result<Option<(Name, Name)>, Error> {
    let mut found = proven::ops(reader, key.saturating_sub(1), 1)?;
    match found.pop().filter(|proven| proven.pos() == key) {
        Some(Proven::Op(op, _)) => Ok(Some((op.header.author, op.header.source))),
        Some(Proven::Damaged(_, why)) => Err(Error::new(Code::Damaged, why)),
        Some(Proven::Gone(..)) | None => Ok(None),
    }
}
