//! A task as people see it.

use crate::{output, time};
use relaymesh_agents::quoted;
use relaymesh_api::view::took_ms;
pub(crate) use relaymesh_api::view::{View, content, result};
use relaymesh_core::task::{Status, Step};

/// How much of a result or an error a table shows.
const CELL_CHARS_MAX: usize = 60;

/// How much of a command line it shows: what runs matters more than that it fits.
const COMMAND_CHARS_MAX: usize = 240;

/// The task for people.
pub(crate) fn to_text(view: &View, history: bool) -> String {
    let task = &view.rows.task;
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
    let mut text = format!("{}\n\n{}", output::table(&facts), output::table(&step_table(view)));
    if view.ran.iter().any(Option::is_some) {
        text += &format!("\n\n{}", output::table(&process_table(view)));
    }
    if history {
        text += &format!("\n\n{}", output::table(&history_table(view)));
    }
    text
}

fn step_table(view: &View) -> Vec<Vec<String>> {
    let head = ["STEP", "AGENT", "STATUS", "ATTEMPT", "EPOCH", "TOOK", "RESULT OR ERROR"];
    let row = |(index, step): (u16, &Step)| {
        vec![
            step.spec.name.to_string(),
            step.spec.agent.to_string(),
            with_symbol(step.status),
            format!("{}/{}", step.attempt, step.spec.retry.max_attempts),
            step.epoch.to_string(),
            took_ms(step).map_or_else(|| "-".to_owned(), time::span),
            outcome(view, index, step),
        ]
    };
    std::iter::once(head.map(str::to_owned).to_vec()).chain(view.rows.indexed().map(row)).collect()
}

fn outcome(view: &View, index: u16, step: &Step) -> String {
    let result = view.results[usize::from(index)].as_ref().map(ToString::to_string);
    let asks =
        (step.status == Status::Waiting).then(|| step.spec.approve.as_ref().map(|ask| format!("asks: {}", ask.text)));
    let text = result.or_else(|| asks.flatten()).or_else(|| step.error.clone());
    text.map_or_else(|| "-".to_owned(), |text| output::short(&text, CELL_CHARS_MAX))
}

/// The last process of each step: what ran, and how it ended.
fn process_table(view: &View) -> Vec<Vec<String>> {
    let head = ["STEP", "PID", "ENDED", "STDOUT", "STDERR", "COMMAND"];
    let rows = view.rows.steps.iter().zip(&view.ran).filter_map(|(step, ran)| {
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

fn history_table(view: &View) -> Vec<Vec<String>> {
    let head = ["STEP", "EPOCH", "OUTCOME", "STARTED", "TOOK", "WORKER", "WHY"];
    let rows = view.rows.steps.iter().flat_map(|step| {
        step.history.iter().map(|attempt| {
            vec![
                step.spec.name.to_string(),
                attempt.epoch.to_string(),
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
