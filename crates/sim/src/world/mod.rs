//! The world: nodes, those who use them, and one agenda of everything that is going to happen.
//!
//! Every event is addressed: to a node, to somebody who uses it, or to the world itself. There is one node for now; clients speak
//! to a node by its number, and calls travel through [`calls`], so more nodes and a network between them are more
//! entries in a list and more kinds of event, not another design.
//!
//! ```text
//!   break ──────────► work ──────────► drain ──────────► rest
//!   faults, load      load             nothing new       everything has ended, or PROGRESS is broken
//! ```

mod attempts;
mod calls;
mod faults;
mod parties;
mod processes;
mod rest;

use crate::{
    actor::{Client, Party, Phase, Worker},
    call::{Actor, Call, CallId, Word},
    fault::Fault,
    history::History,
    invariant::Invariants,
    ledger::Ledger,
    node::{Attempt, Node},
    plan::Plan,
    rng::Rng,
    time::{Agenda, Ns, SECOND},
    trace::{Trace, What},
};
use relaymesh_runtime::world::{Finished, Hold};
use std::collections::BTreeMap;

/// How often the world looks whether everything has come to rest.
const LOOK_EVERY: Ns = 5 * SECOND;

/// Everything that can be on the agenda.
#[derive(Debug)]
pub(crate) enum Event {
    /// The process makes a round.
    Turn { node: usize, life: u64 },
    /// The process wanted to be woken.
    Wake { node: usize, life: u64, at: Ns },
    /// The disk is done with a batch.
    Written { node: usize, life: u64 },
    /// The process is killed.
    Kill { node: usize, life: u64 },
    /// The process starts.
    Start { node: usize },
    /// An agent is done.
    Outcome { node: usize, life: u64, finished: Finished },
    /// An agent gives account of what it has used.
    Use { node: usize, life: u64, attempt: Attempt },
    /// An agent that was stopped is gone.
    Stopped { node: usize, life: u64, attempt: Attempt },
    /// A command reaches its node.
    Arrive { call: CallId },
    /// A word reaches its caller.
    Deliver { call: CallId, word: Word },
    /// The caller waits no longer.
    Timeout { call: CallId },
    /// A client thinks of something, or asks again.
    Think { client: usize, again: bool },
    /// A worker looks for work.
    Look { worker: usize },
    /// A worker says that it lives.
    Beat { worker: usize, hold: Hold, every: Ns },
    /// A worker is done with a step.
    Speak { worker: usize, hold: Hold },
    /// A locker, a sender or a recipient does something.
    Act { who: Actor },
    /// Something breaks.
    Break,
    /// A phase begins.
    Enter { phase: Phase },
    /// Has everything come to rest?
    Settled { quiet: bool },
}

pub(crate) struct World {
    plan: Plan,
    agenda: Agenda<Event>,
    rng: Rng,
    nodes: Vec<Node>,
    /// What is durable, node by node.
    ledgers: Vec<Ledger>,
    clients: Vec<Client>,
    workers: Vec<Worker>,
    /// Lockers, senders and recipients.
    parties: BTreeMap<Actor, Box<dyn Party>>,
    calls: BTreeMap<CallId, Call>,
    sent: CallId,
    phase: Phase,
    pub(crate) invariants: Invariants,
    pub(crate) trace: Trace,
    pub(crate) history: History,
    pub(crate) faults: BTreeMap<Fault, u64>,
    pub(crate) tally: Tally,
    resting: bool,
}

