//! `cargo xtask test`: all tests. Those that run the program run the one that was built with them, so there is one build.
//!
//! A test that lacks a tool says so on stderr in a line starting with `SKIPPED:` and passes. Both runners hide what a
//! passing test prints, so those lines are fetched here and repeated at the end: a skipped test must not look like a
//! passed one.

use std::collections::BTreeSet;
use std::path::Path;

use crate::run::{Cmd, Result, Workspace};

/// May a failing test leave something in the tree (a snapshot to review, a seed to replay)?
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Writes {
    Allowed,
    Forbidden,
}

pub(crate) fn run(workspace: &Workspace, writes: Writes) -> Result {
    if std::env::var_os("CI").is_some_and(|value| value == "true") {
        fetch_strace(&workspace.root);
        crate::tools::run(workspace)?;
    }
    let prepared = |command: Cmd| match writes {
        Writes::Allowed => command,
        Writes::Forbidden => command.env("INSTA_UPDATE", "no").env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true"),
    };
    let mut skipped = BTreeSet::new();
    let outcome = if Cmd::cargo("nextest --version").works(&workspace.root) {
        run_nextest(workspace, prepared, &mut skipped)
    } else {
        prepared(Cmd::cargo("test --workspace --locked --no-fail-fast --lib --bins --tests -- --show-output"))
            .run_seeing(&workspace.root, |line| skipped.extend(skipped_in(line)))
    };
    match skipped.len() {
        0 => eprintln!("    no test was skipped for want of a tool"),
        count => eprintln!("    {count} skipped for want of a tool:"),
    }
    skipped.iter().for_each(|line| eprintln!("      {line}"));
    outcome
}

fn run_nextest(workspace: &Workspace, prepared: impl Fn(Cmd) -> Cmd, skipped: &mut BTreeSet<String>) -> Result {
    let report = workspace.root.join("target/nextest/default/junit.xml");
    // A report of an earlier run would tell of skips that are no more; that there is none is fine.
    let _ = std::fs::remove_file(&report);
    let config = workspace.root.join("xtask/nextest.toml");
    let command = Cmd::cargo("nextest run --workspace --locked --tool-config-file")
        .arg(format!("relaymesh-xtask:{}", config.display()));
    // Gigabytes of test programs were written just now; until they are on the disk every sync of a test waits behind them.
    prepared(command.clone().arg("--no-run")).run(&workspace.root)?;
    let _ = Cmd::new("sync", "").works(&workspace.root);
    let outcome = prepared(command.arg("--no-fail-fast")).run(&workspace.root);
    if let Ok(text) = std::fs::read_to_string(&report) {
        skipped.extend(text.lines().filter_map(skipped_in));
    } else if outcome.is_ok() {
        eprintln!("    note: nextest wrote no report, so skipped tests could not be listed");
    }
    outcome
}

/// The `SKIPPED:` line in one line of output. The report wraps the first line of a test's output in a tag.
fn skipped_in(line: &str) -> Option<String> {
    let line = line.trim_start();
    let line = line.strip_prefix("<system-err>").or(line.strip_prefix("<system-out>")).unwrap_or(line);
    let line = line.strip_suffix("</system-err>").unwrap_or(line);
    let plain = line.replace("&quot;", "\"").replace("&apos;", "'").replace("&lt;", "<").replace("&gt;", ">");
    plain.starts_with("SKIPPED:").then(|| plain.replace("&amp;", "&"))
}

/// In the continuous integration `strace` is fetched where that can be done. Elsewhere fail points take its place.
fn fetch_strace(root: &Path) {
    let is_there = || Cmd::new("strace", "--version").works(root);
    if is_there() {
        return;
    }
    let is_root = Cmd::new("id", "-u").read(root).is_ok_and(|id| id.trim() == "0");
    if is_root && Cmd::new("apt-get", "--version").works(root) {
        let install = Cmd::new("apt-get", "install -y strace").env("DEBIAN_FRONTEND", "noninteractive");
        if let Err(failure) = Cmd::new("apt-get", "update").run(root).and_then(|()| install.run(root)) {
            eprintln!("    {failure}");
        }
    }
    if !is_there() {
        eprintln!("    note: strace is missing and could not be installed; the kill test uses fail points");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_lines_are_found_in_either_form() {
        assert_eq!(skipped_in("SKIPPED: no strace").as_deref(), Some("SKIPPED: no strace"));
        let reported = "    <system-err>SKIPPED: no &quot;strace&quot;</system-err>";
        assert_eq!(skipped_in(reported).as_deref(), Some("SKIPPED: no \"strace\""));
        assert_eq!(skipped_in("test a ... ok"), None);
        assert_eq!(skipped_in("it said SKIPPED: once"), None);
    }
}
