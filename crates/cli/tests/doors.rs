//! The doors of the HTTP API. Every refusal is tried on every write that the server's own document names, and nothing is changed by any of
//! them: a route that somebody adds is tried without anybody thinking of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{
    house::House,
    web::{Got, Web},
};
use serde_json::{Value, json};

struct Doors {
    house: House,
    web: Web,
    ro: Web,
    admin: Web,
    /// rw, for `team-b` alone.
    other: Web,
    task: String,
    thread: String,
}

impl Doors {
    fn new() -> Self {
        let house = House::new();
        for namespace in ["team-a", "team-b"] {
            assert_eq!(house.run(&["ns", "create", namespace]).code, 0);
        }
        let web = Web::of(&house);
        let token = |arguments: &[&str]| {
            let said = house.run(&[&["token", "create"], arguments].concat());
            assert_eq!(said.code, 0, "{}", said.stderr);
            web.with(said.stdout.trim())
        };
        let (ro, admin) = (token(&["looker", "--scope", "ro"]), token(&["boss", "--scope", "admin"]));
        let other = token(&["other", "--scope", "admin", "--for", "team-b"]);
        let flow = json!({ "name": "asks", "steps": [{ "id": "one", "agent": "echo", "approve": "go on?" }] });
        let task = web.post("/tasks", &json!({ "flow": flow, "namespace": "team-a" })).expect(201);
        let sent = web.post("/messages", &json!({ "to": "nobody", "content": 1, "namespace": "team-a" })).expect(200);
        let (task, thread) = (text(&task["task"]), text(&sent["thread"]));
        Self { house, web, ro, admin, other, task, thread }
    }

    /// A body that the route would take, so that a refusal is not about the body.
    fn body(&self, path: &str) -> Value {
        let (task, thread) = (&self.task, &self.thread);
        let held = format!("{thread}:msg_01M7NG05E3BXGNSWJW7VBSE1Q3:1:lse_01M7NG05E3BXGNSWJW7VBSE1Q3");
        match path {
            "/tasks" | "/tasks/bulk" => json!({ "agent": "echo", "namespace": "team-a" }),
            "/flows" => {
                json!({ "flow": { "name": "n", "steps": [{ "id": "a", "agent": "echo" }] }, "namespace": "team-a" })
            }
            "/flows/check" => {
                json!({ "flow": { "name": "n", "steps": [{ "id": "a", "agent": "echo" }] }, "namespace": "team-a" })
            }
            "/tasks/{id}/cancel" | "/tasks/{id}/retry" | "/tasks/{id}/purge" => json!({}),
            "/tasks/{id}/steps/{step}/claim" => json!({}),
            "/tasks/{id}/steps/{step}/finish" => {
                json!({ "epoch": 1, "lease": "lse_01M7NG05E3BXGNSWJW7VBSE1Q3", "result": 1 })
            }
            "/workers/heartbeat" => json!({ "worker": "wrk_01M7NG05E3BXGNSWJW7VBSE1Q3" }),
            "/messages" => json!({ "to": "nobody", "content": 1, "namespace": "team-a" }),
            "/inboxes/{agent}/take" => json!({ "namespace": "team-a" }),
            "/messages/acknowledge" => json!({ "held": held }),
            "/messages/reply" => json!({ "held": held, "content": 1 }),
            "/messages/fail" => json!({ "held": held, "error": "no" }),
            "/messages/redrive" => json!({ "thread": thread, "message": "msg_01M7NG05E3BXGNSWJW7VBSE1Q3" }),
            "/agents/register" => json!({ "agent": "a", "registration_token": "rmat_0", "namespace": "team-a" }),
            "/approvals/{task}/{step}" => json!({ "ask": "0".repeat(64), "approve": true }),
            "/dead/redrive" | "/dead/purge" => json!({ "ids": [task], "namespace": "team-a" }),
            "/locks" => json!({ "key": "k", "namespace": "team-a" }),
            "/locks/renew" | "/locks/release" => {
                json!({ "held": "lse_01M7NG05E3BXGNSWJW7VBSE1Q3:1", "namespace": "team-a" })
            }
            "/namespaces" => json!({ "name": "team-c" }),
            "/settings" => json!({ "revision": "0", "settings": {} }),
            "/tokens" => json!({ "name": "more", "scope": "ro" }),
            "/tokens/{name}/rotate" | "/tokens/{name}/revoke" => json!({}),
            "/session" => json!({ "code": "0" }),
            "/content" => json!("content of any kind"),
            other => panic!("say what a body of {other} looks like, so that its doors can be tried"),
        }
    }

    /// The path with something that is there in the place of every name.
    fn path(&self, path: &str) -> String {
        let path = if path == "/content" { "/content?namespace=team-a" } else { path };
        path.replace("{id}", &self.task)
            .replace("{task}", &self.task)
            .replace("{step}", "one")
            .replace("{agent}", "nobody")
            .replace("{name}", "looker")
    }

