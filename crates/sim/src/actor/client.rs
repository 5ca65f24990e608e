//! A client: thinks, asks for one thing at a time, and asks again with the same request id when it does not know.

use super::{Phase, View, flow};
use crate::{
    call::{Word, name},
    rng::Rng,
    time::{MS, Ns},
};
use relaymesh_core::{
    hash::Hash,
    id::{RequestId, StepId, TaskId},
    name::Name,
    namespace::ABOUT_CHARS_MAX,
    op::CancelMode,
    task::{Status, spec::IdempotencyKey},
};
use relaymesh_runtime::driver::{Command, Submit, Until};

/// Where clients work, in turn, and so where all tasks are. Lockers use some of it, too.
pub(crate) const NAMESPACES: [&str; 3] = ["default", "people", "team"];

/// How often a client asks again before it gives up.
const TRIES_MAX: u32 = 8;

#[derive(Debug)]
pub(crate) struct Client {
    rng: Rng,
    think_ms: (u64, u64),
    /// The clocks of clients differ, so request ids do not come in order.
    skew_ms: u64,
    /// Whether it is the one who decides what steps ask: it never waits for a task, because that may wait for it.
    decides: bool,
    /// Where it works. Keys are its own, so each client stays in one place.
    namespace: Name,
    submits: Vec<Submit>,
    /// What it is at, and how often it has tried.
    asking: Option<(Command, u32)>,
}

/// What a client does after it has heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Asks the same again, after a while.
    Again(Ns),
    /// Thinks of something else.
    Think(Ns),
}

impl Client {
    pub(crate) fn new(index: usize, mut rng: Rng, think_ms: (u64, u64)) -> Self {
        let skew_ms = rng.between(0, 5_000);
        let namespace = name(NAMESPACES[index % NAMESPACES.len()]);
        Self { rng, think_ms, skew_ms, decides: index == 0, namespace, submits: Vec::new(), asking: None }
    }

    pub(crate) fn think_time(&mut self) -> Ns {
        self.rng.between(self.think_ms.0, self.think_ms.1) * MS
    }

    /// The next command, if there is anything to do.
    pub(crate) fn think(&mut self, view: &View<'_>) -> Option<Command> {
        let command = self.choose(view)?;
        self.asking = Some((command.clone(), 1));
        Some(command)
    }

    /// The same command again.
    pub(crate) fn again(&mut self) -> Option<Command> {
        let (command, tries) = self.asking.as_mut()?;
        *tries += 1;
        Some(command.clone())
    }

    /// How long it waits for an answer.
    pub(crate) fn patience(&mut self, command: &Command, view: &View<'_>) -> Ns {
        let waits = matches!(command, Command::Wait { .. } | Command::Submit(Submit { until: Until::Ended, .. }));
        let ms = match (view.healthy(), waits) {
            (true, true) => 900_000,
            (true, false) => 30_000,
            (false, true) => self.rng.between(5_000, 60_000),
            (false, false) => self.rng.spread(200, 10_000),
        };
        ms * MS
    }

    /// Takes the end of a call.
    pub(crate) fn hear(&mut self, word: &Word) -> Next {
        let tries = self.asking.as_ref().map_or(TRIES_MAX, |(_, tries)| *tries);
        let must_be = matches!(self.asking, Some((Command::Submit(_) | Command::CreateNamespace { .. }, _)));
        let insists = must_be || self.rng.chance(300);
        if word.is_unsure() && insists && tries < TRIES_MAX {
            return Next::Again(self.rng.spread(100, 4_000) * MS);
        }
        self.asking = None;
        Next::Think(self.think_time())
    }

    fn choose(&mut self, view: &View<'_>) -> Option<Command> {
        if view.phase == Phase::Drain {
            return self.decide(view);
        }
        let wild = !view.healthy();
        let waits = if self.decides { 0 } else { 12 };
        let weights = [45, 8, if wild { 3 } else { 0 }, waits, 8, 12, if self.decides { 40 } else { 14 }, 2];
        let chosen = match self.rng.weighted(&weights) {
            0 => None,
            1 => self.repeat(),
            2 => self.conflict(view),
            3 => self.task(view, |status| wild || !status.is_terminal()).map(|task| Command::Wait { task }),
            4 => self.cancel(view),
            5 => self.redrive(view),
            6 => self.decide(view),
            _ => Some(self.create(view)),
        };
        Some(chosen.unwrap_or_else(|| self.submit(view)))
    }

