//! `relaymesh flow`

use crate::{
    agents,
    args::Context,
    error::Error,
    exit::Exit,
    flow::{self, graph, schema},
    output,
};
use clap::Subcommand;
use relaymesh_core::task::request::{Prepared, Request};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  relaymesh flow check flow.yaml                       check agents, references and dependencies
  relaymesh flow check flow.yaml --input '{\"n\": 1}'    check the input too
  relaymesh flow graph flow.yaml                       show the order of the steps
  relaymesh flow graph flow.yaml --format svg > flow.svg
  relaymesh flow schema > flow.schema.json             write the JSON schema, for editors

A flow:
  name: review
  input: {type: object, required: [repo], properties: {repo: {type: string}}}
  steps:
    - {id: find, agent: grep, input: {path: \"${{ input.repo }}\"}}
    - id: fix
      agent: codex
      foreach: ${{ steps.find.result.files }}
      input: {file: \"${{ item }}\"}
      timeout: 10m
      retry: {max_attempts: 2}
    - id: publish
      agent: git
      when: length(steps.fix.result) > 0
      approve: Publish the fixes?

Expressions have paths (steps.ID.result.a.b[0], steps.ID.status, input.x, item, index), comparisons
(== != < <= > >=), logic (&& || !), and the functions length(x), contains(list, x), has(path) and
default(path, x). A string that is a single ${{ }} keeps the type of its value. A step waits for
every step it refers to. It is skipped if its condition is false, or if every step it depends on was
skipped.";

const CHECK: &str = "\
Examples:
  relaymesh flow check flow.yaml                       check agents, references and dependencies
  relaymesh flow check flow.yaml --input @input.json   check the input too
  relaymesh flow check flow.yaml --json | jq .steps    print the steps as they would be submitted";

const GRAPH: &str = "\
Examples:
  relaymesh flow graph flow.yaml                       text, for a terminal
  relaymesh flow graph flow.yaml --format mermaid      for a Markdown page
  relaymesh flow graph flow.yaml --format svg > flow.svg";

const SCHEMA: &str = "\
Examples:
  relaymesh flow schema > flow.schema.json

For editors with YAML support, make this the first line of a flow:
  # yaml-language-server: $schema=flow.schema.json";

/// Check and draw flows without running them
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    /// Check a flow without submitting it
    #[command(after_help = CHECK)]
    Check {
        /// Flow file: YAML, or JSON if its name ends in .json; `-` for stdin
        #[arg(value_name = "FLOW")]
        flow: PathBuf,
        /// Input of the flow: JSON, @FILE, or - for stdin
        #[arg(long, value_name = "JSON")]
        input: Option<String>,
    },
    /// Draw a flow
    #[command(after_help = GRAPH)]
    Graph {
        /// Flow file: YAML, or JSON if its name ends in .json; `-` for stdin
        #[arg(value_name = "FLOW")]
        flow: PathBuf,
        /// Output format
        #[arg(long, value_enum, default_value_t = graph::Format::Text)]
        format: graph::Format,
    },
    /// Print the JSON schema of flow files
    #[command(after_help = SCHEMA)]
    Schema,
}

pub(crate) fn run(command: &Command, context: &Context) -> Result<Exit, Error> {
    match command {
        Command::Check { flow, input } => {
            let flow = flow::check(flow, &agents::read(&context.root)?, &context.namespace)?;
            let flow = if input.is_some() { flow.given(input.as_deref())? } else { flow };
            let prepared = flow.prepare(&context.namespace, None, 0)?;
            checked(&flow.request, &prepared, context);
        }
        Command::Graph { flow, format } => {
            let flow = flow::read(flow, Some(&agents::read(&context.root)?))?;
            let drawing = graph::draw(&flow.prepare(&context.namespace, None, 0)?.schedule, *format);
            output::text(context, "drawing", &drawing);
        }
        Command::Schema => output::document(context, schema::FLOW),
    }
    Ok(Exit::Done)
}

fn checked(request: &Request, prepared: &Prepared, context: &Context) {
    let schedule = &prepared.schedule;
    let steps = schedule.steps.len();
    if context.json {
        output::value(&relaymesh_api::flow::outline(request, prepared));
        return;
    }
    output::line(&format!("{}: {steps} step{}, no errors", schedule.name, if steps == 1 { "" } else { "s" }));
}