    fn pos(&self) -> u64 {
        self.web.get("/status").expect(200)["pos"].as_u64().unwrap()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Every write of the document: its path, its media type, and the scopes that it asks for (none: it is open to everybody).
fn writes(document: &Value) -> Vec<(String, String, Vec<String>)> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if method == "get" {
                continue;
            }
            assert_eq!(method, "post", "{path}: writes are POST (R23)");
            let media = operation["requestBody"]["content"].as_object().unwrap().keys().next().unwrap().clone();
            let scopes = operation["security"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|way| way["token"].as_array().cloned().unwrap_or_default());
            let path = path.strip_prefix("/api/v1").unwrap_or(path).to_owned();
            found.push((path, media, scopes.map(|scope| text(&scope)).collect()));
        }
    }
    assert!(found.len() > 20, "the document names {} writes", found.len());
    found
}

/// The address with a parameter that no operation has.
fn unknown_parameter(url: &str) -> String {
    format!("{url}{}nonsense=1", if url.contains('?') { '&' } else { '?' })
}

fn is_problem(got: &Got, code: &str) {
    assert_eq!(got.header("content-type"), Some("application/problem+json"), "{got:?}");
    let problem = got.json();
    assert_eq!(problem["code"], code, "{problem}");
    assert_eq!(problem["status"], got.status);
    assert!(problem["type"].as_str().unwrap().ends_with(&format!("/errors/{code}")), "{problem}");
}

#[test]
fn r22_r23_every_write_refuses_whoever_may_not_and_changes_nothing() {
    let doors = Doors::new();
    let document = doors.web.get("/openapi.json").expect(200);
    let before = doors.pos();
    for (path, media, scopes) in writes(&document) {
        let (url, body) = (doors.path(&path), doors.body(&path).to_string());
        let json = ("Content-Type", media.as_str());
        let post = |web: &Web, headers: &[(&str, &str)]| web.send("POST", &url, headers, Some(&body));
        let nobody = Web { token: None, ..doors.web.clone() };
        if scopes.is_empty() {
            // Open to everybody who shows something else: a registration token, a one-time code.
            let got = post(&nobody, &[json]);
            assert!(matches!(got.status, 401 | 404), "{path}: {got:?}");
        } else {
            let got = post(&nobody, &[json]);
            assert_eq!(got.status, 401, "{path} without a token: {got:?}");
            is_problem(&got, "not_authenticated");
            assert_eq!(post(&doors.web.with("rmt_0"), &[json]).status, 401, "{path} with a token that is not good");
            let in_url = nobody.send(
                "POST",
                &format!("{url}?token={}&access_token={0}", doors.web.token.as_ref().unwrap()),
                &[json],
                Some(&body),
            );
            assert_eq!(in_url.status, 401, "{path} with a token in the URL");
            let cookie = format!("token={}", doors.web.token.as_ref().unwrap());
            assert_eq!(post(&nobody, &[json, ("Cookie", &cookie)]).status, 401, "{path} with a token in a cookie");
            if !scopes.contains(&"ro".to_owned()) {
                let got = post(&doors.ro, &[json]);
                assert_eq!(got.status, 403, "{path} with a token that only looks: {got:?}");
                is_problem(&got, "forbidden");
            }
            if path != "/workers/heartbeat" {
                let got = post(&doors.other, &[json]);
                let is_bulk_refused = path == "/tasks/bulk" && got.body.contains("\"forbidden\"");
                assert!(
                    matches!(got.status, 403 | 404) || is_bulk_refused,
                    "{path} with a token for another namespace: {got:?}"
                );
            }
        }
        for host in ["attacker.example", "127.0.0.1.attacker.example", "attacker.example:80"] {
            let got = post(&doors.admin, &[json, ("Host", host)]);
            assert_eq!(got.status, 421, "{path} at {host}: {got:?}");
            is_problem(&got, "wrong_host");
        }
        for foreign in [
            ("Origin", "http://attacker.example"),
            ("Origin", "null"),
            ("Origin", "http://127.0.0.1:1"),
            ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Site", "same-site"),
        ] {
            let got = post(&doors.admin, &[json, foreign]);
            assert_eq!(got.status, 403, "{path} with {foreign:?}: {got:?}");
            is_problem(&got, "foreign_page");
        }
        for media in ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=a", ""] {
            let got = post(&doors.admin, &[("Content-Type", media)]);
            assert_eq!(got.status, 415, "{path} as {media:?}: {got:?}");
            is_problem(&got, "wrong_media");
        }
        let got = nobody.send("POST", &url, &[("Content-Type", "text/plain")], Some(&body));
        let expected = if scopes.is_empty() { 415 } else { 401 };
        assert_eq!(got.status, expected, "{path} as text by nobody: {got:?}");
        let got = doors.admin.send("POST", &unknown_parameter(&url), &[json], Some(&body));
        assert_eq!(got.status, 400, "{path} with a parameter that it does not have: {got:?}");
        is_problem(&got, "usage");
        let got = doors.admin.send("GET", &url, &[json], Some(&body));
        let has_get = document["paths"][format!("/api/v1{path}")]["get"].is_object();
        assert!(got.status == 405 || (has_get && matches!(got.status, 200 | 404)), "{path} by GET: {got:?}");
        for method in ["PUT", "PATCH", "DELETE", "OPTIONS"] {
            let got = doors.admin.send(method, &url, &[json], Some(&body));
            assert_eq!(got.status, 405, "{method} {path}: {got:?}");
            assert_eq!(got.header("access-control-allow-origin"), None, "no CORS");
        }
    }
    assert_eq!(doors.pos(), before, "a refusal has changed something");
    assert!(doors.house.run(&["log", "verify"]).code == 0);
}

