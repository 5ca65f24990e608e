//! `relaymesh msg thread`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output, root, time,
};
use relaymesh_api::view::message;
use relaymesh_core::{id::ThreadId, op::Scope};
use relaymesh_store::Reader as _;

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
    if context.json {
        message::thread(&mut reader, rows)?.iter().for_each(output::value);
        return Ok(Exit::Done);
    }
    for row in message::sorted(rows) {
        let (draft, content) = (&row.draft, message::said(&mut reader, row)?);
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
