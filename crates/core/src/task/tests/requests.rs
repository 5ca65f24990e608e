//! Requests: what a user writes down, and what of it stands on the log (R3, R6).

use super::world::name;
use crate::{
    canonical,
    content::{CONTENT_BYTES_MAX, ContentRef, Media},
    hash::Hash,
    id::RequestId,
    task::{
        graph,
        graph::STEPS_MAX,
        request::{Error, Prepared, Request},
        spec::{IdempotencyKey, Terms, Workspace},
    },
};
use serde_json::{Value, json};

fn request(value: Value) -> Request {
    serde_json::from_value(value).unwrap()
}

fn prepare(value: Value) -> Result<Prepared, Error> {
    request(value).prepare(&name("default"), None, 7)
}

fn release() -> Value {
    json!({"name": "release", "steps": [
        {"id": "publish", "agent": "npm", "depends_on": ["build", "test"], "compensate": "unpublish"},
        {"id": "test", "agent": "sh", "priority": "high", "timeout_ms": 5000, "retry": {"max_attempts": 9}},
        {"id": "build", "agent": "sh", "input": {"b": 1, "a": [true, null]}},
        {"id": "unpublish", "agent": "npm"},
    ]})
}

#[test]
fn names_become_places() {
    let schedule = prepare(release()).unwrap().schedule;
    let names: Vec<&str> = schedule.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["publish", "test", "build", "unpublish"], "the order of the list stays");
    assert_eq!(schedule.steps[0].depends_on, [2, 1]);
    assert_eq!(schedule.steps.iter().map(|step| step.compensates).collect::<Vec<_>>(), [None, None, None, Some(0)]);
    let retry = schedule.steps[1].retry;
    assert_eq!((retry.max_attempts, retry.backoff.base_ms, retry.backoff.max_ms), (9, 1000, 60_000));
    assert_eq!((schedule.steps[1].timeout_ms, schedule.trace_id), (Some(5000), 7));
}

#[test]
fn inputs_stand_beside_the_log_and_their_hashes_on_it() {
    let prepared = prepare(release()).unwrap();
    let [(2, bytes)] = &prepared.inputs[..] else { panic!("{:?}", prepared.inputs) };
    assert_eq!(serde_json::from_slice::<Value>(bytes).unwrap(), json!({"a": [true, null], "b": 1}));
    assert_eq!(prepared.schedule.steps[2].input, Some(ContentRef::of(Media::Json, bytes)));
    assert_eq!(prepared.schedule.steps[0].input, None);
}

#[test]
fn without_a_key_the_hash_of_the_canonical_request_is_the_key() {
    let schedule = prepare(release()).unwrap().schedule;
    let written = json!({"namespace": "default", "request": serde_json::to_value(request(release())).unwrap()});
    let hash = Hash::sha256(&canonical::to_vec(&written).unwrap());
    assert_eq!(schedule.fingerprint, hash);
    assert_eq!(schedule.key, IdempotencyKey::Request(hash));
}

#[test]
fn a_given_key_is_the_key_and_the_fingerprint_stays() {
    let key = IdempotencyKey::RequestId(RequestId::new(1, 2));
    let given = request(release()).prepare(&name("default"), Some(key.clone()), 7).unwrap().schedule;
    assert_eq!((given.key, given.fingerprint), (key, prepare(release()).unwrap().schedule.fingerprint));
}

#[test]
fn the_order_of_keys_and_what_is_said_by_default_do_not_matter() {
    let fingerprint = |text: &str| {
        let request: Request = serde_json::from_str(text).unwrap();
        request.prepare(&name("default"), None, 7).unwrap().schedule.fingerprint
    };
    let first = fingerprint(r#"{"name":"n","steps":[{"id":"a","agent":"x","input":{"p":1,"q":{"r":2,"s":3}}}]}"#);
    let second = fingerprint(r#"{"steps":[{"input":{"q":{"s":3,"r":2},"p":1.0},"agent":"x","id":"a"}],"name":"n"}"#);
    let third = fingerprint(
        r#"{"name":"n","steps":[{"id":"a","agent":"x","priority":"normal","depends_on":[],"retry":{},
            "input":{"p":1,"q":{"r":2,"s":3}}}]}"#,
    );
    assert_eq!((first, first), (second, third));
}

