//! A task for programs, with the results that its rows name.

use super::{
    Shown, ShownStep, Summary,
    results::{Delivery, Plan, Results},
};
use crate::{
    error::{Code, Error},
    time,
};
use relaymesh_agents::{RAN, Ran};
use relaymesh_core::{
    content::{ContentRef, Media},
    task::{Status, Step, Task, TaskRows},
};
use relaymesh_runtime::agents::said;
use relaymesh_store::{ContentKey, Reader};
use serde_json::Value;
use std::path::Path;

/// A task's rows with those results that stand in an answer about it.
pub struct View {
    /// The rows.
    pub rows: TaskRows,
    plan: Plan,
    /// The results that stand with their steps, or in what the task delivered, each checked against its hash.
    results: Vec<Option<Value>>,
    /// What each step ran last, of those that ran a process.
    ran: Vec<Option<Ran>>,
}

impl View {
    /// Reads the results that are to stand in the answer.
    pub fn load(reader: &mut (impl Reader + ?Sized), rows: TaskRows, wanted: Results) -> Result<Self, Error> {
        let plan = Plan::new(&rows, wanted);
        let delivered: &[u16] = if let Delivery::Here(last) = &plan.task { last } else { &[] };
        let read = |(index, step): (u16, &Step)| {
            let stands = plan.is_here(index) || delivered.contains(&index);
            if stands { result(reader, step) } else { Ok(None) }
        };
        let results = rows.indexed().map(read).collect::<Result<_, Error>>()?;
        let ran = vec![None; rows.steps.len()];
        Ok(Self { rows, plan, results, ran })
    }

    /// The rows alone, for callers that do not need results.
    pub fn bare(rows: TaskRows) -> Self {
        let (plan, steps) = (Plan::new(&rows, Results::None), rows.steps.len());
        Self { rows, plan, results: vec![None; steps], ran: vec![None; steps] }
    }

    /// The same with what is kept in the root about the processes of its attempts.
    pub fn with_processes(mut self, root: &Path) -> Self {
        self.ran = self.rows.steps.iter().map(|step| ran(root, &self.rows, step)).collect();
        self
    }

    /// What the task delivered, if it stands here: the result of its only last step, or those of all its last steps by name.
    pub fn result(&self) -> Option<Value> {
        let Delivery::Here(last) = &self.plan.task else { return None };
        let result = |index: &u16| self.results[usize::from(*index)].clone().unwrap_or_default();
        Some(match &last[..] {
            [] => Value::Null, // all of them were skipped
            [only] => result(only),
            several => several.iter().map(|index| (name(&self.rows, *index), result(index))).collect(),
        })
    }

    /// The task as it is shown.
    pub fn shown(&self, history: bool) -> Shown {
        let step = |(index, step): (u16, &Step)| ShownStep {
            ran: self.ran[usize::from(index)].clone(),
            result: self.results[usize::from(index)].clone().filter(|_| self.plan.is_here(index)).unwrap_or_default(),
            ..shown_step(&self.rows, &self.plan, (index, step), history)
        };
        let steps = self.rows.indexed().map(step).collect();
        Shown { result: self.result().unwrap_or_default(), steps, ..shown(&self.rows, &self.plan) }
    }
}

/// The task without its steps and its result.
pub(super) fn shown(rows: &TaskRows, plan: &Plan) -> Shown {
    let task = &rows.task;
    let result_ref = if let Delivery::Named(named) = plan.task { Some(named.into()) } else { None };
    let result_steps = if let Delivery::Steps(steps) = &plan.task { Some(steps) } else { None };
    Shown {
        task: task.id,
        name: task.name.clone(),
        namespace: task.namespace.clone(),
        status: task.status,
        created_ms: task.created_ms,
        updated_ms: task.updated_ms,
        idempotency_key: task.idempotency_key.to_string(),
        fingerprint: task.fingerprint,
        trace_id: format!("{:032x}", task.trace_id),
        cancel: task.cancel,
        failed_step: task.failing.map(|failing| name(rows, failing.step)),
        result_hash: task.result_hash,
        result: Value::Null,
        result_ref,
        result_steps: result_steps.map(|steps| steps.iter().map(|index| name(rows, *index)).collect()),
        steps: Vec::new(),
    }
}