#[test]
fn reads_are_as_closed_as_writes_but_for_health() {
    let doors = Doors::new();
    let document = doors.web.get("/openapi.json").expect(200);
    let nobody = Web { token: None, ..doors.web.clone() };
    let mut open = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        if !item["get"].is_object() {
            continue;
        }
        let path = path.strip_prefix("/api/v1").unwrap_or(path);
        let url = doors.path(path).replace("{thread}", &doors.thread).replace("{hash}", &"0".repeat(64));
        let url = url.replace("{code}", "usage");
        let url = if path == "/content/{hash}" { format!("{url}?task={}", doors.task) } else { url };
        let got = nobody.get(&url);
        if got.status != 401 {
            open.push(path.to_owned());
        }
        let unknown = doors.admin.get(&unknown_parameter(&url));
        assert_eq!(unknown.status, 400, "{path} with a parameter that it does not have: {unknown:?}");
        assert_eq!(doors.web.send("GET", &url, &[("Host", "attacker.example")], None).status, 421, "{path}");
        assert_eq!(doors.web.send("GET", &url, &[("Origin", "http://attacker.example")], None).status, 403, "{path}");
        if path.contains("{id}") || path.contains("{task}") || path == "/content/{hash}" || path.contains("{thread}") {
            let got = doors.other.get(&url);
            assert_eq!(got.status, 404, "{path} of another namespace: {got:?}");
        }
    }
    assert_eq!(open, ["/errors/{code}", "/health", "/openapi.json", "/ready"]);
    let other = doors.other.get("/tasks").expect(200);
    assert_eq!(other["tasks"], json!([]), "a token for one namespace means that one");
    assert_eq!(doors.other.get("/tasks?namespace=team-a").status, 403);
    assert_eq!(doors.other.get("/metrics").status, 403, "they are of all namespaces");
    let seen = doors.other.get("/audit?limit=500").expect(200);
    assert!(seen["entries"].as_array().unwrap().iter().all(|entry| entry["namespace"] == "team-b"), "{seen}");
}

