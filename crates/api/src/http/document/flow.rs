//! The schema of a flow, as schemas of the document.

use super::SCHEMAS;
use crate::flow::schema::FLOW;
use serde_json::{Value, json};

/// Adds `Flow` and what it consists of.
pub(super) fn add(schemas: &mut Value) {
    let mut flow: Value = serde_json::from_str(FLOW).unwrap_or_default();
    let mut definitions = flow["$defs"].take();
    let name = definitions["name"].take();
    let mut step = definitions["step"].take();
    let retry = std::mem::replace(&mut step["properties"]["retry"], json!({ "$ref": "#/$defs/retry" }));
    step["description"] = json!("A step of a flow.");
    let parts =
        [("Flow", flow), ("FlowStep", step), ("RetryPolicy", retry), ("Duration", definitions["duration"].take())];
    for (called, mut part) in parts {
        resolve(&mut part, &name);
        if let Some(part) = part.as_object_mut() {
            part.retain(|key, _| !matches!(key.as_str(), "$schema" | "$defs" | "title"));
        }
        schemas[called] = part;
    }
}

/// References to the definitions, as references to schemas; a name is short enough to stand where it is meant.
fn resolve(value: &mut Value, name: &Value) {
    match value {
        Value::Object(fields) => {
            // To some generators a field with a default is one that must be there.
            if let (Some(default), Some(about)) = (fields.remove("default"), fields.get_mut("description")) {
                *about = json!(format!("{} By default, {default}.", about.as_str().unwrap_or_default()));
            }
            let meant = fields.get("$ref").and_then(Value::as_str).and_then(|of| of.strip_prefix("#/$defs/"));
            match meant.map(str::to_owned).as_deref() {
                Some("name") => {
                    fields.remove("$ref");
                    for (key, value) in name.as_object().into_iter().flatten() {
                        fields.insert(key.clone(), value.clone());
                    }
                }
                Some(other) => {
                    let schema = match other {
                        "step" => "FlowStep",
                        "retry" => "RetryPolicy",
                        _ => "Duration",
                    };
                    fields.insert("$ref".to_owned(), json!(format!("{SCHEMAS}{schema}")));
                }
                None => fields.values_mut().for_each(|value| resolve(value, name)),
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| resolve(item, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
