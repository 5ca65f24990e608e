//! From what a person typed to a task there.

use super::Remote;
use crate::{args::Context, error::Error, lookup};
use relaymesh_api::view;
use relaymesh_core::id::TaskId;

/// Tasks of one page.
const PAGE: usize = 500;

/// The id of the task that is meant: a whole id, or a part of only one among the newest of the namespace.
pub(crate) fn task(remote: &Remote, context: &Context, text: &str) -> Result<TaskId, Error> {
    let Some(part) = lookup::part(text)? else { return text.parse().map_err(|error| lookup::bad_id(&error)) };
    let (mut newest, mut cursor) = (Vec::new(), None);
    while newest.len() < lookup::NEWEST {
        let query =
            [("namespace", Some(context.namespace.to_string())), ("limit", Some(PAGE.to_string())), ("cursor", cursor)];
        let page: view::Page = remote.get(&["tasks"], &query)?;
        newest.extend(page.tasks.iter().map(|task| task.task));
        cursor = page.next.map(|next| next.to_string());
        if cursor.is_none() {
            break;
        }
    }
    newest.truncate(lookup::NEWEST);
    lookup::only(&newest, &part)
}
