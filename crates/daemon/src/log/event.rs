//! What an event of the driver is in lines.

use super::{Level, Line};
use relaymesh_core::{id::StepId, op::Kind, task::Status, trace::SpanId};
use relaymesh_runtime::driver::{Event, StepEvent};
use serde_json::{Map, Value, json};

/// The longest error that a line repeats.
const ERROR_CHARS_MAX: usize = 300;

/// How much the most important line of the event matters. On the driver's thread: nothing is made here.
pub(super) fn level(event: &Event) -> Level {
    let of_steps = event.steps.iter().map(|step| about(event.kind, step.status).0).min().unwrap_or(Level::Debug);
    if event.kind == Kind::ScheduleJob || event.status.is_terminal() { of_steps.min(Level::Info) } else { of_steps }
}

/// The lines of the event: the task that was submitted, its steps that changed, its end.
pub(super) fn lines(event: &Event) -> Vec<Line> {
    let mut lines = Vec::new();
    if event.kind == Kind::ScheduleJob {
        let mut fields = fields(event);
        fields.insert("steps".to_owned(), json!(event.steps.len()));
        lines.push(Line { level: Level::Info, event: "task_submitted", fields });
    }
    for step in &event.steps {
        let (level, what) = about(event.kind, step.status);
        lines.push(Line { level, event: what, fields: step_fields(event, step) });
    }
    if event.status.is_terminal() {
        let mut fields = fields(event);
        fields.insert("status".to_owned(), json!(event.status));
        lines.push(Line { level: Level::Info, event: "task_ended", fields });
    }
    lines
}

/// What happened to a step that rests here now because of an op of this kind.
fn about(kind: Kind, status: Status) -> (Level, &'static str) {
    match status {
        Status::Running if kind == Kind::ClaimWork => (Level::Info, "step_claimed"),
        Status::Running => (Level::Debug, "step_running"),
        Status::Success => (Level::Info, "step_succeeded"),
        Status::Retrying if kind == Kind::ExpireWork => (Level::Warn, "step_reclaimed"),
        Status::Retrying if kind == Kind::TimeoutWork => (Level::Warn, "step_timed_out"),
        Status::Retrying => (Level::Warn, "step_retrying"),
        Status::Failed => (Level::Error, "step_failed"),
        Status::DeadLetter => (Level::Error, "step_dead_letter"),
        Status::Pending if kind == Kind::ExpireWork => (Level::Warn, "step_reclaimed"),
        Status::Pending if kind == Kind::YieldWork => (Level::Info, "step_yielded"),
        Status::Pending => (Level::Debug, "step_pending"),
        Status::Waiting => (Level::Info, "step_waits_for_approval"),
        Status::Cancelled => (Level::Info, "step_cancelled"),
        Status::Skipped => (Level::Debug, "step_skipped"),
    }
}

fn fields(event: &Event) -> Map<String, Value> {
    Map::from_iter([
        ("task".to_owned(), json!(event.task)),
        ("trace_id".to_owned(), json!(format!("{:032x}", event.trace_id))),
        ("pos".to_owned(), json!(event.pos)),
        ("op".to_owned(), json!(format!("{:?}", event.kind))),
    ])
}

fn step_fields(event: &Event, step: &StepEvent) -> Map<String, Value> {
    let mut fields = fields(event);
    fields.extend([
        ("step".to_owned(), json!(step.name)),
        ("agent".to_owned(), json!(step.agent)),
        ("attempt".to_owned(), json!(step.attempt)),
        ("status".to_owned(), json!(step.status)),
    ]);
    if step.epoch > 0 {
        let of = StepId { task: event.task, index: step.index };
        fields.insert("span_id".to_owned(), json!(SpanId::of_attempt(of, step.epoch).to_string()));
    }
    // A step that goes well now remembers why it failed before; that was said then.
    let failed = matches!(step.status, Status::Retrying | Status::Failed | Status::DeadLetter | Status::Pending);
    if let Some(error) = step.error.as_ref().filter(|_| failed) {
        fields.insert("error".to_owned(), json!(crate::text::short(error, ERROR_CHARS_MAX)));
    }
    fields
}
