//! What a step asks of a person, as people see it.

use crate::{client::Client, error::Error, output, time};
use relaymesh_api::view::asked;
pub(crate) use relaymesh_api::view::asked::Shown;
use relaymesh_core::id::TaskId;

/// How much of an input people are shown. Programs get all of it.
const INPUT_CHARS_MAX: usize = 2_000;

/// What the step of this name asks; without one, the only one of the task that asks.
pub(crate) fn look(client: &dyn Client, task: TaskId, step: Option<&str>) -> Result<Shown, Error> {
    match step {
        Some(step) => client.asked(task, step),
        None => client.asked(task, &asked::only(&client.look(task)?.task)?),
    }
}

/// All that one should know before deciding.
pub(crate) fn to_text(asked: &Shown) -> String {
    let Shown { task, name, namespace, created_ms, .. } = asked;
    let from = asked.author.as_ref().zip(asked.source.as_ref());
    let from = from.map_or_else(String::new, |(who, from)| format!("{who}/{from}, "));
    let facts = [
        ("task", format!("{task} ({name}, namespace {namespace})")),
        ("from", format!("{from}submitted {}", time::rfc3339(*created_ms))),
        ("agent", asked.agent.to_string()),
        ("input", shown_input(asked)),
        ("until", until(asked)),
        ("hash", asked.ask.to_string()),
    ];
    let asks = output::clean(&asked.asks).replace('\n', "\n  ");
    let facts = output::table(&facts.map(|(name, value)| vec![name.to_owned(), value]));
    format!("step `{}` of {task} asks:\n  {asks}\n{facts}", asked.step)
}

fn shown_input(asked: &Shown) -> String {
    let input = shortened(&asked.input.to_string());
    asked.input_note.as_ref().map_or_else(|| input.clone(), |note| format!("{input} ({note})"))
}

/// Until when somebody has to decide.
pub(crate) fn until(asked: &Shown) -> String {
    match asked.deadline_ms {
        None => "-".to_owned(),
        Some(due_ms) => format!("{}; denied after that", time::rfc3339(due_ms)),
    }
}

fn shortened(text: &str) -> String {
    let total = text.chars().count();
    let start: String = output::clean(text).replace('\n', " ").chars().take(INPUT_CHARS_MAX).collect();
    match total {
        0..=INPUT_CHARS_MAX => start,
        _ => format!("{start}… ({total} characters; --json shows all)"),
    }
}
