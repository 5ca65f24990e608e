//! BOUNDED: what the engine holds stays below its limits, an idle process sleeps, and at rest nothing is held.

use super::{Invariant, Look, Rest, Turn, Verdict, ensure};
use crate::actor::NAMESPACES;
use relaymesh_runtime::driver::{Config, Sizes};

/// Rounds in a row that may come to nothing.
const IDLE_ROUNDS_MAX: u32 = 100;

/// Batches in a row that go to a full disk although nobody asked for anything.
const UNASKED_MAX: u32 = 10;

/// Ops that one command may add to a batch that has room for one.
const OPS_BEYOND: usize = 8;

/// Keys that sweeps let go of in one batch, which takes no op: two janitors, each of whom may have asked again.
const KEYS_SWEPT: usize = 4 * 64;

/// Agents of the node whose attempts take places.
const AGENTS_WITH_PLACES: usize = 1 + crate::share::COUNTED.len();

#[derive(Debug)]
pub(crate) struct Bounded {
    config: Config,
    /// Questions that may be asked in one turn.
    questions_max: usize,
    idle: u32,
    unasked: u32,
}

impl Bounded {
    pub(crate) fn new(config: &Config, decisions_at_once: usize) -> Self {
        Self { config: config.clone(), questions_max: decisions_at_once, idle: 0, unasked: 0 }
    }
}

impl Invariant for Bounded {
    fn name(&self) -> &'static str {
        "BOUNDED"
    }

    fn turn(&mut self, turn: &Turn) -> Verdict {
        let (sizes, config) = (turn.sizes, &self.config);
        // Whoever holds a place at the start, ends an attempt or is given the place of one is not asked to wait for the next batch.
        let ops_max = config.batch_ops_max + 3 * config.slots + self.questions_max + OPS_BEYOND;
        // Live: in the window, under way, or changed in one of two batches.
        let window_max = config.queue_capacity + NAMESPACES.len() * Sizes::RESERVED_MAX;
        let tasks_max = window_max + sizes.parked + sizes.attempts + 2 * ops_max;
        let limits = [
            ("ready steps in the window", sizes.window, window_max),
            ("steps that wait for a place", sizes.parked, AGENTS_WITH_PLACES * NAMESPACES.len() * Sizes::PARKED_MAX),
            ("own attempts", sizes.own, config.slots),
            ("ops in the open batch", sizes.open_ops, ops_max),
            ("ops in a batch", turn.handed_ops.unwrap_or(0), ops_max),
            ("live tasks", sizes.tasks, tasks_max),
            ("scopes other than tasks", sizes.scopes, 2 * ops_max),
            ("keys that no reader sees", sizes.keys, 2 * (ops_max + KEYS_SWEPT)),
            // A step that is asked takes no slot, and is asked again after every start.
            ("attempts to start", sizes.to_start, config.slots + sizes.attempts),
            ("outcomes to tell again", sizes.untold, 2 * ops_max),
        ];
        for (what, found, limit) in limits {
            ensure(found <= limit, || format!("{found} {what}; the limit is {limit}"))?;
        }
        self.idle = if turn.idle { self.idle + 1 } else { 0 };
        ensure(self.idle < IDLE_ROUNDS_MAX, || format!("the process woke {} times for nothing", self.idle))?;
        self.unasked = if turn.only_full && turn.handed_ops.is_some() { self.unasked + 1 } else { 0 };
        ensure(self.unasked < UNASKED_MAX, || format!("a full disk was tried {} times without a pause", self.unasked))
    }

    fn rest(&mut self, _look: &mut Look<'_>, rest: &Rest) -> Verdict {
        let held = rest.sizes.unwrap_or_default();
        ensure(held == Sizes::default(), || format!("at rest the engine still holds {held:?}"))
    }
}
