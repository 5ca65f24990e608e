//! Namespaces: how much there is of everything in each.

use crate::error::Error;
use relaymesh_core::{
    kernel::Rows,
    name::Name,
    namespace::{DEFAULT, Namespace},
};
use relaymesh_store::{Reader, TaskFilter};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

const PAGE: usize = 256;

/// A namespace: how it came to be, and how much there is of everything.
#[derive(Debug, Default)]
pub struct Listed {
    /// How it was made, if it was.
    pub made: Option<Namespace>,
    /// Number of tasks.
    pub tasks: u64,
    /// Number of tasks that have not ended.
    pub open_tasks: u64,
    /// Number of messages.
    pub messages: u64,
    /// Number of waiting messages.
    pub open_messages: u64,
    /// Number of locks.
    pub locks: u64,
}

/// A namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Namespace)]
pub struct Shown {
    /// Name.
    #[schema(value_type = String)]
    pub namespace: Name,
    /// Number of tasks.
    pub tasks: u64,
    /// Number of tasks that have not ended.
    pub open_tasks: u64,
    /// Number of messages.
    pub messages: u64,
    /// Number of waiting messages.
    pub open_messages: u64,
    /// Number of locks.
    pub locks: u64,
    /// Time of creation, in milliseconds since 1970; absent for `default`.
    pub created_ms: Option<u64>,
    /// Author.
    #[schema(value_type = Option<String>)]
    pub author: Option<Name>,
    /// Description.
    pub about: Option<String>,
}

/// All namespaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = NamespaceList)]
pub struct All {
    /// The namespaces, by name.
    pub namespaces: Vec<Shown>,
}

/// Answer to the creation of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = CreatedNamespace)]
pub struct Created {
    /// Name.
    #[schema(value_type = String)]
    pub namespace: Name,
    /// Whether it was created; `false` if it already existed.
    pub created: bool,
}

impl Listed {
    /// The same as it is shown.
    pub fn shown(self, namespace: Name) -> Shown {
        let Self { made, tasks, open_tasks, messages, open_messages, locks } = self;
        let (created_ms, made) = (made.as_ref().map(|made| made.created_ms), made);
        let (author, about) = made.map(|made| (made.author, made.about)).unzip();
        Shown { namespace, tasks, open_tasks, messages, open_messages, locks, created_ms, author, about }
    }
}

/// Every namespace that was made, the one that is always there, and those that something is in all the same.
pub fn find(reader: &mut (impl Reader + ?Sized), looked: &mut dyn FnMut(u64)) -> Result<BTreeMap<Name, Listed>, Error> {
    let mut found: BTreeMap<Name, Listed> = BTreeMap::new();
    found.extend(DEFAULT.parse().ok().map(|default| (default, Listed::default())));
    let (mut before, mut seen) = (None, 0);
    loop {
        let page = reader.tasks(&TaskFilter::default(), before, PAGE)?;
        let Some(last) = page.last() else { break };
        before = Some(last.key);
        seen += page.len() as u64;
        for task in page {
            let listed = found.entry(task.namespace).or_default();
            listed.tasks += 1;
            listed.open_tasks += u64::from(!task.status.is_terminal());
        }
        looked(seen);
    }
    let mut after = None;
    loop {
        let page = reader.scopes(after, PAGE)?;
        let Some(last) = page.last() else { return Ok(found) };
        after = Some(*last);
        for scope in page {
            match reader.scope(scope)? {
                Some(Rows::Thread(rows)) => {
                    let listed = found.entry(rows.thread.namespace).or_default();
                    listed.messages += rows.messages.len() as u64;
                    let open = rows.messages.values().filter(|message| !message.state.is_terminal()).count();
                    listed.open_messages += open as u64;
                }
                Some(Rows::Repository(rows)) => {
                    found.entry(rows.repository.namespace).or_default().locks += rows.locks.len() as u64;
                }
                Some(Rows::Namespace(row)) => {
                    let listed = found.entry(row.name.clone()).or_default();
                    listed.made = Some(row);
                }
                Some(Rows::Task(_) | Rows::Plan(_) | Rows::Purged(_)) | None => {}
            }
        }
    }
}