/// What the clients made of it.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    /// Commands that were sent.
    pub(crate) sent: u64,
    /// Commands that clients sent in a healthy world, and how many of those did what they should.
    pub(crate) healthy: u64,
    pub(crate) healthy_done: u64,
    /// Commands whose outcome their caller never learned.
    pub(crate) unknown: u64,
    /// Of those: how many turned out to be on the log.
    pub(crate) settled: u64,
    /// Words that a fence refused.
    pub(crate) fenced: u64,
    /// How often an agent was held.
    pub(crate) holds: u64,
    /// Attempts that were refused because a budget was used up, and attempts that were ended because they exceeded one.
    pub(crate) over_budget: u64,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let plan = Plan::new(&mut rng);
        let nodes: Vec<Node> =
            (0..plan.nodes).map(|n| Node::new(n, rng.fork(), plan.wall_start_ms, plan.shares.clone())).collect();
        let clients: Vec<Client> = (0..plan.clients).map(|n| Client::new(n, rng.fork(), plan.think_ms)).collect();
        let workers: Vec<Worker> = (0..plan.workers).map(|n| Worker::new(n, rng.fork())).collect();
        let parties = parties::all(&plan, &mut rng);
        let mut world = Self {
            agenda: Agenda::new(),
            rng,
            ledgers: nodes.iter().map(|_| Ledger::default()).collect(),
            nodes,
            clients,
            workers,
            parties,
            calls: BTreeMap::new(),
            sent: 0,
            phase: Phase::Break,
            invariants: Invariants::new(&plan),
            trace: Trace::new(),
            history: History::default(),
            faults: BTreeMap::new(),
            tally: Tally::default(),
            resting: false,
            plan,
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        for node in 0..self.nodes.len() {
            self.agenda.at(0, Event::Start { node });
        }
        for client in 0..self.clients.len() {
            let at = self.clients[client].think_time();
            self.agenda.at(at, Event::Think { client, again: false });
        }
        for worker in 0..self.workers.len() {
            let at = self.workers[worker].pause();
            self.agenda.at(at, Event::Look { worker });
        }
        for (who, party) in &mut self.parties {
            self.agenda.at(party.pause(), Event::Act { who: *who });
        }
        self.agenda.at(self.plan.fault_gap, Event::Break);
        self.agenda.at(self.plan.break_ends, Event::Enter { phase: Phase::Work });
        self.agenda.at(self.plan.work_ends, Event::Enter { phase: Phase::Drain });
        self.note(What::Phase { name: "break" });
    }

    /// Runs until everything rests, the time is up, or an invariant is broken.
    pub(crate) fn run(&mut self) {
        while let Some(event) = self.agenda.next() {
            let now = self.agenda.now();
            for node in &self.nodes {
                node.panel.look().now = now;
            }
            self.handle(event);
            if self.resting || self.invariants.broken.is_some() {
                break;
            }
        }
        self.history.settle();
        let log = &self.ledgers[0].by_call;
        let unknown = self.calls.values().filter(|call| call.unknown);
        self.tally.settled = unknown.filter(|call| log.contains_key(&call.id)).count() as u64;
    }

    fn handle(&mut self, event: Event) {
        let Some(event) = self.postponed(event) else { return };
        match event {
            Event::Turn { node, life } => self.turn(node, life),
            Event::Wake { node, life, at } => self.wake(node, life, at),
            Event::Written { node, life } => self.written(node, life),
            Event::Kill { node, life } => self.kill_in_write(node, life),
            Event::Start { node } => self.start(node),
            Event::Outcome { node, life, finished } => self.outcome(node, life, finished),
            Event::Use { node, life, attempt } => self.uses(node, life, attempt),
            Event::Stopped { node, life, attempt } => self.close(node, life, attempt),
            Event::Arrive { call } => self.arrive(call),
            Event::Deliver { call, word } => self.deliver(call, &word),
            Event::Timeout { call } => self.time_out(call),
            Event::Think { client, again } => self.think(client, again),
            Event::Look { worker } => self.look(worker),
            Event::Beat { worker, hold, every } => self.beat(worker, hold, every),
            Event::Speak { worker, hold } => self.speak(worker, hold),
            Event::Act { who } => self.act(who),
            Event::Break => self.break_something(),
            Event::Enter { phase } => self.enter(phase),
            Event::Settled { quiet } => self.settled(quiet),
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        match phase {
            Phase::Break => {}
            Phase::Work => {
                self.note(What::Phase { name: "work" });
                self.heal();
            }
            Phase::Drain => {
                self.note(What::Phase { name: "drain" });
                self.lift_budgets();
                self.agenda.after(LOOK_EVERY, Event::Settled { quiet: false });
            }
        }
    }

    fn note(&mut self, what: What) {
        self.trace.note(self.agenda.now(), what);
    }
}
