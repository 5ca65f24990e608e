//! The HTTP API as a program uses it: the same answers as the command line, and nothing lost when the daemon goes away.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{house::House, web::Web};
use serde_json::{Value, json};

fn house() -> (House, Web) {
    let house = House::new();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let web = Web::of(&house);
    (house, web)
}

/// A token from the command line.
fn token(house: &House, arguments: &[&str]) -> String {
    let said = house.run(&[&["token"], arguments].concat());
    assert_eq!(said.code, 0, "{}", said.stderr);
    said.stdout.trim().to_owned()
}

#[test]
fn a_task_is_submitted_waited_for_and_shown_as_the_command_line_shows_it() {
    let (house, web) = house();
    let made = web.post("/tasks", &json!({ "agent": "echo", "input": { "a": [1, 2] } }));
    let task = made.expect(201)["task"].as_str().unwrap().to_owned();
    assert_eq!(made.header("location"), Some(format!("/api/v1/tasks/{task}").as_str()));
    let ended = web.get(&format!("/tasks/{task}/wait")).expect(200);
    assert_eq!(
        (&ended["ended"], &ended["status"], &ended["result"]),
        (&json!(true), &json!("SUCCESS"), &json!({ "a": [1, 2] }))
    );
    let shown = web.get(&format!("/tasks/{task}?history=true")).expect(200);
    assert_eq!(shown, house.json(&["task", "show", &task, "--history"]));
    assert_eq!(web.get(&format!("/tasks/{task}/export")).expect(200), house.json(&["task", "export", &task]));
    let listed = web.get("/tasks?status=SUCCESS&limit=1").expect(200);
    assert_eq!(listed["tasks"][0], house.run(&["task", "list", "--json"]).lines()[0]);
    let step = web.get(&format!("/tasks/{task}/steps/echo")).expect(200);
    let mut listed = shown["steps"][0].clone();
    // In the task it stands once, as what the task delivered.
    assert_eq!((listed["result"].take(), listed["result_ref"]["bytes"].as_u64()), (Value::Null, Some(11)));
    listed["result"] = shown["result"].clone();
    listed.as_object_mut().unwrap().remove("result_ref");
    assert_eq!(step, listed);
    let hash = shown["result_hash"].as_str().unwrap();
    let result = web.get(&format!("/content/{}?task={task}", step_hash(&web, &task)));
    assert_eq!((result.status, result.json()), (200, json!({ "a": [1, 2] })), "{hash}");
    assert_eq!(web.get(&format!("/content/{}?task={task}", "0".repeat(64))).expect(404)["code"], "no_content");
    assert_eq!(web.get("/tasks/tsk_nonsense").expect(400)["code"], "bad_id");
    assert_eq!(web.get("/tasks/tsk_01M7NG05E3BXGNSWJW7VBSE1Q3").expect(404)["code"], "no_task");
    assert_eq!(web.get("/tasks?colour=red").expect(400)["code"], "usage");
}

/// The hash of what the first step of a task delivered.
fn step_hash(web: &Web, task: &str) -> String {
    let audit = web.get(&format!("/audit?task={task}&kind=CompleteJob")).expect(200);
    audit["entries"][0]["about"]["result"]["hash"].as_str().unwrap().to_owned()
}

#[test]
fn lists_are_read_page_by_page() {
    let (_house, web) = house();
    for n in 0..7 {
        web.post("/tasks", &json!({ "agent": "echo", "input": n })).expect(201);
    }
    let (mut cursor, mut seen) = (String::new(), Vec::new());
    loop {
        let page = web.get(&format!("/tasks?limit=3{cursor}")).expect(200);
        seen.extend(page["tasks"].as_array().unwrap().iter().map(|task| task["key"].as_u64().unwrap()));
        let Some(next) = page["next"].as_u64() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen.len(), 7);
    assert!(seen.is_sorted_by(|a, b| a > b), "newest first, each once: {seen:?}");
}

