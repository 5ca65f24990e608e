//! Secrets: given to agents, and found nowhere else.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{Said, house::House};
use serde_json::Value;
use std::{io::Write as _, path::Path, process::Stdio};

/// Neither of them is anywhere but in the memory of the agents and in what the vault made of them.
const BY_VARIABLE: &str = "canary-by-variable-7f3a91";
const BY_INPUT: &str = "canary-by-input-c04b2e";

fn house(agents: &str, scripts: &[(&str, &str)]) -> House {
    let house = House::new();
    assert_eq!(house.run(&["init"]).code, 0);
    for (name, script) in scripts {
        std::fs::write(house.0.root().join(name), script).unwrap();
    }
    std::fs::write(house.0.root().join("agents.toml"), agents).unwrap();
    house
}

fn with_input(house: &House, arguments: &[&str], input: &str) -> Said {
    let mut command = house.command(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Said::of(child.wait_with_output().unwrap())
}

fn set(house: &House, name: &str, value: &str) {
    let said = with_input(house, &["secret", "set", name], &format!("{value}\n"));
    assert_eq!(said.code, 0, "{}", said.stderr);
}

/// The forms in which a secret is looked for.
fn forms(secret: &str) -> Vec<String> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let base64 = base64(secret.as_bytes());
    vec![secret.to_owned(), secret.to_uppercase(), hex.to_uppercase(), hex, base64.trim_end_matches('=').to_owned()]
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().chain([0, 0].iter()).take(3).fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        for digit in 0..=three.len() {
            out.push(char::from(DIGITS[(bits >> (18 - 6 * digit)) as usize & 63]));
        }
    }
    out
}

fn assert_clean(what: &str, bytes: &[u8]) {
    for secret in [BY_VARIABLE, BY_INPUT] {
        for form in forms(secret) {
            let found = bytes.windows(form.len()).any(|window| window == form.as_bytes());
            assert!(!found, "{form} is in {what}: {}", String::from_utf8_lossy(bytes));
        }
    }
}

/// Looks at every file below the folder. Says how many there were.
fn assert_files_clean(folder: &Path) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type().unwrap())).unwrap();
        if kind.is_dir() {
            count += assert_files_clean(&path);
        } else if kind.is_file() {
            assert_clean(&path.display().to_string(), &std::fs::read(&path).unwrap());
            count += 1;
        }
    }
    count
}

/// Prints both secrets, in pieces, in JSON, in base64 and hexadecimal digits, and fails the first time.
const LOUD: &str = r#"
input=$(cat)
echo "input is $input" >&2
printf 'key is %s' "${KEY%??????}" >&2; sleep 0.05; printf '%s!\n' "${KEY#"${KEY%??????}"}" >&2
printf %s "$KEY" | od -An -v -tx1 | tr -d ' \n' >&2; echo >&2
printf %s "$KEY" | base64 >&2
if [ "$RELAYMESH_ATTEMPT" = 1 ]; then echo "failing with $KEY" >&2; exit 7; fi
case $input in *canary-by-in*-c04b2e*) ;; *) echo "no secret in the input" >&2; exit 64;; esac
tr '\0' '\n' < /proc/$$/cmdline > cmdline
printf '{"key": "%s", "input": %s}' "$KEY" "$input"
"#;

#[test]
fn a_secret_reaches_its_agent_and_is_found_nowhere_else() {
    let agents =
        "[agents.loud]\ncommand = [\"sh\", \"loud.sh\"]\nsecrets = { KEY = \"key\" }\ninput_secrets = [\"word\"]\n";
    let house = house(agents, &[("loud.sh", LOUD)]);
    set(&house, "key", BY_VARIABLE);
    set(&house, "word", BY_INPUT);
    let input = r#"{"password": {"$secret": "word"}, "long": true}"#;
    let mut up = house.command(&["up", "--detach", "--log-level", "debug"]);
    assert!(up.output().unwrap().status.success());
    let run = house.run(&["submit", "--agent", "loud", "--input", input, "--base-backoff-ms", "1", "--wait", "--json"]);
    assert_eq!(run.code, 0, "{} {}", run.stdout, run.stderr);
    let ended: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    let task = ended["task"].as_str().unwrap();
    let result = house.json(&["task", "show", task, "--history"]);
    let text = result.to_string();
    assert!(text.contains("***"), "{text}");
    assert!(text.contains("exit code 7: failing with ***"), "{text}");
    let attempt = house.0.root().join("attempts").join(task).join("loud.2");
    let printed: Value =
        serde_json::from_str(&std::fs::read_to_string(attempt.with_added_extension("stdout")).unwrap()).unwrap();
    assert_eq!((&printed["key"], &printed["input"]["password"]), (&"***".into(), &"***".into()));
    let said = std::fs::read_to_string(attempt.with_added_extension("stderr")).unwrap();
    assert!(said.contains("key is ***!"), "{said}");
    assert!(std::fs::read_to_string(attempt.join("cmdline")).unwrap().contains("loud.sh"));

    let commands: [&[&str]; 16] = [
        &["task", "show", task, "--history"],
        &["task", "show", task, "--history", "--json"],
        &["task", "logs", task],
        &["task", "logs", task, "--json"],
        &["task", "logs", task, "--stdout"],
        &["task", "list"],
        &["task", "list", "--json"],
        &["agent", "list"],
        &["agent", "list", "--json"],
        &["settings", "show", "--json"],
        &["settings-history"],
        &["secret", "list"],
        &["secret", "list", "--json"],
        &["status", "--json"],
        &["log", "show"],
        &["log", "show", "--json"],
    ];
    for arguments in commands {
        let said = house.run(arguments);
        assert_eq!(said.code, 0, "{arguments:?}: {}", said.stderr);
        assert_clean(&format!("{arguments:?}"), format!("{}{}", said.stdout, said.stderr).as_bytes());
    }
    assert_clean("what was said at submit", format!("{}{}", run.stdout, run.stderr).as_bytes());
    let pid = house.pid().unwrap();
    for file in ["cmdline", "environ"] {
        // The second is closed to everybody but root.
        if let Ok(found) = std::fs::read(format!("/proc/{pid}/{file}")) {
            assert_clean(file, &found);
        }
    }
    // First as the daemon has them, then as it leaves them.
    assert!(assert_files_clean(&house.0.root()) > 8);
    assert_eq!(house.run(&["down"]).code, 0);
    assert!(assert_files_clean(&house.0.root()) > 8);
}

