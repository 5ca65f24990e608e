//! The terminal view, in a real terminal.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{Said, house::House};
use std::{path::PathBuf, process::Command};

#[test]
fn without_a_terminal_it_says_what_is_for_programs() {
    let house = House::new();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    for arguments in [&["top"][..], &["top", "--json"]] {
        let refused = house.run(arguments);
        assert!(refused.code == 2 && refused.stderr.contains("status --json"), "{}", refused.stderr);
    }
}

/// A terminal of its own: a server that nobody else uses, ended with the test.
struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    /// Runs the command line on 80 by 24. `None`: there is no tmux here, and that was said.
    fn start(house: &House, line: &str) -> Option<Self> {
        if let Err(error) = Command::new("tmux").arg("-V").output() {
            eprintln!("SKIPPED: `top` was not tried in a terminal, tmux cannot be run: {error}");
            return None;
        }
        let tmux = Self { socket: house.0.folder.path().join("tmux") };
        let folder = house.0.folder.path().display().to_string();
        let line =
            format!("RELAYMESH_ROOT={folder}/root {} {line}; echo ended $?; exec cat", env!("CARGO_BIN_EXE_relaymesh"));
        let made = tmux.run(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", &line]);
        assert_eq!(made.code, 0, "{}", made.stderr);
        Some(tmux)
    }

    fn run(&self, arguments: &[&str]) -> Said {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(arguments).env("LC_ALL", "C.UTF-8").env_remove("TMUX");
        Said::of(command.output().unwrap())
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"]).stdout
    }

    fn press(&self, key: &str) {
        assert_eq!(self.run(&["send-keys", key]).code, 0);
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
fn it_shows_the_work_and_obeys_its_keys_in_a_real_terminal() {
    let house = House::new();
    std::fs::create_dir_all(house.0.root()).unwrap();
    let agents = "[agents.slow]\ncommand = [\"sleep\", \"1000\"]\nconcurrency = 3\n";
    std::fs::write(house.0.root().join("agents.toml"), agents).unwrap();
    for number in ["1", "2", "3", "4"] {
        assert_eq!(house.run(&["submit", "--agent", "slow", "--input", number]).code, 0);
    }
    let Some(terminal) = Tmux::start(&house, "top") else { return };
    let shows = |what: &str| house.0.until(what, |_| terminal.screen().contains(what));
    shows("running: 3");
    shows("3/3");
    let screen = terminal.screen();
    for part in ["RelayMesh 0.1.0", "ready", "normal   1", "full", "no alerts", "tsk_"] {
        assert!(screen.contains(part), "{part} is not there:\n{screen}");
    }
    terminal.press("?");
    shows("this help");
    terminal.press("?");
    for key in ["f", "x", "y"] {
        terminal.press(key);
    }
    shows("running: 0");
    terminal.press("Escape");
    shows("running: 3");
    house.kill();
    shows("NO DAEMON");
    terminal.press("q");
    shows("ended 0");
    assert!(!terminal.screen().contains("RelayMesh"), "the terminal is as it was:\n{}", terminal.screen());
    // The next daemon ends what the killed one left.
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
}

#[test]
fn without_a_daemon_it_says_so() {
    let house = House::new();
    assert_eq!(house.run(&["init"]).code, 0);
    let Some(terminal) = Tmux::start(&house, "top") else { return };
    house.0.until("it has ended", |_| terminal.screen().contains("ended 3"));
    assert!(terminal.screen().contains("error[no_daemon]"), "{}", terminal.screen());
}
