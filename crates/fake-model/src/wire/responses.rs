//! OpenAI's responses (`POST /v1/responses`).

use super::{Answer, INPUT_TOKENS, OUTPUT_TOKENS, named};
use serde_json::{Value, json};

/// The events of an answer; an unfinished one stops before its end.
pub(crate) fn stream(answer: &Answer<'_>, number: usize, is_whole: bool) -> Vec<String> {
    let response =
        json!({ "id": format!("resp_{number}"), "object": "response", "status": "in_progress", "output": [] });
    let mut events = vec![named("response.created", json!({ "response": response }))];
    let item = item(answer, number);
    if let Answer::Text(pieces) = answer {
        let begun = json!({ "type": "message", "role": "assistant", "id": item["id"], "content": [] });
        events.push(named("response.output_item.added", json!({ "output_index": 0, "item": begun })));
        for text in *pieces {
            let delta = json!({ "item_id": item["id"], "output_index": 0, "content_index": 0, "delta": text });
            events.push(named("response.output_text.delta", delta));
        }
    }
    if is_whole {
        events.push(named("response.output_item.done", json!({ "output_index": 0, "item": item })));
        events.push(named("response.completed", json!({ "response": completed(&item, number) })));
    }
    events
}

/// The whole answer as one object.
pub(crate) fn whole(answer: &Answer<'_>, number: usize) -> Value {
    completed(&item(answer, number), number)
}

fn completed(item: &Value, number: usize) -> Value {
    json!({
        "id": format!("resp_{number}"), "object": "response", "status": "completed", "model": "fake", "output": [item],
        "usage": {
            "input_tokens": INPUT_TOKENS, "input_tokens_details": { "cached_tokens": 40 },
            "output_tokens": OUTPUT_TOKENS, "output_tokens_details": { "reasoning_tokens": 5 },
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        },
    })
}

fn item(answer: &Answer<'_>, number: usize) -> Value {
    match answer {
        Answer::Text(pieces) => json!({
            "type": "message", "role": "assistant", "id": format!("msg_{number}"), "status": "completed",
            "content": [{ "type": "output_text", "text": pieces.concat(), "annotations": [] }],
        }),
        Answer::Call(name, arguments) => json!({
            "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"), "status": "completed",
            "name": name, "arguments": arguments.to_string(),
        }),
    }
}
