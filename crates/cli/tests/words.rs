//! What a program says over HTTP and what it is told: numbers, keys, repeated words, errors that help, flows, and where the API is.

use crate::common::{house::House, web::Web};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
};

const JSON: (&str, &str) = ("Content-Type", "application/json");

fn house() -> (House, Web) {
    let house = House::new();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let web = Web::of(&house);
    (house, web)
}

fn ended(web: &Web, task: &Value) -> Value {
    web.get(&format!("/tasks/{}/wait", task["task"].as_str().unwrap())).expect(200)
}

#[test]
fn whole_numbers_of_64_bits_are_carried_exactly_from_the_input_to_the_result() {
    let (house, web) = house();
    let text = r#"{"ns":1763490000123456789,"id":9007199254740993,"max":18446744073709551615,"min":-9223372036854775808,"half":0.5}"#;
    let body = format!(r#"{{"agent":"echo","input":{text}}}"#);
    let task = web.send("POST", "/tasks", &[JSON], Some(&body)).expect(201);
    let number = |value: &Value| value.to_string();
    let expected: Value = serde_json::from_str(text).unwrap();
    assert_eq!(number(&ended(&web, &task)["result"]), number(&expected));
    let near = body.replace("9007199254740993", "9007199254740992");
    let other = web.send("POST", "/tasks", &[JSON], Some(&near)).expect(201);
    assert_ne!(other["task"], task["task"], "another number is another request");
    assert_eq!(web.send("POST", "/tasks", &[JSON], Some(&body)).expect(200)["task"], task["task"]);

    // Through an expression, a comparison and a list, in YAML.
    let flow = "name: n\ninput: {type: object}\nsteps:\n  - {id: a, agent: echo, input: {big: '${{ input.big }}', all: [18446744073709551615]}}\n  \
                - {id: b, agent: echo, when: steps.a.result.big == 9007199254740993, input: 'n ${{ steps.a.result.big }}'}\n  \
                - {id: c, agent: echo, when: steps.a.result.big == 9007199254740992, input: never}\n";
    fs::write(house.0.folder.path().join("n.yaml"), flow).unwrap();
    let made = house.run(&["submit", "--file", "n.yaml", "--input", r#"{"big": 9007199254740993}"#, "--json"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let shown = ended(&web, &made.json());
    let result = |step: usize| shown["steps"][step]["result"].to_string();
    assert_eq!(result(0), r#"{"all":[18446744073709551615],"big":9007199254740993}"#, "{shown}");
    assert_eq!((&shown["result"], &shown["steps"][2]["status"]), (&json!("n 9007199254740993"), &json!("SKIPPED")));
}

/// One rule for inputs and results: what two programs would read differently is refused, not changed.
#[test]
fn a_result_that_programs_read_differently_fails_its_attempt_and_says_why() {
    let (house, web) = house();
    let agents = "[agents.double]\ncommand = [\"printf\", '{\"a\":1,\"a\":2}']\nretry = { max_attempts = 1 }\n\
                  [agents.huge]\ncommand = [\"printf\", '[123456789012345678901234567890]']\nretry = { max_attempts = 1 }\n\
                  [agents.large]\ncommand = [\"printf\", '[9007199254740993]']\n\
                  [agents.text]\ncommand = [\"printf\", '{\"a\":1,\"a\":2}']\nresult = \"text\"\n";
    fs::write(house.0.root().join("agents.toml"), agents).unwrap();
    let run = |agent: &str| ended(&web, &web.post("/tasks", &json!({ "agent": agent })).expect(201));
    for (agent, why) in [("double", "the key `a` occurs twice"), ("huge", "would be rounded")] {
        let task = run(agent);
        let error = task["steps"][0]["error"].as_str().unwrap_or_default();
        assert!(error.contains("programs read differently") && error.contains(why), "{task}");
    }
    assert_eq!(run("large")["result"].to_string(), "[9007199254740993]");
    assert_eq!(run("text")["result"], r#"{"a":1,"a":2}"#);
}

#[test]
fn an_equal_request_runs_again_if_it_is_asked_for() {
    let (_house, web) = house();
    let equal = json!({ "agent": "echo", "input": 1 });
    let first = web.post("/tasks", &equal).expect(201);
    assert_eq!(web.post("/tasks", &equal).expect(200)["task"], first["task"]);
    let mut new = equal.clone();
    new["new"] = json!(true);
    let second = web.post("/tasks", &new).expect(201);
    let third = web.post("/tasks", &new).expect(201);
    assert!(first["task"] != second["task"] && second["task"] != third["task"]);
    let bulk = web.send("POST", "/tasks/bulk", &[("Content-Type", "application/x-ndjson")], Some(&new.to_string()));
    assert_eq!(bulk.lines()[0]["merged"], false);
    new["key"] = json!("k");
    assert_eq!(web.post("/tasks", &new).expect(400)["code"], "usage");
}

#[test]
fn a_key_is_any_visible_text_and_the_same_with_quotes_on_every_way_in() {
    let (house, web) = house();
    let body = json!({ "agent": "echo", "input": 1 });
    for key in
        ["order:7", "ann@example.org", "https://shop.example/orders/7?a=b", "Bestellung für Zoë", &"x".repeat(255)]
    {
        let header = |key: &str| web.send("POST", "/tasks", &[JSON, ("Idempotency-Key", key)], Some(&body.to_string()));
        let first = header(key).expect(201);
        let quoted = format!("\"{key}\"");
        let mut inside = body.clone();
        inside["key"] = json!(quoted);
        let bulk =
            web.send("POST", "/tasks/bulk", &[("Content-Type", "application/x-ndjson")], Some(&inside.to_string()));
        let cli = house.run(&["submit", "--agent", "echo", "--input", "1", "--key", key, "--json"]);
        assert_eq!(cli.code, 0, "{}", cli.stderr);
        let same =
            [header(&quoted).expect(200), web.post("/tasks", &inside).expect(200), bulk.lines()[0].clone(), cli.json()];
        for same in same {
            assert_eq!((&same["task"], &same["merged"]), (&first["task"], &json!(true)), "{key}: {same}");
        }
    }
    let put = |folder: &str, file: &str, text: &str| {
        let folder = house.0.root().join(folder);
        fs::write(folder.join(".new"), text).unwrap();
        fs::rename(folder.join(".new"), folder.join(file)).unwrap();
    };
    put("payload", "one.payload.json", "1");
    put("inbox/normal", "one.meta.json", &json!({ "agent": "echo", "key": "\"order:7\"" }).to_string());
    let receipt = || {
        let mut days = fs::read_dir(house.0.root().join("done")).ok()?;
        days.find_map(|day| fs::read_to_string(day.unwrap().path().join("one.receipt.json")).ok())
    };
    house.0.until("the file is taken in", |_| receipt().is_some());
    let receipt: Value = serde_json::from_str(&receipt().unwrap()).unwrap();
    let first = web.post("/tasks", &json!({ "agent": "echo", "input": 1, "key": "order:7" })).expect(200);
    assert_eq!(receipt["task"], first["task"], "{receipt}");
    for (key, why) in [("", "empty"), ("\"open", "quote"), ("a\tb", "U+0009"), (&"x".repeat(256), "255")] {
        let mut inside = body.clone();
        inside["key"] = json!(key);
        let problem = web.post("/tasks", &inside).expect(400);
        let said = problem["detail"].as_str().unwrap();
        assert!(said.starts_with("`key`: ") && said.contains(why), "{problem}");
    }
}

#[test]
fn a_word_whose_answer_was_lost_is_said_again_and_answered_alike() {
    let (house, web) = house();
    let take = |to: &str| {
        web.post("/messages", &json!({ "to": to, "content": 1 })).expect(200);
        web.post(&format!("/inboxes/{to}/take"), &json!({})).expect(200)["message"]["held"].clone()
    };
    let (a, b, c) = (take("a"), take("b"), take("c"));
    let lock = web.post("/locks", &json!({ "key": "src/**", "ttl": "10m" })).expect(200)["held"].clone();
    let words = [
        ("/messages/reply", json!({ "held": a, "content": { "x": 1 } }), json!({ "held": a, "content": { "x": 2 } })),
        ("/messages/acknowledge", json!({ "held": b }), json!({ "held": c.as_str().unwrap().replace(":1:", ":2:") })),
        ("/messages/fail", json!({ "held": c, "error": "no" }), json!({ "held": c, "error": "other" })),
        ("/locks/release", json!({ "held": lock }), json!({ "held": format!("{}9", lock.as_str().unwrap()) })),
    ];
    for (path, word, other) in &words {
        let first = web.post(path, word).expect(200);
        assert_eq!(web.post(path, word).expect(200), first, "{path}");
        assert_eq!(web.post(path, other).status, 409, "{path}");
    }

    fs::write(house.0.root().join("agents.toml"), "[agents.slow]\ncommand = [\"sleep\", \"600\"]\nconcurrency = 1\n")
        .unwrap();
    let submit = |n: u32| {
        web.post("/tasks", &json!({ "agent": "slow", "input": n })).expect(201)["task"].as_str().unwrap().to_owned()
    };
    let busy = submit(1);
    house.0.until("the only place is taken", |_| web.get(&format!("/tasks/{busy}")).expect(200)["status"] == "RUNNING");
    let step = format!("/tasks/{}/steps/slow", submit(2));
    let claimed = web.post(&format!("{step}/claim"), &json!({ "lease": "1m" })).expect(200);
    assert_eq!(claimed["lease_ms"], 60_000);
    let attempt = web.with(claimed["token"].as_str().unwrap());
    let word = |n: u32| json!({ "epoch": claimed["epoch"], "lease": claimed["lease"], "result": n });
    let first = attempt.post(&format!("{step}/finish"), &word(1)).expect(200);
    assert_eq!(attempt.post(&format!("{step}/finish"), &word(1)).expect(200), first, "its own token is good for that");
    assert_eq!(attempt.post(&format!("{step}/finish"), &word(2)).status, 409);
    assert_eq!(attempt.get(&step).status, 401, "and for nothing else");
    assert_eq!(attempt.post("/workers/heartbeat", &json!({ "worker": claimed["worker"] })).status, 401);
    web.post(&format!("/tasks/{busy}/cancel"), &json!({})).expect(200);
}

#[test]
fn hints_over_http_name_requests_and_on_the_command_line_commands() {
    let (house, web) = house();
    let task = "tsk_01M7NG05E3BXGNSWJW7VBSE1Q3";
    let problem = web.get(&format!("/tasks/{task}")).expect(404);
    assert_eq!(problem["hints"], json!(["`GET /api/v1/tasks` lists ids of tasks"]));
    let local = house.run(&["task", "show", task]);
    assert!(local.stderr.contains("hint: list ids with `relaymesh task list`"), "{}", local.stderr);
    let token = house.run(&["token", "create", "far", "--scope", "rw"]).stdout;
    let file = house.0.folder.path().join("token");
    fs::write(&file, token.trim()).unwrap();
    let url = format!("http://{}", web.host);
    let remote = ["--url", &url, "--token-file", file.to_str().unwrap()];
    let far = house.run(&[&["task", "show", task][..], &remote].concat());
    assert!(far.stderr.contains("hint: list ids with `relaymesh task list`"), "{}", far.stderr);
    assert!(!far.stderr.contains("/api/v1"), "{}", far.stderr);
    let keyed = |input: u32| web.post("/tasks", &json!({ "agent": "echo", "input": input, "key": "k" }));
    keyed(1).expect(201);
    assert!(keyed(2).expect(422)["hints"][1].as_str().unwrap().contains("`\"new\": true`"), "{}", keyed(2).body);
    let refused =
        web.post("/agents/register", &json!({ "agent": "a", "registration_token": "rmr_nonsense" })).expect(401);
    assert!(refused["hints"][0].as_str().unwrap().contains("relaymesh agent token create"), "{refused}");
}

#[test]
fn a_body_that_is_wrong_names_the_field_and_durations_are_written_as_in_flows() {
    let (_house, web) = house();
    for (path, body, said) in [
        ("/tasks", json!({ "agent": "echo", "retry": { "max_attempts": "3" } }), "`retry.max_attempts`: invalid type"),
        ("/tasks", json!({ "agent": "echo", "priority": "urgent" }), "`priority`: unknown variant `urgent`"),
        ("/tasks", json!({ "agent": "echo", "timeout": "soon" }), "`timeout`: `soon` is not a duration"),
        ("/tasks", json!({ "agent": "echo", "timeout_ms": 18_446_744_073_709_551_615_u64 }), "`timeout_ms`: "),
        (
            "/tasks",
            json!({ "flow": { "name": "n", "steps": [{ "id": "a" }] } }),
            "`flow.steps[0]`: missing field `agent`",
        ),
        ("/messages", json!({ "to": "a b", "content": 1 }), "`to`: "),
        ("/locks", json!({ "key": "k", "ttl_ms": -1 }), "`ttl_ms`: "),
        ("/tasks", json!([]), "invalid"),
    ] {
        let problem = web.post(path, &body).expect(400);
        assert!(problem["detail"].as_str().unwrap().starts_with(said), "{problem}");
    }
    let submit =
        |name: &str, timeout: Value| web.post("/tasks", &json!({ "agent": "echo", name: timeout, "key": "t" }));
    submit("timeout_ms", json!(600_000)).expect(201);
    submit("timeout_ms", json!("10m")).expect(200);
    submit("timeout", json!("600s")).expect(200);
}

#[test]
fn a_flow_is_checked_as_a_whole_and_comes_alone_in_json_or_yaml() {
    let (house, web) = house();
    let wrong = "name: n\nsteps:\n  - {id: a, agent: ehco}\n  - {id: b, agent: echo, depends_on: [x], when: inptu.y}\n  \
                 - {id: c, agent: echo, input: '${{ steps.nobody.result }}', result_schema: 3}\n";
    let yaml = [("Content-Type", "application/yaml")];
    let problem = web.send("POST", "/flows/check", &yaml, Some(wrong)).expect(422);
    let mut said = vec![problem["detail"].as_str().unwrap().to_owned()];
    said.extend(problem["more"].as_array().unwrap().iter().map(|other| other["detail"].as_str().unwrap().to_owned()));
    let all = ["no agent `ehco`", "depends_on names `x`", "inptu", "step `nobody`", "result_schema"];
    for words in all {
        assert!(said.iter().any(|said| said.contains(words)), "{words}: {said:?}");
    }
    let file = house.0.folder.path().join("wrong.yaml");
    fs::write(&file, wrong).unwrap();
    let checked = house.run(&["flow", "check", file.to_str().unwrap()]);
    assert_ne!(checked.code, 0);
    for words in all {
        assert!(checked.stderr.contains(words), "{words}: {}", checked.stderr);
    }
    assert!(checked.stderr.contains("wrong.yaml:3:") && checked.stderr.contains("wrong.yaml:4:"), "{}", checked.stderr);

    let good = "name: n\nsteps:\n  - {id: a, agent: echo, input: 1}\n";
    web.send("POST", "/flows/check", &yaml, Some(good)).expect(200);
    let first = web.send("POST", "/flows", &yaml, Some(good)).expect(201);
    let bare = json!({ "name": "n", "steps": [{ "id": "a", "agent": "echo", "input": 1 }] });
    for same in [
        web.post("/flows", &bare),
        web.post("/flows", &json!({ "flow": bare })),
        web.post("/tasks", &json!({ "flow": bare })),
    ] {
        assert_eq!(same.expect(200)["task"], first["task"]);
    }
    assert_eq!(house.run(&["ns", "create", "team-a"]).code, 0);
    let elsewhere = web.send("POST", "/flows?namespace=team-a", &yaml, Some(good)).expect(201);
    assert_ne!(elsewhere["task"], first["task"]);
    let refused = web.send("POST", "/flows", &yaml, Some("name: n\nstpes: []\n")).expect(422);
    assert!(refused["hints"].to_string().contains("did you mean `steps`?") && refused["at"]["line"] == 2, "{refused}");
}

#[test]
fn an_answer_to_a_bulk_submit_has_the_number_that_an_editor_shows() {
    let (_house, web) = house();
    let lines = "{\"agent\":\"echo\"}\n\n  \nnonsense\n\n{\"agent\":\"nobody\"}";
    let got = web.send("POST", "/tasks/bulk", &[("Content-Type", "application/x-ndjson")], Some(lines));
    let mut answers = got.lines();
    answers.sort_by_key(|answer| answer["line"].as_u64());
    let numbers: Vec<_> =
        answers.iter().map(|answer| (answer["line"].as_u64().unwrap(), answer["error"]["code"].clone())).collect();
    assert_eq!(numbers, [(1, Value::Null), (4, json!("bad_input")), (6, json!("unknown_agent"))]);
}

/// As curl does for a body that it streams: nothing of it before the daemon has said that it wants it.
#[test]
fn a_client_that_waits_for_100_continue_gets_it_at_once() {
    let (_house, web) = house();
    let chunked = [("Expect", "100-continue"), ("Transfer-Encoding", "chunked"), ("Content-Length", "")];
    for (path, media, body, status) in [
        ("/tasks/bulk", "application/x-ndjson", "{\"agent\":\"echo\"}\n", "200"),
        ("/content", "application/octet-stream", "{}", "201"),
        ("/tasks", "application/json", "{\"agent\":\"echo\"}", "20"),
    ] {
        let headers = [&chunked[..], &[("Content-Type", media)]].concat();
        let mut stream = web.connect();
        stream.write_all(web.request("POST", path, &headers, None).as_bytes()).unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 100"), "{path}: {line}");
        write!(stream, "{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).unwrap();
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert!(rest.trim_start().starts_with(&format!("HTTP/1.1 {status}")), "{path}: {rest}");
    }
}

#[test]
fn a_listener_whose_last_event_the_log_does_not_have_is_told_and_hears_what_is_new() {
    let (_house, web) = house();
    web.post("/tasks", &json!({ "agent": "echo", "input": 1 })).expect(201);
    let head = web.get("/status").expect(200)["pos"].as_u64().unwrap();
    for (query, last) in [("", Some(1_000_000)), ("?after=1000000", None)] {
        let mut events = web.events(query, last);
        let (id, kind, data) = events.next().unwrap();
        assert_eq!((kind.as_str(), &data["asked"], &data["rewound"]), ("Rewound", &json!(1_000_000), &json!(true)));
        assert!(id >= head && id < 1_000_000 && data["pos"] == id, "the id is one to go on from: {id}, {data}");
        web.post("/tasks", &json!({ "agent": "echo", "new": true })).expect(201);
        let (next, kind, _) = events.next().unwrap();
        assert!(next > id && kind != "Rewound");
    }
}

#[test]
fn the_api_is_where_it_was_after_a_restart_and_says_when_it_cannot() {
    let (house, web) = house();
    assert_eq!(house.run(&["down"]).code, 0);
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    assert_eq!(Web::of(&house).host, web.host);
    house.kill();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    assert_eq!(Web::of(&house).host, web.host, "after a crash as well");
    assert_eq!(house.run(&["down"]).code, 0);
    let taken = std::net::TcpListener::bind(&web.host).unwrap();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let moved = Web::of(&house).host;
    assert_ne!(moved, web.host);
    let log = fs::read_to_string(house.0.root().join("daemon.log")).unwrap();
    assert!(log.lines().any(|line| line.contains("http_port_changed") && line.contains(&moved)), "{log}");
    drop(taken);
}
