//! `relaymesh agent show`

use super::{kind, version};
use crate::{agents, args::Context, error::Error, exit::Exit, lookup, output, root, secrets, time};
use relaymesh_agents::{
    Agent, Confirm, Process, Terms,
    config::{ENVIRONMENT, FILE},
    confine, program, quoted,
};
use relaymesh_core::{
    name::Name,
    task::{Status, spec::RetryPolicy},
};
use relaymesh_runtime::{
    builtin::{AGENTS, Builtin},
    rate_limits,
};
use relaymesh_store::{Reader as _, TaskFilter};
use serde_json::{Map, Value, json};

const EXAMPLES: &str = "\
Examples:
  relaymesh agent show coder            show each setting and where it comes from
  relaymesh agent show coder --json | jq '.secrets'";

/// Show an agent: what it runs, its settings, and whether it is held
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the agent
    name: Name,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let agents = agents::read(&context.root)?;
    let facts = match agents.get(&args.name) {
        _ if Builtin::knows(&args.name) => builtin(&args.name),
        Some(agent) => facts(&args.name, agent, context)?,
        None => return Err(agents::unknown(&args.name, &agents)),
    };
    if context.json {
        output::value(&Value::Object(facts.into_iter().collect::<Map<_, _>>()));
        return Ok(Exit::Done);
    }
    let said = |value: &Value| !value.is_null() && *value != json!([]) && *value != json!({}) && *value != "";
    let rows = facts.iter().filter(|(_, value)| said(value));
    let rows: Vec<Vec<String>> = rows.map(|(name, value)| vec![name.replace('_', " "), words(value)]).collect();
    output::line(&output::table(&rows));
    Ok(Exit::Done)
}

type Facts = Vec<(String, Value)>;

fn builtin(name: &Name) -> Facts {
    let about = AGENTS.iter().find(|(known, _)| *known == name.as_str()).map(|(_, about)| *about);
    let facts = [("name", json!(name)), ("kind", json!("builtin")), ("about", json!(about))];
    facts.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

fn facts(name: &Name, agent: &Agent, context: &Context) -> Result<Facts, Error> {
    let Agent { terms, .. } = agent;
    let (process, tool) = (agent.process(), agent.tool());
    let command = process.map(|process| process.command.as_slice()).unwrap_or_default();
    let path = command.first().and_then(|word| program(word));
    let version = tool.and(path.as_deref()).and_then(version::of);
    let entries = rate_limits::entries(&context.root).unwrap_or_default();
    let entry = rate_limits::of(&entries, name, &terms.provider);
    let confinement = process.map(confine::level).map(|found| format!("{}: {}", found.level.as_str(), found.why));
    let retry = terms.retry.policy(crate::settings::current(context)?.settings.retry());
    let confirm = match &terms.confirm {
        Confirm::Each(false) => Value::Null,
        Confirm::Each(true) => json!("before every step"),
        Confirm::Words(words) => json!({ "if_the_input_has": words }),
    };
    let RetryPolicy { max_attempts, backoff } = retry;
    let facts = [
        ("name", json!(name)),
        ("kind", json!(kind(agent))),
        ("about", json!(terms.about)),
        ("labels", json!(terms.labels)),
        ("command", json!(command)),
        ("args", json!(tool.map(|setup| setup.args.as_slice()).unwrap_or_default())),
        ("url", json!(agent.http().map(|http| http.shown_url()))),
        (
            "program",
            match path {
                Some(path) => json!(path),
                None => json!(process.map(|_| "not found in PATH")),
            },
        ),
        ("version", json!(version)),
        ("model", json!(agent.model())),
        ("provider", json!(terms.provider)),
        ("held_until", json!(entry.map(|entry| time::rfc3339(entry.until_ms)))),
        ("held_because", json!(entry.map(|entry| &entry.reason))),
        ("places", json!(terms.concurrency)),
        ("places_in_use", json!(running(name, context)?)),
        ("timeout", json!(terms.timeout_ms.map(time::span))),
        ("max_attempts", json!(max_attempts)),
        ("backoff", json!(format!("{} to {}", time::span(backoff.base_ms), time::span(backoff.max_ms)))),
        ("folder", json!(process.map(folder))),
        ("confirm", confirm),
        ("confinement", json!(confinement)),
        ("writable", json!(process.map(|process| process.writable.as_slice()).unwrap_or_default())),
        ("environment", json!(process.map(|process| environment(process, terms)).unwrap_or_default())),
        ("secrets", known_secrets(terms, context)),
        ("input_secrets", json!(terms.input_secrets)),
        ("language_model", json!(terms.llm)),
        ("grace", json!(process.map(|process| time::span(process.grace_ms)))),
        ("longest_result", json!(agent.output_bytes_max())),
        ("stands_in", json!(context.root.join(FILE))),
    ];
    Ok(facts.map(|(name, value)| (name.to_owned(), value)).to_vec())
}

fn folder(process: &Process) -> Value {
    process.folder.as_ref().map_or_else(|| json!("a new one for each attempt"), |path| json!(path))
}

/// The names of the variables that it would be given, as this process has them; the daemon may have others.
fn environment(process: &Process, terms: &Terms) -> Vec<String> {
    let passed = ENVIRONMENT.iter().copied().chain(process.env.iter().map(String::as_str));
    let mut names: Vec<String> = passed.filter(|name| std::env::var_os(name).is_some()).map(str::to_owned).collect();
    names.extend(process.set.keys().chain(terms.secrets.keys()).cloned());
    names.sort();
    names.dedup();
    names
}

/// Each variable that is a secret, and whether there is one.
fn known_secrets(terms: &Terms, context: &Context) -> Value {
    let known = secrets::vault(&context.root).names();
    let state = |name: &Name| match &known {
        Ok(names) if names.contains(name) => "is set".to_owned(),
        Ok(_) => format!("is not set: use `relaymesh secret set {name}`"),
        Err(error) => error.to_string(),
    };
    let named = terms
        .secrets
        .iter()
        .map(|(variable, name)| (variable.clone(), json!(format!("{name}, which {}", state(name)))));
    Value::Object(named.collect())
}

/// How many attempts of it are under way.
fn running(agent: &Name, context: &Context) -> Result<usize, Error> {
    if !root::exists(&context.root) {
        return Ok(0);
    }
    let mut reader = root::read(&context.root)?;
    let filter = TaskFilter { status: Some(Status::Running), ..TaskFilter::default() };
    let mut count = 0;
    lookup::each_task(&mut reader, &filter, |reader, task| {
        let steps = reader.task(task.id)?.into_iter().flat_map(|rows| rows.steps);
        count += steps.filter(|step| step.spec.agent == *agent && step.status == Status::Running).count();
        Ok(())
    })?;
    Ok(count)
}

/// A value for people.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => output::clean(text),
        Value::Array(list) => list.iter().map(|word| quoted(&words(word))).collect::<Vec<_>>().join(" "),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| format!("{name}: {}", words(value))).collect::<Vec<_>>().join("; ")
        }
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(_) | Value::Null => value.to_string(),
    }
}
