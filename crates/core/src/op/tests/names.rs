//! Names of fields in JSON that are those of the source documents, to the letter. In the bytes of an op there are no names.

use super::samples;
use crate::op::Kind;
use serde_json::json;

#[test]
fn l3_l5_a_claim_and_a_route_have_the_names_of_their_source() {
    let claim = serde_json::to_value(samples::body(Kind::ClaimWork)).unwrap();
    assert_eq!(claim.pointer("/body/lease_duration_ms"), Some(&json!(120_000)), "{claim}");
    let route = serde_json::to_value(samples::body(Kind::RouteKind)).unwrap();
    let body = json!({ "kind": "com.example.*", "route": samples::node(2) });
    assert_eq!(route.pointer("/body"), Some(&body), "{route}");
}
