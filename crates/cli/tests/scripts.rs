//! Agents that are processes, run by a real daemon.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{found, house::House};
use serde_json::Value;
use std::path::PathBuf;

/// A root with these agents, each a shell script.
fn house(agents: &[(&str, &str, &str)]) -> House {
    let house = House::new();
    std::fs::create_dir_all(house.0.root()).unwrap();
    write(&house, agents);
    house
}

fn write(house: &House, agents: &[(&str, &str, &str)]) {
    let mut toml = String::new();
    for (name, script, extra) in agents {
        std::fs::write(house.0.root().join(format!("{name}.sh")), script).unwrap();
        toml += &format!("[agents.{name}]\ncommand = [\"sh\", \"{name}.sh\"]\n{extra}\n");
    }
    std::fs::write(house.0.root().join("agents.toml"), toml).unwrap();
}

/// The folders of a task's attempts, in order.
fn attempts(house: &House, task: &str) -> Vec<PathBuf> {
    let folder = house.0.root().join("attempts").join(task);
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

/// What an attempt of the task wrote into a file of its folder, once it is there.
fn wrote(house: &House, task: &str, attempt: usize, file: &str) -> String {
    found("it", || {
        let folder = attempts(house, task).get(attempt)?.join(file);
        std::fs::read_to_string(folder).ok().filter(|text| text.ends_with('\n'))
    })
}

fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "))
}

fn submitted(house: &House, agent: &str) -> String {
    let said = house.json(&["submit", "--agent", agent, "--input", "1", "--new"]);
    said["task"].as_str().unwrap_or_else(|| panic!("{said}")).to_owned()
}

