//! `relaymesh msg thread`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output, root, time,
};
use relaymesh_api::view::message::{self, Conversation, Spoken};
use relaymesh_core::{id::ThreadId, op::Scope};
use relaymesh_store::Reader as _;
use serde_json::json;

/// Works while another process writes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which
    thread: ThreadId,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    for spoken in look(context, args.thread)? {
        if context.json {
            output::value(&json!(spoken));
            continue;
        }
        let Spoken { message, from, to, state, .. } = &spoken;
        let about = spoken.reply_to.map(|about| format!(", about {about}")).unwrap_or_default();
        let at = time::rfc3339(spoken.sent_ms);
        output::line(&format!("{message} {from} → {to} {state} {at}{about}"));
        output::line(&format!("  {}", output::clean(&spoken.content.to_string())));
        if let Some(error) = &spoken.error {
            output::line(&format!("  failed: {}", output::clean(error)));
        }
    }
    Ok(Exit::Done)
}

/// The messages of the thread, oldest first.
pub(super) fn look(context: &Context, thread: ThreadId) -> Result<Vec<Spoken>, Error> {
    if let Some(remote) = &context.remote {
        return Ok(remote.get::<Conversation>(&["threads", &thread.to_string()], &[])?.messages);
    }
    let mut reader = root::read(&context.root)?;
    let rows = reader.scope(Scope::Thread(thread))?;
    let missing = || Error::new(Code::NoTask, format!("there is no thread {thread} in this root"));
    message::thread(&mut reader, rows.as_ref().and_then(|rows| rows.thread()).ok_or_else(missing)?)
}