#[test]
fn every_answer_has_the_same_closed_headers() {
    let doors = Doors::new();
    let nobody = Web { token: None, ..doors.web.clone() };
    let answers = [
        doors.web.get("/tasks"),
        nobody.get("/tasks"),
        doors.web.get("/nowhere"),
        doors.web.send("DELETE", "/tasks", &[], None),
        doors.web.send("GET", "/tasks", &[("Host", "x")], None),
    ];
    for (got, status) in answers.iter().zip([200, 401, 404, 405, 421]) {
        assert_eq!(got.status, status, "{got:?}");
        assert_eq!(got.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(got.header("x-frame-options"), Some("DENY"));
        assert_eq!(got.header("cache-control"), Some("no-store"));
        assert_eq!(got.header("cross-origin-resource-policy"), Some("same-origin"));
        assert!(got.header("content-security-policy").unwrap().contains("default-src 'none'"));
        assert_eq!(got.header("access-control-allow-origin"), None);
        assert_eq!(got.header("set-cookie"), None);
    }
    assert_eq!(answers[1].header("www-authenticate"), Some("Bearer"));
}

#[test]
fn r23_d9_a_write_by_get_needs_the_switch_and_everything_else_besides_and_is_audited() {
    let doors = Doors::new();
    let origin = format!("http://{}", doors.web.host);
    let body = json!({ "agent": "echo", "input": "by get" }).to_string();
    // `/flows` has no GET of its own.
    let by_get = |web: &Web, origin: &str| {
        web.send("GET", "/flows", &[("Content-Type", "application/json"), ("Origin", origin)], Some(&body))
    };
    assert_eq!(by_get(&doors.web, &origin).status, 405, "off by default");
    let seen = doors.admin.get("/settings").expect(200);
    let switch = json!({ "revision": seen["revision"], "settings": { "http_get_writes": true } });
    assert_eq!(doors.admin.post("/settings", &switch).expect(200)["changed_fields"], json!(["http_get_writes"]));
    assert_eq!(by_get(&doors.web, "").status, 403, "an Origin is needed");
    assert_eq!(by_get(&doors.web, "http://attacker.example").status, 403);
    assert_eq!(by_get(&Web { token: None, ..doors.web.clone() }, &origin).status, 401);
    assert_eq!(by_get(&doors.ro, &origin).status, 403);
    let got = by_get(&doors.web, &origin);
    assert_eq!(got.status, 201, "{got:?}");
    assert_eq!(got.header("deprecation"), Some("true"));
    assert!(doors.admin.get("/metrics").body.contains("relaymesh_web_write_get_compat_total 1\n"));
    assert!(got.header("warning").unwrap().contains("deprecated"));
    let audit = doors.web.get("/audit?kind=AuditEvent").expect(200);
    let entries = audit["entries"].as_array().unwrap();
    let compat: Vec<&Value> =
        entries.iter().filter(|entry| entry["about"]["event"] == "web.write.get_compat").collect();
    assert_eq!(compat.len(), 1, "{audit}");
    assert_eq!(compat[0]["via"]["method"], "GET");
    assert_eq!(compat[0]["about"]["said"]["route"], "/api/v1/flows");
    let changed = entries.iter().find(|entry| entry["about"]["event"] == "settings.update").unwrap();
    assert_eq!(changed["about"]["said"]["changed_fields"], "http_get_writes");
}

#[test]
fn r24_too_many_writes_are_told_when_to_come_again() {
    let doors = Doors::new();
    let seen = doors.admin.get("/settings").expect(200);
    let few = json!({ "revision": seen["revision"], "settings": { "http_writes_per_second": 2 } });
    doors.admin.post("/settings", &few).expect(200);
    let submit = |n: u32| doors.web.post("/tasks", &json!({ "agent": "echo", "input": n }));
    let answers: Vec<Got> = (0..30).map(submit).collect();
    let late: Vec<&Got> = answers.iter().filter(|got| got.status == 429).collect();
    assert!(!late.is_empty() && late.len() < 30, "{} of 30", late.len());
    is_problem(late[0], "too_many");
    assert_eq!(late[0].header("retry-after"), Some("1"));
    assert_eq!(doors.web.get("/tasks").status, 200, "reads go on");
    let counted = format!("relaymesh_web_write_rate_limited_total {}\n", late.len());
    assert!(doors.admin.get("/metrics").body.contains(&counted), "{}", late.len());
    assert_ne!(doors.admin.post("/locks", &json!({ "key": "k" })).status, 429, "another token has its own");
}

#[test]
fn r25_d8_a_write_stands_on_the_log_with_how_it_came_in() {
    let doors = Doors::new();
    let headers = [
        ("Content-Type", "application/json"),
        ("User-Agent", "tester/1"),
        ("X-Forwarded-For", "6.6.6.6"),
        ("Referer", "http://127.0.0.1/page"),
    ];
    let body = json!({ "agent": "echo", "input": 7 }).to_string();
    let got = doors.web.send("POST", "/tasks", &headers, Some(&body)).expect(201);
    let audit = doors.web.get(&format!("/audit?task={}", got["task"].as_str().unwrap())).expect(200);
    let entry = &audit["entries"][0];
    assert_eq!(
        (&entry["author"], &entry["source"], &entry["kind"]),
        (&json!("first"), &json!("http"), &json!("ScheduleJob"))
    );
    let via = &entry["via"];
    assert_eq!((&via["method"], &via["route"]), (&json!("POST"), &json!("/api/v1/tasks")));
    assert!(
        via["remote_addr"].as_str().unwrap().starts_with("127.0.0.1:"),
        "the connection's, whatever is said: {via}"
    );
    assert_eq!(
        (&via["user_agent"], &via["x_forwarded_for"], &via["referer"]),
        (&json!("tester/1"), &json!("6.6.6.6"), &json!("http://127.0.0.1/page"))
    );
    let said = doors.house.run(&["audit", "query", "--task", got["task"].as_str().unwrap(), "--json"]);
    assert_eq!(said.lines()[0]["via"], *via, "the command line says the same");
    assert!(
        audit["entries"].as_array().unwrap()[1..].iter().all(|entry| entry["via"].is_null()),
        "the driver's own ops came from nowhere"
    );
    assert_eq!(doors.house.run(&["log", "verify"]).code, 0, "both formats are on one chain");
}
