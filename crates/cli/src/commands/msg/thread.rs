//! `relaymesh msg thread`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output, root, time, view,
};
use relaymesh_core::{id::ThreadId, message::Message, op::Scope};
use relaymesh_store::{ContentKey, Reader as _};
use serde_json::json;

/// Works while another process writes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which
    thread: ThreadId,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let thread = args.thread;
    let mut reader = root::read(&context.root)?;
    let rows = reader.scope(Scope::Thread(thread))?;
    let Some(rows) = rows.as_ref().and_then(|rows| rows.thread()) else {
        return Err(Error::new(Code::NoTask, format!("there is no thread {thread} in this root")));
    };
    let mut messages: Vec<&Message> = rows.messages.values().collect();
    messages.sort_by_key(|row| (row.sent_ms, row.content_pos));
    for row in messages {
        let (draft, key) = (&row.draft, ContentKey::new(row.content_pos, 0));
        let content = view::content(&mut reader, key, draft.content, || format!("the content of {}", draft.id))?;
        if context.json {
            output::value(&json!({
                "thread": thread, "message": draft.id, "from": draft.from, "to": draft.to, "state": row.state,
                "priority": draft.priority, "reply_to": draft.reply_to, "answered_by": row.answered_by,
                "asks": draft.asks.map(|asks| asks.task), "deliveries": row.deliveries, "epoch": row.epoch,
                "dead": row.dead, "error": row.error, "sent_ms": row.sent_ms, "content": content,
            }));
            continue;
        }
        let about = draft.reply_to.map(|about| format!(", about {about}")).unwrap_or_default();
        let at = time::rfc3339(row.sent_ms);
        output::line(&format!("{} {} → {} {} {at}{about}", draft.id, draft.from, draft.to, row.state));
        output::line(&format!("  {}", output::clean(&content.to_string())));
        if let Some(error) = &row.error {
            output::line(&format!("  failed: {}", output::clean(error)));
        }
    }
    Ok(Exit::Done)
}