#[test]
fn d5_a_repeat_is_the_same_task_and_a_key_is_not_for_two_requests() {
    let (_house, web) = house();
    let json_with = |key: &'static str| [("Content-Type", "application/json"), ("Idempotency-Key", key)];
    let (one, other) =
        (json!({ "agent": "echo", "input": 1 }).to_string(), json!({ "agent": "echo", "input": 2 }).to_string());
    let first = web.send("POST", "/tasks", &json_with("order-7"), Some(&one)).expect(201);
    let again = web.send("POST", "/tasks", &json_with("order-7"), Some(&one)).expect(200);
    assert_eq!((&again["task"], &again["merged"]), (&first["task"], &json!(true)));
    let reused = web.send("POST", "/tasks", &json_with("order-7"), Some(&other));
    assert_eq!(reused.expect(422)["code"], "key_reused");
    assert_eq!(web.send("POST", "/tasks", &json_with("\"not closed"), Some(&one)).expect(400)["code"], "usage");
    let id = "req_01M7NG05E3BXGNSWJW7VBSE1Q3";
    let by_id = |input: u32| web.post("/tasks", &json!({ "agent": "echo", "input": input, "request_id": id }));
    let (first, again) = (by_id(3).expect(201), by_id(3).expect(200));
    assert_eq!(first["task"], again["task"]);
    assert_eq!(by_id(4).expect(422)["code"], "key_reused");
}

#[test]
fn what_cannot_be_submitted_is_refused_with_code_and_hints() {
    let (_house, web) = house();
    let table = [
        (json!({ "agent": "ecko" }), 422, "unknown_agent", "did you mean `echo`?"),
        (json!({ "agent": "echo", "flow": { "name": "n", "steps": [] } }), 400, "usage", ""),
        (json!({ "agnet": "echo" }), 400, "bad_input", ""),
        (
            json!({ "flow": { "name": "n", "steps": [{ "id": "a", "agent": "echo", "depends_on": ["b"] }] } }),
            422,
            "bad_flow",
            "allowed: a",
        ),
        (
            json!({ "agent": "echo", "namespace": "nowhere" }),
            404,
            "no_namespace",
            "create it by `POST /api/v1/namespaces` with the name `nowhere`",
        ),
    ];
    for (body, status, code, hint) in table {
        let got = web.post("/tasks", &body);
        let problem = got.expect(status);
        assert_eq!(problem["code"], code, "{problem}");
        assert!(hint.is_empty() || problem["hints"].as_array().unwrap().contains(&json!(hint)), "{problem}");
    }
    for (text, said) in [
        ("{\"agent\": \"echo\", \"agent\": \"fail\"}", "occurs twice"),
        ("{", "not valid JSON"),
        ("[1]", "invalid type"),
        ("{\"agent\": \"echo\", \"input\": 18446744073709551616}", "would be rounded"),
    ] {
        let got = web.send("POST", "/tasks", &[("Content-Type", "application/json")], Some(text));
        let problem = got.expect(400);
        assert!(problem["detail"].as_str().unwrap().contains(said), "{problem}");
    }
    let flow = json!({ "name": "n", "steps": [{ "id": "a", "agent": "echo" }, { "id": "b", "agent": "echo", "depends_on": ["a"] }] });
    let outline = web.post("/flows/check", &json!({ "flow": flow })).expect(200);
    assert_eq!(outline["steps"][1]["depends_on"], json!(["a"]));
}

#[test]
fn a_bulk_submit_answers_every_line_and_one_that_is_wrong_stops_none_of_the_others() {
    let (_house, web) = house();
    let mut lines: Vec<String> = (0..500).map(|n| json!({ "agent": "echo", "input": n }).to_string()).collect();
    lines[100] = "{\"agent\": \"nobody\"}".to_owned();
    lines[200] = "nonsense".to_owned();
    let got = web.send("POST", "/tasks/bulk", &[("Content-Type", "application/x-ndjson")], Some(&lines.join("\n")));
    assert_eq!(got.status, 200);
    let mut answers = got.lines();
    answers.sort_by_key(|answer| answer["line"].as_u64());
    assert_eq!(answers.len(), 500);
    for (answer, line) in answers.iter().zip(1..) {
        assert_eq!(answer["line"], line);
        match line {
            101 => assert_eq!(answer["error"]["code"], "unknown_agent"),
            201 => assert_eq!(answer["error"]["code"], "bad_input"),
            _ => assert!(answer["task"].is_string(), "{answer}"),
        }
    }
    let again =
        web.send("POST", "/tasks/bulk", &[("Content-Type", "application/x-ndjson")], Some(&lines[..3].join("\n")));
    assert!(again.lines().iter().all(|answer| answer["merged"] == true));
}

