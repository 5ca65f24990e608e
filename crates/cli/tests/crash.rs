//! Two processes and one root; kill -9; Ctrl-C.

use crate::common::Mesh;

const LONG: &str = "name: long\nsteps:\n  - {id: quick, agent: echo, input: 1}\n  - {id: nap, agent: sleep, input: {ms: 600000}, depends_on: [quick]}\n";

fn is_napping(line: &serde_json::Value) -> bool {
    line["step"] == "nap" && line["status"] == "RUNNING"
}

#[test]
fn one_writer_many_readers() {
    let mesh = Mesh::new();
    let flow = mesh.file("flow.yaml", LONG);
    let mut writer = mesh.start(&["run", flow, "--json"]);
    let accepted = writer.next();
    assert_eq!((&accepted["event"], &accepted["merged"]), (&"accepted".into(), &false.into()));
    let id = accepted["task"].as_str().unwrap().to_owned();
    writer.until(is_napping);

    let refused = mesh.run(&["submit", "--agent", "echo", "--json"]);
    assert_eq!((refused.code, refused.error()["code"].as_str().unwrap()), (5, "root_in_use"));
    assert_eq!(mesh.run(&["task", "cancel", &id]).code, 5);

    assert_eq!(mesh.show(&id)["status"], "RUNNING");
    assert_eq!(mesh.run(&["task", "list", "--json"]).json()["task"], id);
    assert!(mesh.run(&["log", "show"]).stdout.contains("ClaimWork"));
    let waited = mesh.run(&["task", "wait", &id, "--timeout-s", "0", "--json"]);
    assert_eq!(waited.code, 12, "{}", waited.stderr);
    assert_eq!(waited.lines().last().unwrap()["event"], "timed_out");
    let verified = mesh.run(&["log", "verify"]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    writer.kill();
}

#[test]
fn a_killed_run_goes_on_where_it_was() {
    let mesh = Mesh::new();
    let flow = mesh.file("flow.yaml", &LONG.replace("600000", "2000"));
    let mut writer = mesh.start(&["run", flow, "--json"]);
    let id = writer.next()["task"].as_str().unwrap().to_owned();
    writer.until(is_napping);
    assert_eq!(mesh.show(&id)["steps"][1]["epoch"], 1);
    writer.kill();

    let waited = mesh.run(&["task", "wait", &id, "--json"]);
    assert_eq!(waited.code, 0, "{}", waited.stderr);
    assert_eq!(waited.lines().last().unwrap()["result"]["slept_ms"], 2000);
    let shown = mesh.show(&id);
    let (quick, nap) = (&shown["steps"][0], &shown["steps"][1]);
    assert_eq!((&quick["epoch"], &quick["attempt"]), (&1.into(), &1.into()), "done is done");
    assert_eq!(nap["epoch"], 2);
    assert_eq!(nap["history"][0]["outcome"], "ABANDONED");
    assert_eq!(mesh.run(&["log", "verify"]).code, 0);
}

#[test]
fn ctrl_c_gives_the_step_back_and_says_how_to_go_on() {
    let mesh = Mesh::new();
    let flow = mesh.file("flow.yaml", LONG);
    let mut writer = mesh.start(&["run", flow, "--json"]);
    let id = writer.next()["task"].as_str().unwrap().to_owned();
    writer.until(is_napping);
    writer.signal("INT");
    assert_eq!(writer.until(|line| line["event"] == "interrupted")["task"], id);
    assert_eq!(writer.end(), 130);
    let nap = mesh.show(&id)["steps"][1].clone();
    assert_eq!((&nap["status"], &nap["attempt"], &nap["epoch"]), (&"PENDING".into(), &0.into(), &1.into()));
    assert_eq!(nap["history"][0]["outcome"], "YIELDED");
}

#[test]
fn a_waiter_follows_another_process_and_takes_over_when_it_is_gone() {
    let mesh = Mesh::new();
    let flow = mesh.file("flow.yaml", &LONG.replace("600000", "1500"));
    let mut writer = mesh.start(&["run", flow, "--json"]);
    let id = writer.next()["task"].as_str().unwrap().to_owned();
    writer.until(is_napping);
    let mut waiter = mesh.start(&["task", "wait", &id, "--json"]);
    assert_eq!(waiter.next()["event"], "found");
    waiter.until(is_napping);
    writer.kill();
    let ended = waiter.until(|line| line["event"] == "ended");
    assert_eq!((&ended["status"], waiter.end()), (&"SUCCESS".into(), 0));
    assert_eq!(mesh.show(&id)["steps"][1]["epoch"], 2);
}
