//! The words for what is seen.

use super::{Begin, Fetch};
use crate::{client::Out, error::Error, output, time, view::with_symbol};
use relaymesh_api::view::{Delivered, Shown, ShownStep, document::as_json};
use relaymesh_core::{id::TaskId, task::Status};
use relaymesh_runtime::driver::StepEvent;
use serde_json::{Value, json};
use std::time::Duration;

const ERROR_CHARS_MAX: usize = 100;

pub(super) fn begun(how: Begin, task: &Shown) -> String {
    let (id, name) = (task.task, &task.name);
    let steps = task.steps.len();
    match how {
        Begin::Accepted => format!("accepted {id} ({name}, {steps} step{})", if steps == 1 { "" } else { "s" }),
        Begin::Merged => merged(id),
        Begin::Found => format!("waiting for {id} ({name})"),
        Begin::Redriven => format!("retrying {id} ({name})"),
    }
}

/// The message for a repeated submit (D5).
pub(crate) fn merged(id: TaskId) -> String {
    format!("already submitted as {id}; `--new` runs it again")
}

pub(super) fn begun_json(how: Begin, shown: &Shown) -> Value {
    // It may be newer than the answer, so only what was found says how it rests.
    let (task, status) = (shown.task, shown.status);
    match how {
        Begin::Accepted | Begin::Merged => {
            json!({ "event": "accepted", "task": task, "merged": how == Begin::Merged })
        }
        Begin::Found => json!({ "event": "found", "task": task, "status": status }),
        Begin::Redriven => json!({ "event": "redriven", "task": task }),
    }
}

pub(super) fn step(step: &StepEvent, since: Duration, name_width: usize) -> String {
    let (seconds, name) = (since.as_secs_f64(), step.name.as_str());
    format!("{seconds:7.3} s  {name:name_width$}  {}", state(step))
}

/// Sign, word, attempt and what went wrong.
pub(super) fn state(step: &StepEvent) -> String {
    let mut text = with_symbol(step.status);
    if step.attempt > 0 {
        text += &format!(" (attempt {})", step.attempt);
    }
    let failed = matches!(
        step.status,
        Status::Retrying | Status::Failed | Status::DeadLetter | Status::Cancelled | Status::Skipped
    );
    if let Some(error) = step.error.as_ref().filter(|_| failed) {
        text += &format!(": {}", output::short(error, ERROR_CHARS_MAX));
    }
    text
}

pub(super) fn step_json(task: TaskId, step: &StepEvent, pos: Option<u64>) -> Value {
    json!({
        "event": "step", "task": task, "step": step.name, "index": step.index, "status": step.status,
        "attempt": step.attempt, "error": step.error, "pos": pos,
    })
}

pub(super) fn ended(task: &Shown, since: Duration) -> String {
    let took = time::span(u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    let mut text = format!("{} {} ({}) in {took}", with_symbol(task.status), task.task, task.name);
    if let Some(step) = task.failing() {
        let error = step.error.as_deref().unwrap_or("no error message was given");
        text += &format!("\n  step `{}` is {}: {}", step.step, step.status, output::clean(error));
    }
    if matches!(task.status, Status::Failed | Status::DeadLetter | Status::Cancelled) {
        text +=
            &format!("\n  details: `relaymesh task show {0} --history`; retry: `relaymesh task retry {0}`", task.task);
    }
    text
}

/// What the task delivered, as JSON in parts; what the answer only names is fetched.
pub(crate) fn result(task: &Shown, fetch: &Fetch<'_>, out: &mut Out<'_>) -> Result<(), Error> {
    let Some(Delivered::Steps(names)) = task.delivered() else { return write(task.delivered(), fetch, out) };
    for (place, name) in names.iter().enumerate() {
        let step = task.steps.iter().find(|step| step.step.as_str() == name);
        out(format!("{}{}:", if place == 0 { "{" } else { "," }, json!(name)).as_bytes())?;
        write(step.and_then(|step| task.delivered_by(step)), fetch, out)?;
    }
    out(b"}")
}

/// What a step of the task delivered, likewise.
pub(crate) fn step_result(task: &Shown, step: &ShownStep, fetch: &Fetch<'_>, out: &mut Out<'_>) -> Result<(), Error> {
    write(task.delivered_by(step), fetch, out)
}

fn write(delivered: Option<Delivered<'_>>, fetch: &Fetch<'_>, out: &mut Out<'_>) -> Result<(), Error> {
    match delivered {
        Some(Delivered::Value(value)) => out(value.to_string().as_bytes()),
        Some(Delivered::Named(named)) => out(&as_json(fetch(named)?, named.media_type)),
        Some(Delivered::Steps(_)) | None => out(b"null"),
    }
}

/// The event without the result.
pub(super) fn ended_json(task: &Shown) -> Value {
    let failed = task.failing();
    json!({
        "event": "ended", "task": task.task, "status": task.status, "result_hash": task.result_hash, "failed_step": failed.map(|step| &step.step),
        "error": failed.and_then(|step| step.error.as_ref()),
    })
}

pub(super) fn blocked(task: &Shown) -> String {
    let id = task.task;
    let ask = |step: &ShownStep| {
        let (name, asks) = (&step.step, asks(step));
        format!(
            "\n  step `{name}` asks: {}\n  decide with `relaymesh approve {id} {name}` or `relaymesh deny {id} {name}`",
            output::clean(asks)
        )
    };
    let asks: String = task.waiting().map(ask).collect();
    format!("{id} waits for an approval{asks}")
}

pub(super) fn blocked_json(task: &Shown) -> Value {
    let steps: Vec<Value> = task.waiting().map(|step| json!({ "step": step.step, "asks": asks(step) })).collect();
    json!({ "event": "waiting", "task": task.task, "steps": steps })
}

fn asks(step: &ShownStep) -> &str {
    step.asks.as_deref().unwrap_or_default()
}
