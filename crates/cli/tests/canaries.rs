//! Secrets by every way in there is, work of every kind with the most detailed log, and a search of everything that came out: files, answers,
//! events, metrics, traces, what commands print, a backup, and the arguments of every process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{
    canary::{Canaries, base64},
    collector::Collector,
    house::House,
    web::{Got, Web},
};
use relaymesh_fake_model::{FakeModel, Turn};
use serde_json::{Value, json};
use std::{fs, io::Write as _, os::unix::fs::PermissionsExt as _, path::Path, process::Stdio};

/// Kept in the store of secrets, each for another way out: a variable, an input, the output, the key of a server and a header of its own.
const STORED: [(&str, &str); 5] = [
    ("by-variable", "canary-variable+/7f3a91\"x%"),
    ("by-noise", "canary-noise+/c04b2e\"é%"),
    ("by-input", "canary-input+/51c0de\"y%"),
    ("by-key", "canary-key+/5d1f7e90%w"),
    ("by-header", "canary-header+/88ab3c%z"),
];
/// A header for the collector of traces, kept in the store of secrets.
const COLLECTOR: &str = "canary-collector-3b9f0e55";
/// In the daemon's own environment, for an agent that names it.
const PASSED: &str = "canary-environment+/e1e1e1";
/// In the URL of an agent, as its query.
const QUERY: &str = "canary-query-63d2aa10";
/// In the URL of an agent, as a password; such a file is refused.
const PASSWORD: &str = "canary-password-20cc41d7";
/// Shown to the API where no token belongs, or as one that is not good.
const SHOWN: [(&str, &str); 4] = [
    ("a token that is not good", "rmt_canary00shown00as00a00token00f00"),
    ("a cookie", "canary-cookie-b4b4c5c5d6"),
    ("another header", "canary-x-api-key-9a8b7c6d"),
    ("a URL", "canary-in-a-url-0f1e2d3c4b"),
];
/// The key of the secrets: 64 hexadecimal digits.
const KEY_OF_SECRETS: &str = "c0ffee11c0ffee22c0ffee33c0ffee44c0ffee55c0ffee66c0ffee77c0ffee88";

/// Prints what it was given in every form that comes to mind, and fails at first.
const LOUD: &str = r#"
input=$(cat)
for secret in "$KEY" "$NOISE"; do
  printf 'it is %s' "${secret%??????}" >&2; sleep 0.05; printf '%s!\n' "${secret#"${secret%??????}"}" >&2
  printf %s "$secret" | od -An -v -tx1 | tr -d ' \n' >&2; echo >&2
  for before in "" u us user:; do printf '%s%s' "$before" "$secret" | base64 -w0 >&2; echo >&2; done
  printf %s "$secret" | sed 's/%/%25/g; s/+/%2B/g; s,/,%2F,g; s/"/%22/g; s/é/%C3%A9/g' >&2; echo >&2
  printf %s "$secret" | sed 's/%/%25/g; s/+/%2b/g; s,/,%2f,g; s/"/%22/g; s/é/%c3%a9/g' >&2; echo >&2
done
echo "$input" >&2
tr '\0' '\n' < /proc/$$/cmdline > cmdline
printf %s "$PASSED" | wc -c > passed
if [ "$RELAYMESH_ATTEMPT" = 1 ]; then echo "failing with $NOISE" >&2; exit 7; fi
printf '%s %s' "$KEY" "$input"
"#;

struct Scene {
    house: House,
    collector: Collector,
    web: Web,
    canaries: Canaries,
    /// What was said, by whom, and whose secret it is about on purpose.
    said: Vec<(String, String, &'static str)>,
}

impl Scene {
    fn new(model: &FakeModel) -> Self {
        let mut house = House::new();
        house.0.variables.push(("PASSED", PASSED.into()));
        house.0.variables.push(("RELAYMESH_SECRET_KEY", KEY_OF_SECRETS.into()));
        house.0.variables.push(("PATH", std::env::var_os("PATH").unwrap()));
        assert_eq!(house.run(&["init"]).code, 0);
        let mut canaries = Canaries::default();
        let headers = format!("x-key={COLLECTOR}");
        for (name, value) in STORED.into_iter().chain([("by-collector", headers.as_str())]) {
            let mut command = house.command(&["secret", "set", name]);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(value.as_bytes()).unwrap();
            assert!(child.wait().unwrap().success());
            canaries.add(name, value);
        }
        canaries.add("collector", COLLECTOR);
        for (name, value) in SHOWN {
            canaries.add(name, value);
        }
        let more =
            [("environment", PASSED), ("query", QUERY), ("password", PASSWORD), ("key of secrets", KEY_OF_SECRETS)];
        more.into_iter().for_each(|(name, value)| canaries.add(name, value));
        canaries.allow("agents.toml", "query");
        fs::write(house.0.root().join("loud.sh"), LOUD).unwrap();
        let collector = Collector::start();
        let settings = json!({ "otlp_endpoint": collector.url, "otlp_headers_secret": "by-collector" });
        fs::write(house.0.root().join("relaymesh-settings.json"), settings.to_string()).unwrap();
        fs::write(house.0.root().join("agents.toml"), agents(&model.url())).unwrap();
        assert_eq!(house.run(&["up", "--detach", "--log-level", "debug", "--log-format", "json"]).code, 0);
        let web = Web::of(&house);
        canaries.add("first", web.token.as_ref().unwrap());
        canaries.allow("root/http-token", "first");
        Self { house, collector, web, canaries, said: Vec::new() }
    }

