//! One author: a clock, a chain, and what it has heard so far.

use relaymesh_core::{
    backoff::Backoff,
    content::{ContentRef, Media},
    hash::Hash,
    hlc::{Hlc, HlcClock, MAX_CLOCK_DRIFT_MS},
    id::{LeaseToken, NamespaceId, NodeId, OpId, PlanId, RepositoryId, TaskId, ThreadId, WorkerId},
    kernel::Rows,
    lanes::Priority,
    name::Name,
    op::{Body, Chain, Header, Hold, Op, Scope, WriteClass},
    task::{
        self,
        spec::{Ask, Flow, IdempotencyKey, RetryPolicy, Schedule, StepSpec},
    },
};
use relaymesh_mesh::{fold::Fold, rows};

pub(crate) const START_MS: u64 = 1_000_000;
pub(crate) const LEASE_MS: u64 = 100;
pub(crate) const ASK: &str = "Go on?";
/// The namespace that is made in these histories.
const MADE: &str = "team";

#[derive(Debug, Clone)]
pub(crate) struct Author {
    pub(crate) node: NodeId,
    pub(crate) clock: HlcClock,
    pub(crate) chain: Chain,
    pub(crate) view: Fold,
    /// Leases it has heard of, its own and others'.
    pub(crate) leases: Vec<(Scope, Hold<u16>)>,
    /// What its next op cites.
    pub(crate) cites: Vec<OpId>,
}

impl Author {
    pub(crate) fn new(number: u128) -> Self {
        let node = NodeId::new(0, number);
        let (clock, chain) = (HlcClock::new(node), Chain::new(node, 1));
        Self { node, clock, chain, view: Fold::default(), leases: Vec::new(), cites: Vec::new() }
    }

    /// Takes in an op of another author.
    pub(crate) fn hear(&mut self, op: &Op, now_ms: u64) {
        self.clock.receive(op.header.hlc, now_ms, MAX_CLOCK_DRIFT_MS).expect("histories stay within the drift");
        self.take_in(op);
    }

    /// Writes an op at its honest time.
    pub(crate) fn say(&mut self, scope: Scope, now_ms: u64, body: impl Into<Body>) -> Op {
        let hlc = self.clock.tick(now_ms).expect("the counter is far from used up");
        self.say_at(scope, hlc, body)
    }

    /// Writes an op at any time after its last one: the chain allows no other.
    pub(crate) fn say_at(&mut self, scope: Scope, hlc: Hlc, body: impl Into<Body>) -> Op {
        let (header, body) = (self.header(scope, hlc), body.into());
        self.chain.append(&header, &body);
        let op = Op { pos: 1, header, body };
        self.take_in(&op);
        op
    }

    /// The claim that it would write, citing the newest op it knows of.
    pub(crate) fn claim(&self, scope: Scope, step: u16) -> task::Body {
        self.claim_citing(step, self.head(scope))
    }

    pub(crate) fn claim_citing(&self, step: u16, seen: Hlc) -> task::Body {
        let token = LeaseToken::new(self.chain.next_seq(), u128::from_be_bytes(self.node.to_bytes()));
        let worker = WorkerId::new(0, u128::from_be_bytes(self.node.to_bytes()));
        task::Body::ClaimWork { step, owner: self.node, worker, token, lease_ms: LEASE_MS, seen }
    }

    /// The newest op of the scope that took effect, as far as it knows.
    pub(crate) fn head(&self, scope: Scope) -> Hlc {
        let nothing = Hlc { wall_ms: 0, logical: 0, node: self.node };
        self.view.rows(scope).map_or(nothing, rows::Rows::head)
    }

    /// A time right after its last op, however long ago that was.
    pub(crate) fn oldest_time(&self) -> Hlc {
        let last = self.chain.hlc.unwrap_or(Hlc { wall_ms: START_MS, logical: 0, node: self.node });
        Hlc { logical: last.logical + 1, node: self.node, ..last }
    }

    /// The header of its next op.
    pub(crate) fn header(&self, scope: Scope, hlc: Hlc) -> Header {
        let seq = self.chain.next_seq();
        Header {
            op_id: OpId::new(seq, u128::from_be_bytes(self.node.to_bytes())),
            origin: self.node,
            origin_epoch: 1,
            seq,
            hlc,
            author: name("author"),
            source: name("test"),
            namespace: name(if scope == namespace() { MADE } else { "default" }),
            scope,
            write_class: WriteClass::AppendOnly,
            causal_deps: self.cites.clone(),
            via: None,
        }
    }

    fn take_in(&mut self, op: &Op) {
        self.view.insert(op.clone());
        if let Body::Task(task::Body::ClaimWork { step, token, .. }) = &op.body {
            let rows = self.view.rows(op.header.scope).and_then(rows::Rows::node).and_then(Rows::task);
            let epoch = rows.and_then(|rows| rows.steps.get(usize::from(*step))).map_or(1, |step| step.epoch);
            self.leases.push((op.header.scope, Hold { step: *step, epoch, token: *token }));
        }
    }
}

pub(crate) fn scope(number: u128) -> Scope {
    Scope::Task(TaskId::new(0, number))
}

/// Where everybody talks in these histories.
pub(crate) fn thread() -> Scope {
    Scope::Thread(ThreadId::new(0, 1))
}

/// What is locked in these histories.
pub(crate) fn repository() -> Scope {
    Scope::Repository(RepositoryId::of(&name("default"), "app"))
}

/// The namespace that is made in these histories.
pub(crate) fn namespace() -> Scope {
    Scope::Namespace(NamespaceId::of(&name(MADE)))
}

/// What is planned in these histories.
pub(crate) fn plan() -> Scope {
    Scope::Plan(PlanId::new(0, 1))
}

pub(crate) fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

pub(crate) fn result(text: &str) -> ContentRef {
    ContentRef::of(Media::Text, text.as_bytes())
}

pub(crate) fn submit(steps: Vec<StepSpec>) -> task::Body {
    let (name, key) = (name("task"), IdempotencyKey::Given(name("key").into()));
    task::Body::ScheduleJob {
        schedule: Schedule { name, key, fingerprint: Hash::default(), trace_id: 1, input: None, steps },
    }
}

pub(crate) fn step(id: &str, depends_on: &[u16], compensates: Option<u16>, asks: bool) -> StepSpec {
    StepSpec {
        name: name(id),
        agent: name("agent"),
        priority: Priority::Normal,
        depends_on: depends_on.to_vec(),
        compensates,
        input: None,
        retry: RetryPolicy { max_attempts: 2, backoff: Backoff { base_ms: 10, max_ms: 40 } },
        timeout_ms: None,
        approve: asks.then(|| Ask { text: ASK.to_owned(), deadline_ms: Some(500) }),
        flow: None,
        terms: None,
    }
}

/// The same step with a condition and a list.
pub(crate) fn weighed(step: StepSpec) -> StepSpec {
    let text = || Some("input".to_owned());
    StepSpec { flow: Some(Box::new(Flow { when: text(), foreach: text(), ..Flow::default() })), ..step }
}

/// Held by whoever made the claim that is `op`.
pub(crate) fn held(op: &Op, epoch: u32) -> Hold<u16> {
    let Body::Task(task::Body::ClaimWork { step, token, .. }) = &op.body else { panic!("not a claim") };
    Hold { step: *step, epoch, token: *token }
}
