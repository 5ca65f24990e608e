//! A server of one's own that answers with a stream: an event called `result` has the result, one called `error` says why there is none, and all
//! others are progress.

use super::Answer;
use crate::{
    http::sse,
    tool::{Event, Stop},
};

pub(super) fn event(message: &sse::Message, answer: &mut Answer) -> Vec<Event> {
    if answer.is_over() {
        return Vec::new();
    }
    match message.name.as_str() {
        "result" => {
            answer.said.text.clone_from(&message.data);
            answer.said.stop = Some(Stop::Done);
            Vec::new()
        }
        "error" => {
            answer.said.stop = Some(Stop::Failed(message.data.clone()));
            vec![Event::Trouble(message.data.clone())]
        }
        _ => vec![Event::Text(format!("{}\n", message.data))],
    }
}
