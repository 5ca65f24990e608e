//! `cargo xtask tools`: the real programs that some tests run, from npm, PyPI and Debian, into `target/tools`.

use crate::run::{Cmd, Failure, Result, Workspace};
use std::path::Path;

/// What is installed. One version of each: the tests know what these say.
const PACKAGES: [&str; 8] = [
    "node@24.21.0",
    "openapi-typescript@7.13.0",
    "openapi-fetch@0.17.0",
    "typescript@5.9.3",
    "@openai/codex@0.166.0",
    "@anthropic-ai/claude-code@2.1.197",
    "@google/gemini-cli@0.61.0",
    "opencode-ai@1.18.33",
];

/// Programs that are there afterwards.
const PROGRAMS: [&str; 7] = ["node", "codex", "claude", "gemini", "opencode", "openapi-typescript", "tsc"];

/// What is written in Python, each in a folder of its own: the folder, which is the program's name, too, and the package.
const PYTHON: [(&str, &str); 5] = [
    ("aider", "aider-chat==0.86.2"),
    ("phoenix", "arize-phoenix==20.26.1"),
    ("schemathesis", "schemathesis==4.32.5"),
    ("openapi-spec-validator", "openapi-spec-validator==0.9.0"),
    ("openapi-python-client", "openapi-python-client==0.29.1"),
];

pub(crate) fn run(workspace: &Workspace) -> Result {
    let folder = workspace.root.join("target/tools");
    npm(&folder)?;
    // These take a Python, or a Debian, that not every machine has.
    PYTHON.into_iter().try_for_each(|(program, package)| optional(program, python(&folder, program, package)))?;
    optional("promtool", promtool(&folder))
}

/// Without it its tests are skipped and say so; in the continuous integration that is a failure.
fn optional(program: &str, installed: Result) -> Result {
    match installed {
        Err(Failure(why)) if std::env::var_os("CI").is_none_or(|value| value != "true") => {
            eprintln!("    {program} is not installed: {why}");
            Ok(())
        }
        installed => installed,
    }
}

/// The program alone, out of Debian's package: installing the package would start a server.
fn promtool(folder: &Path) -> Result {
    if folder.join("prometheus/usr/bin/promtool").exists() {
        return Ok(());
    }
    let fresh = folder.join("prometheus");
    let prepared = if fresh.exists() { std::fs::remove_dir_all(&fresh) } else { Ok(()) };
    prepared
        .and_then(|()| std::fs::create_dir_all(&fresh))
        .map_err(|error| Failure(format!("cannot prepare {}: {error}", fresh.display())))?;
    let download = Cmd::new("apt-get", "download prometheus");
    if download.run(&fresh).is_err() {
        // The list of packages may be missing or old.
        Cmd::new("apt-get", "update").run(&fresh)?;
        download.run(&fresh)?;
    }
    let packages = fresh.read_dir().map_err(|error| Failure(format!("cannot read {}: {error}", fresh.display())))?;
    let package = packages
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .find(|name| name.ends_with(".deb"))
        .ok_or_else(|| Failure("apt-get brought no package of prometheus".into()))?;
    Cmd::new("dpkg-deb", "--extract").arg(package).arg(".").run(&fresh)
}

fn python(folder: &Path, program: &str, package: &str) -> Result {
    let own = folder.join(program).join("bin");
    if own.join(program).exists() {
        return Ok(());
    }
    Cmd::new("python3", "-m venv").arg(program).run(folder)?;
    Cmd::new(own.join("pip"), "install --quiet --disable-pip-version-check").arg(package).run(folder)
}

fn npm(folder: &Path) -> Result {
    if PROGRAMS.iter().all(|program| folder.join("node_modules/.bin").join(program).exists()) {
        eprintln!("    the tools from npm are in target/tools");
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
