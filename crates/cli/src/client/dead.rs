//! Tasks and messages that failed for good.

use crate::{bulk::Outcome, error::Error};
use relaymesh_api::view::dead::{All, Selection, Shown, What};
use relaymesh_core::op::Scope;
use serde_json::Value;

/// Who is told what became of each.
pub(crate) type Told<'a> = dyn FnMut(What, Result<(), &Error>) + 'a;

/// Tasks and messages that failed for good.
pub(crate) trait Dead {
    /// All of the namespace that fit, in the order in which they were submitted or sent. A daemon elsewhere tells of a thousand at most.
    fn dead(&self, selection: &Selection) -> Result<All, Error>;

    /// Those with these ids, in the same order.
    fn dead_named(&self, ids: &[String]) -> Result<Vec<Shown>, Error>;

    /// Everything that is known of a message; several documents if it is a thread. Of a task, its export knows all.
    fn dead_documents(&self, id: &str) -> Result<Vec<Value>, Error>;

    /// Tries them again, in this order.
    fn redrive(&self, all: &[What], reason: &str, tell: &mut Told<'_>) -> Result<Outcome, Error>;

    /// Forgets them; a message goes with its thread.
    fn purge(&self, all: &[What], tell: &mut Told<'_>) -> Result<Outcome, Error>;
}

/// What is forgotten with it.
pub(crate) fn scope(what: What) -> Scope {
    match what {
        What::Task(task) => Scope::Task(task),
        What::Message(thread, _) => Scope::Thread(thread),
    }
}