#[test]
fn messages_locks_approvals_and_dead_letters_go_their_way_over_http() {
    let (house, web) = house();
    let sent = web.post("/messages", &json!({ "to": "reviewer", "content": { "diff": "…" } })).expect(200);
    let waiting = web.get("/inboxes/reviewer").expect(200);
    assert_eq!(waiting["messages"][0], house.run(&["msg", "inbox", "--agent", "reviewer", "--json"]).json());
    let endless = web.post("/inboxes/reviewer/take", &json!({ "lease_ms": 3_000_000_000_u64 })).expect(400);
    assert!(
        endless["detail"].as_str().unwrap().contains("; the maximum is "),
        "nobody holds anything for ever: {endless}"
    );
    let taken = web.post("/inboxes/reviewer/take", &json!({})).expect(200);
    assert_eq!((&taken["message"]["content"], &taken["message"]["from"]), (&json!({ "diff": "…" }), &json!("first")));
    let reply =
        web.post("/messages/reply", &json!({ "held": taken["message"]["held"], "content": "fine" })).expect(200);
    let thread = web.get(&format!("/threads/{}", sent["thread"].as_str().unwrap())).expect(200);
    assert_eq!(thread["messages"][1]["message"], reply["message"]);
    assert_eq!(web.post("/inboxes/reviewer/take", &json!({})).expect(200)["message"], Value::Null);
    let fenced = web.post("/messages/acknowledge", &json!({ "held": taken["message"]["held"] }));
    assert_eq!(fenced.status, 409, "a delivery is dealt with once: {}", fenced.body);

    let held = web.post("/locks", &json!({ "key": "src/**", "repository": "app" })).expect(200);
    let refused = web.post("/locks", &json!({ "key": "src/main.rs", "repository": "app", "holder": "bob" }));
    assert_eq!(refused.expect(409)["code"], "locked");
    assert_eq!(web.get("/locks").expect(200)["locks"][0], house.run(&["lock", "list", "--json"]).json());
    let mine = json!({ "held": held["held"], "repository": "app" });
    assert!(web.post("/locks/renew", &mine).expect(200)["deadline_ms"].as_u64() >= held["deadline_ms"].as_u64());
    assert_eq!(web.post("/locks/release", &mine).expect(200), json!({ "released": true }));

    let flow = json!({ "name": "asks", "steps": [{ "id": "one", "agent": "echo", "approve": "go on?" }] });
    let task = web.post("/tasks", &json!({ "flow": flow })).expect(201)["task"].as_str().unwrap().to_owned();
    let asked = web.get("/approvals").expect(200)["approvals"][0].clone();
    assert_eq!(asked, house.run(&["approvals", "list", "--json"]).json());
    let wrong = web.post(&format!("/approvals/{task}/one"), &json!({ "ask": "0".repeat(64), "approve": true }));
    assert_eq!(wrong.status, 409, "a decision is about what was read: {}", wrong.body);
    let decision = json!({ "ask": asked["ask"], "approve": true });
    assert_eq!(web.post(&format!("/approvals/{task}/one"), &decision).expect(200)["approved"], true);
    assert_eq!(web.get(&format!("/tasks/{task}/wait")).expect(200)["status"], "SUCCESS");

    let failing = json!({ "agent": "fail", "retry": { "max_attempts": 1 } });
    let dead = web.post("/tasks", &failing).expect(201)["task"].as_str().unwrap().to_owned();
    web.get(&format!("/tasks/{dead}/wait")).expect(200);
    let found = web.get("/dead?agent=fail").expect(200);
    assert_eq!((&found["total"], &found["dead"][0]["task"]), (&json!(1), &json!(dead)));
    let again = web.post("/dead/redrive", &json!({ "ids": [dead] })).expect(200);
    assert_eq!(again["done"], json!([{ "task": dead }]), "{again}");
    assert_eq!(web.post("/dead/redrive", &json!({})).expect(400)["code"], "usage");
    web.get(&format!("/tasks/{dead}/wait")).expect(200);
    let boss = web.with(&token(&house, &["create", "boss", "--scope", "admin"]));
    assert_eq!(boss.post("/dead/purge", &json!({ "all": true })).expect(200)["done"], json!([{ "task": dead }]));
    assert_eq!(web.get(&format!("/tasks/{dead}")).status, 404);
}

