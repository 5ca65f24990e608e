//! What every generator and every reader may count on. That it is an OpenAPI document at all is for tools to say that none of us wrote:
//! `crates/cli/tests/clients.rs`.

use super::{SCHEMAS, TAGS, forms};
use crate::http::routes;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Every operation: its name and its definition.
fn operations(document: &Value) -> Vec<(String, Value)> {
    let items = document["paths"].as_object().unwrap().values();
    let all = items.flat_map(|item| item.as_object().unwrap().values());
    all.map(|operation| (operation["operationId"].as_str().unwrap().to_owned(), operation.clone())).collect()
}

/// Every value in it, with where it is.
fn walk<'a>(at: &str, value: &'a Value, tell: &mut dyn FnMut(&str, &'a Value)) {
    tell(at, value);
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| walk(&format!("{at}/{name}"), value, tell)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| walk(&format!("{at}/{index}"), value, tell));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn references(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    walk("", value, &mut |_, value| {
        found.extend(value["$ref"].as_str().and_then(|named| named.strip_prefix(SCHEMAS)).map(str::to_owned));
    });
    found
}

/// Names of schemas that this one needs, itself among them.
fn closure(document: &Value, names: BTreeSet<String>) -> BTreeSet<String> {
    let mut found = names;
    loop {
        let more = found.iter().flat_map(|name| references(&document["components"]["schemas"][name]));
        let all: BTreeSet<String> = found.iter().cloned().chain(more).collect();
        if all.len() == found.len() {
            return found;
        }
        found = all;
    }
}

#[test]
fn no_two_types_share_the_name_of_a_schema() {
    let all = routes::schemas();
    assert!(all.len() > 50, "{} schemas", all.len());
    assert_eq!(clashes(&all), BTreeSet::new(), "`#[schema(as = …)]` gives one of them another name");
    let two = [("Create".to_owned(), json!({ "required": ["scope"] })), ("Create".to_owned(), json!({}))];
    assert_eq!(clashes(&two), BTreeSet::from(["Create"]), "and a clash is seen");
}

/// Names under which there are different schemas.
fn clashes(all: &[(String, Value)]) -> BTreeSet<&str> {
    let is_other = |name: &str, schema: &Value| all.iter().any(|(known, other)| known == name && other != schema);
    all.iter().filter(|(name, schema)| is_other(name, schema)).map(|(name, _)| name.as_str()).collect()
}

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_needed() {
    let document = routes::document();
    let schemas: BTreeSet<String> = document["components"]["schemas"].as_object().unwrap().keys().cloned().collect();
    let named = references(&document["paths"]).into_iter().chain(references(&document["components"]["responses"]));
    assert_eq!(closure(&document, named.collect()), schemas);
}

#[test]
fn every_answer_is_described_and_no_schema_is_empty() {
    let document = routes::document();
    for (name, operation) in operations(&document) {
        for (status, answer) in operation["responses"].as_object().unwrap() {
            let error = format!("#/components/responses/Error{status}");
            let is_shared =
                answer["$ref"] == error && document["components"]["responses"][format!("Error{status}")].is_object();
            assert!(
                is_shared || answer["description"].as_str().is_some_and(|about| !about.is_empty()),
                "{name} {status}"
            );
        }
    }
    walk("", &document["paths"], &mut |at, value| {
        if at.ends_with("/schema") {
            assert_ne!(*value, json!({}), "{at}");
        }
    });
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        assert!(schema["description"].is_string(), "{name}");
        for (field, value) in schema["properties"].as_object().into_iter().flatten() {
            let is_said = value["description"].is_string() || value["oneOf"][0]["description"].is_string();
            let is_flow = matches!(name.as_str(), "Flow" | "FlowStep" | "RetryPolicy");
            assert!(is_said || is_flow, "{name}.{field}: {value}");
        }
    }
    let named: BTreeSet<&str> = TAGS.iter().map(|(name, _)| *name).collect();
    let tags: BTreeSet<String> =
        operations(&document).iter().map(|(_, operation)| operation["tags"][0].as_str().unwrap().to_owned()).collect();
    assert_eq!(tags.iter().map(String::as_str).collect::<BTreeSet<_>>(), named);
    assert!(document["info"]["license"]["name"].as_str().is_some_and(|name| !name.is_empty()));
    assert!(document["servers"][0]["url"].is_string());
}

#[test]
fn every_text_and_number_of_a_request_says_what_it_may_be() {
    let document = routes::document();
    let schemas = &document["components"]["schemas"];
    let bodies: BTreeSet<String> =
        operations(&document).iter().flat_map(|(_, operation)| references(&operation["requestBody"])).collect();
    let mut open = Vec::new();
    for name in closure(&document, bodies) {
        // The schema of a flow is a file of its own, settings have their table.
        if name.starts_with("Flow") && name != "FlowTask" || name == "Duration" || name == "RetryPolicy" {
            continue;
        }
        for (field, value) in schemas[&name]["properties"].as_object().into_iter().flatten() {
            let value = if value["items"].is_object() { &value["items"] } else { value };
            open.extend(is_open(value).then(|| format!("{name}.{field}")).filter(|_| !forms::is_known(&name, field)));
        }
    }
    for (name, operation) in operations(&document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let field = parameter["name"].as_str().unwrap();
            open.extend(is_open(&parameter["schema"]).then(|| format!("{name}.{field}")));
        }
    }
    assert_eq!(open, Vec::<String>::new(), "their forms belong into the table of `forms.rs`");
}

/// Whether any text, or any number, would do.
fn is_open(schema: &Value) -> bool {
    let is = |kind: &str| {
        let kinds = &schema["type"];
        kinds == kind || kinds.as_array().is_some_and(|kinds| kinds.iter().any(|known| known == kind))
    };
    let is_free_text = is("string") && schema["pattern"].is_null() && schema["enum"].is_null();
    is_free_text || is("integer") && schema["maximum"].is_null()
}

#[test]
fn every_example_is_what_its_schema_says() {
    let document = routes::document();
    let check = |what: &str, schema: &Value, example: &Value| {
        let mut whole = schema.clone();
        whole["components"] = document["components"].clone();
        let validator = jsonschema::draft202012::new(&whole).unwrap();
        let errors: Vec<String> = validator.iter_errors(example).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{what}: {example} {errors:?}");
    };
    let mut bodies = 0;
    for (name, operation) in operations(&document) {
        let requests = operation["requestBody"]["content"].as_object().into_iter().flatten();
        for (_, media) in requests {
            assert!(!media["example"].is_null(), "{name} has no example of its request");
            check(&name, &media["schema"], &media["example"]);
            bodies += 1;
        }
        for (status, answer) in operation["responses"].as_object().unwrap() {
            for (_, media) in answer["content"].as_object().into_iter().flatten() {
                if let Some(example) = media.get("example") {
                    check(&format!("{name} {status}"), &media["schema"], example);
                }
            }
        }
    }
    assert!(bodies > 25, "{bodies} requests");
    for (name, answer) in document["components"]["responses"].as_object().unwrap() {
        let body = &answer["content"]["application/problem+json"];
        check(name, &body["schema"], &body["example"]);
    }
    walk("", &document, &mut |at, value| {
        for example in value["examples"].as_array().into_iter().flatten() {
            if value.get("pattern").is_some() {
                check(at, value, example);
            }
        }
    });
}
