//! `relaymesh settings`, and its parts under the contract's own names: `reload-settings`, `settings-history`.

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output, root, settings, time,
};
use clap::Subcommand;
use relaymesh_api::{local::Client, view::setting};
use relaymesh_runtime::settings::{history::ENTRIES_MAX, page};
use serde_json::{Value, json};

const EXAMPLES: &str = "\
Examples:
  relaymesh settings show                  show each setting: value, default, source
  relaymesh settings show --json | jq '.[] | select(.source != \"default\")'
  relaymesh settings reload                load relaymesh-settings.json now
  relaymesh settings history --limit 5     show when settings changed: names, never values
  relaymesh settings schema > settings.schema.json    write the JSON schema, for editors

Later sources win: default, relaymesh-settings.json in the root, RELAYMESH_<NAME>, `up --set`.";

const SHOW_EXAMPLES: &str = "\
Examples:
  relaymesh settings show
  relaymesh settings show --json | jq '.[] | select(.source != \"default\")'";

const RELOAD_EXAMPLES: &str = "\
Examples:
  relaymesh reload-settings            print what changed, or the error and its line
  relaymesh settings reload --json     the same";

const HISTORY_EXAMPLES: &str = "\
Examples:
  relaymesh settings-history --limit 5
  relaymesh settings history --json | jq '.[].changed_fields'";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  relaymesh settings schema > settings.schema.json

Add \"$schema\": \"settings.schema.json\" to relaymesh-settings.json.";

/// Show and reload settings
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    /// Show every setting of the running daemon; without one, of the next
    #[command(after_help = SHOW_EXAMPLES)]
    Show,
    /// Reload the settings of the daemon
    #[command(after_help = RELOAD_EXAMPLES)]
    Reload,
    History(HistoryArgs),
    /// Print the JSON schema of relaymesh-settings.json
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema,
}

/// Show when settings changed: names, never values
///
/// `relaymesh settings history` and `relaymesh settings-history` are the same command and share a manual page.
#[derive(Debug, clap::Args)]
#[command(after_help = HISTORY_EXAMPLES)]
pub(crate) struct HistoryArgs {
    /// Maximum number of entries, newest first
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

/// Reload the settings of the daemon
///
/// If one setting is wrong, none is applied. The daemon also checks the file every second. Same as `relaymesh
/// settings reload`.
#[derive(Debug, clap::Args)]
#[command(after_help = RELOAD_EXAMPLES)]
pub(crate) struct ReloadArgs {}

pub(crate) fn run(command: &Command, context: &Context) -> Result<Exit, Error> {
    match command {
        Command::Show => show(context),
        Command::Reload => reload(&ReloadArgs {}, context),
        Command::History(args) => history(args, context),
        Command::Schema => {
            output::document(context, &format!("{:#}", page::schema()));
            Ok(Exit::Done)
        }
    }
}

fn show(context: &Context) -> Result<Exit, Error> {
    let found = context.client().settings()?;
    if context.json {
        output::value(&json!(found));
        return Ok(Exit::Done);
    }
    let mut rows = vec![["SETTING", "VALUE", "DEFAULT", "FROM", "A CHANGE APPLIES"].map(str::to_owned).to_vec()];
    rows.extend(found.into_iter().map(|setting| {
        let setting::Shown { name, value, default, source, effect, .. } = setting;
        vec![name, plain(&value), plain(&default), source, counts(effect)]
    }));
    output::line(&output::table(&rows));
    Ok(Exit::Done)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn counts(effect: String) -> String {
    effect
}

pub(crate) fn reload(_: &ReloadArgs, context: &Context) -> Result<Exit, Error> {
    root::there(&context.root)?;
    let none = || {
        let message = format!(
            "no daemon is running for {}; the next one reads its settings when it starts",
            context.root.display()
        );
        Error::new(Code::NoDaemon, message)
    };
    let client = Client::connect(&context.root, &context.caller)?.ok_or_else(none)?;
    // The daemon says what is wrong in words; the place in the file is shown from here.
    let changed = match client.settings(true) {
        Ok((_, changed)) => changed,
        Err(error) if error.code == Code::BadSettings => {
            settings::load(&settings::layers(&context.root, &[]))?;
            return Err(error);
        }
        Err(error) => return Err(error),
    };
    match (context.json, changed.is_empty()) {
        (true, _) => output::value(&json!({ "changed_fields": changed })),
        (false, true) => output::line("nothing changed"),
        (false, false) => output::line(&format!("changed: {}", changed.join(", "))),
    }
    Ok(Exit::Done)
}

pub(crate) fn history(args: &HistoryArgs, context: &Context) -> Result<Exit, Error> {
    let limit = args.limit.min(ENTRIES_MAX);
    let entries = context.client().settings_history(limit)?;
    if context.json {
        output::value(&json!(entries));
        return Ok(Exit::Done);
    }
    let mut rows = vec![["WHEN", "BY", "CHANGED"].map(str::to_owned).to_vec()];
    rows.extend(entries.iter().map(|entry| {
        vec![time::rfc3339(entry.at_ms), output::clean(&entry.source), output::clean(&entry.changed_fields.join(", "))]
    }));
    output::line(&output::table(&rows));
    Ok(Exit::Done)
}
