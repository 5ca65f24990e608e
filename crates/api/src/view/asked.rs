//! What a step asks of a person, with all that one should know before deciding.

use super::{
    Reference, Results, Room, content,
    export::{self, Given},
};
use crate::error::{Code, Error};
use relaymesh_core::{
    expr::{References, StepValue, Values, template},
    hash::Hash,
    id::{StepId, TaskId},
    name::Name,
    task::{
        Status, Step, Task, TaskRows,
        spec::{Ask, INPUT_PLACE},
    },
};
use relaymesh_store::{ContentKey, Proven, Reader, proven};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The most that is read to work out an input for people.
const FILLED_BYTES_MAX: usize = 1 << 20;

/// How many steps are read at once.
const PAGE: usize = 256;

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
    /// Input of the step, if it is short: what it is given, or the results of the steps that it depends on.
    pub input: Value,
    /// Name of the input when it is not in `input`: read it with `GET /content/{hash}?task=…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_ref: Option<Reference>,
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
#[schema(as = ApprovalList)]
pub struct All {
    /// The requests, most urgent first; at most 500.
    pub approvals: Vec<Shown>,
    /// Total number.
    #[serde(default)]
    pub total: usize,
}

/// Answer to a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DecidedApproval)]
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
    pub input: Given,
    /// The author and source of the submit, unless the log was compacted.
    pub submitter: Option<(Name, Name)>,
}

impl Asked {
    /// What the step at this place asks. It must wait for a decision.
    pub fn load(
        reader: &mut (impl Reader + ?Sized),
        rows: &TaskRows,
        index: u16,
        room: &mut Room,
    ) -> Result<Self, Error> {
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
            input: export::given(reader, rows, index, room)?,
            submitter: submitter(reader, rows.task.key)?,
        })
    }

    /// The same with the references in its input worked out, so that a person sees what the step will be given: all steps that it refers to
    /// have ended by the time it asks. What is long, or belongs to an item of a list, is left as it is, with its note.
    pub fn filled(self, reader: &mut (impl Reader + ?Sized), rows: &TaskRows) -> Result<Self, Error> {
        let index = usize::from(self.step.index);
        let spec = &rows.steps[index].spec;
        let mut found = References::default();
        let is_plain =
            !spec.is_templated() || spec.foreach().is_some() || spec.item().is_some() || self.input.named.is_some();
        if is_plain || template::references(&self.input.value, &mut found).is_err() {
            return Ok(self);
        }
        let referred: Vec<&Step> = rows.steps.iter().filter(|step| found.steps.contains(&step.spec.name)).collect();
        let given = rows.task.input.filter(|_| !found.input.is_empty());
        let lengths = referred.iter().filter_map(|step| step.result).chain(given).map(|named| u64::from(named.len));
        if lengths.sum::<u64>() > FILLED_BYTES_MAX as u64 {
            return Ok(self);
        }
        let mut values = Values::default();
        if let Some(named) = given {
            let what = || format!("the input of {}", rows.task.id);
            values.input = content(reader, ContentKey::new(rows.task.key, INPUT_PLACE), named, what)?;
        }
        for step in referred {
            let result = super::result(reader, step)?.unwrap_or_default();
            values.steps.insert(step.spec.name.clone(), StepValue { result, status: step.status });
        }
        // What cannot be worked out fails the step when it runs, and says why.
        let filled = template::fill(self.input.value.clone(), &values, FILLED_BYTES_MAX).ok();
        let filled = filled.map(|value| Given { value, named: None, note: None });
        Ok(Self { input: filled.unwrap_or(self.input), ..self })
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
            input: self.input.value,
            input_ref: self.input.named,
            input_note: self.input.note,
            author,
            source,
            created_ms,
        }
    }
}

/// Steps of the namespace that ask for a decision, the most urgent first, at most so many; and how many there are.
pub fn all(
    reader: &mut (impl Reader + ?Sized),
    namespace: &Name,
    limit: usize,
    results: Results,
) -> Result<(Vec<Asked>, usize), Error> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = reader.waiting(after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = Some(*last);
        for key in page {
            // It may have gone on since it was listed.
            let Some(rows) = reader.task_at(key.task())? else { continue };
            let step = rows.steps.get(usize::from(key.place())).filter(|step| step.status == Status::Waiting);
            if let Some(step) = step.filter(|_| rows.task.namespace == *namespace) {
                // What never runs out comes last.
                found.push((step.due_ms.wrapping_sub(1), rows.task.key, key.place()));
            }
        }
    }
    found.sort_unstable();
    let (total, mut room, mut asked) = (found.len(), Room::new(results), Vec::new());
    for (_, key, index) in found.into_iter().take(limit) {
        // It may have been decided meanwhile.
        let Some(rows) = reader.task_at(key)? else { continue };
        let waits = rows.steps.get(usize::from(index)).is_some_and(|step| step.status == Status::Waiting);
        if waits {
            asked.push(Asked::load(reader, &rows, index, &mut room)?);
        }
    }
    Ok((asked, total))
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