#[test]
fn r22_an_agent_that_connects_by_itself_registers_and_is_itself_alone() {
    let (house, web) = house();
    let registration = house.run(&["agent", "token", "create"]).stdout.trim().to_owned();
    let register = |shown: &str| web.post("/agents/register", &json!({ "agent": "far", "registration_token": shown }));
    assert_eq!(register("rmat_0").expect(401)["code"], "not_authenticated");
    let far = web.with(register(&registration).expect(200)["token"].as_str().unwrap());
    let sent = web.post("/messages", &json!({ "to": "far", "content": "work" })).expect(200);
    assert_eq!(far.get("/inboxes/far").status, 200);
    assert_eq!(far.get("/inboxes/reviewer").expect(403)["code"], "forbidden", "an agent is itself alone");
    assert_eq!(far.get("/tasks").expect(403)["code"], "forbidden", "and looks at nothing else");
    let from = far.post("/messages", &json!({ "to": "x", "from": "boss", "content": 1 }));
    assert_eq!(from.expect(403)["code"], "forbidden", "and speaks for nobody else");
    let taken = far.post("/inboxes/far/take", &json!({})).expect(200);
    assert_eq!(taken["message"]["message"], sent["message"]);
    far.post("/messages/acknowledge", &json!({ "held": taken["message"]["held"] })).expect(200);
    let second = web.with(register(&registration).expect(200)["token"].as_str().unwrap());
    assert_eq!(far.get("/inboxes/far").status, 401, "registering again makes the token from before useless");
    assert_eq!(second.get("/inboxes/far").status, 200);
    house.run(&["agent", "token", "revoke"]);
    assert_eq!(register(&registration).status, 401);
}

#[test]
fn a_worker_from_outside_claims_a_step_and_its_token_dies_with_the_attempt() {
    let (house, web) = house();
    std::fs::write(
        house.0.root().join("agents.toml"),
        "[agents.slow]\ncommand = [\"sleep\", \"600\"]\nconcurrency = 1\n",
    )
    .unwrap();
    let submit = |n: u32| {
        web.post("/tasks", &json!({ "agent": "slow", "input": n })).expect(201)["task"].as_str().unwrap().to_owned()
    };
    let busy = submit(1);
    house.0.until("the only place is taken", |_| web.get(&format!("/tasks/{busy}")).expect(200)["status"] == "RUNNING");
    let free = submit(2);
    let step = format!("/tasks/{free}/steps/slow");
    let claimed = web.post(&format!("{step}/claim"), &json!({ "lease_ms": 60_000 })).expect(200);
    assert_eq!(claimed["heartbeat_ms"], 2_000, "R18: the setting lease_heartbeat_ms");
    let attempt = web.with(claimed["token"].as_str().unwrap());
    assert_eq!(attempt.get(&step).expect(200)["status"], "RUNNING");
    assert_eq!(attempt.get(&format!("/tasks/{busy}")).status, 404, "it sees its own task alone");
    assert_eq!(attempt.get("/tasks").status, 403);
    let beat = attempt.post("/workers/heartbeat", &json!({ "worker": claimed["worker"] })).expect(200);
    assert_eq!(beat["held"], json!([{ "task": free, "step": 0 }]));
    let done = json!({ "epoch": claimed["epoch"], "lease": claimed["lease"], "result": { "n": 2 } });
    let stale = json!({ "epoch": 7, "lease": claimed["lease"], "result": 0 });
    assert_eq!(attempt.post(&format!("{step}/finish"), &stale).status, 409, "another attempt is fenced off");
    assert_eq!(attempt.post(&format!("{step}/finish"), &done).expect(200)["status"], "SUCCESS");
    assert_eq!(attempt.get(&step).status, 401, "the attempt is over, and so is its token");
    let zombie = web.post("/workers/heartbeat", &json!({ "worker": claimed["worker"] }));
    assert!(zombie.status == 409 && zombie.body.contains("holds no lease"), "{zombie:?}");
    let fenced = web.get(&format!("/audit/fenced?task={free}")).expect(200)["entries"].take();
    assert_eq!((&fenced[0]["verb"], &fenced[0]["given"], &fenced[1]), (&json!("complete"), &json!(7), &json!(null)));
    assert_eq!(web.get(&format!("/audit/fenced?task={busy}")).expect(200)["entries"], json!([]));
    assert_eq!(house.run(&["audit", "fenced", "--json"]).lines(), [fenced[0].clone()]);
    assert!(web.get("/metrics").body.contains("relaymesh_fenced_total 1"), "it is counted");
    assert_eq!(web.get(&format!("/tasks/{free}")).expect(200)["result"], json!({ "n": 2 }));
    let silent = submit(3);
    let claimed = web.post(&format!("/tasks/{silent}/steps/slow/claim"), &json!({ "lease_ms": 1_000 })).expect(200);
    assert_eq!(claimed["heartbeat_ms"], 333, "at most a third of the lease");
    let step = || web.get(&format!("/tasks/{silent}/steps/slow")).expect(200);
    house.0.until("a silent worker's attempt is shown as lost (R5)", |_| step()["last_outcome"] == "ABANDONED");
    let text = house.run(&["task", "show", &silent]).stdout;
    assert!(text.contains("ABANDONED: "), "{text}");
    for task in [silent, busy] {
        web.post(&format!("/tasks/{task}/cancel"), &json!({})).expect(200);
    }
}

