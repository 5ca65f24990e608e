//! Messages end to end on one machine: delivered, answered, retried, too old, dead; and what a kill does to them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{house::House, wire::Wire};
use relaymesh_core::{content::Media, id::WorkerId};
use relaymesh_runtime::{driver::Command, world::Outcome};
use relaymesh_store::Content;
use serde_json::{Value, json};

fn house(agents: &str) -> House {
    let house = House::new();
    std::fs::create_dir_all(house.0.root()).unwrap();
    std::fs::write(house.0.root().join("agents.toml"), agents).unwrap();
    house
}

/// The messages of a thread, oldest first.
fn thread(house: &House, thread: &str) -> Vec<Value> {
    house.run(&["msg", "thread", thread, "--json"]).lines()
}

fn send(house: &House, arguments: &[&str]) -> (String, String) {
    let sent = house.json(&[&["msg", "send"], arguments].concat());
    (sent["thread"].as_str().unwrap().to_owned(), sent["message"].as_str().unwrap().to_owned())
}

/// Waits until the first message of the thread rests like this.
fn until(house: &House, id: &str, state: &str) -> Value {
    house.0.until(&format!("{id} is {state}"), |_| thread(house, id)[0]["state"] == state);
    thread(house, id).swap_remove(0)
}

#[test]
fn r8_an_agent_that_runs_here_is_given_its_message_and_its_result_is_the_answer() {
    let house = house("[agents.upper]\ncommand = [\"tr\", \"a-z\", \"A-Z\"]\n");
    let answer = house.json(&["msg", "send", "--to", "upper", "--input", "\"hello\"", "--wait"]);
    assert_eq!((&answer["content"], &answer["from"]), (&json!("HELLO"), &json!("upper")));
    let said = house.run(&["msg", "send", "--to", "echo", "--input", "{\"n\": 1}", "--wait"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "{\"n\":1}\n"), "{}", said.stderr);
    let talk = thread(&house, answer["thread"].as_str().unwrap());
    let states: Vec<_> = talk.iter().map(|message| (&message["from"], &message["to"], &message["state"])).collect();
    let (me, upper, done) = (json!("tester"), json!("upper"), json!("DONE"));
    assert_eq!(states, [(&me, &upper, &done), (&upper, &me, &done)]);
    assert_eq!(talk[1]["reply_to"], talk[0]["message"]);
    let inbox = house.run(&["msg", "inbox"]);
    assert!(
        inbox.stdout.is_empty() && inbox.stderr.contains("no message is waiting for "),
        "whoever waited has it: {}",
        inbox.stdout
    );
}

#[test]
fn r8_what_is_for_nobody_here_waits_in_the_inbox_until_it_is_taken_and_answered() {
    let house = house("");
    let (id, message) = send(&house, &["--to", "ben", "--input", "\"look\"", "--priority", "high"]);
    let waits = house.json(&["msg", "inbox", "--agent", "ben"]);
    assert_eq!(
        (&waits["message"], &waits["priority"], &waits["content"]),
        (&json!(message), &json!("high"), &json!("look"))
    );
    let taken = house.json(&["msg", "take", "--agent", "ben"]);
    assert!(house.run(&["msg", "inbox", "--agent", "ben"]).stdout.is_empty());
    assert_eq!(house.run(&["msg", "reply", taken["held"].as_str().unwrap(), "--input", "\"fine\""]).code, 0);
    let said = house.run(&["msg", "thread", &id]);
    assert!(
        said.stdout.contains("tester → ben DONE") && said.stdout.contains("ben → tester QUEUED"),
        "{}",
        said.stdout
    );
    assert_eq!(house.json(&["msg", "inbox"])["content"], "fine");
    // An answer starts nobody, or two agents would talk for ever.
    let (id, _) = send(&house, &["--to", "ben", "--from", "echo", "--input", "1"]);
    let taken = house.json(&["msg", "take", "--agent", "ben"]);
    assert_eq!(house.run(&["msg", "reply", taken["held"].as_str().unwrap(), "--input", "2"]).code, 0);
    let _ = house.json(&["msg", "send", "--to", "echo", "--input", "3", "--wait"]);
    assert_eq!(thread(&house, &id)[1]["state"], "QUEUED");
}

#[test]
fn r8_a_delivery_that_fails_is_made_again_and_then_the_message_is_dead_until_it_is_redriven() {
    let house = house("[agents.moody]\ncommand = [\"sh\", \"-c\", \"test -e $RELAYMESH_ROOT/good && cat\"]\n");
    let (id, message) = send(&house, &["--to", "moody", "--input", "7", "--max-deliveries", "2"]);
    let dead = until(&house, &id, "DEAD");
    assert_eq!((&dead["deliveries"], &dead["dead"]), (&json!(2), &json!("exhausted")), "{dead}");
    assert!(dead["error"].as_str().unwrap().contains("tsk_"), "it says which task has the logs: {dead}");
    let listed = house.run(&["dead", "list", "--json"]).lines();
    assert_eq!(
        listed.iter().map(|dead| &dead["message"]).collect::<Vec<_>>(),
        [&json!(message)],
        "and not its deliveries"
    );
    std::fs::write(house.0.root().join("good"), "").unwrap();
    assert_eq!(house.run(&["msg", "retry", &id, &message]).code, 0);
    until(&house, &id, "DONE");
    assert_eq!(thread(&house, &id)[1]["content"], 7);

    // What can never succeed is not tried again, and what is too old is not delivered.
    let refused = house.run(&[
        "msg",
        "send",
        "--to",
        "fail",
        "--input",
        "{\"message\": \"no\", \"retryable\": false}",
        "--wait",
        "--json",
    ]);
    assert_eq!((refused.code, &refused.json()["state"]), (10, &json!("FAILED")), "{}", refused.stderr);
    let (id, _) = send(&house, &["--to", "nobody", "--input", "1", "--ttl-ms", "1"]);
    assert_eq!(until(&house, &id, "DEAD")["dead"], "expired");
    let waited = house.run(&["msg", "send", "--to", "nobody", "--input", "1", "--wait", "--timeout-s", "0"]);
    assert_eq!(waited.code, 12, "{}", waited.stderr);
}