#[test]
fn a_secret_that_is_missing_or_not_allowed_fails_the_step_for_good_and_is_named() {
    let agents = "[agents.a]\ncommand = [\"cat\"]\nsecrets = { KEY = \"nothere\" }\n[agents.b]\ncommand = [\"cat\"]\n";
    let house = house(agents, &[]);
    set(&house, "word", BY_INPUT);
    let reference = r#"{"$secret": "word"}"#;
    let cases =
        [("a", "1", "there is no secret `nothere`"), ("b", reference, "`word`, which `input_secrets` of this agent")];
    for (agent, input, words) in cases {
        let run = house.run(&["submit", "--agent", agent, "--input", input, "--wait", "--json"]);
        assert_eq!(run.code, 10, "{}", run.stderr);
        let ended: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
        assert_eq!(ended["status"], "FAILED", "{ended}");
        let shown = house.json(&["task", "show", ended["task"].as_str().unwrap(), "--history"]).to_string();
        assert!(shown.contains(words), "{shown}");
    }
}

#[test]
fn secrets_are_set_listed_and_removed_and_their_key_may_lie_elsewhere() {
    let house = house("[agents.a]\ncommand = [\"cat\"]\nsecrets = { KEY = \"one\" }\n", &[]);
    let short = with_input(&house, &["secret", "set", "one"], "short\n");
    assert!(short.code == 2 && short.stderr.contains("bad_secret"), "{}", short.stderr);
    let bytes = with_input(&house, &["secret", "set", "one", BY_INPUT], "");
    assert_eq!(bytes.code, 2, "a value is never an argument: {}", bytes.stderr);
    set(&house, "one", BY_VARIABLE);
    set(&house, "two", BY_INPUT);
    assert_eq!(house.run(&["secret", "list"]).stdout, "SECRET  USED BY\none     a\ntwo     -\n");
    assert_eq!(house.run(&["secret", "rm", "two"]).stdout, "removed two\n");
    assert_eq!(house.run(&["secret", "rm", "two"]).code, 3);
    // The key goes elsewhere: without it nothing opens.
    let (key, elsewhere) = (house.0.root().join("secrets.key"), house.0.folder.path().join("key"));
    std::fs::rename(&key, &elsewhere).unwrap();
    let closed = house.run(&["secret", "list"]);
    assert!(closed.code == 4 && closed.stderr.contains("secret_key"), "{}", closed.stderr);
    let mut command = house.command(&["secret", "list", "--json"]);
    let opened = Said::of(command.env("RELAYMESH_SECRET_KEY_FILE", &elsewhere).output().unwrap());
    assert_eq!(opened.json()[0]["name"], "one");
    let mut command = house.command(&["secret", "list", "--json"]);
    let given = std::fs::read_to_string(&elsewhere).unwrap();
    let opened = Said::of(command.env("RELAYMESH_SECRET_KEY", given.trim()).output().unwrap());
    assert_eq!(opened.json()[0]["name"], "one");
}

/// Prints its secret as PHP, Python, a URL and JSON within JSON have it.
const ESCAPES: &str = r#"
php=$(printf %s "$KEY" | sed 's,/,\\/,g; s,é,\\u00e9,g')
url=$(printf %s "$KEY" | sed 's,/,%2F,g; s,é,%c3%a9,g')
nested=$(printf %s "$php" | sed 's,\\,\\\\,g')
echo "$php $url $nested" >&2
printf '{"php": "%s", "url": "?k=%s&", "nested": "{\\"k\\": \\"%s\\"}"}' "$php" "$url" "$nested"
"#;

#[test]
fn a_secret_that_its_agent_escapes_its_own_way_is_found() {
    let agents = "[agents.escapes]\ncommand = [\"sh\", \"escapes.sh\"]\nsecrets = { KEY = \"key\" }\n";
    let house = house(agents, &[("escapes.sh", ESCAPES)]);
    set(&house, "key", "canary/é/by-escape-51be07");
    let run = house.run(&["submit", "--agent", "escapes", "--wait", "--json"]);
    assert_eq!(run.code, 0, "{} {}", run.stdout, run.stderr);
    let ended: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    let task = ended["task"].as_str().unwrap();
    let attempt = house.0.root().join("attempts").join(task).join("escapes.1");
    assert_eq!(std::fs::read_to_string(attempt.with_added_extension("stderr")).unwrap(), "*** *** ***\n");
    let shown = house.json(&["task", "show", task, "--history"]).to_string();
    assert!(shown.contains(r#"\"***\""#) && shown.contains("?k=***&"), "{shown}");
    assert_eq!(house.run(&["down"]).code, 0);
    let database = std::fs::read(house.0.root().join("relaymesh.db")).unwrap();
    let hint = b"by-escape-51be07";
    assert!(!database.windows(hint.len()).any(|window| window == hint) && !shown.contains("51be07"), "{shown}");
}
