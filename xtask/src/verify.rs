//! `cargo xtask verify`: the gate. It checks everything and changes nothing.
//!
//! Cheap steps first, and every step runs whatever became of those before it: one run tells all that is wrong. The lock
//! file is held with `--locked`; tests may write neither snapshots nor seeds (a seed worth keeping becomes a named test);
//! and in the end the files are compared with what they were, so that the promise is checked and not just made.

use std::time::Instant;

use crate::run::{Cmd, Failure, Result, Workspace, elapsed};
use crate::tidy::tree;
use crate::{docs, test, tidy};

struct Step {
    name: &'static str,
    work: Work,
    /// Would `cargo xtask fix` mend a failure?
    is_fixable: bool,
}

enum Work {
    Run(Cmd),
    Tidy,
    Site,
    Test,
}

fn steps() -> Vec<Step> {
    let run = |name, is_fixable, command| Step { name, work: Work::Run(command), is_fixable };
    vec![
        run("format", true, Cmd::cargo("fmt --all --check")),
        run("lints", true, Cmd::cargo("clippy --workspace --all-targets --locked -- -D warnings")),
        Step { name: "tidy", work: Work::Tidy, is_fixable: false },
        Step { name: "site", work: Work::Site, is_fixable: false },
        Step { name: "tests", work: Work::Test, is_fixable: false },
        run(
            "docs",
            false,
            Cmd::cargo("doc --workspace --no-deps --locked --document-private-items")
                .env("RUSTDOCFLAGS", "-D warnings"),
        ),
    ]
}

impl Step {
    fn run(&self, workspace: &Workspace) -> Result {
        match &self.work {
            Work::Run(command) => command.run(&workspace.root),
            Work::Tidy => tidy::run(workspace, false),
            Work::Site => docs::run(workspace),
            Work::Test => test::run(workspace, test::Writes::Forbidden),
        }
    }

    fn repeat(&self) -> String {
        match &self.work {
            Work::Run(command) => command.to_string(),
            Work::Tidy => "cargo xtask tidy".into(),
            Work::Site => "cargo xtask docs".into(),
            Work::Test => "cargo xtask test".into(),
        }
    }

    fn failed(&self, failure: &Failure) -> Failure {
        let mend = if self.is_fixable { "\n  mend what can be mended: cargo xtask fix" } else { "" };
        Failure(format!(
            "verify failed in step \"{}\": {failure}\n  repeat this step: {}{mend}",
            self.name,
            self.repeat()
        ))
    }
}

pub(crate) fn run(workspace: &Workspace) -> Result {
    let (start, steps) = (Instant::now(), steps());
    let before = tree::stamps(&workspace.root)?;
    let mut summary = Vec::new();
    let mut failures = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        eprintln!("==> [{}/{}] {}", index + 1, steps.len(), step.name);
        let began = Instant::now();
        let outcome = step.run(workspace).map_err(|failure| step.failed(&failure));
        let word = if outcome.is_ok() { "ok" } else { "FAILED" };
        failures.extend(outcome.err());
        eprintln!("<== {} {word} in {}", step.name, elapsed(began));
        summary.push(format!("  {word:<7}  {:<10} {:>7}", step.name, elapsed(began)));
    }
    let untouched = compare(&before, &tree::stamps(&workspace.root)?);
    eprintln!("\nverify, {} in all:", elapsed(start));
    summary.iter().for_each(|line| eprintln!("{line}"));
    failures.extend(untouched.err());
    joined(&failures)
}

/// All failures in one, in the order of the steps.
fn joined(failures: &[Failure]) -> Result {
    if failures.is_empty() {
        return Ok(());
    }
    Err(Failure(failures.iter().map(|failure| failure.0.as_str()).collect::<Vec<_>>().join("\n")))
}

/// On a developer's machine an editor may have saved meanwhile: that is worth a word. In the continuous integration
/// nobody else writes, so there it is a failure.
fn compare(before: &tree::Stamps, after: &tree::Stamps) -> Result {
    let changed: Vec<&str> = tree::changed(before, after);
    if changed.is_empty() {
        return Ok(());
    }
    let said = format!("these files changed while verify ran: {}", changed.join(", "));
    if std::env::var_os("CI").is_some_and(|value| value == "true") {
        return Err(Failure(format!("{said}; a step wrote to the tree, which verify promises not to do")));
    }
    eprintln!("\nnote: {said}; the result may mix two states, run it again");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_step_and_what_repeats_and_mends_it() {
        let steps = steps();
        let said = steps[0].failed(&Failure("bad".into())).0;
        assert!(said.contains("step \"format\": bad"), "{said}");
        assert!(said.contains("repeat this step: cargo fmt --all --check"), "{said}");
        assert!(said.contains("cargo xtask fix"), "{said}");
        let said = steps[4].failed(&Failure("bad".into())).0;
        assert!(said.contains("repeat this step: cargo xtask test"), "{said}");
        assert!(!said.contains("cargo xtask fix"), "{said}");
    }

    #[test]
    fn every_failure_is_said_in_order() {
        assert!(joined(&[]).is_ok());
        let both = joined(&[Failure("first".into()), Failure("second".into())]).unwrap_err();
        assert_eq!(both.0, "first\nsecond");
    }

    #[test]
    fn every_cargo_step_that_could_touch_the_lock_file_is_locked() {
        for step in steps().iter().skip(1) {
            let shown = step.repeat();
            assert!(shown.starts_with("cargo xtask") || shown.contains("--locked"), "{shown}");
        }
    }
}