    /// Mostly it makes its place first; now and then it learns from a refusal that it should have.
    fn submit(&mut self, view: &View<'_>) -> Command {
        if !view.ledger.has_namespace(&self.namespace) && self.rng.chance(800) {
            return self.create(view);
        }
        let made_ms = view.now_ms() + self.skew_ms;
        let key = IdempotencyKey::RequestId(RequestId::new(made_ms, self.rng.wide()));
        let submit = self.request(key);
        self.submits.push(submit.clone());
        Command::Submit(submit)
    }

    /// Makes a namespace, perhaps one that is there, perhaps with too many words about it.
    fn create(&mut self, view: &View<'_>) -> Command {
        let wild = !view.healthy();
        let other = wild && self.rng.chance(200);
        let made = if other { name(NAMESPACES[self.rng.index(NAMESPACES.len())]) } else { self.namespace.clone() };
        let chars = if wild && self.rng.chance(50) { ABOUT_CHARS_MAX + 1 } else { self.rng.index(20) };
        Command::CreateNamespace { name: made, about: "x".repeat(chars) }
    }

    fn request(&mut self, key: IdempotencyKey) -> Submit {
        let namespace = self.namespace.clone();
        let until = if !self.decides && self.rng.chance(250) { Until::Ended } else { Until::Accepted };
        let trace_id = self.rng.wide();
        let asked = flow::random(&mut self.rng);
        let prepared = asked.prepare(&namespace, Some(key), trace_id).expect("a flow that can run");
        let inputs = prepared
            .inputs
            .into_iter()
            .map(|(place, bytes)| (place, relaymesh_store::Content::Inline(bytes)))
            .collect();
        Submit { namespace, schedule: prepared.schedule, inputs, until }
    }

    /// A submit that was sent before, perhaps long ago.
    fn repeat(&mut self) -> Option<Command> {
        self.rng.pick(&self.submits).cloned().map(Command::Submit)
    }

    /// The request id of one submit on another.
    fn conflict(&mut self, _view: &View<'_>) -> Option<Command> {
        let key = self.rng.pick(&self.submits)?.schedule.key.clone();
        Some(Command::Submit(self.request(key)))
    }

    fn cancel(&mut self, view: &View<'_>) -> Option<Command> {
        let wild = !view.healthy();
        let task = self.task(view, |status| wild || !status.is_terminal())?;
        let fresh = view.ledger.tasks.get(&task).is_some_and(|seen| seen.cancels == 0);
        let mode = if self.rng.chance(500) { CancelMode::Hard } else { CancelMode::Soft };
        (wild || fresh).then(|| Command::Cancel { task, mode, reason: "a client changed its mind".to_owned() })
    }

    fn redrive(&mut self, view: &View<'_>) -> Option<Command> {
        let wild = !view.healthy() && self.rng.chance(200);
        let broken = |status: Status| matches!(status, Status::Failed | Status::DeadLetter | Status::Cancelled);
        let task = self.task(view, |status| wild || broken(status))?;
        Some(Command::Redrive { task, reason: "another try".to_owned() })
    }

    /// Approves or denies a step that asks, or now and then one that does not.
    fn decide(&mut self, view: &View<'_>) -> Option<Command> {
        let wild = !view.healthy() && self.rng.chance(100);
        let mut asking: Vec<(StepId, Hash)> = Vec::new();
        for task in &view.ledger.open {
            let Some(seen) = view.ledger.tasks.get(task) else { continue };
            for (index, step) in seen.rows.indexed().filter(|(_, step)| wild || step.status == Status::Waiting) {
                let ask = step.spec.approve.as_ref().map_or(Hash::default(), |ask| ask.hash());
                asking.push((StepId { task: *task, index }, ask));
            }
        }
        let (step, mut ask) = *self.rng.pick(&asking)?;
        if wild && self.rng.chance(500) {
            ask = Hash::sha256(b"something else");
        }
        if self.rng.chance(750) {
            return Some(Command::Approve { step, ask });
        }
        Some(Command::Deny { step, ask, reason: "better not".to_owned() })
    }

    fn task(&mut self, view: &View<'_>, wanted: impl Fn(Status) -> bool) -> Option<TaskId> {
        let all: Vec<TaskId> =
            view.ledger.tasks.iter().filter(|(_, seen)| wanted(seen.rows.task.status)).map(|(id, _)| *id).collect();
        self.rng.pick(&all).copied()
    }
}
