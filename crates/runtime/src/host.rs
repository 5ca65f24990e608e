//! The world of a real machine.

use crate::{
    builtin::Builtin,
    clock::{Clock, Jump, Now, System},
    world::{Alert, Finished, Outcome, Work, World},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use relaymesh_core::{id::StepId, name::Name};

/// The clocks of this machine, its randomness, and the builtin agents.
pub struct Host {
    clock: Clock<System>,
    rng: StdRng,
    agents: Builtin,
    alert: Box<dyn FnMut(Alert) + Send>,
}

impl Host {
    /// A world whose time starts no earlier than `floor_ms`. Outcomes that come late go to `finished`, alerts to `alert`.
    pub fn new(
        floor_ms: u64,
        finished: impl Fn(Finished) + Send + 'static,
        alert: impl FnMut(Alert) + Send + 'static,
    ) -> Self {
        Self {
            clock: Clock::new(System, floor_ms),
            rng: StdRng::from_rng(&mut rand::rng()),
            agents: Builtin::new(Box::new(finished)),
            alert: Box::new(alert),
        }
    }
}

impl World for Host {
    fn now(&mut self) -> Now {
        self.clock.now()
    }

    fn jump(&mut self) -> Option<Jump> {
        self.clock.guard()
    }

    fn random(&mut self) -> u128 {
        self.rng.random()
    }

    fn knows(&self, agent: &Name) -> bool {
        Builtin::knows(agent)
    }

    fn start(&mut self, work: Work) -> Option<Outcome> {
        self.agents.start(work)
    }

    fn stop(&mut self, step: StepId, epoch: u32) {
        self.agents.stop(step, epoch);
    }

    fn alert(&mut self, alert: Alert) {
        (self.alert)(alert);
    }
}