#[test]
fn another_namespace_or_any_other_word_makes_another_request() {
    let base = prepare(release()).unwrap().schedule.fingerprint;
    let other = request(release()).prepare(&name("other"), None, 7).unwrap().schedule.fingerprint;
    assert_ne!(base, other);
    for (pointer, value) in [
        ("/name", json!("other")),
        ("/steps/1/agent", json!("bash")),
        ("/steps/1/priority", json!("low")),
        ("/steps/1/timeout_ms", json!(5001)),
        ("/steps/1/retry/max_attempts", json!(8)),
        ("/steps/2/input/b", json!(2)),
        ("/steps/0/depends_on", json!(["test", "build"])),
    ] {
        let mut changed = release();
        *changed.pointer_mut(pointer).unwrap() = value;
        assert_ne!(prepare(changed).unwrap().schedule.fingerprint, base, "{pointer}");
    }
    let traced = request(release()).prepare(&name("default"), None, 8).unwrap().schedule.fingerprint;
    assert_eq!(base, traced, "a trace is not part of what is asked for");
}

#[test]
fn names_that_no_step_has_are_refused() {
    for (field, value) in [("depends_on", json!(["nobody"])), ("compensate", json!("nobody"))] {
        let mut value_of = release();
        value_of["steps"][1][field] = value;
        let error = prepare(value_of).unwrap_err();
        assert_eq!(
            error,
            Error::UnknownStep {
                step: name("test"),
                field: if field == "compensate" { "compensate" } else { "depends_on" },
                unknown: name("nobody")
            }
        );
        assert_eq!(error.to_string(), format!("step `test`: {field} names `nobody`, but no step has that id"));
    }
}

#[test]
fn graphs_that_cannot_be_run_are_refused() {
    let one = |id: &str, deps: Value| json!({"id": id, "agent": "x", "depends_on": deps});
    let of = |steps: Value| prepare(json!({"name": "n", "steps": steps})).unwrap_err();
    assert_eq!(of(json!([])), Error::Graph(graph::Error::Empty));
    assert_eq!(
        of(json!([one("a", json!([])), one("a", json!([]))])),
        Error::Graph(graph::Error::Duplicate { name: name("a") })
    );
    let circle = of(json!([one("a", json!(["b"])), one("b", json!(["a"]))])).to_string();
    assert!(circle.ends_with("a → b → a") || circle.ends_with("b → a → b"), "{circle}");
}

#[test]
fn a_compensation_that_two_steps_name_is_refused() {
    let step = |id: &str| json!({"id": id, "agent": "x", "compensate": "undo"});
    let error = prepare(json!({"name": "n", "steps": [step("a"), step("b"), {"id": "undo", "agent": "x"}]}));
    assert_eq!(error, Err(Error::Graph(graph::Error::Compensation { name: name("undo") })));
}

#[test]
fn any_number_of_steps_is_refused_and_not_a_panic() {
    for count in [STEPS_MAX + 1, 70_000] {
        let steps: Vec<Value> = (0..count).map(|n| json!({"id": format!("s{n}"), "agent": "x"})).collect();
        let error = prepare(json!({"name": "n", "steps": steps})).unwrap_err();
        assert_eq!(error, Error::Graph(graph::Error::TooMany { found: count }));
    }
}

