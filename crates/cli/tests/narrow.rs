//! Tokens that are good for little: what an agent, an attempt and a token of one namespace do not learn, and whom they cannot speak for.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{house::House, web::Web};
use serde_json::{Value, json};

/// A house with two agents of which nobody here does the work, and its first token.
fn house() -> (House, Web) {
    let house = House::new();
    for namespace in ["team-a", "team-b"] {
        assert_eq!(house.run(&["ns", "create", namespace]).code, 0);
    }
    let agents = "[agents.mine]\ninbox = true\n[agents.theirs]\ncommand = [\"sleep\", \"600\"]\nconcurrency = 1\n";
    std::fs::write(house.0.root().join("agents.toml"), agents).unwrap();
    let web = Web::of(&house);
    (house, web)
}

fn token(house: &House, web: &Web, arguments: &[&str]) -> Web {
    let said = house.run(&[&["token", "create"], arguments].concat());
    assert_eq!(said.code, 0, "{}", said.stderr);
    web.with(said.stdout.trim())
}

fn submit(web: &Web, agent: &str, input: u32) -> String {
    let task = web.post("/tasks", &json!({ "agent": agent, "namespace": "team-a", "input": input })).expect(201);
    task["task"].as_str().unwrap().to_owned()
}

#[test]
fn r22_an_agent_sees_the_tasks_with_a_step_for_it_and_no_others() {
    let (house, web) = house();
    let agent = token(&house, &web, &["worker", "--scope", "agent", "--agent", "mine", "--for", "team-a"]);
    let (own, foreign) = (submit(&web, "mine", 1), submit(&web, "echo", 2));
    let ended = web.get(&format!("/tasks/{foreign}/wait")).expect(200);
    let hash = ended["result_hash"].as_str().unwrap();
    let paths = |task: &str, step: &str| {
        let steps = format!("/tasks/{task}/steps/{step}");
        [format!("/tasks/{task}"), steps.clone(), format!("{steps}/attempts"), format!("{steps}/logs")]
    };
    for path in paths(&own, "mine") {
        assert_eq!(agent.get(&path).status, 200, "{path} is its own");
    }
    let more = [format!("/tasks/{foreign}/wait"), format!("/content/{hash}?task={foreign}")];
    for path in paths(&foreign, "echo").into_iter().chain(more) {
        assert_eq!(web.get(&path).status, 200, "{path}");
        let got = agent.get(&path);
        assert_eq!((got.status, got.json()["code"] == "no_task"), (404, true), "{path} is not its own: {got:?}");
    }
    let claimed = agent.post(&format!("/tasks/{foreign}/steps/echo/claim"), &json!({}));
    assert_eq!(claimed.status, 404, "{claimed:?}");
}

#[test]
fn r22_a_token_of_one_namespace_learns_nothing_of_the_whole_root() {
    let (house, web) = house();
    let narrow = token(&house, &web, &["narrow", "--scope", "admin", "--for", "team-a"]);
    for path in ["/settings", "/settings/history", "/status", "/metrics", "/tokens"] {
        let got = narrow.get(path);
        assert_eq!(got.status, 403, "{path}: {got:?}");
        let detail = got.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.ends_with("needs a token for all namespaces"), "{path}: {detail}");
        assert_eq!(path == "/tokens", detail.contains("tokens needs"), "it says what needs one: {detail}");
    }
    let mine = |all: &Value, name: &str| all["agents"].as_array().unwrap().iter().find(|a| a["name"] == name).cloned();
    let (seen, all) = (narrow.get("/agents").expect(200), web.get("/agents").expect(200));
    assert_eq!(mine(&all, "theirs").unwrap()["command"], json!(["sleep", "600"]));
    let theirs = mine(&seen, "theirs").unwrap();
    assert_eq!((&theirs["kind"], &theirs["command"]), (&json!("script"), &json!([])), "to submit to it, but no more");
    assert!(mine(&seen, "echo").is_some());
    // Nobody, and those who see a part, learn whether it is ready; the rest is for those who see all.
    let nobody = Web { token: None, ..web.clone() };
    let ready = json!({ "ready": true });
    for web in [&nobody, &narrow, &web.with("rmt_0")] {
        assert_eq!(web.get("/ready").expect(200), ready);
    }
    assert_eq!(web.get("/ready").expect(200)["why"], json!([]));
    std::fs::write(house.0.root().join("relaymesh-settings.json"), "{\"nonsense\": 1}").unwrap();
    house.0.until("it is noticed", |_| web.get("/ready").body.contains("settings_refused"));
    assert_eq!(nobody.get("/ready").expect(200), ready);
}

