//! A worker from outside: claims steps, says that it lives, delivers; or falls silent for longer than its lease and then
//! speaks all the same. Now and then it asks an agent, and the agent's answer completes the step (R38).

use super::{View, letter};
use crate::{
    call::{Word, name},
    node::{REMOTE_AGENT, done},
    rng::Rng,
    time::{MS, Ns},
};
use relaymesh_core::id::{StepId, WorkerId};
use relaymesh_runtime::{
    driver::{Answer, Command, Error, Letter, MessageCommand},
    world::{Hold, Outcome},
};

const TRIES_MAX: u32 = 4;

#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) id: WorkerId,
    rng: Rng,
    /// Attempts that it works on.
    jobs: Vec<Job>,
    /// Attempts that were its own once.
    old: Vec<Hold>,
    claiming: bool,
    jobs_max: usize,
}

#[derive(Debug)]
struct Job {
    hold: Hold,
    /// How often it has tried to deliver.
    tries: u32,
    /// What it has asked on behalf of the step.
    asked: Option<Letter>,
}

/// What a worker does about a word.
#[derive(Debug, Clone)]
pub(crate) enum Heard {
    /// Nothing.
    Nothing,
    /// Works on it: says that it lives every so often, `None` for never, and delivers after a while.
    Works(Hold, Option<Ns>, Ns),
    /// Tries to deliver again.
    Again(Hold, Ns),
}

impl Worker {
    pub(crate) fn new(index: usize, mut rng: Rng) -> Self {
        let jobs_max = 1 + rng.index(3);
        Self {
            id: WorkerId::new(1, index as u128 + 1),
            rng,
            jobs: Vec::new(),
            old: Vec::new(),
            claiming: false,
            jobs_max,
        }
    }

    pub(crate) fn pause(&mut self) -> Ns {
        self.rng.spread(200, 3_000) * MS
    }

    pub(crate) fn patience(&mut self, healthy: bool) -> Ns {
        if healthy { 30_000 * MS } else { self.rng.spread(200, 8_000) * MS }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.jobs.is_empty() && !self.claiming
    }

    /// Looks for something to claim; now and then says something about an attempt that is not its own any more.
    pub(crate) fn look(&mut self, view: &View<'_>) -> Option<Command> {
        if !view.healthy() && self.rng.chance(60) {
            let hold = *self.rng.pick(&self.old)?;
            return Some(Command::Finish { hold, outcome: done(self.rng.between(0, 1_000_000)) });
        }
        if self.claiming || self.jobs.len() >= self.jobs_max {
            return None;
        }
        let wild = !view.healthy() && self.rng.chance(50);
        let mut free: Vec<StepId> = Vec::new();
        for task in &view.ledger.open {
            let Some(seen) = view.ledger.tasks.get(task) else { continue };
            let ready = |step: &relaymesh_core::task::Step| {
                step.spec.agent.as_str() == REMOTE_AGENT && step.is_claimable(view.wall_ms)
            };
            let steps = seen.rows.indexed().filter(|(_, step)| wild || ready(step));
            free.extend(steps.map(|(index, _)| StepId { task: *task, index }));
        }
        let step = *self.rng.pick(&free)?;
        self.claiming = true;
        Some(Command::Claim { step, worker: self.id, lease_ms: self.rng.between(1_000, 8_000) })
    }

