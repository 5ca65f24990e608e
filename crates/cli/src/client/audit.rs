//! What was written, by whom, from where and when.

use crate::error::{Code, Error};
use relaymesh_api::view::{entry::Shown, fenced};
use relaymesh_core::{hash::Hash, id::TaskId, name::Name, op::Kind};
use std::collections::VecDeque;

/// The log, for people.
pub(crate) trait Audit {
    /// The task that is meant, which may have been purged; and a position up to which no op is about it.
    fn audited(&self, text: &str) -> Result<(TaskId, u64), Error>;

    /// The newest writes that the fence rejected, of this task if one is given.
    fn fenced(&self, task: Option<&str>, limit: usize) -> Result<fenced::Page, Error>;

    /// The newest ops that fit.
    fn newest(&self, wanted: &Wanted, limit: usize) -> Result<Newest, Error>;

    /// Tells of the ops after this position that fit, in order; and gives the position that was reached.
    fn after(&self, wanted: &Wanted, after: u64, tell: &mut dyn FnMut(Found)) -> Result<u64, Error>;
}

/// What the ops that are wanted have in common.
pub(crate) struct Wanted {
    pub(crate) namespace: Option<Name>,
    pub(crate) author: Option<Name>,
    pub(crate) source: Option<Name>,
    pub(crate) kind: Option<Kind>,
    pub(crate) task: Option<TaskId>,
    /// At this time or later.
    pub(crate) since_ms: Option<u64>,
    /// Before this time.
    pub(crate) until_ms: Option<u64>,
    /// No op up to here can fit.
    pub(crate) after: u64,
}

impl Wanted {
    /// Whether every op is wanted.
    pub(crate) fn is_all(&self) -> bool {
        let Self { namespace, author, source, kind, task, since_ms, until_ms, after: _ } = self;
        let anybody = author.is_none() && source.is_none() && namespace.is_none();
        anybody && kind.is_none() && task.is_none() && since_ms.is_none() && until_ms.is_none()
    }
}

/// An op that was found.
pub(crate) enum Found {
    Op(Box<Shown>),
    /// Ops that a compaction removed, up to this one.
    Gone(u64, Hash),
    /// What stands at this position is not what was written there.
    Damaged(u64, String),
}

/// The newest ops that fit.
pub(crate) struct Newest {
    /// Oldest first.
    pub(crate) found: VecDeque<Found>,
    /// How many fit in all, as far as they were looked at.
    pub(crate) total: u64,
    /// Damaged ops on the way, oldest first: whether they fit is unknown.
    pub(crate) damaged: Vec<(u64, String)>,
    /// The position that was reached.
    pub(crate) reached: u64,
}

impl Newest {
    /// None yet.
    pub(crate) fn new(total: u64, reached: u64) -> Self {
        Self { found: VecDeque::new(), total, damaged: Vec::new(), reached }
    }

    /// One more, of which the newest so many are kept.
    pub(crate) fn add(&mut self, found: Found, limit: usize) {
        if let Found::Damaged(pos, why) = found {
            return self.damaged.push((pos, why));
        }
        self.total += 1;
        self.found.push_back(found);
        if self.found.len() > limit {
            self.found.pop_front();
        }
    }

    /// An error if there was damage on the way: what was found may not be all.
    pub(crate) fn is_whole(&self) -> Result<(), Error> {
        let Some((_, first)) = self.damaged.first() else { return Ok(()) };
        let more = match self.damaged.len() - 1 {
            0 => String::new(),
            more => format!(" ({more} more ops are damaged)"),
        };
        Err(Error::new(Code::Damaged, format!("{first}{more}; it is not shown, and may have been a match")))
    }
}