#[test]
fn r22_registering_replaces_the_token_of_the_same_agent_and_no_other_one() {
    let (house, web) = house();
    for name in ["agent.zzz", "agent."] {
        let refused = house.run(&["token", "create", name, "--scope", "admin"]);
        assert!(refused.code == 2 && refused.stderr.contains("begins with `agent.`"), "{}", refused.stderr);
    }
    let admin = token(&house, &web, &["boss", "--scope", "admin"]);
    let refused = admin.post("/tokens", &json!({ "name": "agent.zzz", "scope": "ro" }));
    assert_eq!(refused.expect(400)["code"], "usage");
    let registration = house.run(&["agent", "token", "create"]).stdout.trim().to_owned();
    let register = |agent: &str, namespace: &str| {
        let body = json!({ "agent": agent, "registration_token": registration, "namespace": namespace });
        web.with(web.post("/agents/register", &body).expect(200)["token"].as_str().unwrap())
    };
    let is_good = |web: &Web, agent: &str| web.get(&format!("/inboxes/{agent}")).status == 200;
    let (first, elsewhere) = (register("zzz", "team-a"), register("zzz", "team-b"));
    assert!(is_good(&first, "zzz") && is_good(&elsewhere, "zzz"), "one agent in two namespaces has two tokens");
    // Names that are the same in all that a token's name has room for.
    let long = ["x".repeat(60) + "1", "x".repeat(60) + "2"];
    let both = long.clone().map(|agent| register(&agent, "team-a"));
    assert!(is_good(&both[0], &long[0]) && is_good(&both[1], &long[1]), "one ends the other's token");
    let again = register("zzz", "team-a");
    assert!(!is_good(&first, "zzz") && is_good(&again, "zzz") && is_good(&elsewhere, "zzz"));
    assert_eq!(admin.get("/tokens").expect(200)["tokens"].as_array().unwrap().len(), 6);
}

#[test]
fn r22_the_token_of_an_attempt_renews_its_own_worker_alone() {
    let (house, web) = house();
    let busy = submit(&web, "theirs", 0);
    house.0.until("the only place is taken", |_| web.get(&format!("/tasks/{busy}")).expect(200)["status"] == "RUNNING");
    let claim = |input: u32| {
        let task = submit(&web, "theirs", input);
        web.post(&format!("/tasks/{task}/steps/theirs/claim"), &json!({})).expect(200)
    };
    let (one, two) = (claim(1), claim(2));
    let attempt = web.with(two["token"].as_str().unwrap());
    attempt.post("/workers/heartbeat", &json!({ "worker": two["worker"] })).expect(200);
    let refused = attempt.post("/workers/heartbeat", &json!({ "worker": one["worker"] })).expect(403);
    assert!(refused["detail"].as_str().unwrap().contains("another worker"), "{refused}");
    web.post(&format!("/tasks/{busy}/cancel"), &json!({})).expect(200);
}

#[test]
fn the_address_of_the_daemon_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let house = House::new();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let file = house.0.root().join("daemon.json");
    let mode = || std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    let doctor = || {
        let said = house.run(&["doctor", "--json"]);
        said.lines().into_iter().find(|line| line["check"] == "modes").unwrap()
    };
    assert_eq!(doctor()["verdict"], "ok");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let seen = doctor();
    assert!(seen["verdict"] == "warn" && seen["found"].as_str().unwrap().contains("daemon.json"), "{seen}");
}
