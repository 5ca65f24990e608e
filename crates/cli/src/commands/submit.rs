//! `relaymesh submit`

use crate::{
    agents,
    args::{Context, Key},
    drive::{Patience, Start, drive},
    error::{Code, Error},
    exit::Exit,
    flow,
    link::{self, Missing},
    output,
    remote::{self, Followed},
    watch::{self, Watch},
};
use relaymesh_agents::Agents;
use relaymesh_api::view::Accepted;
use relaymesh_core::{
    lanes::Priority,
    name::Name,
    task::request::{Request, RetryRequest},
};
use relaymesh_runtime::driver::{Answer, Command, Submit, Until};
use serde_json::{Value, json};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  relaymesh submit --agent echo --input '{\"text\": \"hello\"}'
  relaymesh submit --agent sleep --input '{\"ms\": 500}' --priority high --wait
  relaymesh submit --agent hash --input @data.json --key nightly-2026-11-16
  relaymesh submit --file examples/hello.yaml

`relaymesh agent list` shows who can do it.

An equal request is the same task, and the answer says so; `--new` runs it again.
With `--key` or `--request-id` a repeated submit is the same task whatever happened in between,
and another request under that key is refused.";

/// Accept a task durably and print its id
///
/// The daemon works on it; `--wait`, or `relaymesh task wait ID` later, waits for its end.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Who is to do it
    #[arg(long, value_name = "NAME", required_unless_present = "file")]
    agent: Option<Name>,
    /// What it, or the flow, is given: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// A flow of several steps instead
    #[arg(long, value_name = "FLOW", conflicts_with_all = STEP_ARGUMENTS)]
    file: Option<PathBuf>,
    /// What people call it
    #[arg(long, value_name = "N")]
    name: Option<Name>,
    /// Which lane it waits in: high, normal or low
    #[arg(long)]
    priority: Option<Priority>,
    /// Attempts in all; without it, as the setting of this name says
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// Time before the second attempt
    #[arg(long, value_name = "MS")]
    base_backoff_ms: Option<u64>,
    /// The longest time between two attempts
    #[arg(long, value_name = "MS")]
    max_backoff_ms: Option<u64>,
    /// How long one attempt may take
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
    /// Work on it here until it has ended
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    key: Key,
}

const STEP_ARGUMENTS: [&str; 7] =
    ["agent", "name", "priority", "max_attempts", "base_backoff_ms", "max_backoff_ms", "timeout_ms"];

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    if let Some(remote) = &context.remote {
        let body = args.body(context)?;
        if args.wait {
            let mut watch = Watch::new(context, false);
            return remote::follow(remote, Followed::Submit(body), &mut watch, Patience::default());
        }
        return Ok(accepted(context, &remote.post(&["tasks"], &body)?));
    }
    let request = args.request(&agents::read(&context.root)?)?;
    let prepared = args.key.prepare(&request, context)?;
    let submit = Submit::new(context.namespace.clone(), prepared, Until::Accepted);
    if args.wait {
        let (start, mut watch) = (Start::Submit(Box::new(submit)), Watch::new(context, false));
        return drive(context, Missing::Make, start, &mut watch, Patience::default());
    }
    let answer = link::once(context, Missing::Make, Command::Submit(submit))?;
    let Answer::Accepted { task, status, merged, class } = answer else { return Err(link::unexpected(&answer)) };
    Ok(accepted(context, &Accepted { task, status, merged, class }))
}

fn accepted(context: &Context, accepted: &Accepted) -> Exit {
    if accepted.merged {
        output::note(&watch::merged(accepted.task));
    }
    if context.json {
        output::value(&json!(accepted));
    } else {
        output::line(&accepted.task.to_string());
    }
    Exit::Done
}

impl Args {
    /// The same for a daemon elsewhere, which knows its agents itself.
    fn body(&self, context: &Context) -> Result<Value, Error> {
        if let Some(file) = &self.file {
            return flow::body(file, self.input.as_deref(), &self.key, context);
        }
        let retry = RetryRequest {
            max_attempts: self.max_attempts,
            base_backoff_ms: self.base_backoff_ms,
            max_backoff_ms: self.max_backoff_ms,
        };
        let mut body = json!({ "namespace": context.namespace, "agent": self.agent, "retry": retry });
        let input = self.input.as_deref().map(flow::input).transpose()?;
        let given = [
            ("input", input),
            ("name", self.name.as_ref().map(|name| json!(name))),
            ("priority", self.priority.map(|priority| json!(priority))),
            ("timeout_ms", self.timeout_ms.map(|timeout_ms| json!(timeout_ms))),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                body[name] = value;
            }
        }
        self.key.put(&mut body);
        Ok(body)
    }

    fn request(&self, agents: &Agents) -> Result<Request, Error> {
        if let Some(file) = &self.file {
            return flow::given(flow::read(file, agents)?, self.input.as_deref());
        }
        let agent = self.agent.clone().ok_or_else(|| Error::new(Code::Usage, "give --agent or --file"))?;
        let input = self.input.as_deref().map(flow::input).transpose()?;
        let mut request = Request::single(agent, input);
        request.name = self.name.clone().unwrap_or(request.name);
        for step in &mut request.steps {
            step.priority = self.priority.unwrap_or_default();
            step.retry.max_attempts = self.max_attempts;
            step.retry.base_backoff_ms = self.base_backoff_ms;
            step.retry.max_backoff_ms = self.max_backoff_ms;
            step.timeout_ms = self.timeout_ms;
        }
        agents::check(&request, agents).map_err(|(_, error)| error)?;
        Ok(request)
    }
}
