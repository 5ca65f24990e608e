//! The daemon's log: what it says about tasks, in which form, and how much of it (R31).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::house::House;
use serde_json::Value;

fn log(house: &House) -> String {
    std::fs::read_to_string(house.0.root().join("daemon.log")).unwrap()
}

/// The lines about this event.
fn lines(house: &House, event: &str) -> Vec<Value> {
    let all = log(house);
    let all = all.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|e| panic!("{e}: {line}")));
    all.filter(|line| line["event"] == event).collect()
}

#[test]
fn r31_submission_decision_result_retry_and_dead_letter_are_lines_of_json() {
    let house = House::new();
    assert_eq!(house.run(&["up", "--detach", "--log-format", "json"]).code, 0);
    let failing = ["submit", "--agent", "fail", "--input", r#"{"message": "no luck"}"#, "--max-attempts", "2"];
    let dead = house.run(&[&failing[..], &["--base-backoff-ms", "1", "--wait"]].concat());
    assert_eq!(dead.code, 10, "{}", dead.stderr);
    let good = house.run(&["submit", "--agent", "echo", "--input", "1", "--wait"]);
    assert_eq!(good.code, 0, "{}", good.stderr);
    assert_eq!(house.run(&["down"]).code, 0);
    assert_eq!((lines(&house, "up").len(), lines(&house, "down").len()), (1, 1));
    assert_eq!(lines(&house, "task_submitted").len(), 2);
    assert_eq!(lines(&house, "step_claimed").len(), 3);
    let retried = lines(&house, "step_retrying");
    assert_eq!((retried.len(), &retried[0]["level"], &retried[0]["attempt"]), (1, &"warn".into(), &1.into()));
    let dead = lines(&house, "step_dead_letter");
    assert_eq!((dead.len(), &dead[0]["level"], &dead[0]["agent"]), (1, &"error".into(), &"fail".into()));
    assert!(dead[0]["error"].as_str().unwrap().contains("no luck"), "{}", dead[0]);
    let succeeded = lines(&house, "step_succeeded");
    assert_eq!((succeeded.len(), &succeeded[0]["step"]), (1, &"echo".into()));
    let ended = lines(&house, "task_ended");
    assert_eq!((&ended[0]["status"], &ended[1]["status"]), (&"DEAD_LETTER".into(), &"SUCCESS".into()));
    for line in [&dead[0], &succeeded[0], &ended[0]] {
        assert!(line["ts"].as_str().unwrap().ends_with('Z'), "{line}");
        assert!(line["task"].as_str().unwrap().starts_with("tsk_"), "{line}");
        assert_eq!(line["trace_id"].as_str().unwrap().len(), 32, "{line}");
    }
    assert_eq!(ended[0]["trace_id"], dead[0]["trace_id"]);
}

#[test]
fn at_warn_only_what_goes_wrong_is_said_and_people_can_read_it() {
    let house = House::new();
    let mut up = house.command(&["up", "--detach"]);
    assert!(up.env("RELAYMESH_LOG_LEVEL", "warn").output().unwrap().status.success());
    house.run(&["submit", "--agent", "echo", "--input", "1", "--wait"]);
    house.run(&["submit", "--agent", "fail", "--input", "{}", "--max-attempts", "1", "--wait"]);
    house.run(&["down"]);
    let log = log(&house);
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains(" error step_dead_letter agent=fail attempt=1 error="), "{log}");
}

#[test]
fn a_long_log_is_put_aside_while_the_daemon_writes_it() {
    let house = House::new();
    std::fs::create_dir_all(house.0.root()).unwrap();
    let file = house.0.root().join("daemon.log");
    // A little below the limit: the next few lines are too much.
    std::fs::write(&file, "x".repeat((10 << 20) - 100)).unwrap();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    house.run(&["submit", "--agent", "echo", "--input", "1", "--wait"]);
    assert_eq!(house.run(&["down"]).code, 0);
    let aside = std::fs::metadata(house.0.root().join("daemon.log.1")).unwrap();
    assert!(aside.len() <= 10 << 20, "{}", aside.len());
    assert!(log(&house).contains("info  down"));
    assert!(log(&house).contains("info  task_submitted"));
}
