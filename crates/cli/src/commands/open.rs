//! `relaymesh open`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output,
};
use relaymesh_api::{http::OneTimeCode, local::Endpoint};
use relaymesh_runtime::root_clock::RootClock;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh open                 print the URL, and a code that is valid once, for a minute
  relaymesh open --json | jq -r .code

A program exchanges the code for a token that is valid for twelve hours:
  curl -s -H 'Content-Type: application/json' -d '{\"code\": \"…\"}' \"$URL/api/v1/session\"";

/// Print the URL of the HTTP API and a one-time code for a session
///
/// The code keeps tokens out of URLs, cookies and the shell history. Starts the daemon if none runs, unless
/// `--no-daemon` is given.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Error> {
    if !context.no_daemon {
        context.daemon(&[])?;
    }
    let failed = |error: std::io::Error| Error::new(Code::StoreIo, format!("cannot use the root: {error}"));
    let endpoint = Endpoint::read(&context.root).map_err(failed)?;
    let none = || {
        let error = Error::new(Code::NoDaemon, "the daemon has no HTTP API");
        error.hint("check the setting `http_addr` and the end of daemon.log")
    };
    let url = endpoint.and_then(|endpoint| endpoint.http).ok_or_else(none)?;
    let code = OneTimeCode::make(&context.root, rand::random(), RootClock::glance(&context.root, 0).now_ms())
        .map_err(failed)?;
    if context.json {
        output::value(&json!({ "url": url, "code": code }));
    } else {
        output::line(&url);
        output::line(&code);
        output::note("note: the code is valid once, for one minute: POST it to /api/v1/session");
    }
    Ok(Exit::Done)
}
