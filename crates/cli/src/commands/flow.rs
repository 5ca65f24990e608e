//! `relaymesh flow`

use crate::{
    agents,
    args::Context,
    error::{Code, Error},
    exit::Exit,
    flow::{self, graph, schema},
    output,
};
use clap::Subcommand;
use relaymesh_core::{
    suggest,
    task::request::{Prepared, Request},
};
use serde_json::json;
use std::{
    fs::OpenOptions,
    io::{self, ErrorKind, Write as _},
    path::{Path, PathBuf},
};

/// The examples that are part of the program: their names, what each shows, and their texts.
const FLOWS: [(&str, &str, &str); 5] = [
    (FIRST, "steps in a diamond", include_str!("../../../../examples/hello.yaml")),
    ("retry", "a step that fails twice, then succeeds", include_str!("../../../../examples/retry.yaml")),
    (
        "compensate",
        "a step fails for good; earlier work is undone",
        include_str!("../../../../examples/compensate.yaml"),
    ),
    ("foreach", "one step for each item of a list, and a condition", include_str!("../../../../examples/foreach.yaml")),
    ("approval", "a person decides before a step runs", include_str!("../../../../examples/approval.yaml")),
];
const FIRST: &str = "hello";

const EXAMPLES: &str = "\
Examples:
  relaymesh flow new                                   write hello.yaml, a flow to start from
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

const NEW: &str = "\
Examples:
  relaymesh flow new                       write hello.yaml here
  relaymesh flow new --list                list the examples
  relaymesh flow new approval --print      print an example instead of writing it
  relaymesh flow new hello --out mine.yaml

The examples are part of the program and use built-in agents only, so they run as they are.";

/// Write, check and draw flows without running them
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    /// Write an example flow to start from
    #[command(after_help = NEW)]
    New {
        /// Name of the example
        #[arg(value_name = "EXAMPLE", default_value = FIRST)]
        example: String,
        /// List the examples
        #[arg(long, conflicts_with_all = ["example", "print", "out"])]
        list: bool,
        /// Print it instead of writing a file
        #[arg(long)]
        print: bool,
        /// File to write [default: EXAMPLE.yaml in this folder]
        #[arg(long, value_name = "FILE", conflicts_with = "print")]
        out: Option<PathBuf>,
    },
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
        Command::New { list: true, .. } => list(context),
        Command::New { example, print, out, .. } => {
            let text = known(example)?;
            if *print {
                output::text(context, "flow", text);
            } else {
                write(example, text, out.as_deref(), context)?;
            }
        }
        Command::Check { flow, input } => {
            let flow = flow::check(flow, &agents::read(&context.root)?, &context.namespace)?;
            let flow = if input.is_some() { flow.given(input.as_deref())? } else { flow };
            let prepared = flow.prepare(&context.namespace, None, 0)?;
            flow.check_workspaces(&context.root)?;
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

fn list(context: &Context) {
    if context.json {
        let flows = FLOWS.map(|(name, about, _)| json!({ "name": name, "about": about }));
        output::value(&json!(flows));
        return;
    }
    let head = ["EXAMPLE", "ABOUT"].map(str::to_owned).to_vec();
    let rows = FLOWS.iter().map(|(name, about, _)| vec![(*name).to_owned(), (*about).to_owned()]);
    output::rows(&std::iter::once(head).chain(rows).collect::<Vec<_>>());
}

fn known(name: &str) -> Result<&'static str, Error> {
    let names = || FLOWS.iter().map(|(name, ..)| *name);
    let found = FLOWS.iter().find(|(known, ..)| *known == name).map(|(.., text)| *text);
    found.ok_or_else(|| {
        let mut error = Error::new(Code::Usage, format!("there is no example `{}`", output::short(name, 40)));
        error.hints.extend(suggest::nearest(name, names()).map(|near| format!("did you mean `{near}`?")));
        error.hints.push(format!("the examples are: {}", names().collect::<Vec<_>>().join(", ")));
        error
    })
}

/// A file that is there is the user's, and stays as it is.
fn write(name: &str, text: &str, out: Option<&Path>, context: &Context) -> Result<(), Error> {
    let file = out.map_or_else(|| PathBuf::from(format!("{name}.yaml")), Path::to_owned);
    let shown = file.display();
    let failed = |error: io::Error| Error::new(Code::StoreIo, format!("cannot write {shown}: {error}"));
    let mut made = OpenOptions::new().write(true).create_new(true).open(&file).map_err(|error| {
        if error.kind() != ErrorKind::AlreadyExists {
            return failed(error);
        }
        let error = Error::new(Code::Refused, format!("{shown} already exists; nothing was written"));
        error.hint("name another file with `--out FILE`, or use `--print`")
    })?;
    made.write_all(text.as_bytes()).map_err(failed)?;
    if context.json {
        output::value(&json!({ "file": file }));
    } else {
        output::line(&shown.to_string());
        output::note(&format!("  next: `relaymesh run {shown} --watch`"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_a_flow_of_built_in_agents() {
        for (name, _, text) in FLOWS {
            let flow = flow::parse(text.to_owned(), format!("{name}.yaml"), false, Some(&Default::default()));
            let flow = flow.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(flow.request.name.as_str(), name);
            assert!(text.contains(&format!("relaymesh run {name}.yaml")), "{name} says how to run it");
        }
    }
}
