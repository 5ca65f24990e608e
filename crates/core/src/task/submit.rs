//! Submit: a task and its steps come to be.

use super::{
    apply::{At, Effect, Refusal},
    follow, graph,
    spec::{Schedule, StepSpec},
    state::{Step, Task, TaskRows},
    table::Status,
};
use crate::{id::TaskId, name::Name};

pub(super) fn submit(
    schedule: &Schedule,
    id: TaskId,
    namespace: &Name,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<TaskRows, Refusal> {
    graph::check(&schedule.steps)?;
    let task = Task {
        key: at.pos,
        rev: 1,
        id,
        namespace: namespace.clone(),
        name: schedule.name.clone(),
        status: Status::Pending,
        idempotency_key: schedule.key.clone(),
        fingerprint: schedule.fingerprint,
        trace_id: schedule.trace_id,
        created_ms: at.now_ms,
        updated_ms: at.now_ms,
        head: at.hlc,
        successes: 0,
        failing: None,
        cancel: None,
        input: schedule.input,
        result_hash: None,
    };
    let steps = schedule.steps.iter().map(|spec| fresh(spec, at.now_ms)).collect();
    let mut rows = TaskRows { task, steps };
    follow::open_ready(&mut rows, at, effects);
    Ok(rows)
}

pub(super) fn fresh(spec: &StepSpec, now_ms: u64) -> Step {
    Step {
        result_pos: 0,
        rev: 1,
        spec: spec.clone(),
        status: Status::Pending,
        ready: false,
        passed: false,
        fan: None,
        attempt: 0,
        epoch: 0,
        due_ms: 0,
        lease: None,
        result: None,
        output_artifacts: Vec::new(),
        success: 0,
        error: None,
        decided_by: None,
        history: Vec::new(),
        updated_ms: now_ms,
    }
}
