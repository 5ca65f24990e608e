//! Traffic with other nodes on a [`Disk`](super::Disk): rows, and what may be done to them.

use super::state::conflict;
use crate::{
    Error,
    traffic::{Admitted, Changes, Fingerprint, Item, Kept, Mark, Nonce, OutboxId, OutboxPut, Sender},
};
use std::collections::{BTreeMap, BTreeSet};

/// What was committed of it.
#[derive(Debug, Clone, Default)]
pub(super) struct TrafficRows {
    marks: BTreeMap<Fingerprint, Mark>,
    nonces: BTreeMap<u64, (Fingerprint, Nonce)>,
    seen: BTreeSet<(Fingerprint, Nonce)>,
    sender: Sender,
    outbox_last: u64,
    outbox: BTreeMap<OutboxId, Item>,
}

impl TrafficRows {
    /// Whether all of it fits. Tried on a copy: what fits depends on what comes before it in the same batch.
    pub(super) fn check(&self, changes: &Changes) -> Result<(), Error> {
        if changes.is_empty() { Ok(()) } else { self.clone().put(changes) }
    }

    /// Puts all of it, up to the first that does not fit.
    pub(super) fn put(&mut self, changes: &Changes) -> Result<(), Error> {
        changes.inbound.iter().try_for_each(|admitted| self.admit(admitted))?;
        if let Some(sender) = changes.sender {
            let grows = (sender.epoch, sender.reserved) > (self.sender.epoch, self.sender.reserved);
            must(grows, || format!("{sender:?} does not go on from {:?}", self.sender))?;
            self.sender = sender;
        }
        changes.outbox.iter().try_for_each(|put| self.put_item(put))
    }

    fn admit(&mut self, admitted: &Admitted) -> Result<(), Error> {
        let Admitted { peer, mark, nonce, number, forgotten } = admitted;
        let is_new = !self.nonces.contains_key(number) && self.seen.insert((*peer, *nonce));
        must(is_new, || format!("the nonce of admission {number} is there already"))?;
        self.nonces.insert(*number, (*peer, *nonce));
        let grows = self.marks.insert(*peer, *mark).is_none_or(|before| before < *mark);
        must(grows, || format!("the mark of {peer} would not grow to {mark:?}"))?;
        for number in forgotten {
            let nonce = self.nonces.remove(number);
            let gone = nonce.is_some_and(|nonce| self.seen.remove(&nonce));
            must(gone, || format!("there is no nonce of admission {number} to forget"))?;
        }
        Ok(())
    }

    fn put_item(&mut self, put: &OutboxPut) -> Result<(), Error> {
        match put {
            OutboxPut::Added(id, item) => {
                must(id.0 > self.outbox_last, || format!("the id {} of the outbox was given already", id.0))?;
                self.outbox_last = id.0;
                self.outbox.insert(*id, item.clone());
            }
            OutboxPut::Changed { id, not_before_ms, attempts, reason } => {
                let item = self.outbox.get_mut(id).ok_or_else(|| conflict(nothing(*id)))?;
                (item.not_before_ms, item.attempts) = (*not_before_ms, *attempts);
                item.reason.clone_from(reason);
            }
            OutboxPut::Removed(id) => must(self.outbox.remove(id).is_some(), || nothing(*id))?,
        }
        Ok(())
    }

    pub(super) fn kept(&self) -> Kept {
        Kept {
            marks: self.marks.iter().map(|(peer, mark)| (*peer, *mark)).collect(),
            nonces: self.nonces.iter().map(|(number, (peer, nonce))| (*number, *peer, *nonce)).collect(),
            sender: self.sender,
            outbox_last: self.outbox_last,
            outbox: self.outbox.iter().map(|(id, item)| (*id, item.clone())).collect(),
        }
    }
}

fn nothing(id: OutboxId) -> String {
    format!("nothing waits under the id {} of the outbox", id.0)
}

fn must(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(conflict(otherwise())) }
}
