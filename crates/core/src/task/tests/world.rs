//! A task, a clock and somebody who says things about it.

use super::invariants;
use crate::{
    backoff::Backoff,
    content::{ContentRef, Media},
    hash::Hash,
    hlc::{Hlc, HlcClock},
    id::{LeaseToken, NodeId, OpId, TaskId, WorkerId},
    lanes::Priority,
    name::Name,
    op::{About, CancelMode, ExpireReason, Header, Hold, Scope, WriteClass},
    task::{
        Body, Effect, Refusal, Status, Step, TaskRows, apply,
        spec::{Ask, Flow, IdempotencyKey, RetryPolicy, Schedule, StepSpec},
    },
};

/// How long leases last here.
pub(super) const LEASE_MS: u64 = 10_000;

/// The node that speaks unless another one is named.
pub(super) fn here() -> NodeId {
    NodeId::new(0, 1)
}

/// Some other node.
pub(super) fn elsewhere() -> NodeId {
    NodeId::new(0, 2)
}

pub(super) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// A step that may be tried twice.
pub(super) fn step(id: &str) -> StepSpec {
    StepSpec {
        name: name(id),
        agent: name("agent"),
        priority: Priority::Normal,
        depends_on: Vec::new(),
        compensates: None,
        input: None,
        retry: RetryPolicy { max_attempts: 2, backoff: Backoff { base_ms: 100, max_ms: 1000 } },
        timeout_ms: Some(5000),
        approve: None,
        flow: None,
        terms: None,
    }
}

/// Ways to say more about a step.
pub(super) trait Say {
    fn after(self, of: &[u16]) -> Self;
    fn undoes(self, of: u16) -> Self;
    fn asks(self, text: &str, deadline_ms: Option<u64>) -> Self;
    fn attempts(self, max: u32) -> Self;
    fn gated(self) -> Self;
    fn listing(self) -> Self;
}

impl Say for StepSpec {
    fn after(self, of: &[u16]) -> Self {
        Self { depends_on: of.to_vec(), ..self }
    }

    fn undoes(self, of: u16) -> Self {
        Self { compensates: Some(of), ..self }
    }

    fn asks(self, text: &str, deadline_ms: Option<u64>) -> Self {
        Self { approve: Some(Ask { text: text.to_owned(), deadline_ms }), ..self }
    }

    fn attempts(self, max: u32) -> Self {
        Self { retry: RetryPolicy { max_attempts: max, ..self.retry }, ..self }
    }

    fn gated(self) -> Self {
        let flow = self.flow.clone().unwrap_or_default();
        Self { flow: Some(Box::new(Flow { when: Some("input".to_owned()), ..*flow })), ..self }
    }

    fn listing(self) -> Self {
        let flow = self.flow.clone().unwrap_or_default();
        Self { flow: Some(Box::new(Flow { foreach: Some("input".to_owned()), ..*flow })), ..self }
    }
}

#[derive(Clone)]
pub(super) struct World {
    pub(super) rows: Option<TaskRows>,
    /// What the last op that took effect asked to be done.
    pub(super) effects: Vec<Effect>,
    pub(super) now_ms: u64,
    clock: HlcClock,
    seq: u64,
}

impl World {
    /// A world with this task in it.
    pub(super) fn new(steps: impl Into<Vec<StepSpec>>) -> Self {
        Self::try_new(steps).unwrap()
    }

    pub(super) fn try_new(steps: impl Into<Vec<StepSpec>>) -> Result<Self, Refusal> {
        let mut world =
            Self { rows: None, effects: Vec::new(), now_ms: 1_000_000, clock: HlcClock::new(here()), seq: 0 };
        let schedule = Schedule {
            name: name("task"),
            key: IdempotencyKey::Given(name("key").into()),
            fingerprint: Hash::default(),
            trace_id: 7,
            input: None,
            steps: steps.into(),
        };
        world.say(Body::ScheduleJob { schedule })?;
        Ok(world)
    }

    /// Says something from here, a millisecond later.
    pub(super) fn say(&mut self, body: Body) -> Result<(), Refusal> {
        self.say_from(here(), body)
    }

    pub(super) fn say_from(&mut self, origin: NodeId, body: Body) -> Result<(), Refusal> {
        self.now_ms += 1;
        self.seq += 1;
        let header = Header {
            op_id: OpId::new(self.now_ms, u128::from(self.seq)),
            origin,
            origin_epoch: 1,
            seq: self.seq,
            hlc: self.clock.tick(self.now_ms).unwrap(),
            author: name("alice"),
            source: name("test"),
            namespace: name("default"),
            scope: Scope::Task(TaskId::new(0, 1)),
            write_class: WriteClass::Strong,
            causal_deps: Vec::new(),
            via: None,
        };
        let op = About { pos: self.seq, header: &header, id: TaskId::new(0, 1), body: &body };
        let before = self.rows.clone();
        let mut effects = Vec::new();
        let outcome = apply(&mut self.rows, &op, &mut effects);
        match &outcome {
            Ok(()) => {
                invariants::check(before.as_ref(), self.rows(), &effects, &op);
                self.effects = effects;
            }
            Err(refusal) => {
                assert_eq!(self.rows, before, "refused ({refusal}) and changed all the same");
                assert_eq!(effects, [], "refused ({refusal}) and had effects all the same");
            }
        }
        outcome
    }

