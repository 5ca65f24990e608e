//! A task as text and as JSON.

use crate::{
    error::{Code, Error},
    output, time,
};
use relaymesh_agents::{RAN, Ran, quoted};
use relaymesh_core::{
    content::{ContentRef, Media},
    task::{Status, Step, TaskRows},
};
use relaymesh_runtime::scripts;
use relaymesh_store::{ContentKey, Reader};
use serde_json::{Map, Value, json};
use std::path::Path;

/// How much of a result or an error a table shows.
const CELL_CHARS_MAX: usize = 60;

/// How much of a command line it shows: what runs matters more than that it fits.
const COMMAND_CHARS_MAX: usize = 240;

/// A task's rows with the results that they name.
pub(crate) struct View {
    pub(crate) rows: TaskRows,
    /// The result of each step, checked against its hash.
    results: Vec<Option<Value>>,
    /// What each step ran last, of those that ran a process.
    ran: Vec<Option<Ran>>,
}

impl View {
    /// Reads the results that the rows name.
    pub(crate) fn load(reader: &mut impl Reader, rows: TaskRows) -> Result<Self, Error> {
        let results = rows.steps.iter().map(|step| result(reader, step)).collect::<Result<_, Error>>()?;
        let ran = vec![None; rows.steps.len()];
        Ok(Self { rows, results, ran })
    }

    /// The same with what is kept in the root about the processes of its attempts.
    pub(crate) fn with_processes(mut self, root: &Path) -> Self {
        let task = self.rows.task.id;
        let ran = |step: &Step| Ran::read(&scripts::said(root, task, &step.spec.name, step.epoch, RAN));
        self.ran = self.rows.steps.iter().map(ran).collect();
        self
    }

