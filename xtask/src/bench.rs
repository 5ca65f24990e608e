//! `cargo xtask bench`: the benchmarks, and the program as packages have it beside them, which is what `runtime`, `api` and `agents` measure.

use crate::run::{Cmd, Failure, Result, Workspace};
use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

/// More turns than a benchmark asks for.
const TURNS: usize = 5_000;

pub(crate) fn run(workspace: &Workspace, arguments: Vec<String>) -> Result {
    let arguments = with_benchmark(arguments);
    workspace.binary("dist", "relaymesh")?;
    let binary = workspace.binary("dist", "relaymesh-bench")?;
    let bench = |more: Vec<String>| {
        let (first, rest) = arguments.split_first().expect("a benchmark is named");
        let words = rest.iter().cloned().chain(more);
        words.fold(Cmd::new(&binary, first), Cmd::arg).run(&workspace.root)
    };
    if arguments.first().is_none_or(|first| first != "agents") {
        return bench(Vec::new());
    }
    Cmd::cargo("build --locked -p relaymesh-fake-model").run(&workspace.root)?;
    let (model, tools_model) = (Model::start(workspace, false)?, Model::start(workspace, true)?);
    let mut more = vec!["--model".to_owned(), model.url.clone(), "--tools-model".to_owned(), tools_model.url.clone()];
    let tools = workspace.root.join("target/tools/node_modules/.bin");
    if tools.join("codex").exists() {
        more.extend(["--tools".to_owned(), tools.display().to_string()]);
    } else {
        eprintln!("    codex and claude are left out: `cargo xtask tools` installs them");
    }
    bench(more)
}

/// A scripted model. It is ended when it is dropped.
struct Model {
    child: Child,
    url: String,
}

impl Model {
    fn start(workspace: &Workspace, tools: bool) -> Result<Self> {
        let failed = |error: std::io::Error| Failure(format!("cannot start the scripted model: {error}"));
        let script = workspace.root.join("target/bench-turns.json");
        write_turns(&script).map_err(failed)?;
        let mut command = Command::new(workspace.root.join("target/debug/relaymesh-fake-model"));
        command.args(tools.then_some("--tools")).arg(&script).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let mut url = String::new();
        if let Some(stdout) = child.stdout.take() {
            let mut lines = BufReader::new(stdout);
            lines.read_line(&mut url).map_err(failed)?;
            // What it was asked is nobody's business here, but it must not wait for a reader.
            std::thread::spawn(move || lines.lines().for_each(drop));
        }
        Ok(Self { child, url: url.trim().to_owned() })
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write_turns(file: &Path) -> std::io::Result<()> {
    let turns = vec![serde_json::json!({ "say": "Done." }); TURNS];
    std::fs::write(file, serde_json::Value::from(turns).to_string())
}

/// `kernel` is the benchmark when the first argument names none.
fn with_benchmark(mut arguments: Vec<String>) -> Vec<String> {
    if arguments.first().is_none_or(|first| first.starts_with('-')) {
        arguments.insert(0, "kernel".into());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_is_the_default() {
        let given = |words: &[&str]| with_benchmark(words.iter().map(ToString::to_string).collect());
        assert_eq!(given(&[]), ["kernel"]);
        assert_eq!(given(&["--quick"]), ["kernel", "--quick"]);
        assert_eq!(given(&["kernel", "--quick"]), ["kernel", "--quick"]);
        assert_eq!(given(&["other"]), ["other"]);
    }
}
