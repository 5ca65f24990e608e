//! A task as people see it.

use crate::{output, time};
use relaymesh_agents::quoted;
use relaymesh_api::view::{Delivered, Reference, ShownStep};
pub(crate) use relaymesh_api::view::{Shown, View, content};
use relaymesh_core::task::{Outcome, Status};
use std::collections::BTreeMap;

/// How much of a result or an error a table shows.
const CELL_CHARS_MAX: usize = 60;

/// How much of a command line it shows: what runs matters more than that it fits.
const COMMAND_CHARS_MAX: usize = 240;

/// Prints the task for people. If something is cut, a note says so.
pub(crate) fn print(task: &Shown, history: bool) {
    let text = to_text(task, history);
    output::line(&text);
    if text.contains('…') {
        let task = task.task;
        output::note(&format!(
            "texts that end in … are cut: `relaymesh task result {task} STEP` prints a result, `--json` shows everything"
        ));
    }
}

/// The task for people.
fn to_text(task: &Shown, history: bool) -> String {
    let age = time::span(time::now_ms().saturating_sub(task.created_ms));
    let facts = [
        ("task", task.task.to_string()),
        ("name", task.name.to_string()),
        ("namespace", task.namespace.to_string()),
        ("status", with_symbol(task.status)),
        ("created", format!("{} ({age} ago)", time::rfc3339(task.created_ms))),
        ("updated", time::rfc3339(task.updated_ms)),
        ("key", task.idempotency_key.clone()),
    ];
    let facts: Vec<Vec<String>> = facts.map(|(name, value)| vec![name.to_owned(), value]).to_vec();
    let mut text = format!("{}\n\n{}", output::table(&facts), output::table(&step_table(task)));
    if task.steps.iter().any(|step| step.ran.is_some()) {
        text += &format!("\n\n{}", output::table(&process_table(task)));
    }
    if history {
        text += &format!("\n\n{}", output::table(&history_table(task)));
    }
    text
}

fn step_table(task: &Shown) -> Vec<Vec<String>> {
    let head = ["STEP", "AGENT", "STATUS", "ATTEMPT", "TOOK", "RESULT OR ERROR"];
    let row = |step: &ShownStep| {
        vec![
            step.step.to_string(),
            step.agent.to_string(),
            with_symbol(step.status),
            format!("{}/{}", step.attempt, step.max_attempts),
            step.took_ms.map_or_else(|| "-".to_owned(), time::span),
            outcome(task, step),
        ]
    };
    std::iter::once(head.map(str::to_owned).to_vec()).chain(ordered(task).map(row)).collect()
}

/// The steps in the order in which they are looked for: the items of a list follow its step.
fn ordered(task: &Shown) -> impl Iterator<Item = &ShownStep> {
    let mut items: BTreeMap<&str, Vec<&ShownStep>> = BTreeMap::new();
    for item in &task.steps {
        if let Some(of) = &item.item_of {
            items.entry(of).or_default().push(item);
        }
    }
    let of_flow = task.steps.iter().filter(|step| step.item_of.is_none());
    of_flow.flat_map(move |step| std::iter::once(step).chain(items.remove(step.step.as_str()).into_iter().flatten()))
}

fn outcome(task: &Shown, step: &ShownStep) -> String {
    let result = task.delivered_by(step).map(|delivered| match delivered {
        Delivered::Value(value) => value.to_string(),
        Delivered::Named(Reference { bytes, .. }) => format!("a result of {bytes} bytes"),
        Delivered::Steps(_) => String::new(),
    });
    let asks = || step.asks.as_ref().filter(|_| step.status == Status::Waiting).map(|asks| format!("asks: {asks}"));
    // The status says what is next; that the last attempt was lost or too slow is in no status (R5).
    let lost = step.last_outcome.filter(|last| matches!(last, Outcome::Timeout | Outcome::Abandoned));
    let error = || match (lost, &step.error) {
        (Some(lost), Some(error)) => Some(format!("{lost}: {error}")),
        (Some(lost), None) => Some(lost.to_string()),
        (None, error) => error.clone(),
    };
    let text = result.or_else(asks).or_else(error);
    text.map_or_else(|| "-".to_owned(), |text| output::short(&text, CELL_CHARS_MAX))
}

/// The last process of each step: what ran, and how it ended.
fn process_table(task: &Shown) -> Vec<Vec<String>> {
    let head = ["STEP", "PID", "ENDED", "STDOUT", "STDERR", "COMMAND"];
    let rows = ordered(task).filter_map(|step| {
        let ran = step.ran.as_ref()?;
        let words = std::iter::once(ran.program.display().to_string()).chain(ran.arguments.iter().cloned());
        let command: Vec<String> = words.map(|word| quoted(&word)).collect();
        Some(vec![
            step.step.to_string(),
            ran.pid.to_string(),
            ran.how_it_ended(),
            format!("{} bytes", ran.stdout_bytes),
            format!("{} bytes", ran.stderr_bytes),
            output::short(&output::clean(&command.join(" ")), COMMAND_CHARS_MAX),
        ])
    });
    std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect()
}

fn history_table(task: &Shown) -> Vec<Vec<String>> {
    let head = ["ATTEMPT", "OUTCOME", "STARTED", "TOOK", "WORKER", "WHY"];
    let rows = ordered(task).flat_map(|step| {
        step.history.iter().flatten().map(|attempt| {
            vec![
                // As `task logs` and `audit inference` name it.
                format!("{}.{}", step.step, attempt.epoch),
                attempt.outcome.to_string(),
                time::rfc3339(attempt.started_ms),
                time::span(attempt.ended_ms.saturating_sub(attempt.started_ms)),
                attempt.worker.to_string(),
                attempt.error.as_deref().map_or_else(|| "-".to_owned(), |error| output::short(error, CELL_CHARS_MAX)),
            ]
        })
    });
    std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect()
}

/// The sign and the word.
pub(crate) fn with_symbol(status: Status) -> String {
    format!("{} {status}", output::symbol(status))
}
