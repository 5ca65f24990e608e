//! The world of a real machine.

use crate::{
    agents::{self, Runner},
    builtin::Builtin,
    clock::{Clock, Jump, Now, System},
    world::{Alert, Late, Outcome, Pool, Work, World},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use relaymesh_agents::{End, schema};
use relaymesh_core::{content::Media, id::StepId, name::Name, task::spec::StepSpec};
use relaymesh_store::{Blobs, Content, Spend};

/// The clocks of this machine, its randomness, the builtin agents, and those of the root.
pub struct Host<B> {
    clock: Clock<System>,
    rng: StdRng,
    builtin: Builtin,
    runner: Option<Runner<B>>,
    alert: Box<dyn FnMut(Alert) + Send>,
    blobs: B,
}

impl<B: Blobs> Host<B> {
    /// A world whose time starts no earlier than `floor_ms`. Long results go to `blobs`, outcomes that come late to
    /// `finished`, alerts to `alert`. Without `runner` there are the builtin agents alone.
    pub fn new(
        floor_ms: u64,
        blobs: B,
        runner: Option<Runner<B>>,
        finished: Late,
        alert: impl FnMut(Alert) + Send + 'static,
    ) -> Self {
        Self::at(Clock::new(System, floor_ms), blobs, runner, finished, alert)
    }

    /// The same with a clock of its own.
    pub fn at(
        clock: Clock<System>,
        blobs: B,
        runner: Option<Runner<B>>,
        finished: Late,
        alert: impl FnMut(Alert) + Send + 'static,
    ) -> Self {
        Self {
            clock,
            rng: StdRng::from_rng(&mut rand::rng()),
            builtin: Builtin::new(finished),
            runner,
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
        Builtin::knows(agent) || self.runner.as_ref().is_some_and(|runner| runner.knows(agent))
    }

    fn pools(&self, agent: &Name) -> &[Pool] {
        self.runner.as_ref().map_or(&[], |runner| runner.pools(agent))
    }

    fn asks(&self, agent: &Name) -> bool {
        self.runner.as_ref().is_some_and(|runner| runner.asks(agent))
    }

    fn impose(&self, step: &mut StepSpec, input: Option<&Content>) {
        if let Some(runner) = &self.runner {
            runner.impose(step, input);
        }
    }

    fn refresh(&mut self) -> bool {
        self.runner.as_mut().is_some_and(Runner::refresh)
    }

    fn hold(&mut self, agent: &Name, reason: &str, until_ms: Option<u64>, alone: bool) -> Option<u64> {
        let now_ms = self.now().wall_ms;
        self.runner.as_mut()?.hold(agent, reason, (until_ms, alone), now_ms)
    }

    fn answered(&mut self, agent: &Name) {
        if let Some(runner) = &mut self.runner {
            runner.answered(agent);
        }
    }

    fn held_until(&mut self) -> Option<u64> {
        let now_ms = self.now().wall_ms;
        self.runner.as_mut()?.held_until(now_ms)
    }

    fn spent(&mut self, spends: &[Spend]) {
        if let Some(runner) = &self.runner {
            runner.spent(spends);
        }
    }

    fn stow(&mut self, bytes: Vec<u8>) -> Result<Content, relaymesh_store::Error> {
        Content::stow(bytes, &self.blobs)
    }

    fn held_to(&mut self, schema: &str, media: Media, result: Content) -> Result<(Media, Content), String> {
        let bytes = match &result {
            Content::Inline(bytes) => bytes.clone(),
            Content::Blob(blob) => match self.blobs.get(&blob.hash) {
                Ok(found) => found.ok_or("its content is missing")?,
                Err(error) => return Err(error.to_string()),
            },
        };
        match schema::held_to(schema, End::Done { media, result: bytes.clone() }) {
            End::Done { media, result: held } if held == bytes => Ok((media, result)),
            End::Done { media, result: held } => {
                Ok((media, Content::stow(held, &self.blobs).map_err(|error| error.to_string())?))
            }
            End::Failed { error, .. } | End::Limited { reason: error, .. } => Err(error),
        }
    }

    fn start(&mut self, work: Work) -> Option<Outcome> {
        if let Some(runner) = self.runner.as_ref().filter(|runner| runner.knows(&work.agent)) {
            return runner.start(work, self.clock.now().wall_ms);
        }
        let schema = work.terms.as_ref().and_then(|terms| terms.result_schema.clone());
        let outcome = self.builtin.start(work)?;
        if let (Some(schema), Outcome::Done { media, result: Content::Inline(bytes) }) = (&schema, &outcome) {
            return Some(agents::outcome(
                schema::held_to(schema, End::Done { media: *media, result: bytes.clone() }),
                &self.blobs,
            ));
        }
        let Outcome::Done { media, result: Content::Inline(result) } = outcome else { return Some(outcome) };
        Some(agents::outcome(End::Done { media, result }, &self.blobs))
    }

    fn stop(&mut self, step: StepId, epoch: u32) {
        self.builtin.stop(step, epoch);
        if let Some(runner) = &self.runner {
            runner.stop(step, epoch);
        }
    }

    fn alert(&mut self, alert: Alert) {
        (self.alert)(alert);
    }
}
