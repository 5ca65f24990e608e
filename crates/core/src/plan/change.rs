//! Change: other words about an item, or another task that does it. All of them are given, also those that stay.

use super::{
    apply::{At, Refusal},
    spec,
    state::PlanRows,
};
use crate::{id::TaskId, op::SeenItem};

pub(super) struct Words<'a> {
    pub(super) title: &'a str,
    pub(super) notes: &'a str,
    pub(super) task: Option<TaskId>,
}

pub(super) fn change(rows: &mut PlanRows, seen: &SeenItem, words: Words<'_>, at: At<'_>) -> Result<(), Refusal> {
    let item = rows.seen(seen)?;
    spec::check(item.kind, words.title, words.notes, words.task)?;
    words.title.clone_into(&mut item.title);
    words.notes.clone_into(&mut item.notes);
    item.task = words.task;
    item.touch(at);
    Ok(())
}
