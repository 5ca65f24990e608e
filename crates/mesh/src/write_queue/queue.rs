//! The rows with their order, and what the verbs share.

use super::{
    OPEN_MAX,
    state::{Entry, noted},
    table::{Status, Verb, targets},
};
use relaymesh_core::{
    hlc::Hlc,
    id::{IntentId, NodeId, WriteId},
};
use std::collections::{BTreeMap, BTreeSet};

/// The rows that this node has at hand: all open ones, and whatever of the finished ones was loaded or has not been let go.
///
/// A verb changes one row, or refuses and changes none. The caller makes the row durable before it does what follows from it:
/// after [`begin`](Self::begin) it sends, after [`settle`](Self::settle) it tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Queue {
    pub(super) rows: BTreeMap<WriteId, Entry>,
    pub(super) intents: BTreeMap<IntentId, WriteId>,
    /// Open rows in the order of replay, by target.
    pub(super) open: BTreeSet<(NodeId, Hlc, WriteId)>,
}

/// Why a verb was refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such row here.
    #[error("there is no queued write {id} here")]
    Unknown {
        /// The id.
        id: WriteId,
    },
    /// The row does not move like that.
    #[error("{id} is {found}: {verb:?} leads nowhere from there")]
    NoSuchMove {
        /// The row.
        id: WriteId,
        /// Where it rests.
        found: Status,
        /// What was asked.
        verb: Verb,
    },
    /// An older write to the same target has to be settled first.
    #[error("{id} waits for {first}, which is older")]
    NotItsTurn {
        /// The row.
        id: WriteId,
        /// The one before it.
        first: WriteId,
    },
    /// The row is to be left alone until later.
    #[error("{id} is not due before {due_ms}")]
    NotDue {
        /// The row.
        id: WriteId,
        /// When it is.
        due_ms: u64,
    },
    /// As many rows are open as there may be.
    #[error("{OPEN_MAX} writes wait already; nothing more is accepted until some of them are through")]
    Full,
    /// The id or the intent is that of another write.
    #[error("{id} is taken by another write")]
    Taken {
        /// The row that has it.
        id: WriteId,
    },
    /// The failure is a refusal: trying again changes nothing.
    #[error("a refusal is settled, not postponed")]
    NotAnOutage,
    /// The failure is an outage: it decides nothing.
    #[error("an outage is postponed, not settled")]
    AnOutage,
    /// A new fence has to be newer than the old one.
    #[error("{id} cannot go on under epoch {given}: it was made under {had}")]
    OlderFence {
        /// The row.
        id: WriteId,
        /// The epoch that was given.
        given: u64,
        /// The epoch that it has.
        had: u64,
    },
}

impl Queue {
    /// The queue with these rows, as they were found in the store. Two rows with one id or one intent are refused.
    pub fn load(rows: impl IntoIterator<Item = Entry>) -> Result<Self, Refusal> {
        let mut queue = Self::default();
        for entry in rows {
            let id = entry.write.id;
            if queue.rows.contains_key(&id) || queue.intents.contains_key(&entry.write.intent) {
                return Err(Refusal::Taken { id });
            }
            queue.put(entry);
        }
        Ok(queue)
    }

    /// A row.
    pub fn row(&self, id: WriteId) -> Option<&Entry> {
        self.rows.get(&id)
    }

    /// All rows at hand, in the order of replay.
    pub fn rows(&self) -> impl Iterator<Item = &Entry> {
        let mut rows: Vec<_> = self.rows.values().collect();
        rows.sort_unstable_by_key(|entry| (entry.write.created, entry.write.id));
        rows.into_iter()
    }

    /// The next row to send to `target` at `now_ms`: its oldest open one, if that is pending and due.
    pub fn next(&self, target: NodeId, now_ms: u64) -> Option<&Entry> {
        let first = self.rows.get(&self.first(target)?)?;
        (first.status == Status::Pending && first.next_attempt_ms <= now_ms).then_some(first)
    }

    /// The targets that have something open.
    pub fn waiting_targets(&self) -> BTreeSet<NodeId> {
        self.open.iter().map(|(target, _, _)| *target).collect()
    }

    /// Lets go of a finished row that the store keeps as history. Open rows stay; false when nothing was let go.
    pub fn let_go(&mut self, id: WriteId) -> bool {
        if self.rows.get(&id).is_none_or(|entry| entry.status.is_open()) {
            return false;
        }
        if let Some(entry) = self.rows.remove(&id) {
            self.intents.remove(&entry.write.intent);
        }
        true
    }

    /// The oldest open row of a target.
    pub(super) fn first(&self, target: NodeId) -> Option<WriteId> {
        let least = Hlc { wall_ms: 0, logical: 0, node: NodeId::from_bytes([0; 16]) };
        let mut from = self.open.range((target, least, WriteId::from_bytes([0; 16]))..);
        from.next().filter(|(found, _, _)| *found == target).map(|(_, _, id)| *id)
    }

    /// Puts a row in, with its places in the indexes.
    pub(super) fn put(&mut self, entry: Entry) {
        if entry.status.is_open() {
            self.open.insert(entry.place());
        } else {
            self.open.remove(&entry.place());
        }
        self.intents.insert(entry.write.intent, entry.write.id);
        self.rows.insert(entry.write.id, entry);
    }

    /// A copy of the row, if `verb` leads anywhere from where it rests.
    pub(super) fn movable(&self, id: WriteId, verb: Verb) -> Result<Entry, Refusal> {
        let entry = self.rows.get(&id).ok_or(Refusal::Unknown { id })?;
        if targets(entry.status, verb).is_empty() {
            return Err(Refusal::NoSuchMove { id, found: entry.status, verb });
        }
        Ok(entry.clone())
    }

    /// Moves the row by the table and puts it back. A move that is not in the table is a bug of the verb.
    pub(super) fn moved(&mut self, mut entry: Entry, verb: Verb, to: Status, now_ms: u64) -> Result<&Entry, Refusal> {
        let id = entry.write.id;
        if !targets(entry.status, verb).contains(&to) {
            return Err(Refusal::NoSuchMove { id, found: entry.status, verb });
        }
        entry.status = to;
        entry.updated_ms = now_ms;
        entry.last_error = entry.last_error.as_deref().map(noted);
        self.put(entry);
        self.rows.get(&id).ok_or(Refusal::Unknown { id })
    }
}
