//! `relaymesh reference`: generates the reference pages from the program. Hidden: it is for `cargo xtask gen`.

use crate::{
    args::{Cli, Context},
    error::Error,
    exit::Exit,
    output,
};
use clap::{Arg, Command, CommandFactory as _};
use relaymesh_runtime::settings::page;

const EXAMPLES: &str = "\
Examples:
  cargo xtask gen                     writes docs/reference/cli.md, settings.md and openapi.json
  relaymesh reference --commands      every command, one a line";

const HEAD: &str = "\
# The command line

Generated from the program by `cargo xtask gen`; a test checks that it is current.

Results go to stdout, messages to stderr. `--json` prints JSON: one value, or one value per line for lists. Output is coloured only
on a terminal, and not if `NO_COLOR` is set.";

/// Print the page of all commands
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only the names of the commands
    #[arg(long)]
    commands: bool,
    /// The page of all settings instead
    #[arg(long, conflicts_with = "commands")]
    settings: bool,
    /// The OpenAPI document of the HTTP API instead
    #[arg(long, conflicts_with_all = ["commands", "settings"])]
    openapi: bool,
    /// The page of all commands, as without any option
    #[arg(long, conflicts_with_all = ["commands", "settings", "openapi"])]
    cli: bool,
}

pub(crate) fn run(args: &Args, _: &Context) -> Result<Exit, Error> {
    if args.settings {
        output::line(page::reference().trim_end());
        return Ok(Exit::Done);
    }
    if args.openapi {
        output::line(&format!("{:#}", relaymesh_api::http::document()));
        return Ok(Exit::Done);
    }
    let mut cli = Cli::command();
    cli.build();
    if args.commands {
        each(&cli, &mut |path, _| output::line(path));
        return Ok(Exit::Done);
    }
    let mut page = format!("{HEAD}\n");
    each(&cli, &mut |path, command| page += &section(path, command));
    output::line(page.trim_end());
    Ok(Exit::Done)
}

/// Every command that is not hidden, each before its subcommands.
fn each(command: &Command, tell: &mut dyn FnMut(&str, &Command)) {
    fn walk(path: &str, command: &Command, tell: &mut dyn FnMut(&str, &Command)) {
        tell(path, command);
        for child in command.get_subcommands().filter(|child| !child.is_hide_set() && child.get_name() != "help") {
            walk(&format!("{path} {}", child.get_name()), child, tell);
        }
    }
    walk(command.get_name(), command, tell);
}

fn section(path: &str, command: &Command) -> String {
    let depth = path.split(' ').count().min(3);
    let mut text = format!("\n{} {path}\n", "#".repeat(depth + 1));
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        text += &format!("\n{}\n", escaped(&about.to_string()));
    }
    let usage = command.clone().render_usage().to_string();
    text += &format!("\n```text\n{}\n```\n", usage.trim_start_matches("Usage:").trim());
    let is_root = !path.contains(' ');
    let shown: Vec<&Arg> =
        command.get_arguments().filter(|arg| !arg.is_hide_set() && (is_root || !arg.is_global_set())).collect();
    let named = |arg: &&&Arg| !matches!(arg.get_id().as_str(), "help" | "version");
    let lines: Vec<String> = shown.iter().filter(named).map(|arg| line(arg)).collect();
    if !lines.is_empty() {
        text += &format!("\n| | |\n|---|---|\n{}\n", lines.join("\n"));
    }
    if let Some(examples) = command.get_after_help() {
        text += &format!("\n```text\n{}\n```\n", examples.to_string().trim_end());
    }
    text
}

/// One argument as the row of a table.
fn line(arg: &Arg) -> String {
    let values: Vec<&str> = arg.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect();
    let takes_value = arg.get_action().takes_values();
    let value = if takes_value { values.join(" ") } else { String::new() };
    let flags = [arg.get_short().map(|c| format!("-{c}")), arg.get_long().map(|name| format!("--{name}"))];
    let flags: Vec<String> = flags.into_iter().flatten().collect();
    let name = if flags.is_empty() { value } else { format!("{} {value}", flags.join(", ")) };
    let mut help = arg.get_help().map(|help| escaped(&help.to_string())).unwrap_or_default();
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if takes_value && !defaults.is_empty() && !defaults.concat().is_empty() {
        help += &format!(" (default: `{}`)", defaults.join(" "));
    }
    let possible: Vec<String> = arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    if takes_value && !possible.is_empty() {
        help += &format!(" (one of: {})", possible.join(", "));
    }
    if let Some(variable) = arg.get_env() {
        help += &format!(" (or `{}`)", variable.to_string_lossy());
    }
    format!("| `{}` | {help} |", name.trim())
}

/// Without what a table or a page would take for its own.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}
