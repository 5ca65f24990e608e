//! Commands that ask a daemon elsewhere (`--url`): the same words as in front of its root, and a token that goes nowhere it should not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{Running, Said, house::House, normalised};
use serde_json::Value;
use std::{net::TcpListener, process::Command};

const ASKS: &str = "name: release\nsteps:\n  - {id: build, agent: echo, input: {version: 7}}\n  - {id: deploy, agent: echo, depends_on: [build], approve: {text: \"Deploy to production?\", deadline_ms: 600000}}\n";

/// A daemon, its URL and a token that may do everything.
struct Elsewhere {
    house: House,
    url: String,
    token: String,
}

impl Elsewhere {
    fn new() -> Self {
        let house = House::new();
        assert_eq!(house.run(&["init"]).code, 0);
        let toml = "[agents.talker]\ncommand = [\"sh\", \"-c\", \"echo one >&2; echo two >&2; cat\"]\nabout = \"says two words\"\nlabels = { team = \"a\" }\n";
        std::fs::write(house.0.root().join("agents.toml"), toml).unwrap();
        assert_eq!(house.run(&["up", "--detach"]).code, 0);
        let url = house.json(&["status"])["http"].as_str().unwrap().to_owned();
        let token = token(&house, &["create", "tester", "--scope", "admin"]);
        Self { house, url, token }
    }

    /// The command in a folder where there is no root.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.house.command(arguments);
        command.env("RELAYMESH_ROOT", "nowhere").env("RELAYMESH_URL", &self.url).env("RELAYMESH_TOKEN", &self.token);
        command
    }

    fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(arguments).output().unwrap())
    }

    /// The same command here and there, for people and for programs.
    fn both(&self, arguments: &[&str]) {
        for json in [&[][..], &["--json"]] {
            let arguments = [arguments, json].concat();
            let (here, there) = (self.house.run(&arguments), self.run(&arguments));
            assert_eq!(seen(&here), seen(&there), "{arguments:?}");
        }
    }

    /// A change made here and an equal one made there say the same, but for ids and times.
    fn alike(&self, here: &[&str], there: &[&str]) -> (Said, Said) {
        let (here, there) = (self.house.run(here), self.run(there));
        assert_eq!(seen(&here), seen(&there));
        (here, there)
    }

    fn submit(&self, arguments: &[&str]) -> String {
        let said = self.house.run(&[&["submit"], arguments].concat());
        assert_eq!(said.code, 0, "{}", said.stderr);
        said.stdout.trim().to_owned()
    }

    fn ended(&self, arguments: &[&str]) -> String {
        let task = self.submit(arguments);
        self.house.run(&["task", "wait", &task]);
        task
    }
}

fn token(house: &House, arguments: &[&str]) -> String {
    let said = house.run(&[&["token"], arguments].concat());
    assert_eq!(said.code, 0, "{}", said.stderr);
    said.stdout.trim().to_owned()
}

/// What is said, but for ids, times, and how long ago.
fn seen(said: &Said) -> String {
    let plain = |text: &str| {
        let words = normalised(text);
        // A step that is taken and done between two looks from elsewhere is shown done.
        let lines = words.lines().filter(|line| !line.contains("\"event\":\"step\"")).map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_span = |at: usize| {
                let unit = words.get(at).is_some_and(|word| matches!(word.trim_end_matches(')'), "ms" | "s" | "min"));
                let number = |word: &&str| word.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '(' | 'N'));
                at > 0 && unit && words.get(at - 1).is_some_and(number)
            };
            let kept = (0..words.len()).filter(|at| !is_span(*at) && !is_span(at + 1));
            kept.map(|at| proofless(words[at])).collect::<Vec<_>>().join(" ")
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    format!("exit {}\n--- stdout\n{}\n--- stderr\n{}", said.code, plain(&said.stdout), plain(&said.stderr))
}

