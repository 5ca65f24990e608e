//! Fifty kills of a daemon with agents at work, in one run: nothing acknowledged is lost, nothing is applied twice, no process
//! survives, everything ends.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::house::House;
use serde_json::Value;
use std::{
    path::Path,
    time::{Duration, Instant},
};

const KILLS: usize = 50;
const PATIENCE: Duration = Duration::from_secs(30);

/// A script that says which process it is, works a little, and now and then leaves somebody behind.
const SCRIPT: &str = "echo $$ >> $RELAYMESH_ROOT/pids
[ $(($$ % 3)) = 0 ] && { setsid sh -c 'echo $$ >> $RELAYMESH_ROOT/pids; exec sleep 1000' < /dev/null > /dev/null 2>&1 & }
sleep 0.0$(($$ % 10))
cat";

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn submit(house: &House, number: usize) -> Option<String> {
    let (agent, input) = (["work", "echo", "sleep"][number % 3], format!("{{\"ms\": {}}}", number % 40));
    let key = format!("kill-{number}");
    let arguments = ["submit", "--agent", agent, "--input", &input, "--key", &key];
    let said = house.run(&[&arguments[..], &["--max-attempts", "99", "--base-backoff-ms", "1", "--json"]].concat());
    let task = serde_json::from_str::<Value>(&said.stdout).ok()?["task"].as_str()?.to_owned();
    Some(task)
}

fn pids(root: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(root.join("pids")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Alive, one of ours, and not merely waiting to be buried: a number may have been given to somebody else.
fn is_alive(root: &Path, pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let ours = format!("RELAYMESH_ROOT={}", root.display());
    !stat.is_empty()
        && !stat.contains(") Z ")
        && environment.split(|byte| *byte == 0).any(|entry| entry == ours.as_bytes())
}

#[test]
fn r36_fifty_kills_lose_nothing_apply_nothing_twice_and_leave_nobody_behind() {
    let house = House::new();
    let root = house.0.root();
    std::fs::create_dir_all(&root).unwrap();
    std::fs::write(root.join("work.sh"), SCRIPT).unwrap();
    std::fs::write(root.join("agents.toml"), "[agents.work]\ncommand = [\"sh\", \"work.sh\"]\nwritable = [\"pids\"]\n")
        .unwrap();
    std::fs::write(root.join("pids"), "").unwrap();
    let root = root.canonicalize().unwrap();
    let mut dice = Dice(7);
    let mut tasks = Vec::new();
    for kill in 0..KILLS {
        let before = pids(&root);
        for _ in 0..=dice.below(4) {
            tasks.push(submit(&house, tasks.len()).expect("an answer, for the daemon was not killed meanwhile"));
        }
        // A daemon runs, so nobody of an earlier life does.
        let left: Vec<&String> = before.iter().filter(|pid| is_alive(&root, pid)).collect();
        let old = std::fs::read_to_string(root.join("lives")).unwrap_or_default();
        let dead: Vec<&&String> = left.iter().filter(|pid| old.lines().any(|line| line == pid.as_str())).collect();
        assert!(dead.is_empty(), "{dead:?} survived the kill before number {kill}");
        if dice.below(2) == 0 {
            let end = Instant::now() + PATIENCE;
            let known = pids(&root).len();
            while pids(&root).len() == known && house.json(&["status"])["running"] != 0 {
                assert!(Instant::now() < end, "nothing happens");
            }
        }
        house.kill();
        std::fs::write(root.join("lives"), pids(&root).join("\n")).unwrap();
    }
    for (number, task) in tasks.iter().enumerate() {
        let waited = house.run(&["task", "wait", task]);
        assert_eq!(waited.code, 0, "{task}: {}{}", waited.stdout, waited.stderr);
        assert_eq!(submit(&house, number).as_ref(), Some(task), "a repeated submit is the same task");
    }
    let log = house.run(&["log", "show", "--json", "--limit", "100000"]).stdout;
    for task in &tasks {
        let completions =
            log.lines().filter(|line| line.contains("CompleteJob") && line.contains(task.as_str())).count();
        assert_eq!(completions, 1, "{task} was completed {completions} times");
    }
    assert_eq!(house.run(&["down"]).code, 0);
    assert!(pids(&root).len() >= tasks.len() / 3, "they did not say who they are");
    let left: Vec<String> = pids(&root).into_iter().filter(|pid| is_alive(&root, pid)).collect();
    assert!(left.is_empty(), "{left:?} outlived the daemon");
    let verified = house.run(&["log", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
}
