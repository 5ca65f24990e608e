//! Flow files: YAML and JSON that people write, through the parser of the command line and what it prints.

use crate::{canonical::means_the_same, request, samples, say};
use relaymesh_cli::fuzzing::{Language, Said, flow};
use relaymesh_core::{canonical, task::request::Request};

/// A flow that is read is a request like any other; one that is not is refused on one screen, in either form.
pub fn target(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let json = read(text, Language::Json);
    let yaml = read(text, Language::Yaml);
    for request in json.iter().chain(&yaml) {
        prepared(request);
    }
    if let Some((json, yaml)) = json.zip(yaml) {
        let value = |request| serde_json::to_value(request).expect("a request has a JSON form");
        assert!(means_the_same(&value(&json), &value(&yaml)), "{json:?} in JSON is {yaml:?} in YAML");
    }
}

fn read(text: &str, language: Language) -> Option<Request> {
    match flow(text, language) {
        Ok(request) => Some(request),
        Err(Said { text, json }) => {
            say(&text);
            say(&json);
            let said: serde_json::Value = serde_json::from_str(&json).expect("an error is JSON");
            assert!(said["error"]["code"].is_string());
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "a terminal would obey {text:?}");
            None
        }
    }
}

/// What a flow becomes does not depend on its language: it is the same request when it is sent as JSON.
fn prepared(request: &Request) {
    if let Err(error) = request.prepare(&samples::name("default"), None, 1) {
        return say(&error);
    }
    let text = serde_json::to_string(request).expect("a request has a JSON form");
    canonical::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    request::target(text.as_bytes());
}

/// Flows in both languages, right and wrong.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "name: n\nsteps:\n  - id: a\n    agent: echo\n    input: {text: no, n: 3, f: 0.5, s: \"\\u00e9\"}\n  - {id: b, agent: hash, depends_on: [a]}\n",
        "name: n # comment\nsteps:\n- id: a\n  agent: 'echo'\n  input: |\n    lines\n     of text\n  priority: high\n  timeout_ms: 5\n- id: b\n  agent: sleep\n  depends_on:\n  - a\n  input: >-\n    folded\n    text\n  retry: {max_attempts: 2, base_backoff_ms: 1, max_backoff_ms: 9}\n  approve: {text: Go?, deadline_ms: 9}\n",
        "---\nname: n\nsteps:\n- &one {id: a, agent: echo, input: [~, true, 0x1F, 0o17, 1_000, .inf, -.5e3, 2001-01-01, !!str 3]}\n...\n",
        "name: n\nsteps:\n- id: a\n  agent: echo\n  input: {x: &x [1, 2], y: *x, ? [k] : v}\n",
        "name: n\ninput: {type: object, properties: {x: {type: string}}}\nsteps:\n- {id: a, agent: echo, foreach: [1, b], input: \"${{ item }}: ${{ input.x }}\", timeout: 5m}\n- id: b\n  agent: echo\n  when: steps.a.result[0] == 1\n  approve: Go?\n",
        "name: n\nname: m\nsteps: []\n",
        "name: n\nsteps:\n- id: a\n  agnet: echo\n",
        "name: n\nsteps:\n- {id: a, agent: ehco, <<: {priority: low}}\n",
        "{\"name\":\"n\",\n\"steps\":[{\"id\":\"a\",\"agent\":\"echo\",\"input\":[1e3,\"x\"]}]}",
        "{\"name\":\"n\",\"steps\":[{\"id\":\"a\",\"agent\":\"echo\",\"input\":{\"line 1 column 2\":9007199254740993}}]}",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}