    /// What it says about a job when its time is over; `None` if it is not at it any more.
    pub(crate) fn speak(&mut self, hold: Hold, view: &View<'_>) -> Option<Command> {
        let healthy = view.healthy();
        let place = self.jobs.iter().position(|job| job.hold == hold)?;
        if self.jobs[place].asked.is_some() && !is_held(hold, view) {
            self.jobs.remove(place); // answered, or lost: anybody can read that
            self.old.push(hold);
            return None;
        }
        let again = self.jobs[place].asked.clone().filter(|_| self.rng.chance(400));
        if let Some(letter) = again.or_else(|| self.ask(place, view)) {
            return Some(Command::Message(MessageCommand::Send(Box::new(letter))));
        }
        self.jobs[place].tries += 1;
        let weights = if healthy { [90, 8, 2, 0] } else { [70, 15, 5, 10] };
        let outcome = match self.rng.weighted(&weights) {
            0 => done(self.rng.between(0, 1_000_000)),
            1 => Outcome::Failed { error: "the worker failed".to_owned(), retryable: true },
            2 => Outcome::Failed { error: "the worker gave up".to_owned(), retryable: false },
            _ => return Some(Command::Yield { hold, reason: "the worker is needed elsewhere".to_owned() }),
        };
        Some(Command::Finish { hold, outcome })
    }

    /// A question whose answer completes the step, if it has asked nothing yet.
    fn ask(&mut self, place: usize, view: &View<'_>) -> Option<Letter> {
        if self.jobs[place].asked.is_some() || !self.rng.chance(250) {
            return None;
        }
        let letter = letter::random(&name("worker"), &mut self.rng, view);
        let letter = Letter { asks: Some(self.jobs[place].hold), ..letter };
        self.jobs[place].asked = Some(letter.clone());
        Some(letter)
    }

    /// Whether it still works on this.
    pub(crate) fn works_on(&self, hold: Hold) -> bool {
        self.jobs.iter().any(|job| job.hold == hold)
    }

    /// Takes the end of a call.
    pub(crate) fn hear(&mut self, command: &Command, word: &Word, healthy: bool) -> Heard {
        match command {
            Command::Claim { lease_ms, .. } => {
                self.claiming = false;
                let Word::Answer(Ok(Answer::Claimed(hold))) = word else { return Heard::Nothing };
                self.jobs.push(Job { hold: *hold, tries: 0, asked: None });
                let silent = !healthy && self.rng.chance(250);
                let takes_ms =
                    if silent { self.rng.between(*lease_ms, lease_ms * 4) } else { self.rng.spread(50, 12_000) };
                Heard::Works(*hold, (!silent).then_some(lease_ms / 3 * MS), takes_ms * MS)
            }
            Command::Finish { hold, .. } | Command::Yield { hold, .. } => {
                let Some(place) = self.jobs.iter().position(|job| job.hold == *hold) else { return Heard::Nothing };
                let answered = matches!(word, Word::Answer(Ok(_) | Err(Error::Refused(_))));
                if !answered && self.jobs[place].tries < TRIES_MAX {
                    return Heard::Again(*hold, self.rng.spread(100, 2_000) * MS);
                }
                self.jobs.remove(place);
                self.old.push(*hold);
                Heard::Nothing
            }
            // Whatever came of the question: after a while it looks whether the step is done.
            Command::Message(MessageCommand::Send(letter)) => match letter.asks {
                Some(hold) => Heard::Again(hold, self.rng.spread(1_000, 30_000) * MS),
                None => Heard::Nothing,
            },
            Command::Submit(_)
            | Command::Wait { .. }
            | Command::Heartbeat { .. }
            | Command::Filed { .. }
            | Command::Cancel { .. }
            | Command::Redrive { .. }
            | Command::Approve { .. }
            | Command::Lock(_)
            | Command::Message(_)
            | Command::Record { .. }
            | Command::Life(_)
            | Command::CreateNamespace { .. }
            | Command::Note { .. }
            | Command::Deny { .. } => Heard::Nothing,
        }
    }
}

/// Whether the step is still the worker's, as far as anybody can read.
fn is_held(hold: Hold, view: &View<'_>) -> bool {
    let seen = view.ledger.tasks.get(&hold.step.task);
    let step = seen.and_then(|seen| seen.rows.steps.get(usize::from(hold.step.index)));
    step.and_then(|step| step.lease.as_ref()).is_some_and(|lease| lease.token == hold.token)
}
