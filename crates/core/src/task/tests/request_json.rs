//! Requests as text: a word that nobody understands is refused, not passed over.

use super::world::name;
use crate::task::request::Request;
use serde_json::{Value, json};

fn parse(value: Value) -> Result<Request, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn full() -> Value {
    json!({"name": "n", "steps": [{
        "id": "a",
        "agent": "x",
        "input": {"anything": {"goes": "here"}},
        "retry": {"max_attempts": 1, "base_backoff_ms": 2, "max_backoff_ms": 3},
        "approve": {"text": "ok?", "deadline_ms": 5},
    }]})
}

#[test]
fn unknown_fields_are_refused_at_every_level() {
    assert!(parse(full()).is_ok());
    for pointer in ["", "/steps/0", "/steps/0/retry", "/steps/0/approve"] {
        let mut value = full();
        value.pointer_mut(pointer).unwrap()["dead_line"] = json!(1);
        let error = parse(value).unwrap_err();
        assert!(error.contains("unknown field `dead_line`"), "{pointer}: {error}");
    }
}

#[test]
fn what_is_needed_and_not_said_is_refused() {
    for (pointer, field) in
        [("", "name"), ("", "steps"), ("/steps/0", "id"), ("/steps/0", "agent"), ("/steps/0/approve", "text")]
    {
        let mut value = full();
        value.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(field);
        let error = parse(value).unwrap_err();
        assert!(error.contains(&format!("missing field `{field}`")), "{error}");
    }
}

#[test]
fn names_that_are_none_are_refused() {
    for pointer in ["/name", "/steps/0/id", "/steps/0/agent"] {
        let mut value = full();
        *value.pointer_mut(pointer).unwrap() = json!("../up");
        assert!(parse(value).unwrap_err().contains("is not a valid name"), "{pointer}");
    }
}

#[test]
fn a_request_survives_its_own_text() {
    let request = parse(full()).unwrap();
    assert_eq!(parse(serde_json::to_value(&request).unwrap()), Ok(request));
}

#[test]
fn the_short_form_is_one_step_named_after_its_agent() {
    let single = Request::single(name("echo"), Some(json!({"a": 1})));
    let written =
        parse(json!({"name": "echo", "steps": [{"id": "echo", "agent": "echo", "input": {"a": 1}}]})).unwrap();
    assert_eq!(single, written);
    assert!(single.prepare(&name("default"), None, 1).is_ok());
}

#[test]
fn a_key_that_stands_twice_in_an_input_is_refused() {
    let text = r#"{"name":"n","steps":[{"id":"a","agent":"echo","input":{"x":[{"y":1,"y":2}]}}]}"#;
    let error = serde_json::from_str::<Request>(text).unwrap_err().to_string();
    assert!(error.starts_with("the key `y` occurs twice in one object"), "{error}");
}