#[test]
fn inputs_and_graphs_that_are_too_long_are_refused() {
    let input =
        |len: usize| prepare(json!({"name": "n", "steps": [{"id": "a", "agent": "x", "input": "x".repeat(len)}]}));
    assert!(input(CONTENT_BYTES_MAX - 2).is_ok(), "the quotes count");
    assert_eq!(
        input(CONTENT_BYTES_MAX - 1),
        Err(Error::InputTooLong { step: Some(name("a")), found: CONTENT_BYTES_MAX + 1 })
    );
    let long = "x".repeat(60);
    let steps: Vec<Value> = (0..200).map(|n| json!({"id": format!("{n}{long}"), "agent": long})).collect();
    assert!(matches!(prepare(json!({"name": "n", "steps": steps})), Err(Error::TooLarge { .. })));
}

#[test]
fn numbers_that_others_would_round_are_told_apart_in_inputs_and_refused_in_terms() {
    let of =
        |input: Value| prepare(json!({"name": "n", "steps": [{"id": "a", "agent": "x", "input": input}]})).unwrap();
    let large = of(json!(9_007_199_254_740_993u64));
    assert_eq!(large.inputs, [(0, b"9007199254740993".to_vec())]);
    let near = [json!(9_007_199_254_740_992u64), json!(9_007_199_254_740_992.0), json!("9007199254740993")];
    for other in near {
        assert_ne!(of(other.clone()).schedule.fingerprint, large.schedule.fingerprint, "{other}");
    }
    for field in ["timeout_ms", "retry"] {
        let number = 9_007_199_254_740_993u64;
        let value = if field == "retry" { json!({ "base_backoff_ms": number }) } else { json!(number) };
        let error = prepare(json!({"name": "n", "steps": [{"id": "a", "agent": "x", field: value}]})).unwrap_err();
        assert!(matches!(error, Error::Canonical(_)), "{error}");
    }
}

#[test]
fn what_a_step_must_keep_to_stands_on_the_log_and_counts_for_the_fingerprint() {
    let schema = json!({"type": "object", "required": ["a"]});
    let workspace = json!({"git": "../app", "ref": "main", "branch": "agents/a"});
    let step = json!({"id": "a", "agent": "x", "result_schema": schema, "workspace": workspace});
    let schedule = prepare(json!({"name": "n", "steps": [step, {"id": "b", "agent": "x"}]})).unwrap().schedule;
    let terms = Terms {
        result_schema: Some(r#"{"required":["a"],"type":"object"}"#.to_owned()),
        workspace: Some(Workspace {
            git: "../app".to_owned(),
            reference: Some("main".to_owned()),
            branch: Some("agents/a".to_owned()),
        }),
    };
    assert_eq!((schedule.steps[0].terms.as_deref(), &schedule.steps[1].terms), (Some(&terms), &None));
    let with = |schema: Value| {
        prepare(json!({"name": "n", "steps": [{"id": "a", "agent": "x", "result_schema": schema}]})).unwrap().schedule
    };
    assert_ne!(with(json!(true)).fingerprint, with(json!({})).fingerprint);
    assert_eq!(with(Value::Null).steps[0].terms, None, "nothing is nothing");
}

#[test]
fn words_for_git_that_would_be_options_are_refused() {
    let cases = [
        (json!({"result_schema": [1]}), "result_schema: a JSON schema is an object"),
        (json!({"workspace": {"git": "--upload-pack=x"}}), "`git` begins with `-`"),
        (json!({"workspace": {"git": "x", "ref": "-x"}}), "`ref` begins with `-`"),
        (json!({"workspace": {"git": "x", "branch": " "}}), "`branch` is empty"),
        (json!({"workspace": {"git": "x\ny"}}), "cannot be written"),
        (json!({"workspace": {"git": "${{ input.repo }}"}}), "must be known when it is submitted"),
    ];
    for (more, words) in cases {
        let mut step = json!({"id": "a", "agent": "x"});
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let error = prepare(json!({"name": "n", "steps": [step]})).unwrap_err().to_string();
        assert!(error.contains("step `a`") && error.contains(words), "{error}");
    }
    let unknown = json!({"name": "n", "steps": [{"id": "a", "agent": "x", "workspace": {"git": "x", "rev": "y"}}]});
    assert!(serde_json::from_value::<Request>(unknown).is_err());
}
