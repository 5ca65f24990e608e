//! What no single field can say: one of two, both or neither, at least one.
//!
//! Such a rule stands in `not`, `dependentSchemas` or `minItems`, which validators obey and generators of clients pass over. In `oneOf` it
//! would make unions of classes that differ in nothing but a field.

use super::reference;
use relaymesh_runtime::settings::{TABLE, Value as Setting};
use serde_json::{Map, Value, json};

/// Fields of a submit that only a step of an agent has, and those that a flow says itself.
const OF_AGENT: [&str; 5] = ["agent", "name", "priority", "retry", "timeout_ms"];

/// Adds the rules.
pub(super) fn add(schemas: &mut Value) {
    submissions(schemas);
    let said = |name: &str| {
        let is = json!({ "not": { "type": "null" } });
        json!({ "required": [name], "properties": { name: is } })
    };
    let both = |one: &str, other: &str| json!({ "allOf": [said(one), said(other)] });
    let anew = json!({ "required": ["new"], "properties": { "new": { "const": true } } });
    let new_with = |other: &str| json!({ "allOf": [anew.clone(), said(other)] });
    let neither_twice = json!({
        "anyOf": [both("input", "input_hash"), both("key", "request_id"), new_with("key"), new_with("request_id")],
    });
    for name in ["AgentTask", "FlowTask"] {
        schemas[name]["not"] = neither_twice.clone();
    }
    schemas["StepOutcome"]["not"] = both("result", "error");
    let with =
        |one: &str, other: &str| json!({ "anyOf": [{ "properties": { one: { "type": "null" } } }, said(other)] });
    schemas["TakeRequest"]["dependentSchemas"] =
        json!({ "thread": with("thread", "message"), "message": with("message", "thread") });
    let selection = &mut schemas["DeadLetterSelection"];
    selection["properties"]["ids"]["maxItems"] = json!(1_000);
    let chosen = ["agent", "flow", "since_ms", "before_ms"].map(said).into_iter().chain([
        json!({ "required": ["ids"], "properties": { "ids": { "minItems": 1 } } }),
        json!({ "required": ["all"], "properties": { "all": { "const": true } } }),
    ]);
    selection["not"] = json!({ "not": { "anyOf": chosen.collect::<Vec<_>>() } });
    schemas["NewNamespace"]["properties"]["about"]["maxLength"] = json!(500);
    let token = &mut schemas["NewToken"];
    token["properties"]["namespaces"]["minItems"] = json!(1);
    let is_agent = json!({ "properties": { "scope": { "const": "agent" } } });
    token["not"] = json!({ "anyOf": [
        { "allOf": [is_agent.clone(), { "not": said("agent") }] },
        { "allOf": [{ "not": is_agent }, said("agent")] },
    ] });
    schemas["SettingsUpdate"]["properties"]["settings"] = settings();
    schemas["DeadLetterFailure"]["allOf"][1]["properties"]["error"] = described(reference("Problem"), "Why not.");
    schemas["Problem"]["properties"]["current"] = json!({
        "description": "The current state, where a revision was not current.",
        "anyOf": [reference("SettingList"), { "type": "null" }],
    });
}

/// A submit is of an agent or of a flow: two classes, of which each has the fields that it may have.
fn submissions(schemas: &mut Value) {
    let whole = schemas["TaskSubmission"].take();
    let fields = whole["properties"].as_object().cloned().unwrap_or_default();
    let make = |about: &str, needed: &str, of: &dyn Fn(&str) -> bool| {
        let mut own: Map<String, Value> = fields
            .iter()
            .filter(|(name, _)| of(name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if let Some(schema) = own.get_mut(needed).filter(|schema| schema["type"].is_array()) {
            schema["type"] = json!("string");
        }
        let retry = own.get_mut("retry").map(|retry| retry["description"].take());
        if let Some(about) = retry {
            own["retry"] = json!({ "oneOf": [reference("RetryPolicy"), { "type": "null" }], "description": about });
        }
        json!({
            "type": "object", "description": about, "required": [needed], "additionalProperties": false, "properties": own,
        })
    };
    let mut flow = make("A task that runs a flow.", "flow", &|name| !OF_AGENT.contains(&name));
    flow["properties"]["flow"] = described(reference("Flow"), "The flow.");
    schemas["AgentTask"] = make("A task of one step, which an agent runs.", "agent", &|name| name != "flow");
    schemas["FlowTask"] = flow;
    schemas["TaskSubmission"] =
        json!({ "description": whole["description"], "oneOf": [reference("AgentTask"), reference("FlowTask")] });
    schemas["FlowCheck"]["properties"]["flow"] = described(reference("Flow"), "The flow.");
}

fn described(mut schema: Value, about: &str) -> Value {
    schema["description"] = json!(about);
    schema
}

/// Every setting with its bounds.
fn settings() -> Value {
    let all = TABLE.iter().map(|setting| {
        let mut schema = match &setting.default {
            Setting::Number(_) => json!({ "type": ["integer", "null"], "format": "int64" }),
            Setting::Flag(_) => json!({ "type": ["boolean", "null"] }),
            Setting::Text(_) => json!({ "type": ["string", "null"], "maxLength": 1_024 }),
        };
        if let Some((min, max)) = setting.bound {
            schema["minimum"] = json!(min);
            schema["maximum"] = json!(max);
        }
        schema["description"] = json!(setting.about);
        (setting.name.to_owned(), schema)
    });
    json!({
        "type": "object", "description": "New values by name; `null` removes one from the file.",
        "additionalProperties": false, "properties": all.collect::<Map<_, _>>(),
    })
}
