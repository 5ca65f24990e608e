//! `relaymesh msg thread`

use crate::{args::Context, error::Error, exit::Exit, output, time};
use relaymesh_api::view::message::Spoken;
use relaymesh_core::id::ThreadId;
use serde_json::json;

/// Can be used while another process writes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Id of the thread
    thread: ThreadId,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    for spoken in context.client().thread(args.thread)? {
        if context.json {
            output::value(&json!(spoken));
            continue;
        }
        let Spoken { message, from, to, state, .. } = &spoken;
        let about = spoken.reply_to.map(|about| format!(", reply to {about}")).unwrap_or_default();
        let at = time::rfc3339(spoken.sent_ms);
        output::line(&format!("{message} {from} → {to} {state} {at}{about}"));
        output::line(&format!("  {}", output::clean(&spoken.content.to_string())));
        if let Some(error) = &spoken.error {
            output::line(&format!("  failed: {}", output::clean(error)));
        }
    }
    Ok(Exit::Done)
}
