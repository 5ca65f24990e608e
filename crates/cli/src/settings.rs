//! The settings of a root, for commands.

use crate::{
    args::Context,
    error::{Code, Error},
};
use relaymesh_api::local::Client;
pub(crate) use relaymesh_daemon::settings::{layers, load, shown};
use relaymesh_runtime::settings::Loaded;

/// The settings that this root's daemon runs with; without one, those that it would start with from here.
pub(crate) fn current(context: &Context) -> Result<Loaded, Error> {
    let daemon = if context.no_daemon { None } else { Client::connect(&context.root, &context.caller)? };
    match daemon.map(|client| client.settings(false)) {
        Some(Ok((loaded, _))) => Ok(loaded),
        // One that goes away at this very moment is none.
        Some(Err(error)) if error.code != Code::DaemonGone => Err(error),
        Some(Err(_)) | None => load(&layers(&context.root, &[])),
    }
}
