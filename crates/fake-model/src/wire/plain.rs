//! A server of one's own: JSON, or a stream of progress and a result.

use super::{Answer, unnamed};
use serde_json::{Value, json};

/// The events of an answer; an unfinished one stops before its end.
pub(crate) fn stream(answer: &Answer<'_>, is_whole: bool) -> Vec<String> {
    let mut events = match answer {
        Answer::Text(pieces) => pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect(),
        Answer::Call(_, arguments) => vec![unnamed(arguments)],
    };
    if is_whole {
        events.push(format!("event: result\ndata: {}\n\n", whole(answer)));
    }
    events
}

/// The whole answer as one object.
pub(crate) fn whole(answer: &Answer<'_>) -> Value {
    match answer {
        Answer::Text(pieces) => json!({ "said": pieces.concat() }),
        Answer::Call(name, arguments) => json!({ "call": name, "arguments": arguments }),
    }
}
