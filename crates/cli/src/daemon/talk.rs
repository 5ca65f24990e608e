//! What the daemon writes down for operators: one line per thing (R31).
//!
//! The lines follow the events of the driver, so nothing is said that is not durable.

use crate::time;
use relaymesh_core::task::Status;
use relaymesh_runtime::driver::Event;
use serde_json::{Value, json};
use std::io::Write as _;

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// For people.
    Human,
    /// One JSON object a line.
    Json,
}

/// Writes one line to stderr: a terminal, or the log.
pub(super) fn say(form: Form, level: &str, event: &str, fields: &Value) {
    let now_ms = time::now_ms();
    let line = match form {
        Form::Json => {
            let mut line = json!({ "at_ms": now_ms, "level": level, "event": event });
            if let (Some(line), Some(fields)) = (line.as_object_mut(), fields.as_object()) {
                line.extend(fields.clone());
            }
            line.to_string()
        }
        Form::Human => {
            let words: Vec<String> = fields.as_object().into_iter().flatten().map(word).collect();
            format!("{} {level:5} {event} {}", time::rfc3339(now_ms), words.join(" "))
        }
    };
    // A log that cannot be written must not stop the work.
    let _ = writeln!(std::io::stderr().lock(), "{}", line.trim_end());
}

fn word((name, value): (&String, &Value)) -> String {
    match value {
        Value::String(text) if text.contains([' ', '"', '=']) => format!("{name}={text:?}"),
        Value::String(text) => format!("{name}={text}"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            format!("{name}={value}")
        }
    }
}

/// What happened to a task, and to each of its steps that changed.
pub(super) fn event(form: Form, event: &Event) {
    let kind = format!("{:?}", event.kind);
    say(form, "info", "task", &json!({ "op": kind, "pos": event.pos, "task": event.task, "status": event.status }));
    for step in &event.steps {
        let level = match step.status {
            Status::Failed | Status::DeadLetter => "error",
            Status::Retrying => "warn",
            Status::Pending
            | Status::Waiting
            | Status::Running
            | Status::Success
            | Status::Cancelled
            | Status::Skipped => "info",
        };
        let mut fields = json!({
            "op": kind, "pos": event.pos, "task": event.task, "step": step.name,
            "status": step.status, "attempt": step.attempt,
        });
        if let Some(error) = &step.error {
            fields["error"] = json!(crate::output::short(error, 200));
        }
        say(form, level, "step", &fields);
    }
}
