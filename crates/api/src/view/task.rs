//! A task for programs, with the results that its rows name.

use super::{Shown, ShownStep, Summary};
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
use serde_json::{Map, Value, json};
use std::path::Path;

/// A task's rows with the results that they name.
pub struct View {
    /// The rows.
    pub rows: TaskRows,
    /// The result of each step, checked against its hash.
    pub results: Vec<Option<Value>>,
    /// What each step ran last, of those that ran a process.
    pub ran: Vec<Option<Ran>>,
}

impl View {
    /// Reads the results that the rows name.
    pub fn load(reader: &mut (impl Reader + ?Sized), rows: TaskRows) -> Result<Self, Error> {
        let results = rows.steps.iter().map(|step| result(reader, step)).collect::<Result<_, Error>>()?;
        let ran = vec![None; rows.steps.len()];
        Ok(Self { rows, results, ran })
    }

    /// The rows alone, for callers that do not need results.
    pub fn bare(rows: TaskRows) -> Self {
        let steps = rows.steps.len();
        Self { rows, results: vec![None; steps], ran: vec![None; steps] }
    }

    /// The same with what is kept in the root about the processes of its attempts.
    pub fn with_processes(mut self, root: &Path) -> Self {
        let task = self.rows.task.id;
        let ran = |step: &Step| {
            let file = |what: &str| said(root, task, &step.spec.name, step.epoch, what);
            let mut ran = Ran::read(&file(RAN))?;
            if ran.ended_ms.is_none() {
                // How much it has written is noted at its end; until then the files say it.
                let len = |what: &str| std::fs::metadata(file(what)).map_or(0, |found| found.len());
                (ran.stdout_bytes, ran.stderr_bytes) = (len("stdout"), len("stderr"));
            }
            Some(ran)
        };
        self.ran = self.rows.steps.iter().map(ran).collect();
        self
    }

    /// What the task delivered: the result of its only last step, or those of all its last steps by name.
    pub fn result(&self) -> Option<Value> {
        if self.rows.task.status != Status::Success {
            return None;
        }
        let named = |(index, step): (u16, &Step)| {
            let result = self.results[usize::from(index)].clone()?;
            self.rows.is_last(index).then(|| (step.spec.name.to_string(), result))
        };
        let mut last: Vec<(String, Value)> = self.rows.indexed().filter_map(named).collect();
        match last.len() {
            0 => Some(Value::Null), // all of them were skipped
            1 => last.pop().map(|(_, result)| result),
            _ => Some(Value::Object(last.into_iter().collect::<Map<_, _>>())),
        }
    }

    /// The task as it is shown.
    pub fn shown(&self, history: bool) -> Shown {
        let task = &self.rows.task;
        let steps = self.rows.indexed().map(|(index, step)| self.step(index, step, history));
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
            failed_step: task.failing.map(|failing| self.name(failing.step)),
            result_hash: task.result_hash,
            result: self.result().unwrap_or_default(),
            steps: steps.collect(),
        }
    }

    /// The same for programs.
    pub fn to_json(&self, history: bool) -> Value {
        json!(self.shown(history))
    }

    /// One step as it is shown.
    pub fn step(&self, index: u16, step: &Step, history: bool) -> ShownStep {
        ShownStep {
            step: step.spec.name.clone(),
            index,
            agent: step.spec.agent.clone(),
            status: step.status,
            priority: step.spec.priority,
            attempt: step.attempt,
            max_attempts: step.spec.retry.max_attempts,
            epoch: step.epoch,
            depends_on: step.spec.depends_on.iter().map(|of| self.name(*of)).collect(),
            compensates: step.spec.compensates.map(|of| self.name(of)),
            due_ms: (step.due_ms > 0).then_some(step.due_ms),
            took_ms: took_ms(&self.rows, index),
            asks: step.spec.approve.as_ref().map(|ask| ask.text.clone()),
            decided_by: step.decided_by.clone(),
            when: step.spec.when().map(ToString::to_string),
            foreach: step.spec.foreach().map(ToString::to_string),
            items: step.fan,
            item_of: step.spec.item().map(|item| self.name(item.of)),
            ran: self.ran[usize::from(index)].clone(),
            result: self.results[usize::from(index)].clone().unwrap_or_default(),
            error: step.error.clone(),
            last_outcome: step.history.last().map(|last| last.outcome),
            updated_ms: step.updated_ms,
            history: history.then(|| step.history.clone()),
        }
    }

    /// The name of the step at this place.
    pub fn name(&self, index: u16) -> String {
        self.rows.steps.get(usize::from(index)).map_or_else(|| index.to_string(), |step| step.spec.name.to_string())
    }
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
    let damaged = |why: &dyn std::fmt::Display| Error::new(Code::Damaged, format!("{}: {why}", what()));
    let bytes = reader.bytes(key)?.ok_or_else(|| damaged(&"it is missing"))?;
    named.check(&bytes).map_err(|why| damaged(&why))?;
    let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
    Ok(match named.media {
        Media::Json => serde_json::from_slice(&bytes).unwrap_or_else(|_| text()),
        Media::Text => text(),
    })
}