    /// Runs a command and keeps what it said. What is about a secret on purpose is looked at for all others.
    fn run(&mut self, arguments: &[&str], about: &'static str) -> String {
        let said = self.house.run(arguments);
        self.said.push((format!("{arguments:?}"), format!("{}\n{}", said.stdout, said.stderr), about));
        said.stdout
    }

    /// Keeps an answer and gives its body.
    fn heard(&mut self, what: &str, got: Got, about: &'static str) -> Value {
        let text = format!("{:?}\n{}", got.headers, got.body);
        self.said.push((format!("{} to {what}", got.status), text, about));
        serde_json::from_str(&got.body).unwrap_or_default()
    }

    fn get(&mut self, path: &str) -> Value {
        let got = self.web.get(path);
        self.heard(path, got, "")
    }

    /// A secret that is only known now.
    fn learn(&mut self, whose: &'static str, secret: &Value) -> Web {
        let secret = secret.as_str().unwrap();
        assert!(secret.len() >= 16, "{whose}: {secret}");
        self.canaries.add(whose, secret);
        self.web.with(secret)
    }

    /// Looks for everything everywhere.
    fn search(&self) {
        for (what, text, about) in &self.said {
            self.canaries.assert_none(what, text.as_bytes(), &[about]);
        }
        for body in self.collector.bodies() {
            self.canaries.assert_none("a trace", &body, &[]);
        }
        assert!(self.canaries.assert_none_below(self.house.0.folder.path()) > 20);
        for entry in fs::read_dir("/proc").unwrap() {
            let path = entry.unwrap().path().join("cmdline");
            if let Ok(bytes) = fs::read(&path) {
                self.canaries.assert_none(&path.display().to_string(), &bytes, &[]);
            }
        }
        if let Some(pid) = self.house.pid() {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            self.canaries.assert_none("the daemon's environment", &environment, &["environment", "key of secrets"]);
        }
    }
}

fn agents(url: &str) -> String {
    format!(
        "[agents.loud]\ncommand = [\"sh\", \"loud.sh\"]\nenv = [\"PASSED\"]\n\
         secrets = {{ KEY = \"by-variable\", NOISE = \"by-noise\" }}\ninput_secrets = [\"by-input\"]\n\
         [agents.hook]\nurl = \"{url}/json?channel={QUERY}\"\nallow = [\"loopback\"]\nkey = \"by-key\"\n\
         secrets = {{ \"x-tenant\" = \"by-header\" }}\n\
         [agents.gone]\nurl = \"http://127.0.0.1:9/hook?channel={QUERY}\"\nallow = [\"loopback\"]\nkey = \"by-key\"\n\
         [agents.slow]\ncommand = [\"sleep\", \"600\"]\nconcurrency = 1\n"
    )
}

/// Says back what it was sent, as servers do that complain.
fn model() -> FakeModel {
    let (key, header) = (STORED[3].1, STORED[4].1);
    let body = json!({ "error": { "message": format!("Bearer {key} and {header} at /json?channel={QUERY}") } });
    let status = |code: u16, more: &[(&str, String)]| Turn::Status {
        code,
        headers: more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        body: body.clone(),
    };
    let elsewhere = format!("http://127.0.0.1:9/json?channel={QUERY}&key={key}");
    FakeModel::start(vec![
        status(400, &[("x-echo", key.to_owned())]),
        status(307, &[("location", elsewhere)]),
        Turn::Pieces(vec![format!("yours is {}", &key[..9]), format!("{}, {header}", &key[9..])]),
    ])
    .unwrap()
}

/// Everybody who has a token, by every way to one.
fn tokens(scene: &mut Scene) -> Vec<Web> {
    let mut all = Vec::new();
    for (name, arguments) in [
        ("looker", ["token", "create", "looker", "--scope", "ro"]),
        ("writer", ["token", "create", "writer", "--scope", "rw"]),
        ("boss", ["token", "create", "boss", "--scope", "admin"]),
    ] {
        let made = scene.run(&arguments, name);
        all.push(scene.learn(name, &json!(made.trim())));
    }
    let rotated = scene.run(&["token", "rotate", "writer", "--overlap", "1h"], "rotated");
    all.push(scene.learn("rotated", &json!(rotated.trim())));
    let made = scene.run(&["agent", "token", "create"], "registration");
    let registration = json!(made.trim());
    scene.learn("registration", &registration);
    let got = scene.web.post("/agents/register", &json!({ "agent": "far", "registration_token": registration }));
    let registered = scene.heard("/agents/register", got, "far");
    all.push(scene.learn("far", &registered["token"]));
    let opened: Value = serde_json::from_str(&scene.run(&["open", "--json"], "code")).unwrap();
    scene.learn("code", &opened["code"]);
    for about in ["session", "code"] {
        let got = scene.web.post("/session", &json!({ "code": opened["code"] }));
        let session = scene.heard("/session", got, about);
        if about == "session" {
            all.push(scene.learn("session", &session["token"]));
        }
    }
    all
}

/// Work that goes well and work that does not.
fn work(scene: &mut Scene, model: &FakeModel) {
    let input = json!({ "password": { "$secret": "by-input" } });
    for (agent, input) in
        [("loud", &input), ("hook", &json!(1)), ("hook", &json!(2)), ("hook", &json!(3)), ("gone", &json!(4))]
    {
        let retry = json!({ "max_attempts": 2, "base_backoff_ms": 1 });
        let got = scene.web.post("/tasks", &json!({ "agent": agent, "input": input, "retry": retry }));
        let made = scene.heard("/tasks", got, "");
        let task = made["task"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
        let ended = scene.get(&format!("/tasks/{task}/wait"));
        assert_eq!(ended["ended"], true, "{ended}");
        for path in ["?history=true", "/export", "/steps/"] {
            let path = if path == "/steps/" { format!("/steps/{agent}") } else { path.to_owned() };
            scene.get(&format!("/tasks/{task}{path}"));
        }
        scene.get(&format!("/audit?task={task}"));
        for more in
            [&["show", "--history", "--json"][..], &["show", "--history"], &["logs", "--json"], &["logs", "--stdout"]]
        {
            scene.run(&[&["task", more[0], &task], &more[1..]].concat(), "");
        }
        if agent == "loud" {
            assert_eq!(ended["status"], "SUCCESS", "{ended}");
            let attempt = scene.house.0.root().join("attempts").join(&task).join("loud.2");
            let passed = fs::read_to_string(attempt.join("passed")).unwrap();
            assert_eq!(passed.trim(), PASSED.len().to_string(), "it was given what it named");
            assert!(fs::read_to_string(attempt.with_added_extension("stderr")).unwrap().contains("***"));
        }
    }
    let asked = model.asked();
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[0].header("authorization"), Some(format!("Bearer {}", STORED[3].1).as_str()));
    assert_eq!(asked[0].header("x-tenant"), Some(STORED[4].1));
}

/// A worker from outside, whose token is good for its attempt.
fn attempt(scene: &mut Scene) -> Web {
    let submit = |scene: &mut Scene, n: u32| {
        let got = scene.web.post("/tasks", &json!({ "agent": "slow", "input": n }));
        scene.heard("/tasks", got, "")["task"].as_str().unwrap().to_owned()
    };
    let busy = submit(scene, 1);
    scene.house.0.until("the only place is taken", |_| {
        scene.web.get(&format!("/tasks/{busy}")).expect(200)["status"] == "RUNNING"
    });
    let free = submit(scene, 2);
    let got = scene.web.post(&format!("/tasks/{free}/steps/slow/claim"), &json!({ "lease_ms": 60_000 }));
    let claimed = scene.heard("a claim", got, "attempt");
    let attempt = scene.learn("attempt", &claimed["token"]);
    let got = attempt.get(&format!("/tasks/{free}/steps/slow"));
    assert_eq!(scene.heard("a step", got, "")["status"], "RUNNING");
    attempt
}

/// A method, a path, headers, and the status of the answer.
type Shown<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], u16);

