//! Requests: the JSON of a client, and what becomes of it on the log.

use crate::{canonical::means_the_same, samples, say};
use relaymesh_core::{
    canonical,
    op::{BODY_BYTES_MAX, Body, Op},
    task::{
        self,
        request::{Prepared, Request},
    },
};
use serde_json::Value;

/// What can be prepared fits into an op, names its inputs, and has the same fingerprint however it is written.
pub fn target(data: &[u8]) {
    let request: Request = match serde_json::from_slice(data) {
        Ok(request) => request,
        Err(_) => return, // said by serde_json, which quotes its input; the command line bounds it (`workflow`)
    };
    let strict = canonical::parse(data);
    assert!(!matches!(strict, Err(canonical::Error::DuplicateKey { .. })), "a key stands twice");
    let text = serde_json::to_string(&request).expect("a request has a JSON form");
    let again: Request = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let prepared = prepare(&request);
    assert_eq!(prepare(&again), prepared, "through {text}");
    let Ok(prepared) = prepared else { return };
    check(&request, &prepared);

    let Ok(value) = strict else { return };
    let mut reversed = String::new();
    write_reversed(&value, &mut reversed);
    let reversed: Request = serde_json::from_str(&reversed).expect("another order of keys is the same request");
    assert_eq!(fingerprints(&reversed), fingerprints(&request), "the order of keys matters");
}

fn prepare(request: &Request) -> Result<Prepared, String> {
    let prepared = request.prepare(&samples::name("default"), None, 1);
    prepared.map_err(|error| {
        say(&error);
        error.to_string()
    })
}

fn fingerprints(request: &Request) -> Option<[relaymesh_core::hash::Hash; 2]> {
    let of = |namespace| request.prepare(&samples::name(namespace), None, 2).ok().map(|made| made.schedule.fingerprint);
    let found = of("default").zip(of("other"))?;
    assert_ne!(found.0, found.1, "the namespace is part of the request");
    Some(found.into())
}

fn check(request: &Request, prepared: &Prepared) {
    assert_eq!(prepared.schedule.steps.len(), request.steps.len());
    for (place, bytes) in &prepared.inputs {
        let named = prepared.schedule.steps[usize::from(*place)].input.expect("an input is named");
        assert_eq!(named.check(bytes), Ok(()));
        let read = canonical::parse(bytes).expect("an input can be read again");
        let written = request.steps[usize::from(*place)].input.as_ref().expect("an input was given");
        assert!(means_the_same(&read, written), "{written} became {read}");
    }
    let body = Body::Task(task::Body::ScheduleJob { schedule: prepared.schedule.clone() });
    let mut bytes = Vec::new();
    Op::encode(&samples::header(1), &body, &mut bytes);
    assert!(bytes.len() <= BODY_BYTES_MAX + 512);
    assert_eq!(Op::decode(1, &bytes).expect("what is prepared can be read").body, body);
}

/// The value with the keys of every object in falling order.
fn write_reversed(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|a, b| b.0.cmp(a.0));
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_reversed(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write_reversed(item, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => out.push_str(&value.to_string()),
    }
}

/// Requests with every field, and with as few as possible.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        r#"{"name":"n","steps":[{"id":"a","agent":"echo"}]}"#,
        r#"{"name":"n","steps":[{"id":"a","agent":"echo","input":{"x":[1,2.5,"é",null,true],"y":{"z":-0.0}},"priority":"high",
            "retry":{"max_attempts":5,"base_backoff_ms":10,"max_backoff_ms":1000},"timeout_ms":30000,"compensate":"u"},
            {"id":"b","agent":"hash","depends_on":["a"],"approve":{"text":"Go?","deadline_ms":60000}},
            {"id":"u","agent":"echo","input":"undo","priority":"low"}]}"#,
        r#"{"name":"circle","steps":[{"id":"a","agent":"echo","depends_on":["b"]},{"id":"b","agent":"echo","depends_on":["c"]},
            {"id":"c","agent":"echo","depends_on":["a"]}]}"#,
        r#"{"steps":[{"agent":"echo","id":"a","depends_on":["nobody"]}],"name":"unknown"}"#,
        r#"{"name":"n","steps":[{"id":"a","agent":"echo","input":9007199254740993,"timeout_ms":18446744073709551615}]}"#,
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}
