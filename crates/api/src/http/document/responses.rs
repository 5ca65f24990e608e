//! The answers of each operation: what a success is, and the errors that every operation can return.

use super::{SCHEMAS, examples, reference};
use serde_json::{Map, Value, json};

/// Further errors of some reads.
const REFUSALS: [(&str, &str, &str); 3] = [
    ("approvals_show", "409", "refused: it does not wait for an approval"),
    ("dead_letters_list", "409", "refused: one of them has not failed"),
    ("dead_letters_show", "409", "refused: it has not failed"),
];

/// Refusals of the guard, and failures of the daemon.
const READS: [(&str, &str); 7] = [
    ("400", "bad_id, usage"),
    ("401", "not_authenticated"),
    ("403", "forbidden, foreign_page"),
    ("404", "not found"),
    ("421", "wrong_host"),
    ("500", "error of the store or the machine"),
    ("503", "busy, stopping, indeterminate"),
];

/// Those that only writes can return.
const WRITES: [(&str, &str); 8] = [
    ("405", "wrong_method"),
    ("408", "too_slow"),
    ("409", "refused, changed_meanwhile"),
    ("413", "too_long"),
    ("415", "wrong_media"),
    ("422", "bad_flow, unknown_agent, key_reused"),
    ("429", "too_many"),
    ("507", "disk_full"),
];

/// What an answer is that no schema describes.
const PLAIN: [(&str, &str); 5] = [
    ("content_download", "The bytes of the content."),
    ("tasks_bulk", "One JSON object per line: an `AcceptedTask` or an `error`, with the `line` that it answers."),
    ("events_follow", "A stream of events: `id` is the position on the log, `event` the kind, `data` an `AuditEntry`."),
    ("health_metrics", "Metrics in the text format of Prometheus."),
    ("health_openapi", "This document."),
];

/// Completes an operation: its name, its answers, its errors.
pub(super) fn complete(method: &str, operation: &mut Value, schemas: &Value) {
    // A name of its own: what it does, and to what.
    let (tag, verb) =
        (operation["tags"][0].as_str().unwrap_or_default(), operation["operationId"].as_str().unwrap_or_default());
    let name = format!("{}_{verb}", tag.replace(' ', "_"));
    operation["operationId"] = json!(name);
    for (_, answer) in operation["responses"].as_object_mut().into_iter().flatten() {
        describe(&name, answer, schemas);
    }
    let writes = WRITES.into_iter().filter(|_| method != "get");
    for (_, status, about) in REFUSALS.iter().filter(|(of, ..)| name == *of) {
        operation["responses"][*status] = error(status, about);
    }
    for (status, _) in READS.into_iter().chain(writes) {
        if operation["responses"][status].is_null() {
            operation["responses"][status] = json!({ "$ref": format!("#/components/responses/Error{status}") });
        }
    }
}

/// An answer has a description; without one, generators refuse the document. A schema that says nothing is at least described.
fn describe(operation: &str, answer: &mut Value, schemas: &Value) {
    let plain = PLAIN.iter().find(|(of, _)| *of == operation).map(|(_, about)| json!(about));
    let content = answer.get_mut("content").and_then(Value::as_object_mut);
    let mut of_schema = None;
    for (_, media) in content.into_iter().flatten() {
        let schema = &mut media["schema"];
        if let Some(about) = &plain {
            if schema == &json!({}) && operation == "health_openapi" {
                schema["type"] = json!("object");
            }
            schema["description"] = about.clone();
        }
        let named = schema["$ref"].as_str().and_then(|named| named.strip_prefix(SCHEMAS));
        of_schema = named.and_then(|named| schemas[named].get("description").cloned()).or(of_schema);
    }
    if answer.get("description").and_then(Value::as_str).is_none_or(str::is_empty) {
        answer["description"] = plain.or(of_schema).unwrap_or_else(|| json!("Success."));
    }
}

/// The errors that many operations can return, once for all of them.
pub(super) fn errors() -> Value {
    let all = READS.into_iter().chain(WRITES);
    all.map(|(status, about)| (format!("Error{status}"), error(status, about))).collect::<Map<_, _>>().into()
}

fn error(status: &str, about: &str) -> Value {
    let body = json!({ "schema": reference("Problem"), "example": examples::problem(status) });
    json!({ "description": about, "content": { "application/problem+json": body } })
}

/// The form of every error.
pub(super) fn problem() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    json!({
        "type": "object", "description": "An error (RFC 9457). `code` is stable.",
        "required": ["type", "title", "status", "detail", "code", "number", "hints"],
        "properties": {
            "type": {
                "type": "string", "format": "uri-reference", "pattern": "^/api/v1/errors/[a-z_]+$",
                "description": "Path of the explanation of `code`, which this daemon serves.",
                "examples": ["/api/v1/errors/unknown_agent"],
            },
            "title": text("The status in words."),
            "status": { "type": "integer", "format": "int32", "minimum": 400, "maximum": 599, "description": "HTTP status." },
            "detail": text("What was found."),
            "code": { "type": "string", "pattern": "^[a-z_]+$", "description": "Code of the error.", "examples": ["unknown_agent"] },
            "number": { "type": "string", "pattern": "^RM[0-9]{4}$", "description": "Number of the code.", "examples": ["RM0005"] },
            "hints": { "type": "array", "items": { "type": "string" }, "description": "What to do." },
            "current": {},
            "at": {
                "type": "object", "description": "Where in the body a flow in YAML is wrong.",
                "required": ["line", "column", "text"],
                "properties": {
                    "line": { "type": "integer", "format": "int32", "minimum": 1, "description": "Line, from 1." },
                    "column": { "type": "integer", "format": "int32", "minimum": 1, "description": "Column, from 1." },
                    "text": text("The line."),
                },
            },
            "more": {
                "type": "array", "description": "Further mistakes that were found with it.",
                "items": {
                    "type": "object", "required": ["detail", "code", "number", "hints"],
                    "properties": {
                        "detail": text("What was found."), "code": text("Code of the error."), "number": text("Number of the code."),
                        "hints": { "type": "array", "items": { "type": "string" }, "description": "What to do." },
                    },
                },
            },
        },
    })
}
