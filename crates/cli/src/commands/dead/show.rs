//! `relaymesh dead show`

use super::find::What;
use crate::{args::Context, error::Error, exit::Exit, output, time, view};
use serde_json::Value;
use std::slice;

const EXAMPLES: &str = "\
Examples:
  relaymesh dead show tsk_01KH…            show the task, its steps, every attempt and its error
  relaymesh dead show msg_01KH… --json     show a message and its content";

/// Show a failed task or message with every error
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Id of a task or a message
    id: String,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let client = context.client();
    for what in client.dead_named(slice::from_ref(&args.id))?.iter().filter_map(|dead| dead.ids.what()) {
        match what {
            What::Task(task) if context.json => output::json(|out| client.export(task, out))?,
            What::Task(task) => {
                view::print(&client.task(task, true)?, true);
                output::note(&format!("  next: retry it with `relaymesh dead redrive {task}`"));
            }
            What::Message(..) => {
                for document in client.dead_documents(&what.id())? {
                    if context.json { output::value(&document) } else { show_message(&document) }
                }
            }
        }
    }
    Ok(Exit::Done)
}

fn show_message(document: &Value) {
    let text = |name: &str| match &document[name] {
        Value::Null => "-".to_owned(),
        Value::String(text) => output::clean(text),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    };
    let at = |name: &str| document[name].as_u64().map_or_else(|| "-".to_owned(), time::rfc3339);
    let facts = [
        ("message", text("message")),
        ("thread", text("thread")),
        ("namespace", text("namespace")),
        ("from", text("from")),
        ("to", text("to")),
        ("state", text("state")),
        ("dead", text("dead")),
        ("deliveries", format!("{} of {}", text("deliveries"), text("max_deliveries"))),
        ("sent", at("sent_ms")),
        ("updated", at("updated_ms")),
        ("why", text("error")),
        ("content", output::clean(&document["content"].to_string())),
    ];
    output::line(&output::table(&facts.map(|(name, value)| vec![name.to_owned(), value])));
    output::note(&format!("  next: deliver it again with `relaymesh dead redrive {}`", text("message")));
}
