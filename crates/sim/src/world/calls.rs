//! Commands on their way, and what their callers make of the end.
//!
//! A command or its answer may be lost, a process may die with it, and a caller may lose patience: to the caller all of
//! that is *unknown*. Only a command that found nobody at all has changed nothing for sure.

use super::{Event, World};
use crate::{
    actor::{Heard, Next, Phase, View},
    call::{Actor, Call, CallId, Word, scope_of, verb},
    invariant::Look,
    node::Input,
    time::{MS, Ns, SECOND},
    trace::What,
};
use relaymesh_core::{lock, message, task::Refusal};
use relaymesh_runtime::{
    driver::{Answer, Command, Error, Request},
    world::Hold,
};

/// The node that everybody speaks to. With several, each actor has its own.
pub(super) const NODE: usize = 0;

impl World {
    pub(super) fn think(&mut self, client: usize, again: bool) {
        let wall_ms = self.nodes[NODE].wall_ms();
        let (ledger, blobs) = (&self.ledgers[NODE], &self.nodes[NODE].disk);
        let view = View { ledger, blobs, phase: self.phase, now: self.agenda.now(), wall_ms };
        let actor = &mut self.clients[client];
        let command = if again { actor.again() } else { actor.think(&view) };
        let Some(command) = command else {
            let after = if self.phase == Phase::Drain { 2 * SECOND } else { actor.think_time() };
            return self.agenda.after(after, Event::Think { client, again: false });
        };
        let patience = actor.patience(&command, &view);
        self.send(Actor::Client(client), command, patience);
    }

    pub(super) fn look(&mut self, worker: usize) {
        let after = self.workers[worker].pause();
        self.agenda.after(after, Event::Look { worker });
        let wall_ms = self.nodes[NODE].wall_ms();
        let (ledger, blobs) = (&self.ledgers[NODE], &self.nodes[NODE].disk);
        let view = View { ledger, blobs, phase: self.phase, now: self.agenda.now(), wall_ms };
        if let Some(command) = self.workers[worker].look(&view) {
            self.send_for(worker, command);
        }
    }

    pub(super) fn beat(&mut self, worker: usize, hold: Hold, every: Ns) {
        if self.workers[worker].works_on(hold) {
            let command = Command::Heartbeat { worker: self.workers[worker].id, within: None };
            self.send_for(worker, command);
            self.agenda.after(every, Event::Beat { worker, hold, every });
        }
    }

    pub(super) fn speak(&mut self, worker: usize, hold: Hold) {
        let wall_ms = self.nodes[NODE].wall_ms();
        let (ledger, blobs) = (&self.ledgers[NODE], &self.nodes[NODE].disk);
        let view = View { ledger, blobs, phase: self.phase, now: self.agenda.now(), wall_ms };
        if let Some(command) = self.workers[worker].speak(hold, &view) {
            self.send_for(worker, command);
        }
    }

    fn send_for(&mut self, worker: usize, command: Command) {
        let patience = self.workers[worker].patience(self.phase != Phase::Break);
        self.send(Actor::Worker(worker), command, patience);
    }

    pub(super) fn send(&mut self, from: Actor, command: Command, patience: Ns) {
        self.sent += 1;
        self.tally.sent += 1;
        let id = self.sent;
        let healthy = self.phase == Phase::Work && !matches!(from, Actor::Worker(_));
        self.tally.healthy += u64::from(healthy);
        self.note(What::Sent { call: id, from, verb: verb(&command), about: scope_of(&command) });
        let (sent, wall_ms) = (self.agenda.now(), self.nodes[NODE].wall_ms());
        let call = Call { id, from, node: NODE, command, over: false, unknown: false, healthy, sent, wall_ms };
        self.history.sent(&call);
        self.calls.insert(id, call);
        self.agenda.after(patience, Event::Timeout { call: id });
        self.travel(id, Event::Arrive { call: id });
    }

    /// Puts a message on its way, or loses it.
    fn travel(&mut self, call: CallId, event: Event) {
        let lossy = self.phase == Phase::Break;
        if lossy && self.rng.chance(self.plan.loss_per_mille) {
            return self.note(What::Lost { call });
        }
        let takes =
            if lossy && self.rng.chance(50) { self.rng.spread(1, 800) * MS } else { self.rng.between(MS / 10, 3 * MS) };
        self.agenda.after(takes, event);
    }

    pub(super) fn arrive(&mut self, id: CallId) {
        let Some(call) = self.calls.get(&id) else { return };
        let (index, caller, command) = (call.node, call.caller(), call.command.clone());
        let node = &mut self.nodes[index];
        let Some(life) = &mut node.life else {
            let call = &self.calls[&id];
            self.history.withdrawn(call);
            self.note(What::Unreachable { call: id });
            return self.travel(id, Event::Deliver { call: id, word: Word::Unreachable });
        };
        let panel = node.panel.clone();
        let reply = Box::new(move |result| panel.look().answers.push((id, result)));
        life.inputs.push_back(Input::Request(Request { caller, command, reply }));
        node.pending.insert(id);
        self.soon(index);
    }