#[test]
fn a_flow_of_scripts_and_builtin_agents_runs_to_a_result() {
    let house = house(&[
        ("count", "wc -c | tr -d ' \\n'; echo counted >&2", ""),
        ("where", "printf '{\"task\": \"%s\", \"step\": \"%s\"}' $RELAYMESH_TASK $RELAYMESH_STEP", ""),
    ]);
    let flow = "name: f\nsteps:\n  - {id: a, agent: echo, input: hello}\n  - {id: b, agent: count, depends_on: [a]}\n  - {id: c, agent: where, depends_on: [b]}\n";
    let flow = house.0.file("f.yaml", flow);
    let said = house.run(&["run", flow]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let result: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(result["step"], "c");
    let task = result["task"].as_str().unwrap();
    let folders = attempts(&house, task);
    assert_eq!(folders.len(), 2);
    assert_eq!(std::fs::read_to_string(folders[0].with_added_extension("stderr")).unwrap(), "counted\n");
    assert!(!folders[0].with_added_extension("stdout").exists(), "a short result is kept as the result alone");
    assert_eq!(house.run(&["task", "logs", task, "--stdout", "--step", "b"]).stdout, "b.1 | 13\n");
}

#[test]
fn a_poison_task_is_given_up_after_exactly_its_attempts_with_each_reason() {
    let house = house(&[("poison", "touch here; echo attempt $RELAYMESH_ATTEMPT is bad >&2; exit 7", "")]);
    let arguments =
        ["submit", "--agent", "poison", "--input", "1", "--max-attempts", "3", "--base-backoff-ms", "1", "--wait"];
    let said = house.run(&[&arguments[..], &["--json"]].concat());
    assert_eq!(said.code, 10, "{}", said.stderr);
    let ended: Value = serde_json::from_str(said.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(ended["status"], "DEAD_LETTER");
    let task = ended["task"].as_str().unwrap_or_else(|| panic!("{ended}"));
    assert_eq!(attempts(&house, task).len(), 3);
    let shown = house.run(&["task", "show", task, "--history"]).stdout;
    for attempt in 1..=3 {
        assert!(shown.contains(&format!("exit code 7: attempt {attempt} is bad")), "{shown}");
    }
}

#[test]
fn cancel_reaches_the_process_and_keeps_what_it_had_said() {
    let house = house(&[("slow", "echo half; echo $$ > pid; exec sleep 1000", "")]);
    let task = submitted(&house, "slow");
    let pid = wrote(&house, &task, 0, "pid");
    assert_eq!(house.run(&["task", "cancel", &task]).code, 0);
    found("it", || (!is_alive(&pid)).then_some(()));
    assert_eq!(std::fs::read_to_string(attempts(&house, &task)[0].with_added_extension("stdout")).unwrap(), "half\n");
    assert_eq!(house.run(&["task", "wait", &task]).code, 11);
}

#[test]
fn whoever_follows_hears_each_word_when_it_is_said_and_that_there_are_no_more() {
    let says = "echo one >&2; until [ -e go ]; do sleep 0.01; done; echo two >&2; echo 1";
    let house = house(&[("says", says, "")]);
    let task = house.run(&["submit", "--agent", "says"]).stdout.trim().to_owned();
    let mut following = house.start(&["task", "logs", &task, "--follow", "--json"]);
    assert_eq!(following.next()["line"], "one");
    std::fs::write(attempts(&house, &task)[0].join("go"), "").unwrap();
    assert_eq!(following.next()["line"], "two");
    assert_eq!(following.end(), 0);
}

#[test]
fn logs_show_what_each_attempt_said_and_follow_until_the_end() {
    let house = house(&[("talk", "echo one >&2; echo two >&2; sleep 0.1; printf three >&2; echo result", "")]);
    let task = submitted(&house, "talk");
    let followed = house.run(&["task", "logs", &task, "--follow"]);
    assert_eq!((followed.code, followed.stdout.as_str()), (0, "talk.1 | one\ntalk.1 | two\ntalk.1 | three\n"));
    let result = house.run(&["task", "logs", &task, "--stdout", "--json"]);
    assert_eq!(result.stdout, "{\"epoch\":1,\"line\":\"result\",\"step\":\"talk\"}\n");
}

#[test]
fn the_folders_of_a_purged_task_go_and_what_is_not_understood_stays() {
    let house = house(&[("say", "echo 1", "")]);
    let (kept, purged) = (submitted(&house, "say"), submitted(&house, "say"));
    for task in [&kept, &purged] {
        assert_eq!(house.run(&["task", "wait", task]).code, 0);
    }
    assert_eq!(house.run(&["purge", &purged, "--yes"]).code, 0);
    let foreign = house.0.root().join("attempts/notes");
    std::fs::create_dir(&foreign).unwrap();
    assert_eq!(house.run(&["down"]).code, 0);
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    found("it", || attempts(&house, &purged).is_empty().then_some(()));
    assert!(foreign.exists() && !attempts(&house, &kept).is_empty());
}

#[test]
fn a_timeout_ends_the_process_and_counts_as_an_attempt() {
    let house = house(&[("slow", "echo $$ > pid; exec sleep 1000", "grace_ms = 10")]);
    let arguments =
        ["submit", "--agent", "slow", "--input", "1", "--timeout-ms", "300", "--max-attempts", "1", "--wait"];
    assert_eq!(house.run(&arguments).code, 10);
    let task = house.json(&["task", "list"])["task"].as_str().unwrap().to_owned();
    let pid = wrote(&house, &task, 0, "pid");
    found("it", || (!is_alive(&pid)).then_some(()));
    let shown = house.json(&["task", "show", &task]);
    assert_eq!(shown["steps"][0]["last_outcome"], "TIMEOUT", "R5: {shown}");
    let text = house.run(&["task", "show", &task]).stdout;
    assert!(text.contains("TIMEOUT: "), "R5: {text}");
}

#[test]
fn no_child_survives_a_killed_daemon_and_the_step_is_done_once() {
    let script = "echo $$ > pid; setsid sh -c 'echo $$ > far; exec sleep 1000' >/dev/null 2>&1 & [ $RELAYMESH_ATTEMPT -gt 1 ] || exec sleep 1000; echo 2";
    let house = house(&[("work", script, "")]);
    let task = submitted(&house, "work");
    let (near, far) = (wrote(&house, &task, 0, "pid"), wrote(&house, &task, 0, "far"));
    house.kill();
    assert!(is_alive(&near) && is_alive(&far), "they go on while nobody watches");
    let waited = house.run(&["task", "wait", &task]);
    assert_eq!((waited.code, waited.stdout.trim()), (0, "2"), "{}", waited.stderr);
    assert!(!is_alive(&near) && !is_alive(&far));
    assert_eq!(attempts(&house, &task).len(), 2);
}

#[test]
fn down_ends_every_process_and_the_attempt_does_not_count() {
    let house = house(&[("slow", "echo $$ > pid; [ -e ../go ] || exec sleep 1000; echo 1", "")]);
    let task = submitted(&house, "slow");
    let pid = wrote(&house, &task, 0, "pid");
    assert_eq!(house.run(&["down"]).code, 0);
    assert!(!is_alive(&pid));
    std::fs::write(house.0.root().join("attempts").join(&task).join("go"), "").unwrap();
    assert_eq!(house.run(&["task", "wait", &task]).code, 0);
    let shown = house.json(&["task", "show", &task]);
    assert_eq!(shown["steps"][0]["attempt"], 1, "{shown}");
}

#[test]
fn an_agent_runs_no_more_attempts_at_once_than_it_may() {
    let script = "ls ../../.. | wc -l > /dev/null; n=$(ls $RELAYMESH_ROOT/running | wc -l); touch $RELAYMESH_ROOT/running/$$; echo $n; sleep 0.05; rm $RELAYMESH_ROOT/running/$$";
    let house = house(&[("two", script, "concurrency = 2\nwritable = [\"running\"]")]);
    std::fs::create_dir(house.0.root().join("running")).unwrap();
    let tasks: Vec<String> = (0..12).map(|_| submitted(&house, "two")).collect();
    for task in &tasks {
        let said = house.run(&["task", "wait", task]);
        let others: usize = said.stdout.trim().parse().unwrap_or_else(|_| panic!("{}{}", said.stdout, said.stderr));
        assert!(others < 2, "{others} others ran");
    }
}

#[test]
fn agents_can_be_added_and_changed_while_the_daemon_runs() {
    let house = house(&[("one", "echo 1", "")]);
    assert_eq!(house.run(&["submit", "--agent", "one", "--wait"]).stdout.trim(), "1");
    let pid = house.pid();
    write(&house, &[("one", "echo changed", ""), ("two", "echo 2", "")]);
    assert_eq!(house.run(&["submit", "--agent", "two", "--wait"]).stdout.trim(), "2");
    assert_eq!(house.run(&["submit", "--agent", "one", "--new", "--wait"]).stdout.trim(), "\"changed\"");
    std::fs::write(house.0.root().join("agents.toml"), "[agents.one]\ncomand = []\n").unwrap();
    let said = house.run(&["submit", "--agent", "one", "--new"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("error[bad_agents] RM0006: unknown field `comand`"), "{}", said.stderr);
    assert!(said.stderr.contains("agents.toml:2:1"), "{}", said.stderr);
    assert_eq!(house.pid(), pid);
}
