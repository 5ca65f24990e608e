//! The benchmark of the kernel: no-op tasks through the driver, synced, beside a reference without logic.
//!
//! Figures of one machine at one moment say little, so everything is a ratio to something measured in the same run. The
//! reference (plain SQLite, the same rows, no rules) is measured again before each part, all parts are measured in several
//! rounds, and the median of each figure counts. Each part is a process of its own, on a fresh folder, so that one part's
//! memory and files
//! are not another's.
//!
//! A *caller* submits a task, waits until it has ended, and submits the next; many callers share a thread, as they do
//! behind a socket. A task is three ops: the submit, the claim and the completion by the builtin `echo`.

use crate::{
    Context,
    agents::{self, Models},
    api, feed, fold, load, reference,
    report::Report,
    runtime,
};
use clap::Subcommand;
use relaymesh_api::error::{Code, Error};

use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

/// One part, run in a process of its own.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Part {
    /// Plain SQLite without logic
    Reference {
        #[arg(long)]
        batch: usize,
        #[arg(long)]
        tasks: usize,
    },
    /// Commits of one row
    OneRow {
        #[arg(long)]
        commits: usize,
    },
    /// Callers through the driver
    Callers {
        #[arg(long)]
        callers: usize,
        #[arg(long)]
        tasks: u64,
    },
    /// A log that is read, folded, rebuilt and let go of
    Fold {
        #[arg(long)]
        tasks: u64,
    },
    /// Many tasks, to see what growth costs
    Growth {
        #[arg(long)]
        tasks: u64,
    },
}

/// Runs one part in `dir` and gives its figures.
pub(crate) fn part(dir: &Path, part: &Part) -> Result<Value, Error> {
    Ok(match part {
        Part::Reference { batch, tasks } => {
            json!({ "tasks_per_s": reference::run(dir, *batch, *tasks)?.tasks_per_s })
        }
        Part::OneRow { commits } => {
            let mut took = reference::one_row_commit(dir, *commits)?;
            json!({ "p50_ms": load::percentile(&mut took, 50.0), "p99_ms": load::percentile(&mut took, 99.0) })
        }
        Part::Callers { callers, tasks } => load::callers(dir, *callers, *tasks)?,
        Part::Fold { tasks } => fold::measure(dir, *tasks)?,
        Part::Growth { tasks } => load::growth(dir, *tasks)?,
    })
}

/// Runs everything and prints the report: every part in every round, beside the reference, and medians count.
pub(crate) fn kernel(dir: &Path, quick: bool, growth: Option<u64>, json: bool) -> Result<(), Error> {
    let rounds = if quick { 1 } else { 5 };
    let mut runner = Runner { dir: dir.to_owned(), number: 0 };
    let mut report = Report::default();
    let mut runs: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
    let mut one_row = Vec::new();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        one_row.push(runner.run("one row, one commit", &["one-row", "--commits", "1000"])?);
        for callers in [1, 16, 64, 256] {
            let reference = runner.run("reference", &["reference", "--batch", "256", "--tasks", "20480"])?;
            report.reference.extend(reference["tasks_per_s"].as_f64());
            let tasks = (callers.clamp(4, 100) * 400).to_string();
            let arguments = ["callers", "--callers", &callers.to_string(), "--tasks", &tasks];
            runs.entry(callers).or_default().push(runner.run(&format!("{callers} callers"), &arguments)?);
        }
    }
    report.one_row = medians(&one_row);
    report.callers = runs.into_iter().map(|(callers, runs)| (callers, medians(&runs))).collect();
    if let Some(tasks) = growth {
        report.growth = Some(runner.run(&format!("{tasks} tasks"), &["growth", "--tasks", &tasks.to_string()])?);
    }
    report.print(json);
    Ok(())
}

/// The benchmark of feeds: in memory, it writes nothing.
pub(crate) fn feed(tasks: u64, json: bool) -> Result<(), Error> {
    let found = feed::measure(tasks)?;
    if json {
        println!("{found}");
    } else {
        feed::print(&found);
    }
    Ok(())
}

/// Measures what becomes of a log of so many tasks, and prints the report.
pub(crate) fn fold(dir: &Path, tasks: u64, json: bool) -> Result<(), Error> {
    let mut runner = Runner { dir: dir.to_owned(), number: 0 };
    let found = runner.run("fold", &["fold", "--tasks", &tasks.to_string()])?;
    if json {
        println!("{found}");
    } else {
        fold::print(&found);
    }
    Ok(())
}

/// Measures the daemon, and prints the report.
pub(crate) fn runtime(context: &Context, dir: &Path, quick: bool) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::new(Code::StoreIo, format!("the benchmark's folder: {error}"));
    let dir = dir.join(format!(".relaymesh-bench-{}", std::process::id()));
    std::fs::create_dir_all(dir.join("one-row")).map_err(failed)?;
    let found = runtime::measure(context, &dir, quick);
    std::fs::remove_dir_all(&dir).map_err(failed)?;
    if context.json {
        println!("{}", found?);
    } else {
        runtime::print(&found?);
    }
    Ok(())
}

/// Measures the HTTP API beside the driver, and prints the report.
pub(crate) fn api(context: &Context, dir: &Path, quick: bool) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::new(Code::StoreIo, format!("the benchmark's folder: {error}"));
    let dir = dir.join(format!(".relaymesh-bench-{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(failed)?;
    let found = api::measure(context, &dir, quick);
    std::fs::remove_dir_all(&dir).map_err(failed)?;
    if context.json {
        println!("{}", found?);
    } else {
        api::print(&found?);
    }
    Ok(())
}

/// Measures the adapters, and prints the report.
pub(crate) fn agents(context: &Context, dir: &Path, models: &Models) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::new(Code::StoreIo, format!("the benchmark's folder: {error}"));
    let dir = dir.join(format!(".relaymesh-bench-{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(failed)?;
    let dir = dir.canonicalize().map_err(failed)?;
    let found = agents::measure(context, &dir, models);
    std::fs::remove_dir_all(&dir).map_err(failed)?;
    if context.json {
        println!("{}", found?);
    } else {
        agents::print(&found?);
    }
    Ok(())
}

/// The median of every figure over the runs.
fn medians(runs: &[Value]) -> Value {
    let names = runs.first().and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.clone());
    let median = |name: String| {
        let mut found: Vec<f64> = runs.iter().filter_map(|run| run[&name].as_f64()).collect();
        found.sort_by(f64::total_cmp);
        let middle = found.get(found.len() / 2).copied();
        (name, json!(middle))
    };
    Value::Object(names.map(median).collect())
}

struct Runner {
    dir: PathBuf,
    number: u32,
}

impl Runner {
    /// Runs a part in a process of its own, on a folder of its own that is removed afterwards.
    fn run(&mut self, what: &str, arguments: &[&str]) -> Result<Value, Error> {
        let failed = |detail: String| Error::new(Code::StoreIo, format!("the benchmark part `{what}`: {detail}"));
        self.number += 1;
        let dir = self.dir.join(format!(".relaymesh-bench-{}-{}", std::process::id(), self.number));
        std::fs::create_dir_all(&dir).map_err(|error| failed(error.to_string()))?;
        eprintln!("measuring: {what} …");
        let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new(program);
        command.args(["part", "--dir"]).arg(&dir).args(arguments).stderr(Stdio::inherit());
        let output = command.output();
        let removed = std::fs::remove_dir_all(&dir);
        let output = output.map_err(|error| failed(error.to_string()))?;
        removed.map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(format!("ended with {}", output.status)));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
    }
}

/// Milliseconds with a fraction.
pub(crate) fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}