/// The word without what no two of anything share: proofs of leases, moments and fences.
fn proofless(word: &str) -> String {
    let parts = word.split_inclusive(['"', ',', '}']).map(|part| {
        let is_moment =
            part.trim_matches([':', ',', '}']).parse::<u64>().is_ok_and(|number| number > 1_000_000_000_000);
        let is_proof = part.contains("lse_");
        if is_moment || is_proof { "…" } else { part }
    });
    let text: String = parts.collect();
    let (before, fence) = text.split_once("\"fence\":").unwrap_or((&text, ""));
    format!("{before}{}", fence.trim_start_matches(|c: char| c.is_ascii_digit()))
}

#[test]
fn whoever_looks_from_elsewhere_sees_the_same() {
    let there = Elsewhere::new();
    let house = &there.house;
    let echo = there.ended(&["--agent", "echo", "--input", r#"{"text": "hello", "n": 1.5}"#]);
    let failed = there.ended(&["--agent", "fail", "--input", r#"{"message": "no", "retryable": false}"#]);
    let talker = there.ended(&["--agent", "talker", "--input", "{\"a\": 1}"]);
    let flow = house.0.file("asks.yaml", ASKS);
    let asking = there.submit(&["--file", flow]);
    house.0.until("it asks", |_| house.json(&["task", "show", &asking])["steps"][1]["status"] == "WAITING");
    let sent = house.run(&["msg", "send", "--to", "reviewer", "--input", "{\"diff\": 1}"]).stdout;
    let thread = sent.split(' ').next().unwrap();
    assert_eq!(house.run(&["lock", "acquire", "src/**", "--repository", "app", "--ttl-ms", "600000"]).code, 0);
    assert_eq!(house.run(&["ns", "create", "team-a", "--about", "the first"]).code, 0);

    for task in [&echo, &failed, &talker, &asking] {
        there.both(&["task", "show", task]);
        there.both(&["task", "show", task, "--history"]);
        there.both(&["task", "export", task]);
    }
    there.both(&["task", "show", &echo[echo.len() - 8..]]);
    there.both(&["task", "show", "ZZZZ"]);
    there.both(&["task", "show", "no/id"]);
    there.both(&["task", "list"]);
    there.both(&["task", "list", "--limit", "2"]);
    there.both(&["task", "list", "--before", &failed]);
    there.both(&["task", "list", "--status", "FAILED"]);
    there.both(&["task", "export", "--all"]);
    there.both(&["task", "logs", &talker]);
    there.both(&["task", "logs", &talker, "--stdout"]);
    there.both(&["task", "logs", &talker, "--follow", "--step", "talker"]);
    there.both(&["task", "wait", &echo]);
    there.both(&["task", "wait", &failed]);
    there.both(&["dead", "list"]);
    there.both(&["dead", "list", "--agent", "echo"]);
    there.both(&["dead", "show", &failed]);
    there.both(&["dead", "show", &echo]);
    there.both(&["dead", "export"]);
    there.both(&["approvals", "list"]);
    there.both(&["approvals", "show", &asking]);
    there.both(&["approvals", "show", &asking, "deploy"]);
    there.both(&["approvals", "show", &echo]);
    there.both(&["ns", "list"]);
    there.both(&["agent", "list"]);
    there.both(&["agent", "list", "--label", "team=a"]);
    there.both(&["msg", "inbox", "--agent", "reviewer"]);
    there.both(&["msg", "inbox", "--agent", "nobody"]);
    there.both(&["msg", "thread", thread]);
    there.both(&["lock", "list"]);
    there.both(&["settings", "show"]);
    there.both(&["settings", "history"]);
    there.both(&["settings-history", "--limit", "1"]);
    there.both(&["audit", "tail"]);
    there.both(&["audit", "tail", "-n", "3"]);
    there.both(&["audit", "query", "--kind", "ScheduleJob"]);
    there.both(&["audit", "query", "--task", &echo, "--limit", "2"]);
    there.both(&["audit", "query", "--namespace", "team-a"]);
    there.both(&["flow", "schema"]);
    there.both(&["explain", "RM0054"]);
    // How many clients there are at the socket differs by the one that asks, and the disk is everybody's.
    let mut states = [house.json(&["status"]), serde_json::from_str(&there.run(&["status", "--json"]).stdout).unwrap()];
    for name in ["clients", "disk_free_bytes"] {
        states.iter_mut().for_each(|state| drop(state[name].take()));
    }
    assert_eq!(states[0], states[1]);
    let names = |text: String| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("# TYPE")).map(str::to_owned).collect()
    };
    assert_eq!(names(house.run(&["metrics"]).stdout), names(there.run(&["metrics"]).stdout));
    assert!(there.run(&["metrics", "--openmetrics"]).stdout.ends_with("# EOF\n"));
    assert!(!house.0.folder.path().join("nowhere").exists(), "no root was made where the command ran");
}

#[test]
fn whoever_writes_from_elsewhere_is_told_the_same() {
    let there = Elsewhere::new();
    let house = &there.house;
    let flow = house.0.file("asks.yaml", ASKS);
    for json in [&[][..], &["--json"]] {
        let same = |arguments: &[&str]| {
            let arguments = [arguments, json].concat();
            there.alike(&arguments, &arguments)
        };
        let twins = |of: fn(&str) -> Vec<&str>, (here, elsewhere): (&str, &str)| {
            there.alike(&[&of(here)[..], json].concat(), &[&of(elsewhere)[..], json].concat())
        };
        let submit = ["submit", "--agent", "sleep", "--input", "{\"ms\": 60000}", "--priority", "high", "--new"];
        let (a, b) = (there.submit(&submit[1..]), there.run(&submit).stdout.trim().to_owned());
        twins(|task| vec!["task", "cancel", task, "--reason", "wrong"], (&a, &b));
        twins(|task| vec!["task", "cancel", task], (&a, &b));
        twins(|task| vec!["task", "retry", task], (&a, &b));
        twins(|task| vec!["task", "cancel", task, "--soft"], (&a, &b));
        same(&["submit", "--agent", "echo", "--input", "[1]", "--new"]);
        let order =
            ["submit", "--agent", "echo", "--input", "7", "--key", "order-7", "--name", "order", "--max-attempts", "2"];
        // Ended, so that nobody is told of a state that passes.
        there.ended(&order[1..]);
        same(&order);
        same(&["submit", "--agent", "echo", "--input", "8", "--key", "order-7"]);
        same(&["submit", "--agent", "ecko"]);
        same(&["submit", "--agent", "echo", "--namespace", "nowhere"]);
        same(&["submit", "--agent", "echo", "--input", "\"w\"", "--new", "--wait"]);
        same(&["submit", "--agent", "fail", "--input", "{\"retryable\": false}", "--new", "--wait"]);
        same(&["run", flow, "--new", "--yes"]);
        there.run(&["ns", "create", "team-b"]);
        same(&["ns", "create", "team-b"]);
        let (a, b) = (there.submit(&["--file", flow, "--new"]), there.submit(&["--file", flow, "--new"]));
        for task in [&a, &b] {
            house.0.until("it asks", |_| house.json(&["task", "show", task])["steps"][1]["status"] == "WAITING");
        }
        twins(|task| vec!["approve", task], (&a, &b));
        twins(|task| vec!["approve", task, "--yes"], (&a, &b));
        twins(|task| vec!["task", "wait", task, "--timeout-s", "60"], (&a, &b));
        // Both have ended: a refusal names the state of the step, and one that still runs may be in either.
        twins(|task| vec!["approve", task, "deploy", "--yes"], (&a, &b));
        let (a, b) = (there.submit(&["--file", flow, "--new"]), there.submit(&["--file", flow, "--new"]));
        for task in [&a, &b] {
            house.0.until("it asks", |_| house.json(&["task", "show", task])["steps"][1]["status"] == "WAITING");
        }
        twins(|task| vec!["task", "wait", task, "--timeout-s", "0"], (&a, &b));
        twins(|task| vec!["deny", task, "--yes", "--reason", "not on a Friday"], (&a, &b));
        house.run(&["task", "wait", &a]);
        house.run(&["task", "wait", &b]);
        twins(|task| vec!["dead", "redrive", task], (&a, &b));
        twins(|task| vec!["dead", "redrive", task], (&a, &b));
        for task in [&a, &b] {
            house.0.until("it asks", |_| house.json(&["task", "show", task])["steps"][1]["status"] == "WAITING");
            assert_eq!(house.run(&["deny", task, "--yes"]).code, 0);
            house.run(&["task", "wait", task]);
        }
        twins(|task| vec!["dead", "purge", task], (&a, &b));
        twins(|task| vec!["dead", "purge", task, "--yes"], (&a, &b));

        same(&["msg", "send", "--to", "echo", "--input", "\"hello\"", "--wait", "--timeout-s", "60"]);
        same(&["msg", "send", "--to", "reviewer", "--input", "[1]"]);
        let held = |said: &Said| match json {
            [] => said.stdout.lines().next().unwrap().to_owned(),
            _ => said.json()["held"].as_str().unwrap().to_owned(),
        };
        let (a, b) = same(&["msg", "take", "--agent", "reviewer"]);
        let (a, b) = (held(&a), held(&b));
        twins(|held| vec!["msg", "reply", held, "--input", "\"fine\""], (&a, &b));
        twins(|held| vec!["msg", "ack", held], (&a, &b));
        same(&["msg", "take", "--agent", "reviewer"]);
        same(&["msg", "send", "--to", "reviewer", "--input", "[2]", "--max-deliveries", "1"]);
        let (a, b) = same(&["msg", "take", "--agent", "reviewer"]);
        let (a, b) = (held(&a), held(&b));
        twins(|held| vec!["msg", "fail", held, "--final", "--error", "cannot"], (&a, &b));

        let (key, other) = (format!("a-{}", json.len()), format!("b-{}", json.len()));
        let acquire = |key| [&["lock", "acquire", key, "--ttl-ms", "600000"][..], json].concat();
        let (a, b) = (house.run(&acquire(&key)), there.run(&acquire(&other)));
        let (a, b) = (held(&a), held(&b));
        assert_eq!(seen(&there.run(&acquire(&key))).contains("error[locked]"), json.is_empty());
        for (held, run) in [(&a, house.run(&[])), (&b, there.run(&[]))] {
            assert_eq!(run.code, 2, "{held}");
        }
        let renewed = there.run(&[&["lock", "renew", &b][..], json].concat());
        assert_eq!((renewed.code, held(&renewed)), (0, b.clone()));
        twins(|held| vec!["lock", "release", held], (&a, &b));
    }
    let log = house.run(&["audit", "query", "--source", "http", "--author", "tester", "--json"]).lines();
    assert!(log.iter().all(|entry| entry["via"]["user_agent"].as_str().unwrap().starts_with("relaymesh/")));
    assert!(log.len() > 40, "what was done from elsewhere stands on the log with how it came in: {}", log.len());
}

#[test]
fn a_flow_is_watched_from_elsewhere_until_it_has_ended() {
    let there = Elsewhere::new();
    let flow = there.house.0.file("asks.yaml", ASKS);
    let mut command = there.command(&["run", flow, "--json"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let accepted = next();
    assert_eq!(accepted["event"], "accepted");
    let task = accepted["task"].as_str().unwrap();
    let waits = std::iter::repeat_with(&mut next).take(20).find(|event| event["event"] == "waiting").unwrap();
    assert_eq!(waits["steps"][0]["asks"], "Deploy to production?");
    assert_eq!(there.run(&["approve", task, "--yes"]).code, 0);
    let ended = std::iter::repeat_with(&mut next).take(20).find(|event| event["event"] == "ended").unwrap();
    assert_eq!((&ended["status"], child.wait().unwrap().code()), (&"SUCCESS".into(), Some(0)));
    let watched = there.run(&["run", flow, "--watch", "--new", "--yes"]);
    assert!(watched.code == 0 && watched.stderr.contains("deploy") && watched.stderr.contains("✓ SUCCESS"));
}

/// One step asks, and another is ready and has no place to run yet: a person may take their time, and nothing is blocked.
#[test]
fn a_task_of_which_a_step_is_about_to_run_is_not_said_to_wait_for_a_person() {
    let there = Elsewhere::new();
    let (house, mesh) = (&there.house, &there.house.0);
    let file = mesh.root().join("agents.toml");
    let gate = mesh.folder.path().join("gate");
    let command = format!("command = [\"sh\", \"-c\", \"until test -e {}; do sleep 0.05; done\"]", gate.display());
    std::fs::write(&file, format!("[agents.gated]\n{command}\nconcurrency = 1\nresult = \"text\"\n")).unwrap();
    let flow = "name: two\nsteps:\n  - {id: ask, agent: echo, input: 1, approve: {text: sure?}}\n  - {id: work, agent: gated}\n";
    let flow = mesh.file("two.yaml", flow);
    for command in [there.command(&["run", flow, "--new", "--json"]), house.command(&["run", flow, "--new", "--json"])]
    {
        let _ = std::fs::remove_file(&gate);
        let first = there.submit(&["--agent", "gated", "--new"]);
        mesh.until("the only place is taken", |_| house.json(&["task", "show", &first])["status"] == "RUNNING");
        let mut following = Running::start(command);
        following.until(|line| line["event"] == "step" && line["step"] == "ask" && line["status"] == "WAITING");
        std::fs::write(&gate, "").unwrap();
        let mut ran = false;
        let waits = following.until(|line| {
            ran |= line["step"] == "work" && line["status"] != "PENDING";
            line["event"] == "waiting"
        });
        assert!(ran, "a step that is ready to run is not blocked: {waits}");
        let task = waits["task"].as_str().unwrap();
        assert_eq!(house.run(&["approve", task, "--yes"]).code, 0);
        assert_eq!(following.until(|line| line["event"] == "ended")["status"], "SUCCESS");
    }
}

#[test]
fn a_token_is_shown_to_its_daemon_alone_and_only_as_good_as_it_is() {
    let there = Elsewhere::new();
    let error = |mut command: Command| {
        let said = Said::of(command.arg("--json").output().unwrap());
        let error = said.error();
        (said.code, error["code"].as_str().unwrap().to_owned(), said.stderr)
    };
    let with = |token: &str, arguments: &[&str]| {
        let mut command = there.command(arguments);
        command.env("RELAYMESH_TOKEN", token);
        command
    };
    let (code, name, stderr) = error(with("rmt_wrong", &["task", "list"]));
    assert_eq!((code, name.as_str()), (4, "not_authenticated"));
    assert!(stderr.contains("RELAYMESH_TOKEN") && !stderr.contains("rmt_wrong"), "{stderr}");
    assert_eq!(error(with("", &["task", "list"])).1, "not_authenticated");
    assert_eq!(error(with("a\u{7}b", &["task", "list"])).1, "not_authenticated");
    let ro = token(&there.house, &["create", "looker", "--scope", "ro"]);
    assert_eq!(Said::of(with(&ro, &["task", "list"]).output().unwrap()).code, 0);
    let (code, name, _) = error(with(&ro, &["submit", "--agent", "echo"]));
    assert_eq!((code, name.as_str()), (4, "forbidden"));
    assert_eq!(there.house.run(&["ns", "create", "team-a"]).code, 0);
    let team = token(&there.house, &["create", "team", "--scope", "rw", "--for", "team-a"]);
    let foreign = there.submit(&["--agent", "echo"]);
    assert_eq!(error(with(&team, &["task", "show", &foreign])).1, "no_task");
    assert_eq!(error(with(&team, &["task", "list"])).1, "forbidden");
    let own = Said::of(with(&team, &["submit", "--agent", "echo", "--namespace", "team-a"]).output().unwrap());
    assert_eq!(own.code, 0, "{}", own.stderr);

    let file = there.house.0.file("token", &format!("{}\n", there.token));
    let mut by_file = there.command(&["task", "list", "--token-file", file]);
    assert_eq!(Said::of(by_file.env_remove("RELAYMESH_TOKEN").output().unwrap()).code, 0);
    let (code, name, _) = error(there.command(&["task", "list", "--token-file", "none"]));
    assert_eq!((code, name.as_str()), (3, "no_file"));

    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (url, exit, expected) in [
        (format!("http://{closed}"), 3, "unreachable"),
        ("http://relay.invalid:8080".to_owned(), 2, "in_the_clear"),
        ("http://192.0.2.7:8080".to_owned(), 2, "in_the_clear"),
        ("127.0.0.1:8080".to_owned(), 2, "usage"),
    ] {
        let (code, name, _) = error(there.command(&["submit", "--agent", "echo", "--url", &url]));
        assert_eq!((code, name.as_str()), (exit, expected), "{url}");
    }
    for arguments in [
        &["up"][..],
        &["down"],
        &["init"],
        &["doctor"],
        &["backup", "x"],
        &["secret", "list"],
        &["token", "list"],
        &["log", "verify"],
        &["top"],
        &["purge"],
        &["agent", "detect"],
        &["audit", "verify"],
        &["reload-settings"],
    ] {
        let (code, name, stderr) = error(there.command(arguments));
        assert_eq!((code, name.as_str()), (2, "local_only"), "{arguments:?}");
        assert!(stderr.contains("only on the daemon's machine"), "{stderr}");
    }
    assert!(!there.house.0.folder.path().join("nowhere").exists(), "nothing was made where the command ran");
}

#[test]
fn with_tls_the_certificate_must_be_one_that_is_trusted() {
    let house = House::new();
    assert_eq!(house.run(&["init"]).code, 0);
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let root = house.0.root();
    std::fs::write(root.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    std::fs::write(root.join("cert.pem"), made.cert.pem()).unwrap();
    let set = ["up", "--detach", "--set", "http_tls_cert=cert.pem", "--set", "http_tls_key=key.pem"];
    assert_eq!(house.run(&set).code, 0);
    let url = house.json(&["status"])["http"].as_str().unwrap().to_owned();
    assert!(url.starts_with("https://"));
    let there = Elsewhere { token: token(&house, &["create", "tester", "--scope", "admin"]), url, house };
    let good = there.run(&["submit", "--agent", "echo", "--input", "1", "--wait", "--ca", "root/cert.pem"]);
    assert_eq!((good.code, good.stdout.as_str()), (0, "1\n"), "{}", good.stderr);
    let mut by_variable = there.command(&["task", "list"]);
    assert_eq!(Said::of(by_variable.env("RELAYMESH_CA", "root/cert.pem").output().unwrap()).code, 0);
    let unknown = there.run(&["task", "list", "--json"]);
    assert_eq!((unknown.code, unknown.error()["code"].as_str()), (3, Some("unreachable")));
    assert!(unknown.stderr.contains("--ca"), "{}", unknown.stderr);
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let other = there.house.0.file("other.pem", &other.cert.pem());
    assert_eq!(there.run(&["task", "list", "--ca", other]).code, 3);
    let nonsense = there.house.0.file("nonsense.pem", "no certificate");
    let refused = there.run(&["task", "list", "--ca", nonsense, "--json"]);
    assert_eq!((refused.code, refused.error()["code"].as_str()), (2, Some("usage")));
}