    pub(super) fn wait(&mut self, ms: u64) {
        self.now_ms += ms;
    }

    pub(super) fn rows(&self) -> &TaskRows {
        self.rows.as_ref().unwrap()
    }

    pub(super) fn step(&self, index: u16) -> &Step {
        &self.rows().steps[usize::from(index)]
    }

    pub(super) fn status(&self, index: u16) -> Status {
        self.step(index).status
    }

    pub(super) fn statuses(&self) -> Vec<Status> {
        self.rows().steps.iter().map(|step| step.status).collect()
    }

    pub(super) fn ended(&self) -> Status {
        self.rows().task.status
    }

    /// Steps that a worker may take now.
    pub(super) fn claimable(&self) -> Vec<u16> {
        self.rows().indexed().filter(|(_, step)| step.is_claimable(self.now_ms)).map(|(index, _)| index).collect()
    }

    /// The token that the next claim will have.
    pub(super) fn token(&self) -> LeaseToken {
        LeaseToken::new(self.now_ms, u128::from(self.seq))
    }

    pub(super) fn claim_body(&self, step: u16, worker: u128, token: LeaseToken, lease_ms: u64) -> Body {
        let seen = self.rows.as_ref().map_or(Hlc { wall_ms: 0, logical: 0, node: here() }, |rows| rows.task.head);
        Body::ClaimWork { step, owner: here(), worker: WorkerId::new(0, worker), token, lease_ms, seen }
    }

    pub(super) fn claim(&mut self, step: u16) -> Result<Hold<u16>, Refusal> {
        let token = self.token();
        self.say(self.claim_body(step, 1, token, LEASE_MS))?;
        Ok(Hold { step, epoch: self.step(step).epoch, token })
    }

    /// Claims a step that can be claimed.
    pub(super) fn take(&mut self, step: u16) -> Hold<u16> {
        self.claim(step).unwrap()
    }

    pub(super) fn complete(&mut self, held: Hold<u16>) -> Result<(), Refusal> {
        self.say(Body::CompleteJob { held, result: result(held.step) })
    }

    pub(super) fn fail(&mut self, held: Hold<u16>, retryable: bool) -> Result<(), Refusal> {
        self.say(Body::FailJob { held, retryable, jitter_ms: 7, error: "broken".to_owned() })
    }

    pub(super) fn give_back(&mut self, held: Hold<u16>) -> Result<(), Refusal> {
        self.say(Body::YieldWork { held, reason: "later".to_owned() })
    }

    pub(super) fn expire(&mut self, held: Hold<u16>, reason: ExpireReason) -> Result<(), Refusal> {
        self.say(Body::ExpireWork { step: held.step, epoch: held.epoch, reason, jitter_ms: 7 })
    }

    pub(super) fn time_out(&mut self, held: Hold<u16>) -> Result<(), Refusal> {
        self.say(Body::TimeoutWork { step: held.step, epoch: held.epoch, jitter_ms: 7 })
    }

    pub(super) fn cancel(&mut self, mode: CancelMode) -> Result<(), Refusal> {
        self.say(Body::CancelTask { mode, reason: "enough".to_owned() })
    }

    pub(super) fn redrive(&mut self) -> Result<(), Refusal> {
        self.say(Body::RedriveTask { reason: "again".to_owned() })
    }

    pub(super) fn approve(&mut self, step: u16, text: &str) -> Result<(), Refusal> {
        self.say(Body::ApproveStep { step, ask: Hash::sha256(text.as_bytes()) })
    }

    pub(super) fn deny(&mut self, step: u16, text: &str) -> Result<(), Refusal> {
        self.say(Body::DenyStep { step, ask: Hash::sha256(text.as_bytes()), reason: "no".to_owned() })
    }

    pub(super) fn pass(&mut self, held: Hold<u16>) -> Result<(), Refusal> {
        self.say(Body::PassWork { held })
    }

    pub(super) fn skip(&mut self, held: Hold<u16>) -> Result<(), Refusal> {
        self.say(Body::SkipWork { held, reason: "it is false".to_owned() })
    }

    pub(super) fn fan_out(&mut self, held: Hold<u16>, count: u16) -> Result<(), Refusal> {
        self.say(Body::FanOut { held, count })
    }

    /// Claims the step and completes it.
    pub(super) fn run(&mut self, step: u16) {
        let held = self.take(step);
        self.complete(held).unwrap();
    }

    /// Claims the step and fails it for good.
    pub(super) fn break_down(&mut self, step: u16) {
        let held = self.take(step);
        self.fail(held, false).unwrap();
    }
}

/// What step `index` delivers.
pub(super) fn result(index: u16) -> ContentRef {
    ContentRef::of(Media::Json, index.to_string().as_bytes())
}
