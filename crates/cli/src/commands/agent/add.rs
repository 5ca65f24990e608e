//! `relaymesh agent add`

use super::file::Sheet;
use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output,
};
use relaymesh_agents::config::FILE;
use relaymesh_core::name::Name;
use relaymesh_runtime::builtin::Builtin;
use serde_json::json;
use std::path::PathBuf;
use toml_edit::{Array, InlineTable, Table, Value, value};

const EXAMPLES: &str = "\
Examples:
  relaymesh agent add upper --about 'in capitals' --command tr a-z A-Z
  relaymesh agent add coder --tool codex --model gpt-5-codex --arg=-s --arg=danger-full-access
  relaymesh agent add reviewer --tool claude --secret ANTHROPIC_API_KEY=anthropic --timeout 30m
  relaymesh agent add deploy --confirm --folder ../app --command ./deploy.sh
  relaymesh agent add coder --replace --tool codex --confirm-word prod
  relaymesh agent add reviews --inbox --about 'answered by a program elsewhere'

`--command` takes all words after it, so put it last. It does not use a shell: each word is one
argument. The daemon applies the change at once; running attempts are not affected.";

/// Add an agent to agents.toml
///
/// Keeps comments and other entries. Writes nothing if the result would not load.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the agent
    name: Name,
    /// Command to run, with its arguments; must be the last option
    #[arg(long, value_name = "WORD", num_args = 1.., allow_hyphen_values = true, required_unless_present_any = ["tool", "url", "inbox"])]
    command: Vec<String>,
    /// Agent tool to run: codex, claude, gemini, opencode or aider
    #[arg(long, value_name = "TOOL", conflicts_with = "url")]
    tool: Option<String>,
    /// URL of an HTTP agent
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// The agent runs nothing here: its steps become messages that a program elsewhere answers
    #[arg(long, conflicts_with_all = ["command", "tool", "url"])]
    inbox: bool,
    /// Model to use, by the tool's name for it
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Extra argument for the tool (repeatable)
    #[arg(long = "arg", value_name = "WORD", allow_hyphen_values = true)]
    args: Vec<String>,
    /// Provider; if it limits requests, all its agents are held together
    #[arg(long, value_name = "NAME")]
    provider: Option<Name>,
    /// Description
    #[arg(long, value_name = "TEXT")]
    about: Option<String>,
    /// Maximum number of concurrent attempts
    #[arg(long, value_name = "N")]
    concurrency: Option<u32>,
    /// Default time limit of one attempt: 30s, 10m
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
    /// Default maximum number of attempts
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// Delay before the second attempt
    #[arg(long, value_name = "TIME")]
    base_backoff: Option<String>,
    /// Maximum delay between two attempts
    #[arg(long, value_name = "TIME")]
    max_backoff: Option<String>,
    /// Working folder, instead of a new one for each attempt; a relative path is relative to the root
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Require an approval before every step
    #[arg(long)]
    confirm: bool,
    /// Require an approval before steps whose input contains this word (repeatable)
    #[arg(long, value_name = "WORD", conflicts_with = "confirm")]
    confirm_word: Vec<String>,
    /// Environment variable to pass on from the daemon (repeatable)
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,
    /// Environment variable to set (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    /// Environment variable to set to a secret (repeatable)
    #[arg(long, value_name = "VARIABLE=SECRET", value_parser = pair)]
    secret: Vec<(String, String)>,
    /// Label (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    label: Vec<(String, String)>,
    /// Count its attempts towards `llm_parallel_limit`
    #[arg(long)]
    llm: bool,
    /// Replace the entry with this name
    #[arg(long)]
    replace: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let found = text.split_once('=').filter(|(name, _)| !name.is_empty());
    found.map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or_else(|| "use NAME=VALUE".to_owned())
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    if Builtin::knows(&args.name) {
        let message = format!("`{}` is the name of a built-in agent", args.name);
        return Err(Error::new(Code::Refused, message).hint("choose another name"));
    }
    let mut sheet = Sheet::open_or_create(context)?;
    let was_there = sheet.has(&args.name);
    if was_there && !args.replace {
        let message = format!("an agent `{}` already exists in {FILE}", args.name);
        return Err(Error::new(Code::Refused, message).hint("replace it with `--replace`"));
    }
    sheet.put(&args.name, args.entry())?;
    sheet.write()?;
    if context.json {
        output::value(&json!({ "name": args.name, "replaced": was_there }));
    } else {
        let done = if was_there { "replaced the entry of" } else { "added" };
        let next = if args.inbox {
            "its steps wait until a program with its token answers them (`relaymesh agent token create`)".to_owned()
        } else {
            format!("test it with `relaymesh agent test {}`", args.name)
        };
        output::line(&format!("{done} {}; {next}", args.name));
    }
    Ok(Exit::Done)
}

impl Args {
    /// The entry as it stands in the file.
    fn entry(&self) -> Table {
        let mut table = Table::new();
        let mut put = |name: &str, item: Option<Value>| {
            if let Some(item) = item {
                table.insert(name, value(item));
            }
        };
        let text = |text: &Option<String>| text.as_deref().map(Value::from);
        put("about", text(&self.about));
        put("tool", text(&self.tool));
        put("url", text(&self.url));
        put("inbox", self.inbox.then(|| true.into()));
        put("command", list(&self.command));
        put("model", text(&self.model));
        put("args", list(&self.args));
        put("provider", self.provider.as_ref().map(|name| name.as_str().into()));
        put("concurrency", self.concurrency.map(|count| i64::from(count).into()));
        put("timeout", text(&self.timeout));
        let retry = [
            ("max_attempts", self.max_attempts.map(|count| Value::from(i64::from(count)))),
            ("base_backoff", text(&self.base_backoff)),
            ("max_backoff", text(&self.max_backoff)),
        ];
        let retry: InlineTable = retry.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        put("retry", (!retry.is_empty()).then(|| retry.into()));
        put("folder", self.folder.as_ref().map(|folder| folder.display().to_string().into()));
        let confirm = if self.confirm { Some(true.into()) } else { list(&self.confirm_word) };
        put("confirm", confirm);
        put("env", list(&self.env));
        put("set", pairs(&self.set));
        put("secrets", pairs(&self.secret));
        put("labels", pairs(&self.label));
        put("llm", self.llm.then(|| true.into()));
        table
    }
}

fn list(words: &[String]) -> Option<Value> {
    (!words.is_empty()).then(|| words.iter().map(String::as_str).collect::<Array>().into())
}

fn pairs(pairs: &[(String, String)]) -> Option<Value> {
    let table: InlineTable = pairs.iter().map(|(name, value)| (name.as_str(), Value::from(value.as_str()))).collect();
    (!pairs.is_empty()).then(|| table.into())
}
