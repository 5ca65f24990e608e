//! The engine, stepped by hand on the memory store, with a world whose clock the test moves.

mod asking;
mod audience;
mod disk;
mod effects;
mod event_loop;
mod fairness;
mod flows;
mod leases;
mod life;
mod locks;
mod messages;
mod namespaces;
mod plans;
mod properties;
mod queue;
mod reads;
mod repeats;
mod restart;
mod submit;
mod threads;
mod work;

use super::{Answer, Audience, Caller, Command, Config, Engine, Error, Request, Submit, Until};
use crate::{
    clock::{Jump, Now},
    world::{Alert, Finished, Hold, Outcome, Pool, Work, World},
};
use relaymesh_core::{
    content::Media,
    id::{NodeId, RequestId, StepId, TaskId, WorkerId},
    name::Name,
    task::{
        Status, TaskRows,
        request::{Prepared, Request as Asked},
        spec::IdempotencyKey,
        validate,
    },
};
use relaymesh_store::{
    Content, Reader as _, Store as _,
    memory::{Disk, MemoryReader, MemoryStore},
};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, mpsc},
};

pub(super) type Answered = mpsc::Receiver<Result<Answer, Error>>;

pub(super) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

pub(super) fn caller() -> Caller {
    Caller::new(name("tester"), name("test"))
}

/// A submit whose inputs are short.
pub(super) fn submit_of(namespace: Name, prepared: Prepared, until: Until) -> Submit {
    let inputs = prepared.inputs.into_iter().map(|(place, bytes)| (place, Content::Inline(bytes))).collect();
    Submit { namespace, schedule: prepared.schedule, inputs, until }
}

/// A graph from JSON, the way a user writes it.
pub(super) fn flow(json: serde_json::Value) -> Asked {
    serde_json::from_value(json).unwrap()
}

/// What a test sees and sets of the world while the engine has it.
#[derive(Default)]
pub(super) struct Levers {
    pub(super) wall_ms: u64,
    pub(super) mono_ms: u64,
    pub(super) jump: Option<Jump>,
    pub(super) random: u128,
    /// Work that was begun and is the test's to finish.
    pub(super) begun: VecDeque<Work>,
    pub(super) stopped: Vec<(StepId, u32)>,
    pub(super) alerts: Vec<Alert>,
    /// Until when `narrow` is held.
    pub(super) held_ms: Option<u64>,
}

/// `echo` answers at once, `fail` fails at once, `hold` is finished by the test, and so are `narrow` and `slim`, which have two places
/// together; `oracle` is asked by messages; nobody else is known.
pub(super) struct TestWorld(Arc<Mutex<Levers>>, Vec<Pool>);

impl World for TestWorld {
    fn now(&mut self) -> Now {
        let levers = self.0.lock().unwrap();
        Now { wall_ms: levers.wall_ms, mono_ms: levers.mono_ms }
    }

    fn jump(&mut self) -> Option<Jump> {
        self.0.lock().unwrap().jump.take()
    }

    fn random(&mut self) -> u128 {
        let mut levers = self.0.lock().unwrap();
        levers.random = levers.random.wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645).wrapping_add(12345);
        levers.random ^ (levers.random >> 64)
    }

    fn knows(&self, agent: &Name) -> bool {
        ["echo", "fail", "hold", "narrow", "slim", "oracle"].contains(&agent.as_str())
    }

    fn pools(&self, agent: &Name) -> &[Pool] {
        if agent.as_str() == "narrow" || agent.as_str() == "slim" { &self.1 } else { &[] }
    }

    fn asks(&self, agent: &Name) -> bool {
        agent.as_str() == "oracle"
    }

    fn hold(&mut self, agent: &Name, _: &str, until_ms: Option<u64>, _: bool) -> Option<u64> {
        let pool = self.1.first_mut().filter(|_| agent.as_str() == "narrow")?;
        pool.places = 0;
        let mut levers = self.0.lock().unwrap();
        levers.held_ms = Some(until_ms.unwrap_or(levers.wall_ms + 60_000));
        levers.held_ms
    }

    fn held_until(&mut self) -> Option<u64> {
        let mut levers = self.0.lock().unwrap();
        let now_ms = levers.wall_ms;
        if levers.held_ms.take_if(|until_ms| *until_ms <= now_ms).is_some() {
            self.1[0].places = 2;
        }
        levers.held_ms
    }

    fn start(&mut self, work: Work) -> Option<Outcome> {
        match work.agent.as_str() {
            "echo" => Some(Outcome::Done { media: Media::Json, result: work.input }),
            "fail" => Some(Outcome::Failed { error: "asked to".to_owned(), retryable: true }),
            _ => {
                self.0.lock().unwrap().begun.push_back(work);
                None
            }
        }
    }

    fn stop(&mut self, step: StepId, epoch: u32) {
        self.0.lock().unwrap().stopped.push((step, epoch));
    }

    fn alert(&mut self, alert: Alert) {
        self.0.lock().unwrap().alerts.push(alert);
    }
}

/// An engine, its store and its world.
pub(super) struct Rig {
    pub(super) disk: Disk,
    pub(super) store: Option<MemoryStore>,
    pub(super) engine: Engine<MemoryReader, TestWorld>,
    pub(super) levers: Arc<Mutex<Levers>>,
    config: Config,
    requests: u64,
}

impl Rig {
    pub(super) fn new() -> Self {
        Self::with(Config::default())
    }

