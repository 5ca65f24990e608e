//! What can be tried without a daemon.

use super::{operations::Operations, problem, routes};
use crate::error::Code;
use serde_json::Value;

const DOCUMENT: &str = include_str!("../../../../../docs/reference/openapi.json");

#[test]
fn the_document_is_what_the_routes_say() {
    let made = routes::document();
    let kept: Value = serde_json::from_str(DOCUMENT).unwrap();
    // Both at once would be a message of a megabyte.
    assert!(kept == made, "docs/reference/openapi.json is not what the routes say: `cargo xtask gen` makes it anew");
    assert_eq!(made["openapi"], "3.1.0");
}

#[test]
fn every_operation_says_who_may_and_has_a_name_of_its_own() {
    let document = routes::document();
    let mut names = std::collections::BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        assert!(Operations::of(&document).route(path).is_some(), "{path}");
        for (method, operation) in item.as_object().unwrap() {
            assert!(operation["security"].is_array(), "{method} {path} does not say who may");
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{method} {path}: two are called {name}");
            assert!(operation["description"].is_string() || operation["summary"].is_string(), "{method} {path}");
        }
    }
}

#[test]
fn every_code_has_a_status_that_is_an_error() {
    for code in Code::ALL {
        let status = problem::status(*code);
        assert!(status.is_client_error() || status.is_server_error(), "{}: {status}", code.as_str());
    }
}
