//! Google's contents (`POST /v1beta/models/M:streamGenerateContent`).

use super::{Answer, INPUT_TOKENS, OUTPUT_TOKENS, unnamed};
use serde_json::{Value, json};

/// The events of an answer; an unfinished one stops before its end.
pub(crate) fn stream(answer: &Answer<'_>, is_whole: bool) -> Vec<String> {
    let mut part = whole(answer);
    if !is_whole {
        part["candidates"][0]["finishReason"] = Value::Null;
        part["usageMetadata"] = Value::Null;
    }
    vec![unnamed(&part)]
}

/// The whole answer as one object.
pub(crate) fn whole(answer: &Answer<'_>) -> Value {
    let part = match answer {
        Answer::Text(pieces) => json!({ "text": pieces.concat() }),
        Answer::Call(name, arguments) => json!({ "functionCall": { "name": name, "args": arguments } }),
    };
    json!({
        "candidates": [{ "index": 0, "content": { "role": "model", "parts": [part] }, "finishReason": "STOP" }],
        "usageMetadata": {
            "promptTokenCount": INPUT_TOKENS, "candidatesTokenCount": OUTPUT_TOKENS,
            "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
        },
        "modelVersion": "fake",
    })
}