    pub(super) fn with(config: Config) -> Self {
        let store = MemoryStore::new(NodeId::new(1, 7));
        let levers = Arc::new(Mutex::new(Levers { wall_ms: 1_000_000, mono_ms: 500, random: 99, ..Levers::default() }));
        Self::start(store, levers, config)
    }

    fn start(store: MemoryStore, levers: Arc<Mutex<Levers>>, config: Config) -> Self {
        Self::serving(store, levers, config, Audience::default())
    }

    fn serving(store: MemoryStore, levers: Arc<Mutex<Levers>>, config: Config, audience: Audience) -> Self {
        let world = TestWorld(Arc::clone(&levers), vec![Pool { name: "narrow".into(), places: 2 }]);
        let engine = Engine::serving(store.reader().unwrap(), world, config.clone(), audience).unwrap();
        Self { disk: store.disk(), store: Some(store), engine, levers, config, requests: 0 }
    }

    /// The process dies and another one starts on what was durable. Work that was begun is gone with it.
    pub(super) fn crash(mut self) -> Self {
        drop(self.store.take());
        self.levers.lock().unwrap().begun.clear();
        let store = self.disk.open().unwrap();
        let mut rig = Self::start(store, Arc::clone(&self.levers), self.config.clone());
        rig.requests = self.requests;
        rig
    }

    /// The engine ends and another one goes on for its audience. Work that was begun is gone with it.
    pub(super) fn replace(mut self) -> Self {
        self.levers.lock().unwrap().begun.clear();
        let (requests, audience) = (self.requests, self.engine.into_audience());
        let store = self.store.take().unwrap();
        let rig = Self::serving(store, self.levers, self.config, audience);
        Self { requests, ..rig }
    }

    pub(super) fn send(&mut self, command: Command) -> Answered {
        let (answer, answered) = mpsc::channel();
        let reply = Box::new(move |result| answer.send(result).unwrap_or_default());
        self.engine.handle_request(Request { caller: caller(), command, reply });
        answered
    }

    /// Sends a command and runs until there is nothing left to commit.
    pub(super) fn call(&mut self, command: Command) -> Result<Answer, Error> {
        let answered = self.send(command);
        self.settle();
        answered.try_recv().expect("an answer once everything is durable")
    }

    /// Gives the next batch to the store. `false` when there is none.
    pub(super) fn commit_one(&mut self) -> bool {
        let Some(batch) = self.engine.poll_batch() else { return false };
        if !self.disk.fails_reads() {
            effects::check(&self.engine, &batch, &mut self.disk.reader());
        }
        let result = if batch.is_empty() { Ok(()) } else { self.store.as_mut().unwrap().commit(&batch) };
        self.engine.handle_committed(result);
        self.engine.tell();
        while self.engine.start_some(usize::MAX) {}
        true
    }

    pub(super) fn settle(&mut self) {
        self.engine.tell();
        self.engine.handle_tick();
        for _ in 0..10_000 {
            if !self.commit_one() {
                return;
            }
            self.engine.handle_tick();
        }
        panic!("the engine never comes to rest");
    }

    pub(super) fn pass(&mut self, ms: u64) {
        {
            let mut levers = self.levers.lock().unwrap();
            levers.wall_ms += ms;
            levers.mono_ms += ms;
        }
        self.settle();
    }

    pub(super) fn submit_command(&mut self, asked: &Asked, until: Until) -> Command {
        self.requests += 1;
        let key = IdempotencyKey::RequestId(RequestId::new(self.requests, 1));
        let prepared = asked.prepare(&name("default"), Some(key), 1).unwrap();
        Command::Submit(submit_of(name("default"), prepared, until))
    }

    pub(super) fn submit(&mut self, asked: &Asked) -> TaskId {
        let command = self.submit_command(asked, Until::Accepted);
        match self.call(command) {
            Ok(Answer::Accepted { task, merged: false, .. }) => task,
            other => panic!("not accepted: {other:?}"),
        }
    }

    pub(super) fn single(&mut self, agent: &str) -> TaskId {
        let asked = Asked::single(name(agent), Some(serde_json::json!({ "n": 1 })));
        self.submit(&asked)
    }

    pub(super) fn rows(&self, task: TaskId) -> TaskRows {
        let rows = self.disk.reader().task(task).unwrap().expect("the task is there");
        validate(&rows).unwrap();
        rows
    }

    pub(super) fn status(&self, task: TaskId) -> Status {
        self.rows(task).task.status
    }

    pub(super) fn step_status(&self, task: TaskId, index: usize) -> Status {
        self.rows(task).steps[index].status
    }

    /// The next work that waits for the test.
    pub(super) fn begun(&mut self) -> Work {
        self.levers.lock().unwrap().begun.pop_front().expect("work has begun")
    }

    pub(super) fn finish(&mut self, hold: Hold, outcome: Outcome) {
        self.engine.handle_finished(Finished::new(hold, outcome));
        self.settle();
    }

    pub(super) fn alerts(&self) -> Vec<Alert> {
        self.levers.lock().unwrap().alerts.clone()
    }
}

pub(super) fn done(text: &str) -> Outcome {
    Outcome::Done { media: Media::Json, result: Content::Inline(text.as_bytes().to_vec()) }
}

pub(super) fn failed(text: &str) -> Outcome {
    Outcome::Failed { error: text.to_owned(), retryable: true }
}

pub(super) fn worker(n: u128) -> WorkerId {
    WorkerId::new(1, n)
}
