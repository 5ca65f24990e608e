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
  relaymesh agent add coder --tool codex --model gpt-5-codex --arg=-s --arg=workspace-write
  relaymesh agent add reviewer --tool claude --secret ANTHROPIC_API_KEY=anthropic --timeout 30m --max-attempts 2
  relaymesh agent add deploy --confirm --folder ../app --command ./deploy.sh
  relaymesh agent add coder --replace --tool codex --confirm-word prod

`--command` takes everything after it, so it stands last. No shell is asked: each word is an argument.
The daemon takes the change up at once; attempts under way go on as they began.";

/// Write the entry of an agent into agents.toml
///
/// Comments and other entries stay as they are. What would not load is not written.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What it is called
    name: Name,
    /// It is this command, with these arguments; comes last
    #[arg(long, value_name = "WORD", num_args = 1.., allow_hyphen_values = true, required_unless_present_any = ["tool", "url"])]
    command: Vec<String>,
    /// It is an agent tool: codex, claude, gemini, opencode or aider
    #[arg(long, value_name = "TOOL", conflicts_with = "url")]
    tool: Option<String>,
    /// It is reached at this address
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// The model that the tool uses, as the tool calls it
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// One more word for the tool; may be given several times
    #[arg(long = "arg", value_name = "WORD", allow_hyphen_values = true)]
    args: Vec<String>,
    /// Who serves it: all agents of a provider are held together
    #[arg(long, value_name = "NAME")]
    provider: Option<Name>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    about: Option<String>,
    /// Attempts at once
    #[arg(long, value_name = "N")]
    concurrency: Option<u32>,
    /// How long an attempt may take if its step does not say: 30s, 10m
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
    /// Attempts in all, if the step does not say
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// Time before the second attempt
    #[arg(long, value_name = "TIME")]
    base_backoff: Option<String>,
    /// The longest time between two attempts
    #[arg(long, value_name = "TIME")]
    max_backoff: Option<String>,
    /// Where it works, instead of in a folder of its own
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// A person is asked before every step
    #[arg(long)]
    confirm: bool,
    /// A person is asked before steps whose input has this word; may be given several times
    #[arg(long, value_name = "WORD", conflicts_with = "confirm")]
    confirm_word: Vec<String>,
    /// A variable of the daemon that it may see; may be given several times
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,
    /// A variable that is set for it; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    /// A variable that is a secret of this name; may be given several times
    #[arg(long, value_name = "VARIABLE=SECRET", value_parser = pair)]
    secret: Vec<(String, String)>,
    /// What people sort it by; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    label: Vec<(String, String)>,
    /// It uses a language model, and shares the places of all that do
    #[arg(long)]
    llm: bool,
    /// In the place of the entry that has this name
    #[arg(long)]
    replace: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let found = text.split_once('=').filter(|(name, _)| !name.is_empty());
    found.map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or_else(|| "it is NAME=VALUE".to_owned())
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    if Builtin::knows(&args.name) {
        let message = format!("`{}` is a builtin agent, and would go on doing its work", args.name);
        return Err(Error::new(Code::Refused, message).hint("call it something else"));
    }
    let mut sheet = Sheet::open(context)?;
    let was_there = sheet.has(&args.name);
    if was_there && !args.replace {
        let message = format!("there is an agent `{}` in {FILE}", args.name);
        return Err(Error::new(Code::Refused, message).hint("`--replace` writes another entry in its place"));
    }
    sheet.put(&args.name, args.entry())?;
    sheet.write()?;
    if context.json {
        output::value(&json!({ "name": args.name, "replaced": was_there }));
    } else {
        let done = if was_there { "has another entry" } else { "is there" };
        output::line(&format!("{} {done}; `relaymesh agent test {}` tries it", args.name, args.name));
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
