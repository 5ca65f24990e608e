//! The HTTP API against its own document: requests that follow from it, and some that do not, by a tool that knows neither us nor our code.
//!
//! Nothing is answered with a status that the document does not name, nor with a body that is not as it says, and nothing makes the daemon fail.
//! What the document admits is taken, and what it does not admit is refused.
//! `cargo xtask tools` installs the tool. Where it is not, this says `SKIPPED`; in the continuous integration it fails.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::house::House;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

const ASKS: &str = "name: release\nsteps:\n  - {id: deploy, agent: echo, input: 1, approve: {text: Deploy?}}\n";

/// How many requests there are for each operation, besides those at the edges of its document.
const EXAMPLES: &str = "40";
const SEED: &str = "20261117";

/// What cannot be asked like this: a stream without an end. It has tests of its own.
const APART: &str = "/events$";

/// What no document can say: whether there is such an agent, whether the steps of a flow refer to each other as they may, whether the bytes
/// of an upload have the hash that they should have, whether a duration that is written with a unit is within the bounds, whether a
/// text is a flow in YAML, and that content is of one task or thread. A bulk submit answers each line, so its own status says nothing about them.
const ONLY_THE_DAEMON_KNOWS: &str = r#"
[[operations]]
include-operation-id = ["tasks_submit"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "5xx"]

[[operations]]
include-operation-id = ["flows_submit", "flows_check"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "422", "5xx"]

[[operations]]
include-operation-id = ["tasks_bulk"]
checks.negative_data_rejection.expected-statuses = ["200", "400", "401", "403", "404", "405", "413", "415", "5xx"]

[[operations]]
include-operation-id = ["locks_acquire", "locks_renew", "steps_claim", "messages_take", "messages_send", "tokens_create", "tokens_rotate"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "5xx"]

[[operations]]
include-operation-id = ["content_upload", "content_download"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "5xx"]
"#;

fn tool() -> Option<PathBuf> {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/schemathesis/bin/schemathesis");
    if usual.exists() {
        return Some(usual);
    }
    assert!(
        std::env::var_os("CI").is_none_or(|value| value != "true"),
        "schemathesis is not installed: `cargo xtask tools`"
    );
    eprintln!("SKIPPED: schemathesis is not installed here; `cargo xtask tools` does it");
    None
}

#[test]
fn every_answer_is_one_that_the_document_names() {
    let Some(tool) = tool() else { return };
    let house = House::new();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let url = house.json(&["status"])["http"].as_str().unwrap().to_owned();
    let said = |arguments: &[&str]| {
        let said = house.run(arguments);
        assert!(matches!(said.code, 0 | 10), "{}", said.stderr);
        said.stdout.trim().to_owned()
    };
    // Something is there, so that not everything is answered with "not found".
    let done = said(&["submit", "--agent", "echo", "--input", "{\"a\": 1}"]);
    let dead = said(&["submit", "--agent", "fail", "--input", "{\"retryable\": false}"]);
    said(&["task", "wait", &done]);
    said(&["task", "wait", &dead]);
    let asking = said(&["submit", "--file", house.0.file("asks.yaml", ASKS)]);
    let sent = said(&["msg", "send", "--to", "reviewer", "--input", "[1]"]);
    let thread = sent.split(' ').next().unwrap();
    said(&["lock", "acquire", "src/**", "--ttl-ms", "600000"]);
    let token = said(&["token", "create", "fuzz", "--scope", "admin"]);
    house.0.file("hooks.py", include_str!("clients/schemathesis_hooks.py"));
    let config = house.0.file(
        "schemathesis.toml",
        &format!(
            "hooks = \"hooks.py\"\n{ONLY_THE_DAEMON_KNOWS}\n[parameters]\n\"path.id\" = \"{done}\"\n\"path.task\" = \"{asking}\"\n\
             \"query.task\" = \"{done}\"\n\"path.step\" = \"echo\"\n\"path.thread\" = \"{thread}\"\n\"path.agent\" = \"reviewer\"\n\
             [[operations]]\ninclude-path-regex = \"/dead/\"\nparameters.\"path.id\" = \"{dead}\"\n\
             [[operations]]\ninclude-path-regex = \"/approvals/\"\nparameters.\"path.step\" = \"deploy\"\n"
        ),
    );
    let checks = [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
        "unsupported_method",
        "allow_header_conformance",
        "ignored_auth",
        "positive_data_acceptance",
        "negative_data_rejection",
        "missing_required_header",
        "every_line_is_answered",
    ];
    let checks = checks.join(",");
    let run = Command::new(tool)
        .current_dir(house.0.folder.path())
        .args(["--config-file", config, "run", &format!("{url}/api/v1/openapi.json"), "--url", &url])
        .args([
            "--header",
            &format!("Authorization: Bearer {token}"),
            "--checks",
            &checks,
            "--exclude-path-regex",
            APART,
        ])
        .args([
            "--phases",
            "coverage,fuzzing",
            "--seed",
            SEED,
            "--max-examples",
            EXAMPLES,
            "--no-shrink",
            "--warnings",
            "off",
        ])
        .args(["--continue-on-failure", "--request-timeout", "70", "--suppress-health-check", "all"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{text}{}", String::from_utf8_lossy(&run.stderr));
    let tested = text.lines().find_map(|line| line.trim().strip_prefix("Tested: ")?.parse::<usize>().ok());
    assert!(tested.is_some_and(|tested| tested > 50), "{text}");
    assert!(house.json(&["status"])["ready"].as_bool().unwrap(), "and the daemon is well");
    assert_eq!(house.run(&["log", "verify"]).code, 0, "and so is its log");
}
