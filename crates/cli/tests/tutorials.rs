//! The tutorials, run as they stand there: every block of `sh`, one after the other in one shell, in an empty folder.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

/// A folder in which a tutorial is followed, with a home of its own and the binary on the PATH. Its daemon ends with it.
struct Follower {
    folder: tempfile::TempDir,
    /// The folder that the tutorial works in.
    inside: &'static str,
}

impl Follower {
    fn new(inside: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for made in ["bin", "home", "work"] {
            fs::create_dir(folder.path().join(made)).unwrap();
        }
        Self { folder, inside }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn shell(&self, script: &str) -> Command {
        let relaymesh = Path::new(env!("CARGO_BIN_EXE_relaymesh")).parent().unwrap();
        let usual = std::env::var_os("PATH").unwrap();
        let path = [self.at("bin"), relaymesh.to_owned()].into_iter().chain(std::env::split_paths(&usual));
        let mut command = Command::new("sh");
        command.args(["-ec", script]).current_dir(self.at("work"));
        command.env("PATH", std::env::join_paths(path).unwrap()).env("HOME", self.at("home"));
        for variable in ["RELAYMESH_ROOT", "RELAYMESH_NO_DAEMON"] {
            command.env_remove(variable);
        }
        command
    }

    /// A program in the place of one that a reader has installed.
    fn stand_in(&self, name: &str, script: &str) {
        let program = self.at("bin").join(name);
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What all blocks of the page print.
    fn follow(&self, page: &str) -> String {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorials").join(page);
        let text = fs::read_to_string(&page).unwrap();
        let blocks: Vec<&str> = text.split("```").skip(1).step_by(2).filter_map(|it| it.strip_prefix("sh\n")).collect();
        assert!(blocks.len() >= 5, "{} has {} blocks", page.display(), blocks.len());
        let out = self.shell(&blocks.join("\n")).output().unwrap();
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(out.status.success(), "{}: {}{}", page.display(), said(&out.stdout), said(&out.stderr));
        said(&out.stdout)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let down = format!("cd {} || exit; kill $(cat worker.pid) || true; relaymesh down || true", self.inside);
        let _ = self.shell(&down).output();
    }
}

fn has_python() -> bool {
    let is_there = Command::new("python3").arg("--version").output().is_ok();
    if !is_there {
        eprintln!("SKIPPED: there is no python3");
    }
    is_there
}

#[test]
fn the_first_flow_ends_with_its_report_whatever_was_killed() {
    let said = Follower::new("first-flow").follow("first-flow.md");
    assert!(said.contains("\"2 TEXTS, THE FIRST HAS 3 WORDS\"\n"), "{said}");
    assert_eq!(said.matches("{\"text\":\"hello\"}\n").count(), 2, "{said}");
}

#[test]
fn a_worker_by_http_is_killed_and_its_work_is_done_by_the_next() {
    if !has_python() {
        return;
    }
    let said = Follower::new(".").follow("http-worker.md");
    assert!(said.contains("{\"scaled\":[3,6,9]}\n"), "{said}");
    assert!(said.matches("took {'numbers': [10, 20], 'seconds': 2}\n").count() >= 2, "{said}");
    assert_eq!(said.matches("replied {'scaled': [30, 60]}\n").count(), 1, "{said}");
}

/// Codex and Claude Code stand in for themselves: each says what the real one was heard to say, and writes a file.
#[test]
fn two_coding_agents_end_with_one_history() {
    if !has_python() {
        return;
    }
    let follower = Follower::new("two-agents");
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/recorded").canonicalize().unwrap();
    for (tool, file, text) in
        [("codex", "greet.py", "def shout(name): return greet(name).upper()"), ("claude", "USAGE.md", "# Usage")]
    {
        let stream = recorded.join(format!("{tool}.say.jsonl"));
        let writes = format!("if [ -e greet.py ]; then echo '{text}' >> {file}; fi");
        follower.stand_in(tool, &format!("#!/bin/sh\ncat > prompt; rm prompt\n{writes}\ncat '{}'\n", stream.display()));
    }
    let said = follower.follow("two-coding-agents.md");
    assert!(said.contains("+def shout(name): return greet(name).upper()\n") && said.contains("+# Usage\n"), "{said}");
    assert!(
        said.contains("\nUSAGE.md\ngreet.py\n") && said.contains("Merge branches 'add-shout' and 'document-shout'"),
        "{said}"
    );
}
