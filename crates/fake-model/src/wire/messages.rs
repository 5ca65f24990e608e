//! Anthropic's messages (`POST /v1/messages`).

use super::{Answer, INPUT_TOKENS, OUTPUT_TOKENS, named};
use serde_json::{Value, json};

/// The events of an answer; an unfinished one stops before its end.
pub(crate) fn stream(answer: &Answer<'_>, number: usize, is_whole: bool) -> Vec<String> {
    let mut message = whole(answer, number);
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    message["usage"]["output_tokens"] = json!(1);
    let (begun, deltas) = match answer {
        Answer::Text(pieces) => {
            let delta = |text: &&str| json!({ "type": "text_delta", "text": text });
            (json!({ "type": "text", "text": "" }), pieces.iter().map(delta).collect())
        }
        Answer::Call(name, arguments) => (
            json!({ "type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": {} }),
            vec![json!({ "type": "input_json_delta", "partial_json": arguments.to_string() })],
        ),
    };
    let mut events = vec![
        named("message_start", json!({ "message": message })),
        named("content_block_start", json!({ "index": 0, "content_block": begun })),
    ];
    events.extend(deltas.iter().map(|delta| named("content_block_delta", json!({ "index": 0, "delta": delta }))));
    if is_whole {
        let stop = json!({ "stop_reason": stop_reason(answer), "stop_sequence": null });
        events.push(named("content_block_stop", json!({ "index": 0 })));
        events.push(named("message_delta", json!({ "delta": stop, "usage": { "output_tokens": OUTPUT_TOKENS } })));
        events.push(named("message_stop", json!({})));
    }
    events
}

/// The whole answer as one object.
pub(crate) fn whole(answer: &Answer<'_>, number: usize) -> Value {
    let content = match answer {
        Answer::Text(pieces) => json!([{ "type": "text", "text": pieces.concat() }]),
        Answer::Call(name, arguments) => {
            json!([{ "type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": arguments }])
        }
    };
    json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": content,
        "stop_reason": stop_reason(answer), "stop_sequence": null,
        "usage": {
            "input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS,
            "cache_creation_input_tokens": 10, "cache_read_input_tokens": 30,
        },
    })
}

fn stop_reason(answer: &Answer<'_>) -> &'static str {
    match answer {
        Answer::Text(_) => "end_turn",
        Answer::Call(..) => "tool_use",
    }
}
