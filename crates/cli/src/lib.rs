//! What the `relaymesh` binary does. This file parses, dispatches and turns the outcome into an exit code.
//!
//! ```text
//! stdout  data: ids, results, tables, JSON         0  done            10  the task failed
//! stderr  talk: progress, notes, errors, hints     2…9  error kinds   11  cancelled   12  not ended yet
//! ```
//!
//! A command that writes asks the root's daemon, and starts one if there is none; with `--no-daemon` it opens the root in its own
//! process and holds its lock. A command that reads uses a read-only connection and works beside either.

mod agents;
mod args;
mod asked;
mod bell;
mod bench;
mod bulk;
mod commands;
mod daemon;
mod drive;
mod error;
mod exit;
mod export;
mod flow;
#[doc(hidden)]
pub mod fuzzing;
mod link;
mod lookup;
mod output;
mod progress;
mod root;
mod secrets;
mod session;
mod settings;
mod suggest;
mod time;
mod view;
mod watch;

use args::Cli;
use clap::Parser as _;
use error::{Code, Error};
use std::process::ExitCode;

/// The whole program: its arguments are those of the process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(answer) if answer.use_stderr() => return usage(&answer),
        Err(answer) => {
            // Help or version: asked for, so it is data.
            let _ = answer.print();
            return ExitCode::SUCCESS;
        }
    };
    let context = cli.global.context();
    match cli.command.run(&context) {
        Ok(exit) => exit.into(),
        Err(error) => {
            error::print(&error, context.json);
            ExitCode::from(error.code.kind().exit_code())
        }
    }
}

/// The parser's own words, in the form of all errors.
fn usage(answer: &clap::Error) -> ExitCode {
    let json = std::env::args_os().any(|argument| argument == "--json");
    let text = answer.render().to_string();
    let text = text.trim_end();
    let error = Error::new(Code::Usage, text.strip_prefix("error: ").unwrap_or(text));
    error::print(&error, json);
    ExitCode::from(error.code.kind().exit_code())
}
