//! The outbox: what waits for peers, in order for each, within bounds.

use relaymesh_store::traffic::{Fingerprint, Item, OutboxId};
use std::collections::{BTreeMap, BTreeSet};

/// How much may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most items.
    pub items_max: usize,
    /// The most items for one peer.
    pub items_per_peer_max: usize,
    /// The most bytes of all messages together.
    pub bytes_max: usize,
    /// How often something is tried.
    pub attempts_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { items_max: 16_384, items_per_peer_max: 1_024, bytes_max: 64 * 1024 * 1024, attempts_max: 1_000 }
    }
}

/// Why nothing more can wait. Nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("outbox_full: {found} {what}, {max} are allowed")]
pub struct Full {
    /// Of what.
    pub what: &'static str,
    /// How many there would be.
    pub found: usize,
    /// How many there may be.
    pub max: usize,
}

/// What came of a failed try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failed {
    /// It waits again.
    Waits,
    /// It was tried too often and is not there any more.
    GivenUp(Item),
    /// It was not there any more.
    Unknown,
}

/// The longest reason that is kept, in characters.
const REASON_CHARS_MAX: usize = 200;

/// What waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbox {
    pub(super) limits: Limits,
    items: BTreeMap<OutboxId, Item>,
    /// Of each peer, in order.
    queues: BTreeMap<Fingerprint, BTreeSet<OutboxId>>,
    bytes: usize,
    last: u64,
}

impl Outbox {
    /// Nothing waits.
    pub fn new(limits: Limits) -> Self {
        Self { limits, items: BTreeMap::new(), queues: BTreeMap::new(), bytes: 0, last: 0 }
    }

    /// What a store kept: all that waits, and the last id that was ever given. None of it is given up, even if there is room for
    /// less than before.
    pub fn restore(limits: Limits, last: OutboxId, items: impl IntoIterator<Item = (OutboxId, Item)>) -> Self {
        let mut outbox = Self { last: last.0, ..Self::new(limits) };
        for (id, item) in items {
            outbox.last = outbox.last.max(id.0);
            outbox.put(id, item);
        }
        outbox
    }

    /// Puts something at the end of its peer's queue.
    pub fn enqueue(&mut self, item: Item) -> Result<OutboxId, Full> {
        let Limits { items_max, items_per_peer_max, bytes_max, .. } = self.limits;
        let queued = self.queues.get(&item.peer_fp).map_or(0, BTreeSet::len);
        let rules = [
            ("items", self.items.len() + 1, items_max),
            ("items for this peer", queued + 1, items_per_peer_max),
            ("bytes", self.bytes.saturating_add(item.message.len()), bytes_max),
        ];
        if let Some((what, found, max)) = rules.into_iter().find(|(_, found, max)| found > max) {
            return Err(Full { what, found, max });
        }
        self.last += 1;
        let id = OutboxId(self.last);
        self.put(id, item);
        Ok(id)
    }

    fn put(&mut self, id: OutboxId, item: Item) {
        self.bytes += item.message.len();
        self.queues.entry(item.peer_fp).or_default().insert(id);
        self.items.insert(id, item);
    }

    /// What waits under this id.
    pub fn item(&self, id: OutboxId) -> Option<&Item> {
        self.items.get(&id)
    }

    /// What can go now: of each peer the first alone, if its time has come and is not over; longest due first.
    pub fn due(&self, now_ms: u64, limit: usize) -> Vec<(OutboxId, Item)> {
        let firsts = self.queues.values().filter_map(|queue| queue.first());
        let mut due: Vec<(OutboxId, &Item)> = firsts
            .filter_map(|id| self.items.get(id).map(|item| (*id, item)))
            .filter(|(_, item)| item.not_before_ms <= now_ms && now_ms < item.expires_ms)
            .collect();
        due.sort_by_key(|(id, item)| (item.not_before_ms, *id));
        due.into_iter().take(limit).map(|(id, item)| (id, item.clone())).collect()
    }

    /// A try failed: later again, or given up.
    pub fn fail(&mut self, id: OutboxId, reason: &str, not_before_ms: u64) -> Failed {
        let Some(item) = self.items.get_mut(&id) else { return Failed::Unknown };
        item.attempts = item.attempts.saturating_add(1);
        item.reason = Some(reason.chars().take(REASON_CHARS_MAX).collect());
        item.not_before_ms = not_before_ms;
        if item.attempts < self.limits.attempts_max {
            return Failed::Waits;
        }
        self.remove(id).map_or(Failed::Unknown, Failed::GivenUp)
    }

    /// A peer is back: its first need not wait any longer. Gives its id if that changed anything.
    pub fn hurry(&mut self, peer: &Fingerprint, now_ms: u64) -> Option<OutboxId> {
        let first = *self.queues.get(peer)?.first()?;
        let item = self.items.get_mut(&first).filter(|item| item.not_before_ms > now_ms)?;
        item.not_before_ms = now_ms;
        Some(first)
    }

    /// It went, or nobody wants it any more. A second time it is none.
    pub fn remove(&mut self, id: OutboxId) -> Option<Item> {
        let item = self.items.remove(&id)?;
        self.bytes -= item.message.len();
        if let Some(queue) = self.queues.get_mut(&item.peer_fp) {
            queue.remove(&id);
            if queue.is_empty() {
                self.queues.remove(&item.peer_fp);
            }
        }
        Some(item)
    }

    /// Gives up whatever is over, wherever it stands, and tells what it was.
    pub fn expire(&mut self, now_ms: u64) -> Vec<(OutboxId, Item)> {
        let over = self.items.iter().filter(|(_, item)| item.expires_ms <= now_ms).map(|(id, _)| *id);
        let over: Vec<OutboxId> = over.collect();
        over.into_iter().filter_map(|id| self.remove(id).map(|item| (id, item))).collect()
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// What is true after every change; the first broken rule is the answer.
    pub fn validate(&self) -> Result<(), &'static str> {
        let queued: usize = self.queues.values().map(BTreeSet::len).sum();
        let placed =
            |(id, item): (&OutboxId, &Item)| self.queues.get(&item.peer_fp).is_some_and(|queue| queue.contains(id));
        let rules = [
            (queued == self.items.len() && self.items.iter().all(placed), "each item stands in its peer's queue once"),
            (self.queues.values().all(|queue| !queue.is_empty()), "no queue is empty"),
            (self.bytes == self.items.values().map(|item| item.message.len()).sum::<usize>(), "the bytes add up"),
            (self.items.len() <= self.limits.items_max && self.bytes <= self.limits.bytes_max, "no more than allowed"),
            (self.items.keys().next_back().is_none_or(|id| id.0 <= self.last), "no id is given twice"),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, rule)| Err(rule))
    }
}
