//! What a step asks of a person, as people see it.

use crate::{output, time};
pub(crate) use relaymesh_api::view::asked::{Asked, all, choose};
use relaymesh_core::task::Task;

/// How much of an input people are shown. Programs get all of it.
const INPUT_CHARS_MAX: usize = 2_000;

/// All that one should know before deciding.
pub(crate) fn to_text(asked: &Asked) -> String {
    let Task { id, name, namespace, created_ms, .. } = &asked.task;
    let from = asked.submitter.as_ref().map_or_else(String::new, |(who, from)| format!("{who}/{from}, "));
    let facts = [
        ("task", format!("{id} ({name}, namespace {namespace})")),
        ("from", format!("{from}submitted {}", time::rfc3339(*created_ms))),
        ("agent", asked.agent.to_string()),
        ("input", shown_input(asked)),
        ("until", until(asked)),
        ("hash", asked.hash.to_string()),
    ];
    let asks = output::clean(&asked.ask.text).replace('\n', "\n  ");
    let facts = output::table(&facts.map(|(name, value)| vec![name.to_owned(), value]));
    format!("step `{}` of {id} asks:\n  {asks}\n{facts}", asked.name)
}

fn shown_input(asked: &Asked) -> String {
    let input = shortened(&asked.input.0.to_string());
    asked.input.1.as_ref().map_or_else(|| input.clone(), |note| format!("{input} ({note})"))
}

/// Until when somebody has to decide.
pub(crate) fn until(asked: &Asked) -> String {
    match asked.due_ms {
        0 => "-".to_owned(),
        due_ms => format!("{}, then it is denied", time::rfc3339(due_ms)),
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
