//! What the driver needs from outside: time, randomness, and somebody to do the work.
//!
//! Production has one world ([`crate::host::Host`]); a simulator has another and runs the same driver.

use crate::{
    clock::{Jump, Now},
    driver::Recorded,
};
pub use relaymesh_core::op::Hold;
use relaymesh_core::{
    content::Media,
    id::StepId,
    name::Name,
    task::spec::{StepSpec, Terms},
};
use relaymesh_store::{Content, Spend};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Everything that comes from outside.
pub trait World: Send + 'static {
    /// What time it is. Never less than before.
    fn now(&mut self) -> Now;

    /// Whether the wall clock was set since the last call.
    fn jump(&mut self) -> Option<Jump>;

    /// 128 bits that nobody can guess.
    fn random(&mut self) -> u128;

    /// Whether there is an agent of this name here.
    fn knows(&self, agent: &Name) -> bool;

    /// What an attempt of this agent takes a place in for as long as it runs. With none, only the slots of the node bound it.
    fn pools(&self, agent: &Name) -> &[Pool];

    /// Whether steps of this agent are asked by a message and completed by its answer (R38). Nothing is started for them.
    fn asks(&self, _agent: &Name) -> bool {
        false
    }

    /// Adds to a step that is submitted what its agent here asks of every step, whichever way it came: how long it may take, what a person
    /// must agree to. `input` is what it is given, if it has something of its own.
    fn impose(&self, _step: &mut StepSpec, _input: Option<&Content>) {}

    /// Takes up what has changed about the agents outside; `true` if anything has.
    fn refresh(&mut self) -> bool {
        false
    }

    /// Holds the agent, and whoever shares its provider unless it is meant `alone`, until the time that this gives: till then none of
    /// them has a place. `None`: it cannot be held.
    fn hold(&mut self, _agent: &Name, _reason: &str, _until_ms: Option<u64>, _alone: bool) -> Option<u64> {
        None
    }

    /// An attempt of this agent succeeded: if it was held a moment ago, its provider takes more again.
    fn answered(&mut self, _agent: &Name) {}

    /// Lets go of agents whose time is over; says when the next one's is.
    fn held_until(&mut self) -> Option<u64> {
        None
    }

    /// These entries of the journal are durable now.
    fn spent(&mut self, _spends: &[Spend]) {}

    /// The place for content that the driver made itself. What is long becomes a blob, which is durable when this returns.
    fn stow(&mut self, bytes: Vec<u8>) -> Result<Content, relaymesh_store::Error> {
        Ok(Content::Inline(bytes))
    }

    /// A result from outside, held to the schema that its step has for it; an error says what is wrong with it. What this node's own agents say is
    /// held to it where it comes from.
    fn held_to(&mut self, schema: &str, media: Media, result: Content) -> Result<(Media, Content), String> {
        let _ = schema;
        Ok((media, result))
    }

    /// Begins the work. The claim is durable. An agent that is quick answers at once; otherwise the outcome comes in
    /// later as a [`Finished`].
    fn start(&mut self, work: Work) -> Option<Outcome>;

    /// Ends whatever works on this attempt. Its outcome, if one still comes, is fenced.
    fn stop(&mut self, step: StepId, epoch: u32);

    /// Something that an operator should see.
    fn alert(&mut self, alert: Alert);
}

/// Something that only so many attempts can use at once: an agent, the processes of this node, a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// Which.
    pub name: Arc<str>,
    /// Attempts at once.
    pub places: usize,
}

/// One attempt, to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// What the outcome must show.
    pub hold: Hold,
    /// The team or project that it belongs to.
    pub namespace: Name,
    /// What people call the step.
    pub name: Name,
    /// Who is to do it.
    pub agent: Name,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// The task's trace.
    pub trace_id: u128,
    /// What it is given.
    pub input: Content,
    /// What it has to keep to.
    pub terms: Option<Box<Terms>>,
    /// What a person was asked about it and agreed to, if anything.
    pub asked: Option<String>,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// With a result.
    Done {
        /// What kind of bytes.
        media: Media,
        /// The result. What is long must be a blob by now.
        result: Content,
    },
    /// With an error.
    Failed {
        /// What went wrong, for people.
        error: String,
        /// Whether another attempt may help.
        retryable: bool,
    },
    /// Nothing was attempted: the node has only looked at the step.
    Weighed(Weighed),
    /// Its provider turned it away. The attempt does not count, and the agent is *held* for a while.
    Limited {
        /// In the provider's words, for people.
        reason: String,
        /// Until when, by the wall clock, if it said so.
        until_ms: Option<u64>,
        /// Whether this agent alone is meant, and not whoever shares its provider: it has used its budget.
        alone: bool,
    },
}

/// What a node found when it looked at a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Weighed {
    /// Its condition holds.
    Passed,
    /// Its condition does not hold.
    Skipped {
        /// What was found, for people.
        reason: String,
    },
    /// It runs for so many items.
    Fanned {
        /// How many.
        count: u16,
    },
}

/// An attempt that ended after [`World::start`] had returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Which one.
    pub hold: Hold,
    /// How.
    pub outcome: Outcome,
    /// What it left behind besides.
    pub left: Option<Box<Recorded>>,
}

impl Finished {
    /// An attempt that left nothing but its outcome.
    pub fn new(hold: Hold, outcome: Outcome) -> Self {
        Self { hold, outcome, left: None }
    }
}

/// Takes outcomes that come late.
pub type Late = Arc<dyn Fn(Finished) + Send + Sync>;

/// Something that an operator should see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Alert {
    /// The wall clock was set; reclaim is put off by one round.
    ClockJump(Jump),
    /// Nobody has confirmed the wall clock, and it cannot be believed: nothing is deleted by age. In words, with what to do.
    ClockUnconfirmed(String),
    /// This process did not run when a lease ran out; leases are put off by one round.
    Late {
        /// By how much it came late.
        by_ms: u64,
    },
    /// The disk is full; nothing was written and reads go on.
    DiskFull(String),
    /// The outcome of a commit is unknown; the node stops.
    Poisoned(String),
    /// Something that was stored could not be read.
    Unreadable(String),
    /// An agent is held, because its provider turned it away.
    Held {
        /// Which.
        agent: Name,
        /// Why.
        reason: String,
        /// Until when, by the wall clock.
        until_ms: u64,
    },
}
