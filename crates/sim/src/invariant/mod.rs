//! What must be true, whatever happens. One file each.
//!
//! Each invariant is shown what it may judge by: every durable op (`Invariant::op`), every answer at the moment it is
//! given (`Invariant::answer`), the process after every round (`Invariant::turn`), the disk after every start
//! (`Invariant::start`), and everything once it should be at rest (`Invariant::rest`). Cheap checks are made all the
//! time, costly ones at starts and at the end. The first that is broken ends the run.

mod asked;
mod bounded;
mod budget;
mod durable;
mod fence;
mod held;
mod honest;
mod monotone;
mod once;
mod placed;
mod progress;
mod rebuild;

use crate::{
    call::Call,
    ledger::{Ledger, OpSeen},
    node::Attempt,
    plan::Plan,
    share::Shares,
    time::Ns,
};
use relaymesh_core::name::Name;
use relaymesh_runtime::{
    driver::{Answer, Error, Sizes},
    world::{Outcome, Work},
};
use relaymesh_store::{Spend, memory::MemoryReader};

/// `Err` says what was found.
pub(crate) type Verdict = Result<(), String>;

/// Something that must be true.
pub(crate) trait Invariant {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// An op is durable.
    fn op(&mut self, _seen: &OpSeen<'_>) -> Verdict {
        Ok(())
    }

    /// A node has just answered.
    fn answer(&mut self, _call: &Call, _result: &Result<Answer, Error>, _look: &mut Look<'_>) -> Verdict {
        Ok(())
    }

    /// An agent of a node was given work.
    fn work(&mut self, _work: &Work, _ledger: &Ledger) -> Verdict {
        Ok(())
    }

    /// Something about what attempts use. `wall_ms` is the node's time.
    fn account(&mut self, _what: &Accounting<'_>, _wall_ms: u64) -> Verdict {
        Ok(())
    }

    /// An agent is held.
    fn held(&mut self, _hold: &Hold) {}

    /// A process has made a round.
    fn turn(&mut self, _turn: &Turn) -> Verdict {
        Ok(())
    }

    /// The wall clock of a machine was set.
    fn clock_set(&mut self, _now: Ns, _by_ms: i64) {}

    /// A process has said that its wall clock was set, and what time it is for it now.
    fn clock_alert(&mut self, _now: Ns, _wall_ms: u64) {}

    /// A process has started, and this is the time for it.
    fn started(&mut self, _now: Ns, _wall_ms: u64) {}

    /// A process is about to start on this disk.
    fn start(&mut self, _look: &mut Look<'_>) -> Verdict {
        Ok(())
    }

    /// Everything should have come to rest.
    fn rest(&mut self, _look: &mut Look<'_>, _rest: &Rest) -> Verdict {
        Ok(())
    }
}

/// Something about what attempts use.
pub(crate) enum Accounting<'a> {
    /// An attempt that is counted begins, and may run for so long.
    Opened { work: &'a Work, time_ms: Option<u64> },
    /// An attempt was about to begin and may not.
    Refused { work: &'a Work, outcome: &'a Outcome },
    /// The provider has turned an attempt away.
    TurnedAway { attempt: Attempt },
    /// An attempt has given account, and was told whether it may go on.
    Used { work: &'a Work, goes_on: bool },
    /// An attempt that is counted is over.
    Closed { attempt: Attempt },
    /// This was handed over to be written down. Unless `is_sure`, a read failed meanwhile.
    Spent { spend: &'a Spend, is_sure: bool },
    /// The agents have other shares.
    Configured(&'a Shares),
}

/// An agent is held.
pub(crate) struct Hold {
    pub(crate) agent: Name,
    /// Who serves it.
    pub(crate) provider: String,
    /// Whether it is meant for itself, and not for all agents of its provider.
    pub(crate) alone: bool,
    /// Until when, in the node's time.
    pub(crate) until_ms: u64,
    /// What time it was for the node.
    pub(crate) wall_ms: u64,
    pub(crate) now: Ns,
}

/// The disk, and what the ledger knows of it.
pub(crate) struct Look<'a> {
    pub(crate) reader: &'a mut MemoryReader,
    pub(crate) ledger: &'a Ledger,
}

/// A process after a round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) sizes: Sizes,
    /// Ops in the batch that was handed to the disk, if one was.
    pub(crate) handed_ops: Option<usize>,
    /// Whether the process woke up, found nothing to do and wants to be woken at once again.
    pub(crate) idle: bool,
    /// Whether all that came in was that a batch found no room.
    pub(crate) only_full: bool,
}

/// The world when it should rest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rest {
    /// What the process holds in memory; `None` when it is not running.
    pub(crate) sizes: Option<Sizes>,
    pub(crate) is_settled: bool,
    pub(crate) at: Ns,
}