#[test]
fn r38_a_step_waits_for_the_answer_of_an_inbox_over_kills_and_the_flow_goes_on() {
    let house = house("[agents.ann]\ninbox = true\nabout = \"a person\"\n");
    let flow = "name: trip\nsteps:\n  - {id: ask, agent: ann, input: {where: to}}\n  - {id: go, agent: echo, input: {to: \"${{ steps.ask.result.city }}\"}}\n";
    let flow = house.0.file("flow.yaml", flow);
    let mut run = house.start(&["run", flow, "--json"]);
    let task = run.until(|line| line["event"] == "accepted")["task"].as_str().unwrap().to_owned();
    house.0.until("it is asked", |_| !house.run(&["msg", "inbox", "--agent", "ann"]).stdout.is_empty());
    house.kill();
    let taken = house.json(&["msg", "take", "--agent", "ann"]);
    assert_eq!((&taken["content"]["where"], &taken["from"]), (&json!("to"), &json!("ask")), "{taken}");
    assert_eq!(house.run(&["msg", "take", "--agent", "ann", "--json"]).stdout, "null\n", "asked once");
    house.kill();
    let held = taken["held"].as_str().unwrap();
    let said = house.run(&["msg", "reply", held, "--input", "{\"city\": \"Rome\"}"]);
    assert!(said.code == 0 && said.stderr.contains("the reply completed step stp_"), "{}", said.stderr);
    assert_eq!(house.run(&["msg", "reply", held, "--input", "{\"city\": \"Bern\"}"]).code, 4, "the answer lands once");
    run.until(|line| line["event"] == "ended");
    let shown = house.json(&["task", "show", &task]);
    assert_eq!((&shown["status"], &shown["result"]["to"]), (&json!("SUCCESS"), &json!("Rome")), "{shown}");
    assert_eq!((&shown["steps"][0]["epoch"], house.run(&["log", "verify"]).code), (&json!(1), 0));
}

/// An answer that is not what the step asks for is refused with what is wrong, and whoever gave it may give another. So it is for a worker.
#[test]
fn r38_an_answer_from_outside_is_held_to_what_the_step_asks_for() {
    let house = house("[agents.ann]\ninbox = true\n");
    let schema = json!({ "type": "object", "required": ["city"], "properties": { "city": { "type": "string" } } });
    let step = |agent: &str| json!({ "id": "ask", "agent": agent, "input": 1, "result_schema": schema });
    let wire = Wire::to(&house);
    let task = wire.submit(1, step("ann")).to_string();
    let taken = crate::common::found("the question", || {
        let taken = house.json(&["msg", "take", "--agent", "ann"]);
        taken["held"].as_str().map(str::to_owned)
    });
    let refused = house.run(&["msg", "reply", &taken, "--input", "{\"city\": 7}"]);
    assert!(refused.code == 4 && refused.stderr.contains("/city: 7 is not of type"), "{}", refused.stderr);
    assert_eq!(house.json(&["task", "show", &task])["status"], "RUNNING", "nothing has changed");
    assert_eq!(house.run(&["msg", "reply", &taken, "--input", "{\"city\": \"Rome\"}"]).code, 0);
    assert_eq!(house.run(&["task", "wait", &task]).code, 0);

    let task = wire.submit(2, step("elsewhere"));
    let hold = wire.claim(task, WorkerId::from_bytes([1; 16]), 60_000);
    let refused = wire.finish(hold).unwrap_err();
    assert!(refused.message.contains("does not match `result_schema`"), "{refused:?}");
    let result = Content::Inline(b"{\"city\":\"Bern\"}".to_vec());
    wire.0.call(Command::Finish { hold, outcome: Outcome::Done { media: Media::Json, result } }).unwrap();
    assert_eq!(house.json(&["task", "show", &task.to_string()])["result"]["city"], "Bern");
}

#[test]
fn r8_a_daemon_that_is_killed_in_the_middle_of_a_delivery_delivers_it_again_and_answers_once() {
    let script = "if [ -e $RELAYMESH_ROOT/second ]; then cat; else touch $RELAYMESH_ROOT/second; exec sleep 1000; fi";
    let house = house(&format!("[agents.slow]\ncommand = [\"sh\", \"-c\", \"{script}\"]\nconfine = false\n"));
    let mut waits = house.start(&["msg", "send", "--to", "slow", "--input", "{\"n\": 5}", "--wait", "--json"]);
    house.0.until("it works on it", |_| house.0.root().join("second").exists());
    house.kill();
    let answer = waits.next();
    assert_eq!((&answer["content"]["n"], waits.end()), (&json!(5), 0));
    let talk = thread(&house, answer["thread"].as_str().unwrap());
    assert_eq!(talk.len(), 2, "one question, one answer: {talk:?}");
    assert_eq!(talk[0]["deliveries"], 2);
    assert_eq!(house.run(&["log", "verify"]).code, 0);
}
