//! The log of a daemon elsewhere.

use super::Http;
use crate::{
    client::{Audit, Found, Newest, Tasks as _, Wanted},
    error::Error,
};
use relaymesh_api::{
    local::Status,
    view::{entry::Page, fenced},
};
use relaymesh_core::{id::TaskId, name::Name};

/// Entries that are asked for at once.
const PAGE: usize = 500;

impl Http<'_> {
    fn newest_after(&self, wanted: &Wanted, after: u64, limit: usize) -> Result<Newest, Error> {
        let mut newest = Newest::new(0, after);
        newest.reached = self.after(wanted, after, &mut |found| newest.add(found, limit))?;
        Ok(newest)
    }
}

impl Audit for Http<'_> {
    fn audited(&self, text: &str) -> Result<(TaskId, u64), Error> {
        Ok((self.find(text)?, 0))
    }

    fn fenced(&self, task: Option<&str>, limit: usize) -> Result<fenced::Page, Error> {
        let task = task.map(|text| self.find(text)).transpose()?.map(|task| task.to_string());
        self.remote.get(&["audit", "fenced"], &[("task", task), ("limit", Some(limit.min(PAGE).to_string()))])
    }

    /// It tells of the oldest first, so whoever wants the newest of all begins near the end.
    fn newest(&self, wanted: &Wanted, limit: usize) -> Result<Newest, Error> {
        let head = self.remote.get::<Status>(&["status"], &[])?.pos;
        if wanted.is_all() {
            let after = head.saturating_sub(limit as u64);
            let newest = self.newest_after(wanted, after, limit)?;
            // A token for some namespaces sees fewer of them, and a compacted log has fewer.
            if newest.found.len() == limit || after == 0 {
                return Ok(Newest { total: after + newest.total, ..newest });
            }
        }
        self.newest_after(wanted, 0, limit)
    }

    fn after(&self, wanted: &Wanted, after: u64, tell: &mut dyn FnMut(Found)) -> Result<u64, Error> {
        let mut after = after;
        loop {
            let page: Page = self.remote.get(&["audit"], &query(wanted, after))?;
            for shown in page.entries {
                after = after.max(shown.pos);
                tell(Found::Op(Box::new(shown)));
            }
            match page.next {
                Some(next) => after = next,
                None => return Ok(after),
            }
        }
    }
}

/// What is asked for, after this position.
fn query(wanted: &Wanted, after: u64) -> [(&'static str, Option<String>); 9] {
    let Wanted { namespace, author, source, kind, task, since_ms, until_ms, after: _ } = wanted;
    let text = |name: &Option<Name>| name.as_ref().map(Name::to_string);
    [
        ("namespace", text(namespace)),
        ("author", text(author)),
        ("source", text(source)),
        ("kind", kind.map(|kind| format!("{kind:?}"))),
        ("task", task.map(|task| task.to_string())),
        ("since_ms", since_ms.map(|since| since.to_string())),
        ("until_ms", until_ms.map(|until| until.to_string())),
        ("cursor", Some(after.to_string())),
        ("limit", Some(PAGE.to_string())),
    ]
}