/// Secrets where none belongs.
fn mistakes(scene: &mut Scene) {
    let [(_, token), (_, cookie), (_, header), (_, url)] = SHOWN;
    let json_body = ("Content-Type", "application/json");
    let basic = String::from_utf8(base64(format!("me:{url}==").as_bytes(), b"+/")).unwrap();
    let (cookie, bearer, basic) = (format!("token={cookie}"), format!("Bearer {token}"), format!("Basic {basic}"));
    let host = format!("me:{url}@{}", scene.web.host);
    let referer = format!("http://me:{url}@{}/page?token={url}#{url}", scene.web.host);
    let body = json!({ "agent": "echo", "input": 1 }).to_string();
    let shown: [Shown<'_>; 11] = [
        ("GET", "/tasks", &[("Authorization", &bearer)], 401),
        ("POST", "/tasks", &[json_body, ("Authorization", &bearer)], 401),
        ("GET", "/events", &[("Authorization", &bearer)], 401),
        ("GET", "/tasks", &[("Authorization", &basic)], 401),
        ("POST", "/tasks", &[json_body, ("Cookie", &cookie), ("X-Api-Key", header)], 201),
        ("GET", "/nowhere", &[("Cookie", &cookie), ("X-Api-Key", header)], 404),
        ("POST", "/tasks", &[json_body, ("Referer", &referer)], 200),
        ("GET", "/tasks", &[("Host", &host)], 421),
        ("GET", "/tasks?token=URL&access_token=URL", &[("Authorization", "")], 401),
        ("GET", "/tasks?token=URL", &[], 400),
        ("GET", "/tasks?limit=URL", &[], 400),
    ];
    for (method, path, headers, status) in shown {
        let path = path.replace("URL", url);
        let got = scene.web.send(method, &path, headers, (method == "POST").then_some(&body));
        assert_eq!(got.status, status, "{method} {path} {headers:?}: {got:?}");
        scene.heard(&format!("{method} with {} headers", headers.len()), got, "");
    }
    for (path, body) in [
        ("/session", json!({ "code": token })),
        ("/agents/register", json!({ "agent": "far", "registration_token": token })),
        ("/agents/register", json!({ "agent": "far", "registration_token": token, "oops": 1 })),
        ("/agents/register", json!({ "agent": 5, "registration_token": token })),
    ] {
        let got = scene.web.post(path, &body);
        assert!(got.status >= 400);
        scene.heard(path, got, "");
    }
    // A file with a password in it is refused, and nobody repeats it.
    let file = scene.house.0.root().join("agents.toml");
    let good = fs::read_to_string(&file).unwrap();
    for wrong in [
        format!("[agents.a]\nurl = \"https://me:{PASSWORD}@a.example/\"\n"),
        format!("[agents.a]\nurl = \"https://a.example/?api_key={PASSWORD}\"\n"),
        format!("[agents.a]\nurl = \"nonsense {PASSWORD}\"\n"),
    ] {
        fs::write(&file, wrong).unwrap();
        scene.run(&["agent", "list"], "");
        let refused = scene.run(&["agent", "list", "--json"], "");
        assert_eq!(refused, "", "it is refused");
        let noticed = |_: &crate::common::Mesh| scene.web.get("/ready").body.contains("agents");
        scene.house.0.until("the daemon has noticed", noticed);
        scene.get("/status");
        fs::write(&file, &good).unwrap();
        let forgotten = |_: &crate::common::Mesh| !scene.web.get("/ready").body.contains("agents");
        scene.house.0.until("the daemon has it again", forgotten);
    }
}

