//! What an author asks for, as it stands on the log.

use super::{NOTES_CHARS_MAX, TITLE_CHARS_MAX, apply::Refusal};
use crate::id::{ItemId, TaskId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The level of an item. It has it for life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// What all of it is for. The root, one a plan.
    Mission = 0,
    /// A point on the way that can be told from the outside.
    Milestone = 1,
    /// A part of a milestone that is worth something by itself.
    Slice = 2,
    /// Something that the slice can do when it is done.
    Feature = 3,
    /// Work that somebody does. It may be linked to a task of the mesh.
    Task = 4,
}

impl ItemKind {
    /// All of them, from the root down.
    pub const ALL: [Self; 5] = [Self::Mission, Self::Milestone, Self::Slice, Self::Feature, Self::Task];

    /// The kind of what it lies in. A mission lies in nothing.
    pub fn above(self) -> Option<Self> {
        match self {
            Self::Mission => None,
            Self::Milestone => Some(Self::Mission),
            Self::Slice => Some(Self::Milestone),
            Self::Feature => Some(Self::Slice),
            Self::Task => Some(Self::Feature),
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mission => "mission",
            Self::Milestone => "milestone",
            Self::Slice => "slice",
            Self::Feature => "feature",
            Self::Task => "task",
        }
    }
}

impl fmt::Display for ItemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The body of an AddItem op.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewItem {
    /// The item's own name: a second one with the same name in its plan is refused.
    pub id: ItemId,
    /// Its level.
    pub kind: ItemKind,
    /// What it lies in: an item of the level above. A mission has none, and begins the plan.
    pub parent: Option<ItemId>,
    /// Where among its siblings: they are in the order of this number, then of their ids.
    pub place: u64,
    /// What people call it: one line.
    pub title: String,
    /// What else there is to say about it.
    pub notes: String,
    /// Of an item of the lowest level: the task that does it.
    pub task: Option<TaskId>,
}

/// Whether an item of this kind can be called and described so, and linked to that.
pub(super) fn check(kind: ItemKind, title: &str, notes: &str, task: Option<TaskId>) -> Result<(), Refusal> {
    if title.trim().is_empty() {
        return Err(Refusal::NoTitle);
    }
    check_text("title", title, TITLE_CHARS_MAX, char::is_control)?;
    check_text("notes", notes, NOTES_CHARS_MAX, |c| c.is_control() && !matches!(c, '\n' | '\t'))?;
    if task.is_some() && kind != ItemKind::Task {
        return Err(Refusal::NotATask { kind });
    }
    Ok(())
}

fn check_text(what: &'static str, text: &str, max: usize, is_wrong: impl Fn(char) -> bool) -> Result<(), Refusal> {
    let chars = text.chars().count();
    if chars > max {
        return Err(Refusal::TooLong { what, chars, max });
    }
    match text.chars().find(|c| is_wrong(*c)) {
        Some(found) => Err(Refusal::NotText { what, found }),
        None => Ok(()),
    }
}