#[test]
fn r22_tokens_are_rotated_with_an_overlap_bound_to_namespaces_and_revoked_at_once() {
    let (house, web) = house();
    assert_eq!(house.run(&["ns", "create", "team-a"]).code, 0);
    let first = web.with(&token(&house, &["create", "ci", "--scope", "rw", "--for", "team-a"]));
    let made = first.post("/tasks", &json!({ "agent": "echo" })).expect(201);
    let shown = web.get(&format!("/tasks/{}", made["task"].as_str().unwrap())).expect(200);
    assert_eq!(shown["namespace"], "team-a", "the only namespace of a token is the one that is meant");
    assert_eq!(first.post("/tasks", &json!({ "agent": "echo", "namespace": "default" })).status, 403);
    let second = web.with(&token(&house, &["rotate", "ci", "--overlap", "1h"]));
    assert!(first.get("/tasks").status == 200 && second.get("/tasks").status == 200, "both are good meanwhile");
    let third = web.with(&token(&house, &["rotate", "ci", "--overlap", "0s"]));
    assert_eq!((second.get("/tasks").status, third.get("/tasks").status), (401, 200));
    token(&house, &["revoke", "ci"]);
    assert_eq!(third.get("/tasks").status, 401);
    let listed = house.json(&["token", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert!(!listed.to_string().contains("rmt_"));
    let boss = web.with(&token(&house, &["create", "boss", "--scope", "admin"]));
    let made = boss.post("/tokens", &json!({ "name": "more", "scope": "ro", "ttl_ms": 3_600_000 })).expect(200);
    let more = web.with(made["token"].as_str().unwrap());
    assert_eq!((more.get("/tasks").status, more.get("/tokens").status), (200, 403));
    assert_eq!(boss.post("/tokens", &json!({ "name": "more", "scope": "ro" })).status, 409);
    boss.post("/tokens/more/revoke", &json!({})).expect(200);
    assert_eq!(more.get("/tasks").status, 401);
    assert_eq!(boss.post("/tokens/more/rotate", &json!({})).expect(404)["code"], "no_token");
    let audit = web.get("/audit?kind=AuditEvent").expect(200).to_string();
    for event in ["token.create", "token.rotate", "token.revoke"] {
        assert!(audit.contains(event), "{event} is on the log");
    }
    for secret in [&first, &third, &more, &boss] {
        assert!(!audit.contains(secret.token.as_ref().unwrap().split_once('_').unwrap().1), "and no token is");
    }
}

#[test]
fn settings_are_changed_only_by_who_has_seen_what_is_there() {
    let (house, web) = house();
    let boss = web.with(&token(&house, &["create", "boss", "--scope", "admin"]));
    let seen = boss.get("/settings").expect(200);
    assert_eq!(seen["settings"], house.json(&["settings", "show"]));
    let change = |revision: &Value, value: Value| {
        boss.post("/settings", &json!({ "revision": revision, "settings": { "queue_capacity": value } }))
    };
    let changed = change(&seen["revision"], json!(7)).expect(200);
    assert_eq!(changed["changed_fields"], json!(["queue_capacity"]));
    let late = change(&seen["revision"], json!(8)).expect(409);
    assert_eq!((&late["code"], &late["current"]["revision"]), (&json!("changed_meanwhile"), &changed["revision"]));
    assert_eq!(change(&changed["revision"], json!("many")).expect(400)["code"], "bad_settings");
    assert_eq!(change(&changed["revision"], json!(0)).expect(400)["code"], "bad_settings");
    let history = boss.get("/settings/history?limit=1").expect(200);
    assert_eq!(history["history"][0]["changed_fields"], json!(["queue_capacity"]));
    assert_eq!(change(&changed["revision"], Value::Null).expect(200)["changed_fields"], json!(["queue_capacity"]));
}

#[test]
fn a_one_time_code_begins_a_session_once() {
    let (house, web) = house();
    let opened = house.json(&["open"]);
    assert_eq!(opened["url"], format!("http://{}", web.host));
    let begin = || {
        web.with("").send(
            "POST",
            "/session",
            &[("Content-Type", "application/json"), ("Authorization", "")],
            Some(&json!({ "code": opened["code"] }).to_string()),
        )
    };
    let session = web.with(begin().expect(200)["token"].as_str().unwrap());
    assert_eq!(begin().expect(404)["code"], "no_token");
    assert_eq!(session.post("/tasks", &json!({ "agent": "echo" })).status, 201);
    assert_eq!(session.get("/tokens").status, 403, "it is no admin");
    house.run(&["down"]);
    house.run(&["up", "--detach"]);
    let web = Web::of(&house).with(session.token.as_ref().unwrap());
    assert_eq!(web.get("/tasks").status, 401, "a session is nowhere kept");
}

#[test]
fn health_is_open_and_ready_says_what_an_operator_should_know() {
    let (house, web) = house();
    let nobody = Web { token: None, ..web.clone() };
    assert_eq!(nobody.get("/health").expect(200), json!({ "status": "live" }));
    assert_eq!(nobody.get("/ready").expect(200), json!({ "ready": true }), "and no more without a token");
    std::fs::write(house.0.root().join("relaymesh-settings.json"), "{\"nonsense\": 1}").unwrap();
    house.0.until("it is noticed", |_| web.get("/ready").expect(200)["why"].to_string().contains("settings_refused"));
    assert_eq!(web.get("/status").expect(200)["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(house.json(&["status"])["http"], format!("http://{}", web.host));
}

#[test]
fn r29_metrics_are_where_everybody_looks_for_them_and_need_a_token() {
    let (_house, web) = house();
    let task = web.post("/tasks", &json!({ "agent": "echo", "input": 1 })).expect(201)["task"].clone();
    web.get(&format!("/tasks/{}/wait", task.as_str().unwrap())).expect(200);
    assert_eq!(Web { token: None, ..web.clone() }.get("/metrics").status, 401);
    let got = web.get("/metrics");
    assert_eq!((got.status, got.header("content-type")), (200, Some("text/plain; version=0.0.4; charset=utf-8")));
    assert!(got.body.contains("relaymesh_tasks_submitted_total 1\n"), "{}", got.body);
    let open = web.send("GET", "/metrics", &[("Accept", "application/openmetrics-text; version=1.0.0")], None);
    assert!(open.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    assert!(open.body.ends_with("# EOF\n"), "{}", open.body);
}

#[test]
fn an_address_that_others_can_reach_needs_a_certificate_and_a_token() {
    let house = House::new();
    assert_eq!(house.run(&["init"]).code, 0);
    let refused = house.run(&["up", "--detach", "--set", "http_addr=0.0.0.0:0", "--json"]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("open_address") && refused.stderr.contains("no certificate"), "{}", refused.stderr);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http_addr={}", taken.local_addr().unwrap());
    assert_eq!(house.run(&["up", "--detach", "--set", &address]).code, 0, "a port that is taken stops nobody");
    assert_eq!(house.json(&["status"])["http"], Value::Null);
    house.run(&["down"]);
    assert_eq!(house.run(&["up", "--detach", "--set", "http_addr=off"]).code, 0);
    assert_eq!(house.json(&["status"])["http"], Value::Null);
}
