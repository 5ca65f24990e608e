//! `relaymesh audit inference`

use crate::{args::Context, error::Error, exit::Exit, lookup, output, root, time, view};
use relaymesh_core::{
    budget,
    task::{
        Step, TaskRows,
        artifact::{Artifact, inference::KIND},
    },
};
use relaymesh_store::{ContentKey, Reader};
use serde_json::{Value, json};

const EXAMPLES: &str = "\
Examples:
  relaymesh audit inference tsk_01KH…               list calls: model, tokens, cost, time
  relaymesh audit inference tsk_01KH… --full        show prompts and outputs too
  relaymesh audit inference tsk_01KH… --json | jq .snapshot.output";

/// Show the prompts and outputs of models for a task
///
/// Every attempt that calls a model leaves a record of the call: model, parameters, prompt, output, tokens, time. With
/// `audit = "hashes"` in agents.toml, hashes replace prompt and output; with `audit = "off"`, nothing is recorded.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Id of the task, or at least four characters of its beginning or end
    id: String,
    /// Only this step
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
    /// Show prompts and outputs
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let mut reader = root::read(&context.root)?;
    let rows = lookup::task(&mut reader, &args.id)?;
    let only = args.step.as_deref().map(|text| lookup::step(&rows, text)).transpose()?.map(|(index, _)| index);
    let found: Vec<(&Step, &Artifact)> = snapshots(&rows, only).collect();
    if found.is_empty() {
        output::note("no model calls are recorded: none were made, or `audit` is \"off\"");
        return Ok(Exit::Done);
    }
    let mut table = vec![["STEP", "MODEL", "IN", "OUT", "COST", "TOOK", "BEGAN"].map(str::to_owned).to_vec()];
    for (step, artifact) in found {
        let snapshot = snapshot(&mut reader, step, artifact)?;
        if context.json {
            output::value(&to_json(step, artifact, &snapshot));
        } else if args.full {
            output::line(&in_full(step, artifact, &snapshot));
        } else {
            table.push(row(step, artifact, &snapshot));
        }
    }
    if !context.json && !args.full {
        output::rows(&table);
    }
    Ok(Exit::Done)
}

fn snapshots(rows: &TaskRows, only: Option<u16>) -> impl Iterator<Item = (&Step, &Artifact)> {
    let wanted = rows.indexed().filter(move |(index, _)| only.is_none_or(|only| only == *index));
    let artifacts = wanted.flat_map(|(_, step)| step.output_artifacts.iter().map(move |artifact| (step, artifact)));
    artifacts.filter(|(_, artifact)| artifact.kind.as_str() == KIND)
}

fn snapshot(reader: &mut impl Reader, step: &Step, artifact: &Artifact) -> Result<Value, Error> {
    let what = || format!("the snapshot of attempt {} of step `{}`", artifact.epoch, step.spec.name);
    view::content(reader, ContentKey::new(artifact.pos, 0), artifact.content, what)
}

fn about(artifact: &Artifact, word: &str) -> Option<u64> {
    let (_, value) = artifact.about.iter().find(|(name, _)| name.as_str() == word)?;
    value.parse().ok()
}

fn to_json(step: &Step, artifact: &Artifact, snapshot: &Value) -> Value {
    let about: serde_json::Map<String, Value> = artifact
        .about
        .iter()
        .map(|(word, value)| (word.to_string(), value.parse::<u64>().map_or_else(|_| json!(value), |n| json!(n))))
        .collect();
    json!({
        "step": step.spec.name, "agent": step.spec.agent, "epoch": artifact.epoch, "hash": artifact.content.hash,
        "about": about, "snapshot": snapshot,
    })
}

fn row(step: &Step, artifact: &Artifact, snapshot: &Value) -> Vec<String> {
    let number = |word| about(artifact, word).map_or_else(|| "-".to_owned(), |number| number.to_string());
    let cost =
        about(artifact, "cost_micros").map_or_else(|| "-".to_owned(), |cost| format!("${}", budget::dollars(cost)));
    let (began, ended) = (about(artifact, "began_ms"), about(artifact, "ended_ms"));
    let took = began.zip(ended).map(|(began, ended)| time::span(ended.saturating_sub(began))).unwrap_or_default();
    vec![
        format!("{}.{}", step.spec.name, artifact.epoch),
        output::clean(snapshot["model"].as_str().unwrap_or_default()),
        number("input_tokens"),
        number("output_tokens"),
        cost,
        took,
        began.map(time::rfc3339).unwrap_or_default(),
    ]
}

fn in_full(step: &Step, artifact: &Artifact, snapshot: &Value) -> String {
    let text = |name: &str| match snapshot[name].as_str() {
        Some(text) => text.lines().map(output::clean).collect::<Vec<_>>().join("\n"),
        None => snapshot[name].to_string(),
    };
    format!(
        "{}\nparameters: {}\nhash: {}\n--- prompt\n{}\n--- output\n{}\n",
        row(step, artifact, snapshot).join("  "),
        snapshot["parameters"],
        artifact.content.hash,
        text("prompt"),
        text("output")
    )
}