/// A step without its result and its process.
pub(super) fn shown_step(rows: &TaskRows, plan: &Plan, (index, step): (u16, &Step), history: bool) -> ShownStep {
    ShownStep {
        step: step.spec.name.clone(),
        index,
        agent: step.spec.agent.clone(),
        status: step.status,
        priority: step.spec.priority,
        attempt: step.attempt,
        max_attempts: step.spec.retry.max_attempts,
        epoch: step.epoch,
        depends_on: step.spec.depends_on.iter().map(|of| name(rows, *of)).collect(),
        compensates: step.spec.compensates.map(|of| name(rows, of)),
        due_ms: (step.due_ms > 0).then_some(step.due_ms),
        took_ms: took_ms(rows, index),
        asks: step.spec.approve.as_ref().map(|ask| ask.text.clone()),
        decided_by: step.decided_by.clone(),
        when: step.spec.when().map(ToString::to_string),
        foreach: step.spec.foreach().map(ToString::to_string),
        items: step.fan,
        item_of: step.spec.item().map(|item| name(rows, item.of)),
        ran: None,
        result: Value::Null,
        result_ref: plan.named(rows, index),
        error: step.error.clone(),
        last_outcome: step.history.last().map(|last| last.outcome),
        updated_ms: step.updated_ms,
        history: history.then(|| step.history.clone()),
    }
}

/// What the step ran last, if it ran a process.
pub(super) fn ran(root: &Path, rows: &TaskRows, step: &Step) -> Option<Ran> {
    let file = |what: &str| said(root, rows.task.id, &step.spec.name, step.epoch, what);
    let mut ran = Ran::read(&file(RAN))?;
    if ran.ended_ms.is_none() {
        // How much it has written is noted at its end; until then the files say it.
        let len = |what: &str| std::fs::metadata(file(what)).map_or(0, |found| found.len());
        (ran.stdout_bytes, ran.stderr_bytes) = (len("stdout"), len("stderr"));
    }
    Some(ran)
}

/// The name of the step at this place.
pub(super) fn name(rows: &TaskRows, index: u16) -> String {
    rows.steps.get(usize::from(index)).map_or_else(|| index.to_string(), |step| step.spec.name.to_string())
}

/// The task in one line of a list.
pub fn summary(rows: &TaskRows) -> Summary {
    let Task { id, name, namespace, status, created_ms, updated_ms, key, .. } = &rows.task;
    let (steps_done, steps) = progress(rows);
    Summary {
        task: *id,
        key: *key,
        name: name.clone(),
        namespace: namespace.clone(),
        status: *status,
        created_ms: *created_ms,
        updated_ms: *updated_ms,
        steps_done,
        steps,
    }
}

/// How many steps of the graph succeeded or were skipped, and how many there are; compensations do not count.
pub fn progress(rows: &TaskRows) -> (usize, usize) {
    let graph = || rows.steps.iter().filter(|step| !step.is_compensation());
    let is_done = |step: &&Step| matches!(step.status, Status::Success | Status::Skipped);
    (graph().filter(is_done).count(), graph().count())
}

/// Duration of the running or the last attempt, in milliseconds; of a step with a list, from the start of its first item to its own end.
pub fn took_ms(rows: &TaskRows, index: u16) -> Option<u64> {
    let step = &rows.steps[usize::from(index)];
    // Its own attempts only split the list and collect the results.
    if step.fan.is_some_and(|items| items > 0) {
        let began_ms = rows.items(index).filter_map(|(_, item)| began_ms(item)).min()?;
        let ended_ms = if step.status.is_terminal() { step.updated_ms } else { time::now_ms() };
        return Some(ended_ms.saturating_sub(began_ms));
    }
    let running = step.lease.as_ref().map(|lease| time::now_ms().saturating_sub(lease.claimed_ms));
    running.or_else(|| step.history.last().map(|last| last.ended_ms.saturating_sub(last.started_ms)))
}

/// When the first known attempt of the step began.
fn began_ms(step: &Step) -> Option<u64> {
    let first = step.history.first().map(|first| first.started_ms);
    first.or_else(|| step.lease.as_ref().map(|lease| lease.claimed_ms))
}

/// What the step delivered.
pub fn result(reader: &mut (impl Reader + ?Sized), step: &Step) -> Result<Option<Value>, Error> {
    let Some(named) = step.result else { return Ok(None) };
    let what = || format!("the result of step `{}`", step.spec.name);
    content(reader, ContentKey::new(step.result_pos, 0), named, what).map(Some)
}

/// What lies at a place, checked against the hash that names it (D3).
pub fn content(
    reader: &mut (impl Reader + ?Sized),
    key: ContentKey,
    named: ContentRef,
    what: impl Fn() -> String,
) -> Result<Value, Error> {
    let bytes = bytes(reader, key, named, what)?;
    let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
    Ok(match named.media {
        Media::Json => serde_json::from_slice(&bytes).unwrap_or_else(|_| text()),
        Media::Text => text(),
    })
}

/// The bytes at a place, checked likewise.
pub fn bytes(
    reader: &mut (impl Reader + ?Sized),
    key: ContentKey,
    named: ContentRef,
    what: impl Fn() -> String,
) -> Result<Vec<u8>, Error> {
    let damaged = |why: &dyn std::fmt::Display| Error::new(Code::Damaged, format!("{}: {why}", what()));
    let bytes = reader.bytes(key)?.ok_or_else(|| damaged(&"it is missing"))?;
    named.check(&bytes).map_err(|why| damaged(&why))?;
    Ok(bytes)
}