/// Everything that can be looked at.
fn looks(scene: &mut Scene) {
    for path in [
        "/tasks",
        "/agents",
        "/status",
        "/settings",
        "/settings/history",
        "/tokens",
        "/audit?limit=500",
        "/dead",
        "/openapi.json",
    ] {
        scene.get(path);
    }
    for path in ["/health", "/ready", "/approvals", "/locks", "/namespaces", "/metrics"] {
        scene.get(path);
    }
    let commands = "task list|agent list|settings show|settings-history|secret list|status|log show|audit query|token list|dead list|usage|metrics|\
                    doctor|log verify";
    for command in commands.split('|') {
        let arguments: Vec<&str> = command.split(' ').collect();
        scene.run(&arguments, "");
        scene.run(&[&arguments[..], &["--json"]].concat(), "");
    }
    let head = scene.get("/status")["pos"].as_u64().unwrap();
    let mut events = scene.web.events("", Some(0));
    let mut at = 0;
    while at < head {
        let (pos, kind, data) = events.next().expect("an event");
        scene.said.push((format!("event {pos}"), format!("{kind} {data}"), ""));
        at = pos;
    }
    assert!(scene.said.iter().filter(|(what, ..)| what.starts_with("event ")).count() > 20);
}

#[test]
fn secrets_by_every_way_in_are_found_nowhere_else() {
    let model = model();
    let mut scene = Scene::new(&model);
    let all = tokens(&mut scene);
    for (web, path) in all.iter().zip(["/tasks", "/tasks", "/settings", "/tasks", "/inboxes/far", "/tasks"]) {
        let got = web.get(path);
        assert_eq!(got.status, 200, "{path}: {got:?}");
        scene.heard(path, got, "");
    }
    work(&mut scene, &model);
    attempt(&mut scene);
    mistakes(&mut scene);
    scene.search();
    looks(&mut scene);
    scene.run(&["backup", "b", "--json"], "");
    assert!(scene.house.0.folder.path().join("b/backup.json").exists());
    scene.search();
    let token = fs::metadata(scene.house.0.root().join("http-token")).unwrap();
    assert_eq!(token.permissions().mode() & 0o777, 0o600);
    scene.run(&["down"], "");
    scene.search();
    assert!(scene.collector.spans().len() > 20, "there were traces to look into");
    assert!(scene.collector.headers().iter().any(|line| line.contains(COLLECTOR)), "and who took them was known");
}

