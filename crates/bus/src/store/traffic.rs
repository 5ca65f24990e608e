//! Traffic: the rules of the kernel with what they remember, and a note of every change for whoever makes it durable.
//!
//! Whoever has a writer uses it like this: load it once ([`Traffic::restore`]), let it decide, and put what it noted into the
//! commit that has the effects ([`Changes`] in a [`Batch`](relaymesh_store::Batch)). A commit that was undone leaves it ahead of the
//! store; then it is loaded again. Going back step by step would be a second set of rules, used once a year.
//!
//! Each verb changes all or nothing, and what it refuses it does not note.

use crate::{
    envelope::Nonce,
    inbound::{self, Arrival, Inbox, Mark, Refusal},
    outbound::{self, Block, Exhausted, Failed, Full, Item, Outbox, OutboxId, Sender, reserve},
    sign::Fingerprint,
};
use relaymesh_store::Error;
use relaymesh_store::traffic::{Changes, Kept, OutboxPut};

/// How much is remembered and how much may wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Of what came in.
    pub inbound: inbound::Limits,
    /// Of what goes out.
    pub outbound: outbound::Limits,
}

/// What a node remembers of its traffic with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    inbox: Inbox,
    sender: Sender,
    outbox: Outbox,
}

impl Traffic {
    /// Nothing came and nothing went.
    pub fn new(limits: Limits) -> Self {
        let (inbox, outbox) = (Inbox::new(limits.inbound), Outbox::new(limits.outbound));
        Self { inbox, sender: Sender::default(), outbox }
    }

    /// What a store kept. `Damaged` if it cannot have been written like this.
    pub fn restore(limits: Limits, kept: Kept) -> Result<Self, Error> {
        let Kept { marks, nonces, sender, outbox_last, outbox } = kept;
        let inbox = Inbox::restore(limits.inbound, marks, nonces);
        let inbox = inbox.map_err(|error| Error::Damaged { detail: error.to_string() })?;
        let outbox = Outbox::restore(limits.outbound, OutboxId(outbox_last), outbox);
        Ok(Self { inbox, sender, outbox })
    }

    /// Admits an envelope, or refuses it and changes nothing (D15).
    pub fn admit(&mut self, arrival: &Arrival, changes: &mut Changes) -> Result<(), Refusal> {
        changes.inbound.push(self.inbox.admit(arrival)?);
        Ok(())
    }

    /// Whether a nonce of this sender is remembered.
    pub fn has_seen(&self, peer: &Fingerprint, nonce: &Nonce) -> bool {
        self.inbox.has_seen(peer, nonce)
    }

    /// How far a sender has come.
    pub fn high_water(&self, peer: &Fingerprint) -> Option<Mark> {
        self.inbox.high_water(peer)
    }

    /// This node as a sender.
    pub fn sender(&self) -> Sender {
        self.sender
    }

    /// The next numbers for envelopes. None of them is used before the change is durable (D17).
    pub fn reserve(&mut self, count: u64, changes: &mut Changes) -> Result<Block, Exhausted> {
        let (sender, block) = reserve(self.sender, count)?;
        (self.sender, changes.sender) = (sender, Some(sender));
        Ok(block)
    }

    /// Begins a later life as a sender. False: this one is as late already.
    pub fn begin_epoch(&mut self, epoch: u64, changes: &mut Changes) -> bool {
        let Some(sender) = self.sender.begin(epoch) else { return false };
        (self.sender, changes.sender) = (sender, Some(sender));
        true
    }

    /// Puts something at the end of its peer's queue.
    pub fn enqueue(&mut self, item: Item, changes: &mut Changes) -> Result<OutboxId, Full> {
        let id = self.outbox.enqueue(item.clone())?;
        changes.outbox.push(OutboxPut::Added(id, item));
        Ok(id)
    }

    /// What can go now: of each peer the first alone; longest due first.
    pub fn due(&self, now_ms: u64, limit: usize) -> Vec<(OutboxId, Item)> {
        self.outbox.due(now_ms, limit)
    }

    /// A try failed: later again, or given up.
    pub fn fail(&mut self, id: OutboxId, reason: &str, not_before_ms: u64, changes: &mut Changes) -> Failed {
        let failed = self.outbox.fail(id, reason, not_before_ms);
        match &failed {
            Failed::Waits => self.note_change(id, changes),
            Failed::GivenUp(_) => changes.outbox.push(OutboxPut::Removed(id)),
            Failed::Unknown => {}
        }
        failed
    }

    /// A peer is back: its first need not wait any longer.
    pub fn hurry(&mut self, peer: &Fingerprint, now_ms: u64, changes: &mut Changes) {
        if let Some(id) = self.outbox.hurry(peer, now_ms) {
            self.note_change(id, changes);
        }
    }

    /// It went. A second time it is none.
    pub fn remove(&mut self, id: OutboxId, changes: &mut Changes) -> Option<Item> {
        let item = self.outbox.remove(id)?;
        changes.outbox.push(OutboxPut::Removed(id));
        Some(item)
    }

    /// Gives up whatever is over, and tells what it was, once.
    pub fn expire(&mut self, now_ms: u64, changes: &mut Changes) -> Vec<(OutboxId, Item)> {
        let over = self.outbox.expire(now_ms);
        changes.outbox.extend(over.iter().map(|(id, _)| OutboxPut::Removed(*id)));
        over
    }

    fn note_change(&self, id: OutboxId, changes: &mut Changes) {
        if let Some(Item { not_before_ms, attempts, reason, .. }) = self.outbox.item(id) {
            let (not_before_ms, attempts, reason) = (*not_before_ms, *attempts, reason.clone());
            changes.outbox.push(OutboxPut::Changed { id, not_before_ms, attempts, reason });
        }
    }
}
