//! `cargo xtask tools`: the real programs that some tests run, from npm and PyPI, into `target/tools`.

use crate::run::{Cmd, Failure, Result, Workspace};
use std::path::Path;

/// What is installed. One version of each: the tests know what these say.
const PACKAGES: [&str; 5] = [
    "node@24.21.0",
    "@openai/codex@0.166.0",
    "@anthropic-ai/claude-code@2.1.197",
    "@google/gemini-cli@0.61.0",
    "opencode-ai@1.18.33",
];

/// Programs that are there afterwards.
const PROGRAMS: [&str; 5] = ["node", "codex", "claude", "gemini", "opencode"];

/// The agent tool that is written in Python, and brings half of PyPI with it.
const AIDER: &str = "aider-chat==0.86.2";

/// Sends requests that follow from the OpenAPI document, and compares the answers with it.
const SCHEMATHESIS: &str = "schemathesis==4.32.5";

pub(crate) fn run(workspace: &Workspace) -> Result {
    let folder = workspace.root.join("target/tools");
    npm(&folder)?;
    // Without them their tests are skipped and say so, but for the continuous integration; they take a Python that not every machine has.
    for (name, package) in [("aider", AIDER), ("schemathesis", SCHEMATHESIS)] {
        match python(&folder, name, package) {
            Err(Failure(why)) if std::env::var_os("CI").is_none_or(|value| value != "true") => {
                eprintln!("    {name} is not installed: {why}");
            }
            installed => installed?,
        }
    }
    Ok(())
}

/// A program from PyPI with everything that it needs, in a folder of its own.
fn python(folder: &Path, name: &str, package: &str) -> Result {
    if folder.join(name).join("bin").join(name).exists() {
        return Ok(());
    }
    Cmd::new("python3", "-m venv").arg(name).run(folder)?;
    let pip = folder.join(name).join("bin/pip");
    Cmd::new(pip, "install --quiet --disable-pip-version-check").arg(package).run(folder)
}

fn npm(folder: &Path) -> Result {
    if PROGRAMS.iter().all(|program| folder.join("node_modules/.bin").join(program).exists()) {
        eprintln!("    the agent tools are in target/tools");
        return Ok(());
    }
    // A folder with a package of its own: npm would look for one further up.
    let made = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(folder.join("package.json"), "{\"private\": true}\n"));
    made.map_err(|error| Failure(format!("cannot prepare {}: {error}", folder.display())))?;
    PACKAGES
        .iter()
        .fold(Cmd::new("npm", "install --no-save --no-package-lock --no-audit --no-fund"), |command, package| {
            command.arg(*package)
        })
        .run(folder)
}
