//! From what a person typed to a task or a step.

use crate::error::{Code, Error};
use relaymesh_core::{
    id::TaskId,
    task::{Step, Task, TaskRows},
};
use relaymesh_store::{Reader, TaskFilter};

/// A part of an id must be this long.
const PART_CHARS_MIN: usize = 4;
/// Parts of ids are looked for among this many of the newest tasks.
pub const NEWEST: usize = 1000;
/// How many tasks are read at once.
const PAGE: usize = 256;

/// The rows of the task with this id, or with the only id among the newest that begins or ends like this.
pub fn task(reader: &mut (impl Reader + ?Sized), text: &str) -> Result<TaskRows, Error> {
    let id = match part(text)? {
        Some(part) => {
            let newest = reader.tasks(&TaskFilter::default(), None, NEWEST)?;
            only(&newest.iter().map(|task| task.id).collect::<Vec<_>>(), &part)?
        }
        None => text.parse().map_err(|error| bad_id(&error))?,
    };
    reader.task(id)?.ok_or_else(|| Error::new(Code::NoTask, format!("there is no task {id} in this root")))
}

/// The step with this name or place.
pub fn step<'a>(rows: &'a TaskRows, text: &str) -> Result<(u16, &'a Step), Error> {
    let named = |(_, step): &(u16, &Step)| step.spec.name.as_str() == text;
    let placed = |(index, _): &(u16, &Step)| index.to_string() == text;
    let found = rows.indexed().find(named).or_else(|| rows.indexed().find(placed));
    found.ok_or_else(|| {
        let names: Vec<&str> = rows.steps.iter().map(|step| step.spec.name.as_str()).collect();
        let shown: String = text.chars().filter(|c| !c.is_control()).take(64).collect();
        let error = Error::new(Code::NoStep, format!("{} has no step `{shown}`", rows.task.id));
        error.hint(format!("its steps are: {}", names.join(", ")))
    })
}

/// Tells of every task that fits, the newest first, and reads them in pages.
pub fn each_task<R: Reader + ?Sized>(
    reader: &mut R,
    filter: &TaskFilter,
    mut tell: impl FnMut(&mut R, Task) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut before = None;
    loop {
        let page = reader.tasks(filter, before, PAGE)?;
        let Some(last) = page.last() else { return Ok(()) };
        before = Some(last.key);
        page.into_iter().try_for_each(|task| tell(reader, task))?;
    }
}

/// The part of an id that this is, if it is one; `None` for a whole id. What is neither is an error.
pub fn part(text: &str) -> Result<Option<String>, Error> {
    let Err(error) = text.parse::<TaskId>() else { return Ok(None) };
    let part = text.strip_prefix(TaskId::PREFIX).unwrap_or(text).to_ascii_uppercase();
    let plausible = (PART_CHARS_MIN..26).contains(&part.len()) && part.bytes().all(|c| c.is_ascii_alphanumeric());
    if plausible { Ok(Some(part)) } else { Err(bad_id(&error)) }
}

/// The only one of these that begins or ends like this.
pub fn only(ids: &[TaskId], part: &str) -> Result<TaskId, Error> {
    let fits = |id: &TaskId| {
        let text = id.to_string();
        let ulid = &text[TaskId::PREFIX.len()..];
        ulid.starts_with(part) || ulid.ends_with(part)
    };
    let found: Vec<TaskId> = ids.iter().copied().filter(fits).collect();
    match found[..] {
        [] => {
            Err(Error::new(Code::NoTask, format!("none of the newest {NEWEST} task ids begins or ends with `{part}`")))
        }
        [only] => Ok(only),
        [first, second, ..] => {
            let message = format!("`{part}` matches {} tasks, such as {first} and {second}", found.len());
            Err(Error::new(Code::BadId, message)
                .hint("give more characters of the end: ids of the same time begin alike"))
        }
    }
}

/// What to say about a text that is no id.
pub fn bad_id(error: &dyn std::fmt::Display) -> Error {
    Error::new(Code::BadId, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use relaymesh_core::id::NodeId;
    use relaymesh_store::{Store as _, memory::MemoryStore};

    #[test]
    fn what_is_no_part_of_an_id_is_a_bad_id() {
        let mut reader = MemoryStore::new(NodeId::new(1, 1)).reader().unwrap();
        for (text, code) in
            [("abc", Code::BadId), ("a/../b", Code::BadId), ("ABCD", Code::NoTask), ("tsk_ABCD", Code::NoTask)]
        {
            assert_eq!(task(&mut reader, text).unwrap_err().code, code, "{text}");
        }
    }
}
