//! Where two stores disagree, in words.

use relaymesh_core::{
    id::TaskId,
    name::Name,
    task::{Step, Task, TaskRows},
};
use std::fmt;

/// One value that the store has and the rebuilt one has otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The task; none when it is about all rows.
    pub task: Option<TaskId>,
    /// The step; none when it is about the task's own row.
    pub step: Option<Name>,
    /// Which field, or `row` for all of it.
    pub field: &'static str,
    /// What the store has.
    pub stored: String,
    /// What the log folds to.
    pub rebuilt: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.task {
            Some(task) => write!(f, "{task}")?,
            None => write!(f, "all rows")?,
        }
        if let Some(step) = &self.step {
            write!(f, " step `{step}`")?;
        }
        write!(f, ": {} is {}, but the log gives {}", self.field, self.stored, self.rebuilt)
    }
}

/// Pushes every field that differs. Naming each field here means that a new one does not compile until it is compared.
macro_rules! compare {
    ($type:ident, $stored:expr, $rebuilt:expr, $push:expr, $($field:ident),*) => {{
        let $type { $($field),* } = $stored;
        $(if *$field != $rebuilt.$field {
            $push(stringify!($field), format!("{:?}", $field), format!("{:?}", $rebuilt.$field));
        })*
    }};
}

/// Every field in which the rows differ.
pub(super) fn compare(stored: &TaskRows, rebuilt: &TaskRows) -> Vec<Difference> {
    let task = Some(rebuilt.task.id);
    let mut found = Vec::new();
    let mut push = |field, stored, rebuilt| found.push(Difference { task, step: None, field, stored, rebuilt });
    if stored.steps.len() != rebuilt.steps.len() {
        push("steps", stored.steps.len().to_string(), rebuilt.steps.len().to_string());
    }
    compare!(
        Task,
        &stored.task,
        &rebuilt.task,
        push,
        key,
        rev,
        id,
        namespace,
        name,
        status,
        idempotency_key,
        fingerprint,
        trace_id,
        created_ms,
        updated_ms,
        head,
        successes,
        failing,
        cancel,
        input,
        result_hash
    );
    for (stored, rebuilt) in stored.steps.iter().zip(&rebuilt.steps) {
        let name = &rebuilt.spec.name;
        let mut push =
            |field, stored, rebuilt| found.push(Difference { task, step: Some(name.clone()), field, stored, rebuilt });
        compare!(
            Step,
            stored,
            rebuilt,
            push,
            result_pos,
            rev,
            spec,
            status,
            ready,
            passed,
            fan,
            attempt,
            epoch,
            due_ms,
            lease,
            result,
            output_artifacts,
            success,
            error,
            decided_by,
            history,
            updated_ms
        );
    }
    found
}