    /// A node answers.
    pub(super) fn answered(&mut self, node: usize, id: CallId, result: Result<Answer, Error>) {
        self.nodes[node].pending.remove(&id);
        let Some(call) = self.calls.get(&id) else { return };
        let look = Look { reader: &mut self.nodes[node].reader(), ledger: &self.ledgers[node] };
        self.invariants.answer(call, &result, look);
        self.history.answered(call, &result);
        self.tally.fenced += u64::from(is_fenced(&result));
        let how = how(&result);
        self.note(What::Answered { call: id, how });
        self.travel(id, Event::Deliver { call: id, word: Word::Answer(result) });
    }

    /// A process died with these calls.
    pub(super) fn cut_off(&mut self, calls: impl IntoIterator<Item = CallId>) {
        for call in calls {
            self.travel(call, Event::Deliver { call, word: Word::Unknown });
        }
    }

    /// The node's time may begin anew below where it was, and a command that nobody waits for any more may still arrive.
    pub(super) fn forget_times(&mut self) {
        self.calls.values_mut().for_each(|call| call.wall_ms = 0);
    }

    pub(super) fn time_out(&mut self, id: CallId) {
        self.deliver(id, &Word::Unknown);
    }

    /// The caller learns how it ended, once.
    pub(super) fn deliver(&mut self, id: CallId, word: &Word) {
        let Some(call) = self.calls.get_mut(&id).filter(|call| !call.over) else { return };
        call.over = true;
        let unknown = matches!(word, Word::Unknown | Word::Answer(Err(Error::Indeterminate(_))));
        call.unknown = unknown;
        let (from, healthy) = (call.from, call.healthy);
        if healthy && matches!(word, Word::Answer(Ok(_))) {
            self.tally.healthy_done += 1;
        }
        if unknown {
            self.tally.unknown += 1;
            self.note(What::Unknown { call: id });
        }
        match from {
            Actor::Client(client) => match self.clients[client].hear(word) {
                Next::Again(after) => self.agenda.after(after, Event::Think { client, again: true }),
                Next::Think(after) => self.agenda.after(after, Event::Think { client, again: false }),
            },
            Actor::Worker(worker) => self.worker_hears(worker, id, word),
            Actor::Locker(_) | Actor::Sender(_) | Actor::Recipient(_) | Actor::Janitor(_) => {
                self.party_hears(from, id, word)
            }
        }
    }

    fn worker_hears(&mut self, worker: usize, id: CallId, word: &Word) {
        let command = &self.calls[&id].command;
        match self.workers[worker].hear(command, word, self.phase != Phase::Break) {
            Heard::Nothing => {}
            Heard::Works(hold, beats, takes) => {
                if let Some(every) = beats {
                    self.agenda.after(every, Event::Beat { worker, hold, every });
                }
                self.agenda.after(takes, Event::Speak { worker, hold });
            }
            Heard::Again(hold, after) => self.agenda.after(after, Event::Speak { worker, hold }),
        }
    }
}

/// The kind of an answer, for the trace.
fn how(result: &Result<Answer, Error>) -> &'static str {
    match result {
        Ok(Answer::Accepted { merged: true, .. }) => "merged",
        Ok(Answer::Accepted { merged: false, .. }) => "accepted",
        Ok(Answer::Ended { .. }) => "ended",
        Ok(Answer::Claimed(_)) => "claimed",
        Ok(Answer::Done { .. }) => "done",
        Ok(Answer::Swept { .. }) => "swept",
        Ok(Answer::Compacted { .. }) => "compacted",
        Ok(Answer::Locked { .. }) => "locked",
        Ok(Answer::Released) => "released",
        Ok(Answer::Noted { .. }) => "noted",
        Ok(Answer::Renewed { .. }) => "renewed",
        Ok(Answer::Namespace { is_new: true, .. }) => "created",
        Ok(Answer::Namespace { is_new: false, .. }) => "there already",
        Ok(Answer::Message { state, .. }) => state.as_str(),
        Ok(Answer::Taken(Some(_))) => "taken",
        Ok(Answer::Taken(None)) => "nothing there",
        Ok(Answer::Replied { completed: Some((_, true)), .. }) => "replied, and the step is done",
        Ok(Answer::Replied { .. }) => "replied",
        Err(_) if is_fenced(result) => "fenced",
        Err(Error::Lock(lock::Refusal::Conflict { .. })) => "locked by another",
        Err(Error::Refused(Refusal::Held { .. })) => "held",
        Err(Error::NoNamespace { .. }) => "no such namespace",
        Err(
            Error::Refused(_)
            | Error::Lock(_)
            | Error::Message(_)
            | Error::Namespace(_)
            | Error::TooManyNamespaces { .. }
            | Error::NotPurged(_),
        ) => "refused",
        Err(Error::KeyReused { .. }) => "key reused",
        Err(Error::TooLong { .. }) => "too long",
        Err(Error::NotAsAsked(_)) => "not as asked",
        Err(Error::DiskFull(_)) => "disk full",
        Err(Error::Busy { .. }) => "busy",
        Err(Error::Indeterminate(_)) => "indeterminate",
        Err(Error::Stopped) => "stopped",
        Err(Error::Store(_)) => "unreadable",
    }
}

/// Whether a fence refused the word.
fn is_fenced(result: &Result<Answer, Error>) -> bool {
    matches!(
        result,
        Err(Error::Refused(Refusal::Fenced { .. })
            | Error::Lock(lock::Refusal::Fenced { .. })
            | Error::Message(message::Refusal::Fenced { .. }))
    )
}
