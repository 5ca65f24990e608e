//! Metrics of a real daemon, as a scraper sees them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{Said, house::House};
use std::{
    collections::BTreeMap,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

fn scraped(house: &House) -> BTreeMap<String, f64> {
    let said = house.run(&["metrics"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let samples = said.stdout.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

#[test]
fn r29_work_is_seen_in_the_metrics_of_the_daemon() {
    let house = House::new();
    let none = house.run(&["metrics"]);
    assert_eq!(none.code, 3, "without a root: {}", none.stderr);
    for number in ["1", "2", "3"] {
        assert_eq!(house.run(&["submit", "--agent", "echo", "--input", number, "--wait"]).code, 0);
    }
    let fails = house.run(&["submit", "--agent", "fail", "--wait"]);
    assert_eq!(fails.code, 10, "{}", fails.stderr);
    // Two for an agent that does one at a time, and never ends: one of them waits.
    let agents = "[agents.slow]\ncommand = [\"sleep\", \"1000\"]\nconcurrency = 1\n";
    std::fs::write(house.0.root().join("agents.toml"), agents).unwrap();
    for number in ["1", "2"] {
        assert_eq!(house.run(&["submit", "--agent", "slow", "--input", number]).code, 0);
    }
    house.0.until("one of them runs", |_| scraped(&house)["relaymesh_active_tasks"] == 1.0);
    let found = scraped(&house);
    let at = |name: &str| *found.get(name).unwrap_or_else(|| panic!("{name} is not there: {found:?}"));
    assert_eq!(at("relaymesh_tasks_submitted_total"), 6.0);
    assert_eq!(at("relaymesh_tasks_ended_total{status=\"SUCCESS\"}"), 3.0);
    assert_eq!(at("relaymesh_attempts_total{agent=\"echo\",outcome=\"success\"}"), 3.0);
    assert_eq!(at("relaymesh_attempt_duration_seconds_count{agent=\"echo\"}"), 3.0);
    assert_eq!(at("relaymesh_queue_ready_steps{lane=\"normal\"}"), 1.0);
    assert_eq!(at("relaymesh_queue_depth"), 1.0);
    assert!(at("relaymesh_queue_oldest_seconds{lane=\"normal\"}") < 600.0);
    assert_eq!((at("relaymesh_ready"), at("relaymesh_running_attempts")), (1.0, 1.0));
    assert!(at("relaymesh_commit_duration_seconds_count") >= 5.0);
    assert_eq!(
        at("relaymesh_ops_total"),
        at("relaymesh_log_position"),
        "a new root: every op was committed by this daemon"
    );
    assert!(at("relaymesh_resident_memory_bytes") > 1e6);
    assert_eq!(house.run(&["down"]).code, 0);
    let gone = house.run(&["metrics", "--json"]);
    assert_eq!((gone.code, &gone.error()["code"]), (3, &"no_daemon".into()));
}

fn promtool(arguments: &[&str], input: &str) -> Option<Said> {
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/prometheus/usr/bin/promtool");
    let mut command = Command::new(if fetched.exists() { fetched.as_path() } else { Path::new("promtool") });
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
            assert!(!is_ci, "promtool is not installed ({error}): `cargo xtask tools`");
            eprintln!(
                "SKIPPED: promtool cannot be run ({error}); the names and forms are checked by relaymesh-api's own tests"
            );
            return None;
        }
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Some(Said::of(child.wait_with_output().unwrap()))
}

/// Clean but for the names that the contract gives.
#[test]
fn promtool_complains_about_names_of_the_contract_alone() {
    let house = House::new();
    assert_eq!(house.run(&["submit", "--agent", "echo", "--input", "1", "--wait"]).code, 0);
    let text = house.run(&["metrics"]).stdout;
    let Some(said) = promtool(&["check", "metrics"], &text) else { return };
    let given = ["relaymesh_low_starvation_count", "relaymesh_mesh_nodes_total", "relaymesh_oldest_dead_node_age_ms"];
    let complaints: Vec<&str> = said
        .stdout
        .lines()
        .chain(said.stderr.lines())
        .filter(|line| !given.iter().any(|name| line.starts_with(name)))
        .collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    for name in given {
        assert!(
            said.stdout.contains(name) || said.stderr.contains(name),
            "it does not complain about {name}: drop it here"
        );
    }
}

#[test]
fn promtool_understands_the_alerts() {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/alerts.yml");
    let Some(said) = promtool(&["check", "rules", &rules.display().to_string()], "") else { return };
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
}
