//! The feral agent: everything that an agent can do wrong on purpose, all at once, under a real daemon.
//!
//! Each comes to an end with a reason that says what it did, nothing of it survives, nothing outside its folder is touched, the daemon stays as
//! small as it was, and agents that behave run meanwhile as if nothing were the matter.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![cfg(target_os = "linux")]

use crate::common::{house::House, until};
use relaymesh_agents::{
    confine::{self, Level},
    tree,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What the daemon has in its environment, and no agent may see.
const CANARY: &str = "canary-of-the-daemon-7d1f";

/// The most that the daemon may grow by.
const GROWTH_KB: u64 = 64 << 10;

/// One that misbehaves.
struct Feral {
    name: &'static str,
    script: &'static str,
    /// More lines of its entry.
    extra: &'static str,
    /// How its attempt ends.
    outcome: &'static str,
    /// What the reason says.
    reason: &'static str,
}

const FERAL: [Feral; 12] = [
    Feral {
        name: "flood",
        script: "exec head -c 2147483648 /dev/zero",
        extra: "",
        outcome: "FAILED",
        reason: "the result is longer than",
    },
    Feral {
        name: "away",
        // A session of its own, forked twice, and the output in its hands.
        script: "setsid sh -c 'sh -c \"echo \\$\\$ > far; exec sleep 1000\" &'
            while [ ! -s far ]; do sleep 0.01; done; echo '{\"done\": true}'",
        extra: "",
        outcome: "FAILED",
        reason: "left a process behind with its output open",
    },
    Feral {
        name: "deaf",
        script: "trap '' TERM; echo $$ > far; while :; do sleep 1000; done",
        extra: "grace_ms = 100",
        outcome: "TIMEOUT",
        reason: "timed out",
    },
    Feral {
        name: "half",
        script: "printf '{\"a\": [1, 2'",
        extra: "",
        outcome: "FAILED",
        reason: "is not one document: EOF while parsing a list at line 1 column 11",
    },
    Feral {
        name: "twice",
        script: "echo '{\"a\": 1}'; echo '{\"a\": 2}'",
        extra: "",
        outcome: "FAILED",
        reason: "is not one document: trailing characters at line 2 column 1",
    },
    Feral {
        name: "link",
        script: "ln -s $OUTSIDE/old planted; ln -s $OUTSIDE/old ../link.1.stderr; echo bad > planted",
        extra: "",
        outcome: "FAILED",
        reason: "Permission denied",
    },
    Feral {
        name: "next",
        script: "ln -s $OUTSIDE/old ../next.2.stdout && ln -s $OUTSIDE ../next.2",
        extra: "",
        outcome: "FAILED",
        reason: "Permission denied",
    },
    Feral {
        name: "outside",
        script: "echo bad > $OUTSIDE/new",
        extra: "",
        outcome: "FAILED",
        reason: "Permission denied",
    },
    Feral {
        name: "bomb",
        script: "bomb() { bomb & bomb & wait; }; bomb",
        extra: "limits = { processes = 40 }",
        outcome: "FAILED",
        reason: "more than 40 processes at once",
    },
    Feral {
        name: "spy",
        script: "tr '\\0' ' ' < /proc/$PPID/environ",
        extra: "",
        outcome: "FAILED",
        reason: "Permission denied",
    },
    Feral {
        name: "thief",
        script: "cat $RELAYMESH_ROOT/secrets.key || cat $RELAYMESH_ROOT/secrets",
        extra: "",
        outcome: "FAILED",
        reason: "Permission denied",
    },
    Feral {
        name: "burglar",
        script: "cat $RELAYMESH_ROOT/http-token",
        extra: "",
        outcome: "FAILED",
        reason: "Permission denied",
    },
];

/// Whether agents are confined in full here. Where they are not, this says nothing, and in CI that is a failure.
fn is_confined() -> bool {
    let machine = confine::machine();
    if machine.level == Level::Full {
        return true;
    }
    assert!(std::env::var_os("CI").is_none_or(|value| value != "true"), "agents are not confined: {}", machine.why);
    eprintln!("SKIPPED: agents are not confined in full here: {}", machine.why);
    false
}

/// A root with these agents, and one that behaves.
fn house(agents: &[Feral], outside: &Path) -> House {
    let mut house = House::new();
    house.0.variables.push(("CANARY", CANARY.into()));
    let root = house.0.root();
    assert_eq!(house.run(&["init"]).code, 0);
    let mut toml = "[agents.good]\ncommand = [\"tr\", \"a-z\", \"A-Z\"]\n".to_owned();
    for Feral { name, script, extra, .. } in agents {
        fs::write(root.join(format!("{name}.sh")), script).unwrap();
        toml += &format!(
            "[agents.{name}]\ncommand = [\"sh\", \"{name}.sh\"]\nset = {{ OUTSIDE = {outside:?} }}\n{extra}\n"
        );
    }
    fs::write(root.join("agents.toml"), toml).unwrap();
    assert_eq!(house.0.run_with_input(&["secret", "set", "key"], "a secret of this root").code, 0);
    house
}

/// Kilobytes of the daemon's memory: now, and at most.
fn memory_kb(pid: u64) -> (u64, u64) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    (field("VmRSS:"), field("VmHWM:"))
}

fn is_alive(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "))
}

/// The folder of the first attempt.
fn attempt(house: &House, task: &str, name: &str) -> PathBuf {
    house.0.root().join("attempts").join(task).join(format!("{name}.1"))
}

