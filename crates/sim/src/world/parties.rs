//! Lockers, senders and recipients: they act, hear what came of it, pause, and act again.

use super::{Event, World, calls::NODE};
use crate::{
    actor::{Janitor, Locker, Party, Recipient, Sender, View},
    call::{Actor, CallId, Word},
    plan::Plan,
    rng::Rng,
};
use std::collections::BTreeMap;

/// Everybody but clients and workers.
pub(super) fn all(plan: &Plan, rng: &mut Rng) -> BTreeMap<Actor, Box<dyn Party>> {
    let mut parties: BTreeMap<Actor, Box<dyn Party>> = BTreeMap::new();
    for n in 0..plan.lockers {
        parties.insert(Actor::Locker(n), Box::new(Locker::new(n, rng.fork())));
    }
    for n in 0..plan.senders {
        parties.insert(Actor::Sender(n), Box::new(Sender::new(n, rng.fork())));
    }
    for n in 0..plan.recipients {
        parties.insert(Actor::Recipient(n), Box::new(Recipient::new(n, rng.fork())));
    }
    for n in 0..plan.janitors {
        parties.insert(Actor::Janitor(n), Box::new(Janitor::new(rng.fork())));
    }
    parties
}

impl World {
    pub(super) fn act(&mut self, who: Actor) {
        let wall_ms = self.nodes[NODE].wall_ms();
        let (ledger, blobs) = (&self.ledgers[NODE], &self.nodes[NODE].disk);
        let view = View { ledger, blobs, phase: self.phase, now: self.agenda.now(), wall_ms };
        let Some(party) = self.parties.get_mut(&who) else { return };
        let Some(command) = party.act(&view) else {
            return self.agenda.after(party.pause(), Event::Act { who });
        };
        let patience = party.patience(view.healthy());
        self.send(who, command, patience);
    }

    pub(super) fn party_hears(&mut self, who: Actor, id: CallId, word: &Word) {
        let wall_ms = self.nodes[NODE].wall_ms();
        let (ledger, blobs) = (&self.ledgers[NODE], &self.nodes[NODE].disk);
        let view = View { ledger, blobs, phase: self.phase, now: self.agenda.now(), wall_ms };
        let Some(party) = self.parties.get_mut(&who) else { return };
        party.hear(&self.calls[&id].command, word, &view);
        let after = party.pause();
        self.agenda.after(after, Event::Act { who });
    }
}
