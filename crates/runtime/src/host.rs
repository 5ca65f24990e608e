//! The world of a real machine.

use crate::{
    builtin::Builtin,
    clock::{Clock, Jump, Now, System},
    world::{Alert, Finished, Outcome, Work, World},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use relaymesh_core::{id::StepId, name::Name};
use relaymesh_store::{Blobs, Content};

/// The clocks of this machine, its randomness, and the builtin agents.
pub struct Host<B> {
    clock: Clock<System>,
    rng: StdRng,
    agents: Builtin,
    alert: Box<dyn FnMut(Alert) + Send>,
    blobs: B,
}

impl<B: Blobs> Host<B> {
    /// A world whose time starts no earlier than `floor_ms`. Long results go to `blobs`, outcomes that come late to
    /// `finished`, alerts to `alert`.
    pub fn new(
        floor_ms: u64,
        blobs: B,
        finished: impl Fn(Finished) + Send + 'static,
        alert: impl FnMut(Alert) + Send + 'static,
    ) -> Self {
        Self {
            clock: Clock::new(System, floor_ms),
            rng: StdRng::from_rng(&mut rand::rng()),
            agents: Builtin::new(Box::new(finished)),
            alert: Box::new(alert),
            blobs,
        }
    }
}

impl<B: Blobs> World for Host<B> {
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
        let outcome = self.agents.start(work)?;
        let Outcome::Done { media, result: Content::Inline(bytes) } = outcome else { return Some(outcome) };
        Some(match Content::stow(bytes, &self.blobs) {
            Ok(result) => Outcome::Done { media, result },
            Err(error) => Outcome::Failed { error: error.to_string(), retryable: true },
        })
    }

    fn stop(&mut self, step: StepId, epoch: u32) {
        self.agents.stop(step, epoch);
    }

    fn alert(&mut self, alert: Alert) {
        (self.alert)(alert);
    }
}
