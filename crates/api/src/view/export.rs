//! A task or a message with everything that is known of it, as one JSON document.
//!
//! For whoever keeps it elsewhere: what was asked for with its inputs, how each step stands, its last attempts with their
//! reasons, and the results. Lease tokens stay here: they prove something only to this store.

use super::{View, content as content_at, result};
use crate::error::Error;
use relaymesh_core::{
    message::{Message, Thread},
    task::TaskRows,
};
use relaymesh_store::{ContentKey, Reader};
use serde_json::{Map, Value, json};

/// The task, what was asked for, every attempt that is remembered, and the results.
pub fn task(reader: &mut (impl Reader + ?Sized), rows: TaskRows) -> Result<Value, Error> {
    let steps = (0..rows.steps.len()).map(|place| request_step(reader, &rows, place)).collect::<Result<Vec<_>, _>>()?;
    let request = json!({ "name": rows.task.name, "steps": steps });
    let mut document = View::load(reader, rows)?.to_json(true);
    document["request"] = request;
    Ok(document)
}

/// What was asked of one step. `input_ref` names its input by hash and length, `input` is what lies there.
fn request_step(reader: &mut (impl Reader + ?Sized), rows: &TaskRows, place: usize) -> Result<Value, Error> {
    let step = &rows.steps[place];
    let mut asked = json!(step.spec);
    asked["input_ref"] = json!(step.spec.input);
    asked["input"] = input(reader, rows, place)?.unwrap_or(Value::Null);
    asked["artifacts"] = json!(step.output_artifacts);
    Ok(asked)
}

/// The input that the request gave the step at this place, if it gave one.
pub fn input(reader: &mut (impl Reader + ?Sized), rows: &TaskRows, place: usize) -> Result<Option<Value>, Error> {
    let step = &rows.steps[place];
    let Some(named) = step.spec.input else { return Ok(None) };
    let index = u16::try_from(place).unwrap_or(u16::MAX);
    let what = || format!("the input of step `{}`", step.spec.name);
    content_at(reader, ContentKey::new(rows.task.key, rows.input_place(index)), named, what).map(Some)
}

/// What the step at this place is given to work on: its own input, or the results of the steps that it depends on. What is worked
/// out only when it runs is said in words beside it.
pub fn given(
    reader: &mut (impl Reader + ?Sized),
    rows: &TaskRows,
    index: u16,
) -> Result<(Value, Option<String>), Error> {
    let place = usize::from(index);
    let spec = &rows.steps[place].spec;
    let item = spec.item().map(|item| {
        let of = rows.steps.get(usize::from(item.of)).map_or("?", |step| step.spec.name.as_str());
        format!("it runs for item {} of step `{of}`", item.index)
    });
    if let Some(input) = input(reader, rows, place)? {
        let filled = spec.is_templated().then(|| "references are filled in when it runs".to_owned());
        return Ok((input, filled.or(item)));
    }
    if item.is_some() {
        return Ok((Value::Null, item));
    }
    let results = rows.steps[place].spec.depends_on.iter().map(|of| {
        let step = &rows.steps[usize::from(*of)];
        Ok((step.spec.name.to_string(), result(reader, step)?.unwrap_or(Value::Null)))
    });
    let results = results.collect::<Result<Map<_, _>, Error>>()?;
    Ok((if results.is_empty() { Value::Null } else { Value::Object(results) }, None))
}

/// The message with what it says.
pub fn message(reader: &mut (impl Reader + ?Sized), thread: &Thread, message: &Message) -> Result<Value, Error> {
    let draft = &message.draft;
    let what = || format!("the content of {}", draft.id);
    let content = content_at(reader, ContentKey::new(message.content_pos, 0), draft.content, what)?;
    Ok(json!({
        "message": draft.id, "thread": thread.id, "namespace": thread.namespace, "from": draft.from, "to": draft.to,
        "state": message.state, "dead": message.dead, "error": message.error, "priority": draft.priority,
        "reply_to": draft.reply_to, "answered_by": message.answered_by, "asking_task": draft.asks.map(|asks| asks.step.task),
        "deliveries": message.deliveries, "max_deliveries": draft.max_deliveries, "epoch": message.epoch,
        "sent_ms": message.sent_ms, "updated_ms": message.updated_ms, "ttl_ms": draft.ttl_ms,
        "trace_id": format!("{:032x}", draft.trace_id), "content_ref": draft.content, "content": content,
    }))
}
