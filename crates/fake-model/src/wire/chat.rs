//! OpenAI's chat completions (`POST /v1/chat/completions`).

use super::{Answer, INPUT_TOKENS, OUTPUT_TOKENS, unnamed};
use serde_json::{Value, json};

/// The events of an answer; an unfinished one stops before its end.
pub(crate) fn stream(answer: &Answer<'_>, number: usize, is_whole: bool) -> Vec<String> {
    let chunk = |choices: Value, usage: Value| {
        let id = format!("chatcmpl-{number}");
        unnamed(
            &json!({ "id": id, "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": choices, "usage": usage }),
        )
    };
    let choice = |delta: &Value, reason: Value| json!([{ "index": 0, "delta": delta, "finish_reason": reason }]);
    let mut first = match answer {
        Answer::Text(pieces) => message(&Answer::Text(&pieces[..pieces.len().min(1)]), number),
        Answer::Call(..) => message(answer, number),
    };
    if let Some(call) = first["tool_calls"].get_mut(0) {
        call["index"] = json!(0);
    }
    let mut events = vec![chunk(choice(&first, Value::Null), Value::Null)];
    if let Answer::Text(pieces) = answer {
        let later =
            pieces.iter().skip(1).map(|piece| chunk(choice(&json!({ "content": piece }), Value::Null), Value::Null));
        events.extend(later);
    }
    if is_whole {
        events.push(chunk(choice(&json!({}), reason(answer).into()), Value::Null));
        events.push(chunk(json!([]), usage()));
        events.push("data: [DONE]\n\n".to_owned());
    }
    events
}

/// The whole answer as one object.
pub(crate) fn whole(answer: &Answer<'_>, number: usize) -> Value {
    json!({
        "id": format!("chatcmpl-{number}"), "object": "chat.completion", "created": 1, "model": "fake", "usage": usage(),
        "choices": [{ "index": 0, "message": message(answer, number), "finish_reason": reason(answer) }],
    })
}

fn message(answer: &Answer<'_>, number: usize) -> Value {
    match answer {
        Answer::Text(pieces) => json!({ "role": "assistant", "content": pieces.concat() }),
        Answer::Call(name, arguments) => {
            let function = json!({ "name": name, "arguments": arguments.to_string() });
            let call = json!({ "id": format!("call_{number}"), "type": "function", "function": function });
            json!({ "role": "assistant", "content": null, "tool_calls": [call] })
        }
    }
}

fn reason(answer: &Answer<'_>) -> &'static str {
    match answer {
        Answer::Text(_) => "stop",
        Answer::Call(..) => "tool_calls",
    }
}

fn usage() -> Value {
    json!({
        "prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        "prompt_tokens_details": { "cached_tokens": 40 },
    })
}
