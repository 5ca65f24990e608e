//! Messages and locks from the command line.

use crate::common::Mesh;

#[test]
fn a_message_goes_from_one_agent_to_another_and_back() {
    let mesh = Mesh::new();
    let sent = mesh.run(&["message", "send", "--to", "reviewer", "--from", "writer", "--input", "{\"n\":1}", "--json"]);
    assert_eq!(sent.code, 0, "{}", sent.stderr);
    assert_eq!(sent.json()["state"], "QUEUED");
    let taken = mesh.run(&["message", "take", "--agent", "reviewer", "--json"]).json();
    assert_eq!((&taken["from"], &taken["content"]["n"]), (&"writer".into(), &1.into()));
    assert!(mesh.run(&["message", "take", "--agent", "reviewer", "--json"]).json().is_null());
    let held = taken["held"].as_str().unwrap();
    let replied = mesh.run(&["message", "reply", held, "--input", "\"fine\"", "--json"]);
    assert_eq!(replied.code, 0, "{}", replied.stderr);
    let answer = mesh.run(&["message", "take", "--agent", "writer", "--json"]).json();
    assert_eq!((&answer["content"], &answer["reply_to"]), (&"fine".into(), &taken["message"]));
    let held = answer["held"].as_str().unwrap();
    assert_eq!(mesh.run(&["message", "ack", held]).code, 0);
    assert_eq!(mesh.run(&["message", "ack", held]).code, 0, "a holder that did not see the answer says it again");
    let late = mesh.run(&["message", "fail", held, "--error", "no"]);
    assert!(late.code == 4 && late.stderr.contains("rejected_fenced"), "{}", late.stderr);
    assert_eq!(mesh.run(&["log", "verify"]).code, 0);
    assert_eq!(mesh.run(&["log", "rebuild"]).code, 0);
}

#[test]
fn v1_a_lock_keeps_others_out_says_who_has_it_and_lasts_as_long_as_its_work() {
    let mesh = Mesh::new();
    let taken = mesh.run(&["lock", "acquire", "src/**", "--repository", "app", "--holder", "ann", "--json"]);
    assert_eq!(taken.code, 0, "{}", taken.stderr);
    let refused = mesh.run(&["lock", "acquire", "src/lib.rs", "--repository", "app", "--holder", "ben"]);
    assert_eq!(refused.code, 4);
    assert!(refused.stderr.contains("error[locked]") && refused.stderr.contains("ann"), "{}", refused.stderr);
    let listed = mesh.run(&["lock", "list", "--json"]).json();
    assert_eq!((&listed["key"], &listed["holder"]), (&"src/**".into(), &"ann".into()));
    let held = taken.json()["held"].as_str().unwrap().to_owned();
    assert_eq!(mesh.run(&["lock", "renew", &held, "--repository", "app", "--ttl-ms", "60000"]).code, 0);
    assert_eq!(mesh.run(&["lock", "release", &held, "--repository", "app"]).code, 0);
    let ben = mesh.run(&["lock", "acquire", "src/lib.rs", "--repository", "app", "--holder", "ben", "--json"]);
    assert_eq!(ben.json()["fence"], 2);
    let lasts = |arguments: &[&str]| {
        let mut all = vec!["lock", "acquire", "--repository", "app", "--json"];
        all.extend(arguments);
        let taken = mesh.run(&all);
        assert_eq!(taken.code, 0, "{}", taken.stderr);
        let shown = mesh.run(&["lock", "list", "--json"]);
        let lock = shown.lines().into_iter().find(|lock| lock["fence"] == taken.json()["fence"]).unwrap();
        lock["deadline_ms"].as_u64().unwrap() - lock["acquired_ms"].as_u64().unwrap()
    };
    let v1 = [lasts(&["edited"]), lasts(&["long", "--for", "long"]), lasts(&["own", "--ttl-ms", "7000"])];
    assert_eq!(v1, [30_000, 300_000, 7_000]);
    assert_eq!(mesh.run(&["lock", "acquire", "x", "--for", "long", "--ttl-ms", "7000"]).code, 2);
    let bad = mesh.run(&["lock", "acquire", "../x", "--repository", "app"]);
    assert!(bad.code == 2 && bad.stderr.contains("`..`"), "{}", bad.stderr);
    assert_eq!(mesh.run(&["log", "verify"]).code, 0);
}
