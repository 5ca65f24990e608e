//! JSON schemas: the one of flow files, for editors, and those that flows give for their inputs.

use super::{bad_flow, beginning};
use crate::error::{Code, Error};
use relaymesh_core::task::request::Request;
use serde_json::Value;

/// The schema of a flow file.
pub const FLOW: &str = include_str!("../../../../docs/reference/flow.schema.json");

/// The most mistakes that are told at once.
const TOLD_MAX: usize = 8;

/// Whether a flow's input is what its schema asks for. Without an input it is `null`.
pub fn check(schema: &Value, input: Option<&Value>) -> Result<(), Error> {
    let validator = valid(schema)?;
    let input = input.unwrap_or(&Value::Null);
    let told: Vec<String> = validator.iter_errors(input).take(TOLD_MAX).map(|error| mistake(&error)).collect();
    if told.is_empty() {
        return Ok(());
    }
    let given = if input.is_null() {
        "the flow requires an input"
    } else {
        "the input does not match the flow's `input` schema"
    };
    let error = Error::new(Code::BadInput, format!("{given}: {}", told.join("; ")));
    let error = error.hint("pass it with --input '{…}' or --input @FILE");
    let fields = asked_for(schema);
    Err(if fields.is_empty() {
        error.hint("show its schema with `relaymesh flow check FLOW`")
    } else {
        error.hint(fields)
    })
}

/// Whether this is a JSON schema.
pub(super) fn valid(schema: &Value) -> Result<jsonschema::Validator, Error> {
    jsonschema::validator_for(schema).map_err(|error| {
        let said = beginning(&error.to_string());
        bad_flow(&format!("`input` is not a valid JSON schema: {said}")).hint("see https://json-schema.org")
    })
}

/// Whether a flow's `input` is a schema at all, for a flow that is looked at without an input.
pub fn is_schema(schema: &Value) -> Result<(), Error> {
    valid(schema).map(drop)
}

/// What the steps want their results to be like, where it is no schema. With the words to look for in the file.
pub fn bad_results(request: &Request) -> impl Iterator<Item = (Error, &'static str)> {
    request.steps.iter().filter_map(|step| {
        let why = relaymesh_agents::schema::check(step.result_schema.as_ref()?).err()?;
        let said =
            bad_flow(&format!("step `{}`: result_schema: not a valid JSON schema: {}", step.id, beginning(&why)));
        Some((said.hint("see https://json-schema.org"), "result_schema"))
    })
}

fn mistake(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let at = if path.is_empty() { String::new() } else { format!("input{}: ", path.replace('/', ".")) };
    beginning(&format!("{at}{error}"))
}

/// The fields of the input in a few words.
fn asked_for(schema: &Value) -> String {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let field = |(name, field): (&String, &Value)| {
        let kind = field["type"].as_str().unwrap_or("anything");
        let may = if required.contains(&name.as_str()) { "" } else { ", optional" };
        format!("{name} ({kind}{may})")
    };
    let fields: Vec<String> = schema["properties"].as_object().into_iter().flatten().map(field).collect();
    if fields.is_empty() { String::new() } else { beginning(&format!("it has: {}", fields.join(", "))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn accepts(flow: &Value) -> bool {
        let schema = serde_json::from_str(FLOW).unwrap();
        jsonschema::validator_for(&schema).unwrap().is_valid(flow)
    }

    #[test]
    fn the_schema_of_flows_takes_what_the_parser_takes() {
        let step = |more: Value| {
            let mut step = json!({ "id": "a", "agent": "echo" });
            step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({ "name": "n", "steps": [step, { "id": "b", "agent": "echo" }] })
        };
        for (flow, fits) in [
            (step(json!({})), true),
            (step(json!({ "timeout": "30s", "approve": "really?", "when": "1 == 1", "foreach": [1, 2] })), true),
            (
                step(json!({ "timeout_ms": 5, "approve": { "text": "?", "deadline": "5m" }, "foreach": "input.x" })),
                true,
            ),
            (step(json!({ "priority": "high", "depends_on": ["b"], "compensate": "b", "input": { "x": null } })), true),
            (step(json!({ "retry": { "max_attempts": 2, "base_backoff_ms": 1, "max_backoff_ms": 2 } })), true),
            (step(json!({ "result_schema": { "type": "object" } })), true),
            (step(json!({ "workspace": { "git": ".", "ref": "main", "branch": "a" } })), true),
            (step(json!({ "workspace": { "ref": "main" } })), false),
            (step(json!({ "workspace": { "git": ".", "rev": "main" } })), false),
            (step(json!({ "priority": "urgent" })), false),
            (step(json!({ "timeout": "soon" })), false),
            (step(json!({ "agnet": "x" })), false),
            (step(json!({ "retry": { "attempts": 2 } })), false),
            (step(json!({ "approve": { "txt": "?" } })), false),
            (json!({ "name": "n" }), false),
            (json!({ "name": "no spaces", "steps": [] }), false),
            (json!({ "name": "n", "steps": [], "input": { "type": "object" }, "more": 1 }), false),
        ] {
            assert_eq!(accepts(&flow), fits, "the schema on {flow}");
            assert_eq!(serde_json::from_value::<Request>(flow.clone()).is_ok(), fits, "the parser on {flow}");
        }
    }

    #[test]
    fn a_wrong_input_is_refused_with_what_is_asked_for() {
        let schema = json!({
            "type": "object", "required": ["repo"],
            "properties": { "repo": { "type": "string" }, "depth": { "type": "integer", "minimum": 1 } },
        });
        assert_eq!(check(&schema, Some(&json!({ "repo": "x", "depth": 2 }))), Ok(()));
        let error = check(&schema, Some(&json!({ "depth": 0 }))).unwrap_err();
        assert!(error.message.contains("\"repo\" is a required property"), "{error}");
        assert!(error.message.contains("input.depth: 0 is less than the minimum of 1"), "{error}");
        assert_eq!(error.hints[0], "it has: depth (integer, optional), repo (string)");
        assert!(check(&schema, None).unwrap_err().message.starts_with("the flow requires an input"));
        assert!(check(&json!({ "type": "nonsense" }), None).unwrap_err().message.contains("not a valid JSON schema"));
        let far = json!({ "$ref": "https://example.com/schema.json" });
        assert!(check(&far, None).is_err(), "nothing is fetched");
    }
}
