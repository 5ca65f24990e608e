//! `cargo xtask tools`: the real agent tools that some tests run, from npm, into `target/tools`.

use crate::run::{Cmd, Failure, Result, Workspace};

/// What is installed. One version of each: the tests know what these say.
const PACKAGES: [&str; 3] = ["node@24.21.0", "@openai/codex@0.166.0", "@anthropic-ai/claude-code@2.1.197"];

/// Programs that are there afterwards.
const PROGRAMS: [&str; 3] = ["node", "codex", "claude"];

pub(crate) fn run(workspace: &Workspace) -> Result {
    let folder = workspace.root.join("target/tools");
    if PROGRAMS.iter().all(|program| folder.join("node_modules/.bin").join(program).exists()) {
        eprintln!("    the agent tools are in target/tools");
        return Ok(());
    }
    // A folder with a package of its own: npm would look for one further up.
    let made = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("package.json"), "{\"private\": true}\n"));
    made.map_err(|error| Failure(format!("cannot prepare {}: {error}", folder.display())))?;
    PACKAGES
        .iter()
        .fold(Cmd::new("npm", "install --no-save --no-package-lock --no-audit --no-fund"), |command, package| {
            command.arg(*package)
        })
        .run(&folder)
}