/// The key is outside of the root, and nothing of it comes in: not when it is used, not when it is refused.
#[test]
fn the_key_of_a_certificate_is_read_and_written_nowhere() {
    let house = House::new();
    assert_eq!(house.run(&["init"]).code, 0);
    let keys = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (pem, der) = (made.signing_key.serialize_pem(), made.signing_key.serialize_der());
    let mut canaries = Canaries::default();
    canaries.add("key", &der);
    pem.lines().filter(|line| !line.starts_with('-')).for_each(|line| canaries.add("key", line));
    let put = |name: &str, text: &str| {
        fs::write(keys.path().join(name), text).unwrap();
        keys.path().join(name).display().to_string()
    };
    let (cert, key) = (put("cert.pem", &made.cert.pem()), put("key.pem", &pem));
    let set = [format!("http_tls_cert={cert}"), format!("http_tls_key={key}")];
    let up = ["up", "--detach", "--log-level", "debug", "--set", &set[0], "--set", &set[1]];
    let mut said = vec![house.run(&up)];
    assert_eq!(said[0].code, 0, "{}", said[0].stderr);
    let log = house.0.root().join("daemon.log");
    // The beginning is right, the rest is not.
    put("key.pem", &pem[..pem.len() / 2]);
    house.0.until("it is refused", |_| fs::read_to_string(&log).unwrap().contains("http_certificate_refused"));
    said.push(house.run(&["backup", "b", "--json"]));
    for command in ["status", "doctor", "settings show", "log show", "metrics"] {
        said.push(house.run(&[&command.split(' ').collect::<Vec<_>>()[..], &["--json"]].concat()));
    }
    said.push(house.run(&["down"]));
    said.push(house.run(&up));
    assert_ne!(said.last().unwrap().code, 0, "half a key starts nothing");
    for said in &said {
        canaries.assert_none("a command", format!("{}{}", said.stdout, said.stderr).as_bytes(), &[]);
    }
    assert!(canaries.assert_none_below(house.0.folder.path()) > 5);
}

/// A search that finds nothing proves nothing unless it can find.
#[test]
fn the_search_finds_what_it_looks_for_in_every_form() {
    let secret = "canary \"in\" + a/mine%";
    let mut canaries = Canaries::default();
    canaries.add("mine", secret);
    canaries.allow("allowed", "mine");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("allowed"), secret).unwrap();
    assert_eq!(canaries.assert_none_below(folder.path()), 1);
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let json = Value::from(secret).to_string();
    let based = |before: &str| String::from_utf8(base64(format!("{before}{secret}..").as_bytes(), b"+/")).unwrap();
    let percent = "canary%20%22in%22%20%2B%20a%2Fmine%25";
    let forms: [String; 9] = [
        format!("some {secret} thing"),
        hex.to_uppercase(),
        hex,
        Value::from(json.as_str()).to_string(),
        json,
        based(""),
        based("u"),
        based("us"),
        percent.to_owned(),
    ];
    for form in forms {
        assert!(!canaries.found(form.as_bytes()).is_empty(), "{form}");
    }
    assert!(canaries.found(b"canary \"in\" + a/mine").is_empty(), "a part is not the whole");
    assert!(found_in_a_file(&canaries, folder.path(), secret), "it is found in a file");
}

fn found_in_a_file(canaries: &Canaries, folder: &Path, secret: &str) -> bool {
    fs::write(folder.join("leak"), format!("\0\0{secret}\0")).unwrap();
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| canaries.assert_none_below(folder))).is_err()
}