/// Something that was not true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Which invariant.
    pub invariant: &'static str,
    /// What was found.
    pub found: String,
}

/// All of them, and the first that was broken.
pub(crate) struct Invariants {
    all: Vec<Box<dyn Invariant>>,
    pub(crate) broken: Option<Broken>,
}

impl Invariants {
    pub(crate) fn new(plan: &Plan) -> Self {
        let config = &plan.config;
        let all: Vec<Box<dyn Invariant>> = vec![
            Box::new(honest::Honest::new(config)),
            Box::new(fence::Fence::new(config)),
            Box::new(once::Once::default()),
            Box::new(placed::Placed),
            Box::new(monotone::Monotone::default()),
            Box::new(durable::Durable::default()),
            Box::new(rebuild::Rebuild::default()),
            Box::new(progress::Progress),
            Box::new(bounded::Bounded::new(config, plan.decisions_at_once)),
            Box::new(budget::Budgets::new(&plan.shares)),
            Box::new(held::Held::new(&plan.shares)),
            Box::new(asked::Asked::default()),
        ];
        Self { all, broken: None }
    }

    /// Takes a verdict that somebody else reached.
    pub(crate) fn say(&mut self, invariant: &'static str, found: String) {
        self.broken.get_or_insert(Broken { invariant, found });
    }

    pub(crate) fn op(&mut self, seen: &OpSeen<'_>) {
        self.ask(|invariant| invariant.op(seen));
    }

    pub(crate) fn answer(&mut self, call: &Call, result: &Result<Answer, Error>, mut look: Look<'_>) {
        self.ask(|invariant| invariant.answer(call, result, &mut look));
    }

    pub(crate) fn work(&mut self, work: &Work, ledger: &Ledger) {
        self.ask(|invariant| invariant.work(work, ledger));
    }

    pub(crate) fn account(&mut self, what: &Accounting<'_>, wall_ms: u64) {
        self.ask(|invariant| invariant.account(what, wall_ms));
    }

    pub(crate) fn held(&mut self, hold: &Hold) {
        self.all.iter_mut().for_each(|invariant| invariant.held(hold));
    }

    pub(crate) fn turn(&mut self, turn: &Turn) {
        self.ask(|invariant| invariant.turn(turn));
    }

    pub(crate) fn clock_set(&mut self, now: Ns, by_ms: i64) {
        self.all.iter_mut().for_each(|invariant| invariant.clock_set(now, by_ms));
    }

    pub(crate) fn clock_alert(&mut self, now: Ns, wall_ms: u64) {
        self.all.iter_mut().for_each(|invariant| invariant.clock_alert(now, wall_ms));
    }

    pub(crate) fn started(&mut self, now: Ns, wall_ms: u64) {
        self.all.iter_mut().for_each(|invariant| invariant.started(now, wall_ms));
    }

    pub(crate) fn start(&mut self, mut look: Look<'_>) {
        self.ask(|invariant| invariant.start(&mut look));
    }

    pub(crate) fn rest(&mut self, mut look: Look<'_>, rest: &Rest) {
        self.ask(|invariant| invariant.rest(&mut look, rest));
    }

    fn ask(&mut self, mut question: impl FnMut(&mut dyn Invariant) -> Verdict) {
        for invariant in &mut self.all {
            if let Err(found) = question(invariant.as_mut()) {
                self.broken.get_or_insert(Broken { invariant: invariant.name(), found });
            }
        }
    }
}

/// `Err` with what was found, unless `holds`.
pub(crate) fn ensure(holds: bool, found: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(found()) }
}