    /// What the task delivered: the result of its only last step, or those of all its last steps by name.
    pub(crate) fn result(&self) -> Option<Value> {
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

    /// The task for programs.
    pub(crate) fn to_json(&self, history: bool) -> Value {
        let task = &self.rows.task;
        let steps = self.rows.indexed().map(|(index, step)| self.step_json(index, step, history));
        json!({
            "task": task.id, "name": task.name, "namespace": task.namespace, "status": task.status,
            "created_ms": task.created_ms, "updated_ms": task.updated_ms,
            "idempotency_key": task.idempotency_key.to_string(), "fingerprint": task.fingerprint,
            "trace_id": format!("{:032x}", task.trace_id), "cancel": task.cancel,
            "failed_step": task.failing.map(|failing| self.name(failing.step)),
            "result_hash": task.result_hash, "result": self.result(), "steps": steps.collect::<Vec<_>>(),
        })
    }

    fn step_json(&self, index: u16, step: &Step, history: bool) -> Value {
        let mut value = json!({
            "step": step.spec.name, "index": index, "agent": step.spec.agent, "status": step.status,
            "priority": step.spec.priority, "attempt": step.attempt, "max_attempts": step.spec.retry.max_attempts,
            "epoch": step.epoch, "depends_on": step.spec.depends_on.iter().map(|of| self.name(*of)).collect::<Vec<_>>(),
            "compensates": step.spec.compensates.map(|of| self.name(of)),
            "due_ms": (step.due_ms > 0).then_some(step.due_ms), "took_ms": took_ms(step),
            "asks": step.spec.approve.as_ref().map(|ask| &ask.text), "decided_by": step.decided_by,
            "when": step.spec.when(), "foreach": step.spec.foreach(), "items": step.fan,
            "item_of": step.spec.item().map(|item| self.name(item.of)),
            "ran": self.ran[usize::from(index)],
            "result": self.results[usize::from(index)], "error": step.error, "updated_ms": step.updated_ms,
        });
        if history {
            value["history"] = json!(step.history);
        }
        value
    }

    /// The task for people.
    pub(crate) fn to_text(&self, history: bool) -> String {
        let task = &self.rows.task;
        let age = time::span(time::now_ms().saturating_sub(task.created_ms));
        let facts = [
            ("task", task.id.to_string()),
            ("name", task.name.to_string()),
            ("namespace", task.namespace.to_string()),
            ("status", with_symbol(task.status)),
            ("created", format!("{} ({age} ago)", time::rfc3339(task.created_ms))),
            ("updated", time::rfc3339(task.updated_ms)),
            ("key", task.idempotency_key.to_string()),
        ];
        let facts: Vec<Vec<String>> = facts.map(|(name, value)| vec![name.to_owned(), value]).to_vec();
        let mut text = format!("{}\n\n{}", output::table(&facts), output::table(&self.step_table()));
        if self.ran.iter().any(Option::is_some) {
            text += &format!("\n\n{}", output::table(&self.process_table()));
        }
        if history {
            text += &format!("\n\n{}", output::table(&self.history_table()));
        }
        text
    }

    fn step_table(&self) -> Vec<Vec<String>> {
        let head = ["STEP", "AGENT", "STATUS", "ATTEMPT", "EPOCH", "TOOK", "RESULT OR ERROR"];
        let row = |(index, step): (u16, &Step)| {
            vec![
                step.spec.name.to_string(),
                step.spec.agent.to_string(),
                with_symbol(step.status),
                format!("{}/{}", step.attempt, step.spec.retry.max_attempts),
                step.epoch.to_string(),
                took_ms(step).map_or_else(|| "-".to_owned(), time::span),
                self.outcome(index, step),
            ]
        };
        std::iter::once(head.map(str::to_owned).to_vec()).chain(self.rows.indexed().map(row)).collect()
    }

    fn outcome(&self, index: u16, step: &Step) -> String {
        let result = self.results[usize::from(index)].as_ref().map(ToString::to_string);
        let asks = (step.status == Status::Waiting)
            .then(|| step.spec.approve.as_ref().map(|ask| format!("asks: {}", ask.text)));
        let text = result.or_else(|| asks.flatten()).or_else(|| step.error.clone());
        text.map_or_else(|| "-".to_owned(), |text| output::short(&text, CELL_CHARS_MAX))
    }

    /// The last process of each step: what ran, and how it ended.
    fn process_table(&self) -> Vec<Vec<String>> {
        let head = ["STEP", "PID", "ENDED", "STDOUT", "STDERR", "COMMAND"];
        let rows = self.rows.steps.iter().zip(&self.ran).filter_map(|(step, ran)| {
            let ran = ran.as_ref()?;
            let words = std::iter::once(ran.program.display().to_string()).chain(ran.arguments.iter().cloned());
            let command: Vec<String> = words.map(|word| quoted(&word)).collect();
            Some(vec![
                step.spec.name.to_string(),
                ran.pid.to_string(),
                ran.how_it_ended(),
                format!("{} bytes", ran.stdout_bytes),
                format!("{} bytes", ran.stderr_bytes),
                output::short(&output::clean(&command.join(" ")), COMMAND_CHARS_MAX),
            ])
        });
        std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect()
    }

    fn history_table(&self) -> Vec<Vec<String>> {
        let head = ["STEP", "EPOCH", "OUTCOME", "STARTED", "TOOK", "WORKER", "WHY"];
        let rows = self.rows.steps.iter().flat_map(|step| {
            step.history.iter().map(|attempt| {
                vec![
                    step.spec.name.to_string(),
                    attempt.epoch.to_string(),
                    attempt.outcome.to_string(),
                    time::rfc3339(attempt.started_ms),
                    time::span(attempt.ended_ms.saturating_sub(attempt.started_ms)),
                    attempt.worker.to_string(),
                    attempt
                        .error
                        .as_deref()
                        .map_or_else(|| "-".to_owned(), |error| output::short(error, CELL_CHARS_MAX)),
                ]
            })
        });
        std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect()
    }

    fn name(&self, index: u16) -> String {
        self.rows.steps.get(usize::from(index)).map_or_else(|| index.to_string(), |step| step.spec.name.to_string())
    }
}

/// The sign and the word.
pub(crate) fn with_symbol(status: Status) -> String {
    format!("{} {status}", output::symbol(status))
}

/// How long the running attempt has taken, or the last one took.
fn took_ms(step: &Step) -> Option<u64> {
    let running = step.lease.as_ref().map(|lease| time::now_ms().saturating_sub(lease.claimed_ms));
    running.or_else(|| step.history.last().map(|last| last.ended_ms.saturating_sub(last.started_ms)))
}

/// What the step delivered.
pub(crate) fn result(reader: &mut impl Reader, step: &Step) -> Result<Option<Value>, Error> {
    let Some(named) = step.result else { return Ok(None) };
    let what = || format!("the result of step `{}`", step.spec.name);
    content(reader, ContentKey::new(step.result_pos, 0), named, what).map(Some)
}

/// What lies at a place, checked against the hash that names it (D3).
pub(crate) fn content(
    reader: &mut impl Reader,
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
