//! A recipient: takes messages from an agent's inbox and deals with them; or falls silent for longer than its lease and
//! then speaks all the same.

use super::{Party, Phase, View, letter};
use crate::{
    call::{Word, name},
    rng::Rng,
    time::{MS, Ns},
};
use relaymesh_core::{
    content::Media,
    id::{ThreadId, WorkerId},
    message::Message,
    name::Name,
    op::HeldMessage,
};
use relaymesh_runtime::driver::{Answer, Command, Delivery, MessageCommand};
use std::collections::BTreeSet;

const TRIES_MAX: u32 = 4;

#[derive(Debug)]
pub(crate) struct Recipient {
    agent: Name,
    worker: WorkerId,
    rng: Rng,
    jobs: Vec<Job>,
    /// Deliveries that were its own once.
    old: Vec<(ThreadId, HeldMessage)>,
    jobs_max: usize,
}

#[derive(Debug)]
struct Job {
    thread: ThreadId,
    held: HeldMessage,
    /// Whether a step waits for the answer.
    asks: bool,
    /// Whether it is an answer itself: those are seldom answered, or nobody would ever stop.
    answers: bool,
    /// When it says what came of it.
    speaks: Ns,
    tries: u32,
}

impl Recipient {
    pub(crate) fn new(index: usize, mut rng: Rng) -> Self {
        let agent = name(letter::AGENTS[index % letter::AGENTS.len()]);
        let jobs_max = 1 + rng.index(3);
        Self { agent, worker: WorkerId::new(2, index as u128 + 1), rng, jobs: Vec::new(), old: Vec::new(), jobs_max }
    }

    /// Where something waits, as far as anybody can read.
    fn mail(&mut self, view: &View<'_>) -> Option<Name> {
        let is_mine = |row: &Message| row.draft.to == self.agent && row.is_deliverable(view.wall_ms);
        let threads = view.ledger.threads.values();
        let waiting = threads.filter(|rows| rows.messages.values().any(is_mine)).map(|rows| &rows.thread.namespace);
        let places: Vec<&Name> = BTreeSet::from_iter(waiting).into_iter().collect();
        self.rng.pick(&places).map(|place| (*place).clone())
    }

    fn take(&mut self, view: &View<'_>) -> Option<MessageCommand> {
        let curious = view.phase != Phase::Drain && self.rng.chance(100);
        if self.jobs.len() >= self.jobs_max {
            return None;
        }
        let namespace = self.mail(view).or_else(|| curious.then(|| name("default")))?;
        let lease_ms = self.rng.between(1_000, 8_000);
        Some(MessageCommand::Take { namespace, agent: self.agent.clone(), worker: self.worker, lease_ms, only: None })
    }

    /// The word about a message whose time has come.
    fn speak(&mut self, view: &View<'_>) -> Option<MessageCommand> {
        let now = view.now;
        let place = self.jobs.iter().position(|job| job.speaks <= now)?;
        let job = &mut self.jobs[place];
        job.speaks = Ns::MAX; // until it is answered
        job.tries += 1;
        let (thread, held) = (job.thread, job.held);
        let replies = match (job.asks, job.answers || view.phase == Phase::Drain) {
            (true, _) => 300,
            (false, true) => 2,
            (false, false) => 35,
        };
        let weights = if view.healthy() { [45, replies, 6, 2, 2] } else { [35, replies, 15, 5, 8] };
        Some(match self.rng.weighted(&weights) {
            0 => MessageCommand::Acknowledge { thread, held },
            1 => {
                let content = letter::content(&mut self.rng, view);
                MessageCommand::Reply { thread, held, media: Media::Json, content }
            }
            2 => MessageCommand::Fail { thread, held, retryable: true, error: "it did not work".to_owned() },
            3 => MessageCommand::Fail { thread, held, retryable: false, error: "it can never work".to_owned() },
            _ => MessageCommand::Return { thread, held, reason: "needed elsewhere".to_owned() },
        })
    }

    /// A word about a message that is not its own any more.
    fn stale(&mut self, view: &View<'_>) -> Option<MessageCommand> {
        let (thread, held) = *self.rng.pick(&self.old)?;
        Some(match self.rng.index(4) {
            0 => MessageCommand::Acknowledge { thread, held },
            1 => {
                let content = letter::content(&mut self.rng, view);
                MessageCommand::Reply { thread, held, media: Media::Json, content }
            }
            2 => MessageCommand::Fail { thread, held, retryable: true, error: "too late".to_owned() },
            _ => MessageCommand::Return { thread, held, reason: "too late".to_owned() },
        })
    }

    fn begin(&mut self, delivery: &Delivery, lease_ms: u64, view: &View<'_>) {
        let silent = !view.healthy() && self.rng.chance(250);
        let takes_ms =
            if silent { self.rng.between(lease_ms, lease_ms * 4) } else { self.rng.between(20, lease_ms * 3 / 4) };
        let (asks, answers) = (delivery.draft.asks.is_some(), delivery.draft.reply_to.is_some());
        let speaks = view.now + takes_ms * MS;
        self.jobs.push(Job { thread: delivery.thread, held: delivery.held, asks, answers, speaks, tries: 0 });
    }

    fn heard_about(&mut self, held: &HeldMessage, word: &Word, view: &View<'_>) {
        let Some(place) = self.jobs.iter().position(|job| job.held == *held) else { return };
        if word.is_unsure() && self.jobs[place].tries < TRIES_MAX {
            self.jobs[place].speaks = view.now + self.rng.spread(50, 2_000) * MS;
            return;
        }
        let job = self.jobs.remove(place);
        self.old.push((job.thread, job.held));
    }
}

impl Party for Recipient {
    fn act(&mut self, view: &View<'_>) -> Option<Command> {
        let stale = if !view.healthy() && self.rng.chance(60) { self.stale(view) } else { None };
        stale.or_else(|| self.speak(view)).or_else(|| self.take(view)).map(Command::Message)
    }

    fn hear(&mut self, command: &Command, word: &Word, view: &View<'_>) {
        let Command::Message(command) = command else { return };
        match command {
            MessageCommand::Take { lease_ms, .. } => {
                if let Word::Answer(Ok(Answer::Taken(Some(delivery)))) = word {
                    self.begin(delivery, *lease_ms, view);
                }
            }
            MessageCommand::Acknowledge { held, .. }
            | MessageCommand::Reply { held, .. }
            | MessageCommand::Fail { held, .. }
            | MessageCommand::Return { held, .. } => self.heard_about(held, word, view),
            MessageCommand::Send(_) | MessageCommand::Redrive { .. } => {}
        }
    }

    fn pause(&mut self) -> Ns {
        self.rng.spread(100, 2_000) * MS
    }

    fn patience(&mut self, healthy: bool) -> Ns {
        if healthy { 30_000 * MS } else { self.rng.spread(200, 8_000) * MS }
    }

    fn is_idle(&self) -> bool {
        self.jobs.is_empty()
    }
}
