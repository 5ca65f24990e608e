//! Canonical JSON: one value, one sequence of bytes. What the strict parser lets in, the encoder must be able to say.

use crate::say;
use relaymesh_core::canonical::{self, Error, MAX_DEPTH};
use serde_json::Value;

/// The canonical bytes of what is accepted are accepted, mean the same and are their own canonical bytes.
pub fn target(data: &[u8]) {
    let lenient = serde_json::from_slice::<Value>(data);
    let value = match canonical::parse(data) {
        Ok(value) => value,
        Err(error) => {
            say(&error);
            return refused_for_a_reason(&error, lenient.as_ref().ok());
        }
    };
    assert_eq!(lenient.ok().as_ref(), Some(&value), "another parser understands it differently");
    assert!(depth(&value) <= MAX_DEPTH);

    assert_eq!(canonical::validate(data), Ok(()));
    let hash = canonical::sha256(&value).expect("what was let in has a fingerprint");

    // However it is written down in between.
    let pretty = serde_json::to_vec_pretty(&value).expect("a value has a JSON form");
    let again = canonical::parse(&pretty).expect("what was let in can be written down");
    assert_eq!(again, value, "not the same numbers");
    assert_eq!(canonical::sha256(&again), Ok(hash));

    let bytes = match canonical::to_vec(&value) {
        Ok(bytes) => bytes,
        Err(Error::Integer { .. }) => return, // RFC 8785 would round it
        Err(error) => panic!("{error}"),
    };
    let again = canonical::parse(&bytes).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&bytes)));
    assert!(means_the_same(&value, &again), "{value} became {again}");
    assert_eq!(canonical::to_vec(&again).as_deref(), Ok(&bytes[..]), "not a fixed point");
    assert_eq!(canonical::sha256(&again), Ok(hash));
}

/// Only what is said to be wrong is wrong: the lenient parser reads what was refused for being too deep, too large or
/// said twice, and nothing that is not JSON.
fn refused_for_a_reason(error: &Error, lenient: Option<&Value>) {
    match error {
        Error::Syntax { .. } => assert_eq!(lenient, None, "{error}"),
        Error::Integer { .. } => assert!(lenient.is_some_and(has_number), "{error}"),
        // What comes after the place of the refusal was not looked at, and may be anything.
        Error::DuplicateKey { .. } | Error::Depth { .. } => {}
        Error::Encode { .. } => panic!("{error}"),
    }
}

fn has_number(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::Array(items) => items.iter().any(has_number),
        Value::Object(map) => map.values().any(has_number),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Number(_) => 0,
    }
}

/// Equality, but for the kind of number: `1.0` is written as `1`, and `-0` as `0`.
pub(crate) fn means_the_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| means_the_same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| means_the_same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Numbers at every edge, texts with every escape, keys in an order of their own.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        r#"{"b":[1,-1,0.5,1e21,1E-7,-0,-0.0],"a":{"c":null,"d":true,"e":false},"":"x"}"#,
        r#"[9007199254740993,18446744073709551615,-9223372036854775808,1e19,9007199254740992.0]"#,
        r#"[9007199254740991,-9007199254740991,9007199254740991.0,5e-324,1.7976931348623157e308]"#,
        r#"["\u0000\u001f\"\\\/\b\f\n\r\t\ud83d\ude00é€","😀"]"#,
        r#"{"\ud83d\ude00":1,"\ufb33":2,"é":3,"e":4,"1":5}"#,
        "[333333333.33333329,1e30,4.50,2e-3,0.000000000000000000000000001,123456789012345.67]",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
        " null\n",
        "\"\"",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}
