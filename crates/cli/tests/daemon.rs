//! The daemon: started by whoever needs it, found again, stopped, killed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{Running, Said, example, house::House};
use serde_json::Value;
use std::{
    io::{BufRead as _, Write as _},
    os::unix::net::UnixStream,
};

#[test]
fn a_command_that_needs_a_daemon_starts_one_and_says_so() {
    let house = House::new();
    let first = house.run(&["run", &example("hello.yaml")]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert!(first.stderr.contains("started the daemon (pid"), "{}", first.stderr);
    let pid = house.pid().unwrap();
    let second = house.run(&["run", &example("hello.yaml"), "--new"]);
    assert_eq!((second.code, house.pid()), (0, Some(pid)));
    assert!(!second.stderr.contains("daemon"), "{}", second.stderr);
    let status = house.run(&["status", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&status.stdout).unwrap()["pid"], pid);
}

#[test]
fn down_stops_it_and_nothing_is_left_of_it() {
    let house = House::new();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let again = house.run(&["up", "--detach"]);
    assert!(again.stdout.contains("is already running"), "{}", again.stdout);
    let refused = house.run(&["up"]);
    assert_eq!(refused.code, 5, "a second daemon is refused: {}", refused.stderr);
    assert!(refused.stderr.contains("root_in_use"), "{}", refused.stderr);
    let down = house.run(&["down"]);
    assert!(down.stdout.contains("stopped the daemon (pid "), "{}", down.stdout);
    assert!(!house.0.root().join("daemon.json").exists() && !house.0.root().join("daemon.sock").exists());
    assert_eq!(house.run(&["down"]).stdout, "no daemon was running\n");
    assert_eq!(house.run(&["status"]).code, 3);
    let log = std::fs::read_to_string(house.0.root().join("daemon.log")).unwrap();
    assert!(log.contains("info  up pid=") && log.contains("info  down"), "{log}");
}

#[test]
fn what_was_acknowledged_survives_a_kill_and_is_done_by_the_next_daemon() {
    let house = House::new();
    let submitted = house.run(&["submit", "--agent", "sleep", "--input", r#"{"ms": 300}"#, "--json"]);
    let task = serde_json::from_str::<Value>(&submitted.stdout).unwrap()["task"].as_str().unwrap().to_owned();
    house.kill();
    let waited = house.run(&["task", "wait", &task]);
    assert_eq!(waited.code, 0, "{}", waited.stderr);
    assert!(waited.stderr.contains("started the daemon"), "{}", waited.stderr);
    assert!(waited.stdout.contains("slept_ms"), "{}", waited.stdout);
}

#[test]
fn whoever_follows_a_task_goes_on_when_the_daemon_is_killed() {
    let house = House::new();
    let flow = house.0.file("slow.yaml", "name: slow\nsteps:\n  - {id: a, agent: sleep, input: {ms: 400}}\n");
    let mut following = house.start(&["run", flow, "--json"]);
    following.until(|line| line["event"] == "step" && line["status"] == "RUNNING");
    let pid = house.pid();
    house.kill();
    let ended = following.until(|line| line["event"] == "ended");
    assert_eq!(ended["status"], "SUCCESS");
    assert_eq!(following.end(), 0);
    assert_ne!(house.pid(), pid);
    let mut said = String::new();
    while following.stderr.read_line(&mut said).unwrap() > 0 {}
    assert!(said.contains("the daemon ended; starting it again"), "{said}");
}

#[test]
fn many_commands_at_once_start_one_daemon() {
    let house = House::new();
    let arguments = ["submit", "--agent", "echo", "--input", "1", "--new"];
    let mut running: Vec<Running> = (0..6).map(|_| house.start(&arguments)).collect();
    for command in &mut running {
        let mut said = String::new();
        command.stderr.read_line(&mut said).unwrap();
        assert_eq!(command.end(), 0, "{said}");
    }
    let listed = house.run(&["task", "list", "--json"]);
    assert_eq!(listed.stdout.matches("tsk_").count(), 6, "{}", listed.stdout);
}

#[test]
fn an_approval_can_be_given_while_somebody_waits() {
    let house = House::new();
    let flow = "name: ask\nsteps:\n  - {id: a, agent: echo, input: 1, approve: {text: sure?}}\n";
    let flow = house.0.file("ask.yaml", flow);
    let mut following = house.start(&["run", flow, "--json"]);
    let asked = following.until(|line| line["event"] == "waiting");
    let task = asked["task"].as_str().unwrap().to_owned();
    assert_eq!(house.run(&["task", "approve", &task, "a", "--yes"]).code, 0);
    assert_eq!(following.until(|line| line["event"] == "ended")["status"], "SUCCESS");
    let yes = house.run(&["run", flow, "--new", "--yes"]);
    assert_eq!(yes.code, 0, "{}", yes.stderr);
    assert!(yes.stderr.contains("asks: sure? (approved automatically)"), "{}", yes.stderr);
}

#[test]
fn a_long_input_goes_through_the_socket_and_back() {
    let house = House::new();
    let long = "x".repeat(3 << 20);
    house.0.file("long.json", &format!("\"{long}\""));
    let said = house.run(&["submit", "--agent", "echo", "--input", "@long.json", "--wait"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(said.stdout.trim().len(), long.len() + 2);
}

#[test]
fn rubbish_at_the_socket_ends_that_connection_and_nothing_else() {
    let house = House::new();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let pid = house.pid();
    for rubbish in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 64], &[0, 0, 0, 0], &[1, 0, 0, 0, 0xff], &[0, 0, 0, 1]] {
        let mut stream = UnixStream::connect(house.0.root().join("daemon.sock")).unwrap();
        stream.write_all(rubbish).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    }
    assert_eq!(house.run(&["submit", "--agent", "echo", "--input", "1", "--wait"]).code, 0);
    assert_eq!(house.pid(), pid);
}

#[test]
fn a_path_too_long_for_a_socket_address_is_no_obstacle() {
    let house = House::new();
    let deep = format!("{}/root", "d".repeat(120));
    std::fs::create_dir(house.0.folder.path().join("d".repeat(120))).unwrap();
    let run = |arguments: &[&str]| Said::of(house.command(arguments).env("RELAYMESH_ROOT", &deep).output().unwrap());
    let said = run(&["submit", "--agent", "echo", "--input", "1", "--wait"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(run(&["down"]).code, 0);
}

#[test]
fn r12_a_start_says_how_the_last_daemon_stopped_and_where_the_log_stood() {
    let house = House::new();
    assert_eq!(house.run(&["submit", "--agent", "echo", "--wait"]).code, 0);
    let first = house.json(&["status"]);
    assert!(first["last_stop"].is_null(), "{first}");
    assert_eq!(house.run(&["down"]).code, 0);
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let second = house.json(&["status"]);
    let stop = &second["last_stop"];
    assert_eq!((&stop["clean"], &stop["pos"]), (&true.into(), &first["pos"]), "{stop}");
    assert!(stop["head"].as_str().unwrap().len() == 64 && stop["at_ms"].as_u64().unwrap() > 0, "{stop}");
    assert!(house.run(&["status"]).stdout.contains("clean, 20"), "text has the time");
    house.kill();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let stop = &house.json(&["status"])["last_stop"];
    assert_eq!((&stop["clean"], &stop["pos"]), (&false.into(), &second["pos"]), "{stop}");
    assert!(house.run(&["status"]).stdout.contains("NOT clean"));
}
