//! The OpenAPI document, from what the definitions of the routes say to what a stranger's generator needs.
//!
//! The definitions know names and types. A document that only says `string` and `integer` admits what the daemon refuses, and clients that are
//! generated from it have strings where there are five values. Patterns beside every field would be written forty times and forgotten the
//! forty-first. So what a value looks like is in tables, by the name of its field: a field that is added later with a known name has its
//! form at once, and a test refuses a field of a request that has none.
//!
//! ```text
//!  routes ─► enums      values that are one of a few: schemas of their own, from the lists of the kernel
//!         ─► forms      what texts and numbers look like, by the name of the field
//!         ─► rules      what no single field can say: one of two, both or neither
//!         ─► responses  a description and the errors of each operation
//!         ─► examples   requests and answers
//! ```

mod enums;
mod examples;
mod flow;
mod forms;
mod responses;
mod rules;
#[cfg(test)]
mod tests;

use super::operations::SCHEME;
use serde_json::{Value, json};

/// Where schemas are.
const SCHEMAS: &str = "#/components/schemas/";

/// What each group of operations is for.
const TAGS: [(&str, &str); 15] = [
    ("health", "Liveness, readiness, state and metrics of the daemon, and this document."),
    ("tasks", "Submit tasks, wait for them, list them, cancel and retry them."),
    ("steps", "Steps of a task: their attempts and output; claim and finish a step from outside."),
    ("flows", "Check and submit a graph of steps."),
    ("messages", "Send messages to agents, take them, acknowledge and reply."),
    ("agents", "List agents, and register one that takes messages over HTTP."),
    ("approvals", "Steps that wait for the decision of a person."),
    ("dead letters", "Failed tasks and messages: show, retry, purge."),
    ("locks", "Locks on keys and path globs of a repository."),
    ("namespaces", "List and create namespaces."),
    ("settings", "Show and change settings of the daemon."),
    ("audit", "Who wrote what, when and from where."),
    ("content", "Inputs and results by their SHA-256, as streams."),
    ("tokens", "Create, rotate and revoke tokens."),
    ("events", "Follow every durable change as server-sent events."),
];

/// The document, from what the routes say.
pub(super) fn finish(mut document: Value) -> Value {
    document["servers"] = json!([{ "url": "/", "description": "The daemon that serves this document." }]);
    document["tags"] = TAGS.iter().map(|(name, about)| json!({ "name": name, "description": about })).collect();
    let components = &mut document["components"];
    components["securitySchemes"][SCHEME] = json!({
        "type": "http", "scheme": "bearer",
        "description": "A token from `relaymesh token create`; scopes: ro, rw, admin, agent.",
    });
    components["responses"] = responses::errors();
    let schemas = &mut components["schemas"];
    schemas["Problem"] = responses::problem();
    for (name, schema) in schemas.as_object_mut().into_iter().flatten() {
        forms::shape(name, schema);
    }
    flow::add(schemas);
    enums::add(schemas);
    rules::add(schemas);
    let described = schemas.clone();
    for (_, item) in document["paths"].as_object_mut().into_iter().flatten() {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            responses::complete(method, operation, &described);
            let name = operation["operationId"].as_str().unwrap_or_default().to_owned();
            let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
            parameters.into_iter().flatten().for_each(|parameter| forms::parameter(&name, parameter));
            examples::add(&name, operation);
        }
    }
    document
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{SCHEMAS}{name}") })
}
