//! What the `relaymesh` binary does. This file parses, dispatches and turns the outcome into an exit code.
//!
//! ```text
//! stdout  data: ids, results, tables, JSON         0  done            10  the task failed
//! stderr  messages: progress, notes, errors, hints 2…9  error kinds   11  cancelled   12  not ended yet
//! ```
//!
//! A command that writes asks the root's daemon, and starts one if there is none; with `--no-daemon` it opens the root in its own
//! process and holds its lock. A command that reads uses a read-only connection and works beside either.

// `eprintln!` panics when nobody listens; `output::note` does not.
#![warn(clippy::print_stderr)]

mod args;
mod asked;
mod backup;
mod bell;
mod bulk;
mod client;
mod commands;
mod error;
mod exit;
mod flow;
mod follow;
#[doc(hidden)]
pub mod fuzzing;
mod link;
mod lookup;
mod output;
mod progress;
mod remote;
mod settings;
mod time;
mod top;
mod view;
mod watch;

use relaymesh_daemon::{agents, root, secrets, session};

use args::Cli;
use clap::{
    CommandFactory as _, Parser as _,
    error::{ContextKind, ErrorKind},
};
use commands::reach::Reach;
use error::{Code, Error};
use std::process::ExitCode;

/// The whole program: its arguments are those of the process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(answer) if answer.use_stderr() => return usage(&answer),
        Err(answer) => {
            // Help or version: asked for, so it is data.
            output::written(answer.print());
            return ExitCode::SUCCESS;
        }
    };
    let mut context = cli.global.context();
    let reach = cli.command.reach();
    let checked = cli.global.remote(reach).and_then(|remote| {
        context.remote = remote;
        if reach == Reach::Program || context.remote.is_some() { Ok(()) } else { root::is_folder(&context.root) }
    });
    match checked.and_then(|()| cli.command.run(&context)) {
        Ok(exit) => exit.into(),
        Err(error) => failed(&error, context.json),
    }
}

fn failed(error: &Error, json: bool) -> ExitCode {
    error::print(error, json);
    ExitCode::from(error.code.kind().exit_code())
}

/// The parser's own words, in the form of all errors: what it found is the message, its tips and the usage are hints.
fn usage(answer: &clap::Error) -> ExitCode {
    let json = std::env::args_os().any(|argument| argument == "--json");
    let help = help_instead(answer);
    if let (Some(help), false) = (&help, json) {
        // Nobody said what to do, so the help says what can be done.
        output::say(help);
        return ExitCode::from(Code::Usage.kind().exit_code());
    }
    let text = answer.render().to_string();
    let found = text.trim_end().split("\n\n").next().unwrap_or_default();
    let found = found.strip_prefix("error: ").unwrap_or(found);
    let mut error = Error::new(Code::Usage, if help.is_some() { "a command is missing" } else { found });
    for line in help.as_ref().unwrap_or(&text).lines().map(str::trim) {
        if let Some(tip) = line.strip_prefix("tip: ") {
            error.hints.push(tip.to_owned());
        } else if let Some(usage) = line.strip_prefix("Usage: ") {
            error.hints.push(format!("usage: {}", without_globals(usage)));
        }
    }
    error.hints.push("`--help` shows all arguments, with examples".to_owned());
    failed(&error, json)
}

/// The help of a command of which no subcommand was given. The parser gives it itself, unless it has an option from the environment.
fn help_instead(answer: &clap::Error) -> Option<String> {
    if answer.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Some(answer.render().to_string());
    }
    let path = answer.get(ContextKind::InvalidSubcommand).filter(|_| answer.kind() == ErrorKind::MissingSubcommand)?;
    let mut command = Cli::command();
    command.build();
    let path = path.to_string();
    let mut words = path.split(' ').skip(1);
    let found = words.try_fold(&mut command, |command, word| command.find_subcommand_mut(word))?;
    Some(found.render_help().to_string())
}

/// The parser repeats those that it has from the environment, and they are everywhere.
fn without_globals(usage: &str) -> String {
    let globals = [
        "--root <DIR> ",
        "--namespace <NS> ",
        "--url <URL> ",
        "--token-file <FILE> ",
        "--ca <FILE> ",
        "--no-daemon ",
        "--json ",
    ];
    globals.iter().fold(usage.to_owned(), |usage, global| usage.replace(global, ""))
}
