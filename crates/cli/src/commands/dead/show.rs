//! `relaymesh dead show`

use super::find::{What, named};
use crate::{
    args::Context,
    error::Error,
    exit::Exit,
    export, lookup, output, root, time,
    view::{self, View},
};
use relaymesh_core::{id::MessageId, id::ThreadId, kernel::Rows, op::Scope};
use relaymesh_store::Reader;
use serde_json::Value;

const EXAMPLES: &str = "\
Examples:
  relaymesh dead show tsk_01KH…            the task, its steps, every attempt and its reason
  relaymesh dead show msg_01KH… --json     a message with what it said";

/// Show what came to nothing, with every reason
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A task or a message
    id: String,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let mut reader = root::read(&context.root)?;
    for dead in named(&mut reader, std::slice::from_ref(&args.id))? {
        match dead.what {
            What::Task(task) if context.json => output::value(&exported(&mut reader, What::Task(task))?),
            What::Task(task) => {
                let rows = lookup::task(&mut reader, &task.to_string())?;
                output::line(&view::to_text(&View::load(&mut reader, rows)?, true));
                output::note(&format!("  next: `relaymesh dead redrive {task}` tries it again"));
            }
            What::Message(thread, message) => show_message(&mut reader, thread, message, context)?,
        }
    }
    Ok(Exit::Done)
}

/// The document of a task or a message.
pub(super) fn exported(reader: &mut impl Reader, what: What) -> Result<Value, Error> {
    match what {
        What::Task(task) => {
            let rows = lookup::task(reader, &task.to_string())?;
            export::task(reader, rows)
        }
        What::Message(thread, id) => {
            let missing = || Error::new(crate::error::Code::NoTask, format!("{id} is gone"));
            let Some(Rows::Thread(rows)) = reader.scope(Scope::Thread(thread))? else { return Err(missing()) };
            export::message(reader, &rows.thread, rows.messages.get(&id).ok_or_else(missing)?)
        }
    }
}

fn show_message(
    reader: &mut impl Reader,
    thread: ThreadId,
    message: MessageId,
    context: &Context,
) -> Result<(), Error> {
    let document = exported(reader, What::Message(thread, message))?;
    if context.json {
        output::value(&document);
        return Ok(());
    }
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
    output::note(&format!("  next: `relaymesh dead redrive {message}` delivers it again"));
    Ok(())
}
