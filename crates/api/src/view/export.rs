//! A task or a message with everything that is known of it, as one JSON document.
//!
//! For whoever keeps it elsewhere: what was asked for with its inputs, how each step stands, its last attempts with their
//! reasons, and the results. Lease tokens stay here: they prove something only to this store.

use super::{Reference, Room, content as content_at, result};
use crate::error::Error;
use relaymesh_core::{
    message::{Message, Thread},
    task::{Step, TaskRows},
};
use relaymesh_store::{ContentKey, Reader};
use serde_json::{Map, Value, json};

/// What was asked of one step, without its input. `input_ref` names that by hash and length.
pub(super) fn request_step(step: &Step) -> Value {
    let mut asked = json!(step.spec);
    asked["input_ref"] = json!(step.spec.input);
    asked["artifacts"] = json!(step.output_artifacts);
    asked
}

/// The input that the request gave the step at this place, if it gave one.
fn input(reader: &mut (impl Reader + ?Sized), rows: &TaskRows, place: usize) -> Result<Option<Value>, Error> {
    let step = &rows.steps[place];
    let Some(named) = step.spec.input else { return Ok(None) };
    let index = u16::try_from(place).unwrap_or(u16::MAX);
    let what = || format!("the input of step `{}`", step.spec.name);
    content_at(reader, ContentKey::new(rows.task.key, rows.input_place(index)), named, what).map(Some)
}

/// What a step is given to work on.
pub struct Given {
    /// The value, if there is room for it.
    pub value: Value,
    /// What names it otherwise.
    pub named: Option<Reference>,
    /// What is known of it only when the step runs, in words.
    pub note: Option<String>,
}

/// What the step at this place is given to work on: its own input, or the results of the steps that it depends on. What is worked
/// out only when it runs is said in words beside it.
pub(super) fn given(
    reader: &mut (impl Reader + ?Sized),
    rows: &TaskRows,
    index: u16,
    room: &mut Room,
) -> Result<Given, Error> {
    let place = usize::from(index);
    let spec = &rows.steps[place].spec;
    let item = spec.item().map(|item| {
        let of = rows.steps.get(usize::from(item.of)).map_or("?", |step| step.spec.name.as_str());
        format!("it runs for item {} of step `{of}`", item.index)
    });
    if let Some(named) = spec.input {
        let filled = spec.is_templated().then(|| "references are filled in when it runs".to_owned());
        let is_here = room.take(u64::from(named.len));
        let value = if is_here { input(reader, rows, place)?.unwrap_or_default() } else { Value::Null };
        return Ok(Given { value, named: (!is_here).then(|| named.into()), note: filled.or(item) });
    }
    if item.is_some() {
        return Ok(Given { value: Value::Null, named: None, note: item });
    }
    let before = rows.steps[place].spec.depends_on.iter().filter_map(|of| rows.steps[usize::from(*of)].result);
    let bytes = before.map(|named| u64::from(named.len)).sum();
    if !room.take(bytes) {
        let note = format!("it is given the results of the steps that it depends on: {bytes} bytes");
        return Ok(Given { value: Value::Null, named: None, note: Some(note) });
    }
    let results = rows.steps[place].spec.depends_on.iter().map(|of| {
        let step = &rows.steps[usize::from(*of)];
        Ok((step.spec.name.to_string(), result(reader, step)?.unwrap_or(Value::Null)))
    });
    let results = results.collect::<Result<Map<_, _>, Error>>()?;
    let value = if results.is_empty() { Value::Null } else { Value::Object(results) };
    Ok(Given { value, named: None, note: None })
}

/// The message without what it says.
pub(super) fn message(thread: &Thread, message: &Message) -> Value {
    let draft = &message.draft;
    json!({
        "message": draft.id, "thread": thread.id, "namespace": thread.namespace, "from": draft.from, "to": draft.to,
        "state": message.state, "dead": message.dead, "error": message.error, "priority": draft.priority,
        "reply_to": draft.reply_to, "answered_by": message.answered_by, "asking_task": draft.asks.map(|asks| asks.step.task),
        "deliveries": message.deliveries, "max_deliveries": draft.max_deliveries, "epoch": message.epoch,
        "sent_ms": message.sent_ms, "updated_ms": message.updated_ms, "ttl_ms": draft.ttl_ms,
        "trace_id": format!("{:032x}", draft.trace_id), "content_ref": draft.content,
    })
}
