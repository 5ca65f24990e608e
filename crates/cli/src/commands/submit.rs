//! `relaymesh submit`

use crate::{
    agents,
    args::{Context, Key},
    client::Start,
    error::{Code, Error},
    exit::Exit,
    flow::{self, Flow},
    follow::{Patience, follow},
    output,
    watch::{self, Watch},
};
use relaymesh_agents::Agents;
use relaymesh_api::view::Accepted;
use relaymesh_core::{lanes::Priority, name::Name, task::request::Request};
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  relaymesh submit --agent echo --input '{\"text\": \"hello\"}'
  relaymesh submit --agent sleep --input '{\"ms\": 500}' --priority high --wait
  relaymesh submit --agent hash --input @data.json --key nightly-2026-11-16
  relaymesh submit --file hello.yaml              a flow (`relaymesh flow new` writes one)

`relaymesh agent list` lists the agents.

Submitting an equal request again returns the task that exists, and says so; `--new` runs it again.
With `--key` or `--request-id`, a repeated submit always returns the same task, and a different
request with that key is refused.";

/// Submit a task and print its id
///
/// The task is on disk when the id is printed, and the daemon runs it. Use `--wait`, or `relaymesh task wait ID`
/// later, to wait for its result.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Agent to run
    #[arg(long, value_name = "NAME", required_unless_present = "file")]
    agent: Option<Name>,
    /// Input of the agent or the flow: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Submit this flow instead of a single step
    #[arg(long, value_name = "FLOW", conflicts_with_all = STEP_ARGUMENTS)]
    file: Option<PathBuf>,
    /// Name of the task
    #[arg(long, value_name = "N")]
    name: Option<Name>,
    /// Priority: high, normal or low
    #[arg(long)]
    priority: Option<Priority>,
    /// Maximum number of attempts [default: of the agent, else the setting `max_attempts`]
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// Delay before the second attempt
    #[arg(long, value_name = "MS")]
    base_backoff_ms: Option<u64>,
    /// Maximum delay between two attempts
    #[arg(long, value_name = "MS")]
    max_backoff_ms: Option<u64>,
    /// Time limit of one attempt
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
    /// Wait until the task has ended, and print its result
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    key: Key,
}

const STEP_ARGUMENTS: [&str; 7] =
    ["agent", "name", "priority", "max_attempts", "base_backoff_ms", "max_backoff_ms", "timeout_ms"];

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let client = context.client();
    let submission = args.key.submission(args.flow(client.known()?)?, context)?;
    if args.wait {
        let start = Start::Submit(Box::new(submission));
        return follow(&*client, start, &mut Watch::new(context, false), Patience::default());
    }
    Ok(accepted(context, &client.submit(&submission)?))
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
    fn flow(&self, agents: Option<&Agents>) -> Result<Flow, Error> {
        if let Some(file) = &self.file {
            return flow::read(file, agents)?.given(self.input.as_deref());
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
        if let Some(agents) = agents {
            agents::check(&request, agents).map_err(|(_, error)| error)?;
        }
        Ok(Flow::new(request))
    }
}