fn submitted(house: &House, agent: &str) -> String {
    let timeout_ms = if agent == "deaf" { "700" } else { "20000" };
    let arguments = ["submit", "--agent", agent, "--input", "1", "--timeout-ms", timeout_ms, "--max-attempts", "1"];
    house.json(&arguments)["task"].as_str().unwrap().to_owned()
}

#[test]
fn each_comes_to_an_end_with_a_reason_and_harms_nobody() {
    if !is_confined() {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("old"), "as it was").unwrap();
    let house = house(&FERAL, outside.path());
    assert_eq!(house.run(&["submit", "--agent", "good", "--input", "\"a\"", "--wait"]).stdout.trim(), "\"A\"");
    let pid = house.pid().unwrap();
    let (before_kb, _) = memory_kb(pid);

    let tasks: Vec<String> = FERAL.iter().map(|feral| submitted(&house, feral.name)).collect();
    for number in 0..12 {
        let input = format!("\"good {number}\"");
        let said = house.run(&["submit", "--agent", "good", "--input", &input, "--wait"]);
        assert_eq!((said.code, said.stdout.trim()), (0, &*input.to_uppercase()), "{}", said.stderr);
    }
    for (feral, task) in FERAL.iter().zip(&tasks) {
        assert_eq!(house.run(&["task", "wait", task]).code, 10, "{} came to something", feral.name);
        let shown = house.json(&["task", "show", task, "--history"]);
        let step = &shown["steps"][0];
        let (outcome, error) = (&step["history"][0]["outcome"], step["error"].as_str().unwrap_or_default());
        assert_eq!(outcome, feral.outcome, "{}: {error}", feral.name);
        assert!(error.contains(feral.reason), "{}: {error}", feral.name);
        assert!(!shown.to_string().contains(CANARY), "{shown}");
        for stream in ["stdout", "stderr"] {
            let said = fs::read(attempt(&house, task, feral.name).with_added_extension(stream)).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&said).contains(CANARY), "{} has seen it", feral.name);
        }
    }

    let node = house.json(&["status"])["node"].as_str().unwrap().to_owned();
    until("nobody is left", || tree::alive(&format!("{node}.")).is_empty());
    for (feral, task) in FERAL.iter().zip(&tasks) {
        if let Ok(far) = fs::read_to_string(attempt(&house, task, feral.name).join("far")) {
            until("the one far away is gone", || !is_alive(&far));
        }
    }
    assert_eq!(fs::read_to_string(outside.path().join("old")).unwrap(), "as it was");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    let (_, most_kb) = memory_kb(pid);
    assert!(most_kb < before_kb + GROWTH_KB, "the daemon had {before_kb} kB and grew to {most_kb} kB");
    assert_eq!(house.pid(), Some(pid), "it is the same daemon");
    assert_eq!(house.run(&["down"]).code, 0);
}

#[test]
fn one_that_was_not_watched_is_ended_by_the_next_daemon_with_its_group() {
    let house = house(&[], Path::new("/"));
    let script = "sleep 1000 & echo $! > far; exec sleep 1000";
    fs::write(house.0.root().join("long.sh"), script).unwrap();
    let toml = fs::read_to_string(house.0.root().join("agents.toml")).unwrap();
    fs::write(house.0.root().join("agents.toml"), toml + "[agents.long]\ncommand = [\"sh\", \"long.sh\"]\n").unwrap();
    let task = submitted(&house, "long");
    let far = attempt(&house, &task, "long").join("far");
    until("it runs", || fs::read_to_string(&far).is_ok_and(|text| text.ends_with('\n')));
    let far = fs::read_to_string(far).unwrap();
    // Where the system counts its processes, if it does.
    let own = fs::read_to_string(format!("/proc/{}/cgroup", far.trim())).unwrap();
    let group = own.lines().find_map(|line| line.split_once(":pids:").map(|(_, path)| path.trim_start_matches('/')));
    let group =
        group.filter(|path| path.contains("relaymesh-")).map(|path| Path::new("/sys/fs/cgroup/pids").join(path));
    assert!(group.as_ref().is_none_or(|group| group.exists()), "{group:?}");
    house.kill();
    assert!(is_alive(&far));
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    until("what was left is gone", || !is_alive(&far));
    assert_eq!(house.run(&["down"]).code, 0);
    match group {
        Some(group) => assert!(!group.exists(), "{} is left", group.display()),
        None => eprintln!("the system counts no processes here"),
    }
}

#[test]
fn one_behind_a_fence_can_still_use_relaymesh() {
    let house = house(&[], Path::new("/"));
    let binary = env!("CARGO_BIN_EXE_relaymesh");
    let script = format!(
        "{binary} status > /dev/null && {binary} task list > /dev/null && {binary} submit --agent good --input '\"hi\"' --wait"
    );
    fs::write(house.0.root().join("caller.sh"), script).unwrap();
    let toml = fs::read_to_string(house.0.root().join("agents.toml")).unwrap();
    fs::write(house.0.root().join("agents.toml"), toml + "[agents.caller]\ncommand = [\"sh\", \"caller.sh\"]\n")
        .unwrap();
    let said = house.run(&["submit", "--agent", "caller", "--wait"]);
    assert_eq!((said.code, said.stdout.trim()), (0, "\"HI\""), "{}", said.stderr);
}
