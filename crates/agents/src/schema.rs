//! What a step's result must be like: a JSON schema that its flow gives.

use crate::end::End;
use relaymesh_core::{canonical, content::Media};
use serde_json::Value;

/// The most mistakes that are told at once.
const TOLD_MAX: usize = 4;

/// How much of a mistake is told.
const TOLD_CHARS_MAX: usize = 200;

/// Whether this is a JSON schema. Nothing is fetched for it.
pub fn check(schema: &Value) -> Result<(), String> {
    jsonschema::validator_for(schema).map(drop).map_err(|error| cut(&error.to_string()))
}

/// The end of an attempt whose result must satisfy the schema. Models like to wrap JSON in a code block; that much is forgiven.
pub fn held_to(schema: &str, end: End) -> End {
    let End::Done { result, .. } = end else { return end };
    let text = String::from_utf8_lossy(&result);
    let value = canonical::parse(text.trim().as_bytes()).or_else(|error| {
        let inner = unfenced(text.trim()).ok_or(error)?;
        canonical::parse(inner.as_bytes())
    });
    let failed = |error: String| End::Failed { error, retryable: true };
    let value = match value {
        Ok(value) => value,
        Err(error) => {
            return failed(format!("the step has a `result_schema`, but the result is not usable JSON: {error}"));
        }
    };
    match mistakes(schema, &value) {
        Err(why) => End::Failed { error: why, retryable: false },
        Ok(told) if told.is_empty() => End::Done { media: Media::Json, result: value.to_string().into_bytes() },
        Ok(told) => failed(format!("the result does not match `result_schema`: {}", told.join("; "))),
    }
}

fn mistakes(schema: &str, value: &Value) -> Result<Vec<String>, String> {
    let wrong = |why: String| format!("`result_schema` is not a valid JSON schema: {}", cut(&why));
    let schema: Value = serde_json::from_str(schema).map_err(|error| wrong(error.to_string()))?;
    let validator = jsonschema::validator_for(&schema).map_err(|error| wrong(error.to_string()))?;
    let told = validator.iter_errors(value).take(TOLD_MAX).map(|error| {
        let at = error.instance_path().to_string();
        cut(&if at.is_empty() { error.to_string() } else { format!("{at}: {error}") })
    });
    Ok(told.collect())
}

/// What stands in a code block, if the text is one.
fn unfenced(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("```")?.strip_suffix("```")?;
    Some(inner.split_once('\n')?.1.trim())
}

fn cut(text: &str) -> String {
    text.chars().take(TOLD_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SCHEMA: &str = r#"{"type":"object","required":["files"],"properties":{"files":{"type":"integer"}}}"#;

    fn end(text: &str) -> End {
        held_to(SCHEMA, End::Done { media: Media::Text, result: text.as_bytes().to_vec() })
    }

    #[test]
    fn a_result_is_what_the_schema_asks_for_or_the_attempt_failed() {
        let done = End::Done { media: Media::Json, result: br#"{"files":3}"#.to_vec() };
        for text in [r#"{"files": 3}"#, " {\"files\":3}\n", "```json\n{\"files\": 3}\n```"] {
            assert_eq!(end(text), done, "{text}");
        }
        for (text, words) in [
            ("I found three", "the result is not usable JSON"),
            ("{}", "\"files\" is a required property"),
            (r#"{"files":"3"}"#, "/files: "),
        ] {
            let End::Failed { error, retryable: true } = end(text) else { panic!("{text} passed") };
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn what_is_no_schema_fails_for_good_and_other_ends_stay() {
        let done = End::Done { media: Media::Json, result: b"1".to_vec() };
        assert!(matches!(held_to("{\"type\":7}", done), End::Failed { retryable: false, .. }));
        let failed = End::Failed { error: "x".to_owned(), retryable: true };
        assert_eq!(held_to(SCHEMA, failed.clone()), failed);
        assert!(check(&json!({ "type": "object" })).is_ok() && check(&json!({ "type": "nonsense" })).is_err());
        assert!(check(&json!({ "$ref": "https://example.com/schema.json" })).is_err(), "nothing is fetched");
    }
}
