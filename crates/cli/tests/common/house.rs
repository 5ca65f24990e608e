//! A folder whose commands use a daemon.

#![allow(dead_code, reason = "not every test uses everything")]

use super::{Mesh, Running, Said};
use serde_json::Value;
use std::{
    os::unix::net::UnixStream,
    process::Command,
    time::{Duration, Instant},
};

/// A folder whose commands use a daemon. It is stopped when the test ends, by its id.
pub(crate) struct House(pub(crate) Mesh);

impl House {
    pub(crate) fn new() -> Self {
        Self(Mesh::new())
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.0.command(arguments);
        command.env_remove("RELAYMESH_NO_DAEMON");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(arguments).output().unwrap())
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        Running::start(self.command(arguments))
    }

    pub(crate) fn pid(&self) -> Option<u64> {
        let text = std::fs::read_to_string(self.0.root().join("daemon.json")).ok()?;
        serde_json::from_str::<Value>(&text).unwrap()["pid"].as_u64()
    }

    /// The JSON that a command prints.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let said = self.run(&[arguments, &["--json"]].concat());
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", said.stdout, said.stderr))
    }

    /// Ends the daemon at once.
    pub(crate) fn kill(&self) {
        let pid = self.pid().unwrap();
        let killed = Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
        assert!(killed.success());
        // It is gone when nobody answers at its socket.
        let until = Instant::now() + Duration::from_secs(10);
        while UnixStream::connect(self.0.root().join("daemon.sock")).is_ok() {
            assert!(Instant::now() < until, "a killed daemon answers");
            std::thread::yield_now();
        }
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if self.pid().is_some() {
            self.run(&["down"]);
        }
    }
}
