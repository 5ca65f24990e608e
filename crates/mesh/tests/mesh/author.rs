//! One author of a mesh: a key, a clock, a chain, and what it has heard so far.

use relaymesh_bus::sign::{PublicKey, Signer};
use relaymesh_core::{
    backoff::Backoff,
    content::{ContentRef, Media},
    hash::Hash,
    hlc::{Hlc, HlcClock, MAX_CLOCK_DRIFT_MS},
    id::{LeaseToken, NodeId, OpId, TaskId, WorkerId},
    lanes::Priority,
    name::Name,
    op::{Body, Chain, ChainHead, Header, Hold, Op, Scope, WriteClass},
    register,
    task::{
        self, TaskRows,
        spec::{IdempotencyKey, RetryPolicy, Schedule, StepSpec},
    },
};
use relaymesh_mesh::{
    capability::{Action, Att, Caveats, Chain as Ucan, Delegation, Link, Nonce, Resource},
    fold::{Fold, NoEffect},
    rows::Rows,
};
use std::collections::BTreeMap;

pub(crate) const START_MS: u64 = 1_000_000;
pub(crate) const LEASE_MS: u64 = 100;

/// An op with its place in its chain.
#[derive(Debug, Clone)]
pub(crate) struct Linked {
    pub(crate) op: Op,
    pub(crate) previous: Hash,
    pub(crate) hash: Hash,
}

#[derive(Debug, Clone)]
pub(crate) struct Author {
    pub(crate) node: NodeId,
    pub(crate) clock: HlcClock,
    pub(crate) chain: Chain,
    pub(crate) view: Fold,
    pub(crate) cites: Vec<OpId>,
    pub(crate) class: WriteClass,
}

pub(crate) fn signer(number: u8) -> Signer {
    Signer::from_seed(&[number; 32])
}

/// The owner of every mesh in here.
pub(crate) fn root() -> PublicKey {
    signer(0).public_key()
}

impl Author {
    /// Number 0 is the owner.
    pub(crate) fn new(number: u8) -> Self {
        let key = signer(number).public_key();
        let node = key.node();
        let (clock, chain) = (HlcClock::new(node), Chain::new(node, 1));
        Self { node, clock, chain, view: Fold::of_mesh(root()), cites: Vec::new(), class: WriteClass::AppendOnly }
    }

    pub(crate) fn hear(&mut self, linked: &Linked, now_ms: u64) {
        self.clock.receive(linked.op.header.hlc, now_ms, MAX_CLOCK_DRIFT_MS).expect("within the drift");
        insert(&mut self.view, linked);
        self.view.settle(usize::MAX);
    }

    pub(crate) fn say(&mut self, scope: Scope, now_ms: u64, body: impl Into<Body>) -> Linked {
        let hlc = self.clock.tick(now_ms).expect("the counter is far from used up");
        self.say_at(scope, hlc, body)
    }

    pub(crate) fn say_at(&mut self, scope: Scope, hlc: Hlc, body: impl Into<Body>) -> Linked {
        let (header, body) = (self.header(scope, hlc), body.into());
        let previous = self.chain.head;
        let hash = self.chain.append(&header, &body).hash;
        let linked = Linked { op: Op { pos: 1, header, body }, previous, hash };
        insert(&mut self.view, &linked);
        self.view.settle(usize::MAX);
        linked
    }

    /// Says something about a register.
    pub(crate) fn word(&mut self, now_ms: u64, body: register::Body) -> Linked {
        self.say(Scope::Register(body.register()), now_ms, body)
    }

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
            namespace: name("default"),
            scope,
            write_class: self.class,
            causal_deps: self.cites.clone(),
            via: None,
        }
    }

    pub(crate) fn claim(&self, task: u128, step: u16) -> task::Body {
        let nothing = Hlc { wall_ms: 0, logical: 0, node: self.node };
        let seen = self.view.rows(scope(task)).map_or(nothing, Rows::head);
        let number = u128::from_be_bytes(self.node.to_bytes());
        let token = LeaseToken::new(self.chain.next_seq(), number);
        task::Body::ClaimWork {
            step,
            owner: self.node,
            worker: WorkerId::new(0, number),
            token,
            lease_ms: LEASE_MS,
            seen,
        }
    }

    /// A seal of everything that it has heard of up to a time.
    pub(crate) fn seal(&self, upto: Hlc, all: &[Linked]) -> register::Body {
        let mut heads: BTreeMap<(NodeId, u32), ChainHead> = BTreeMap::new();
        for Linked { op, hash, .. } in all.iter().filter(|linked| linked.op.header.hlc <= upto) {
            let Header { origin, origin_epoch, seq, .. } = op.header;
            let head = ChainHead { origin, origin_epoch, seq, hash: *hash };
            let known = heads.entry((origin, origin_epoch)).or_insert(head);
            if known.seq < seq {
                *known = head;
            }
        }
        register::Body::Seal { upto, heads: heads.into_values().collect() }
    }
}

pub(crate) fn insert(fold: &mut Fold, linked: &Linked) {
    fold.insert_linked(linked.op.clone(), linked.previous, linked.hash);
}

/// The fold of these ops, one after the other.
pub(crate) fn arrive<'a>(ops: impl IntoIterator<Item = &'a Linked>) -> Fold {
    let mut fold = Fold::of_mesh(root());
    ops.into_iter().for_each(|linked| insert(&mut fold, linked));
    fold.settle(usize::MAX);
    fold
}

/// Everything that two folds of the same ops must agree on.
pub(crate) type Answers = (Vec<Rows>, u128, Vec<Option<NoEffect>>);

pub(crate) fn answers(fold: &Fold, ops: &[Linked]) -> Answers {
    let why = |linked: &Linked| fold.no_effect(linked.op.header.scope, linked.op.header.op_id).cloned();
    (fold.all_rows().cloned().collect(), fold.state_hash().0, ops.iter().map(why).collect())
}

/// In every order of arrival the same, and this.
pub(crate) fn always(known: &[Linked], ops: &[Linked], check: impl Fn(&Fold)) {
    let all: Vec<Linked> = known.iter().chain(ops).cloned().collect();
    let expected = answers(&arrive(&all).again(), &all);
    for order in permutations(ops) {
        let fold = arrive(known.iter().chain(&order));
        assert_eq!(answers(&fold, &all), expected);
        check(&fold);
    }
}

pub(crate) fn why(fold: &Fold, linked: &Linked) -> Option<NoEffect> {
    fold.no_effect(linked.op.header.scope, linked.op.header.op_id).cloned()
}

pub(crate) fn task(fold: &Fold, number: u128) -> &TaskRows {
    fold.rows(scope(number)).and_then(Rows::task).expect("the task is there")
}

pub(crate) fn scope(number: u128) -> Scope {
    Scope::Task(TaskId::new(0, number))
}

pub(crate) fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

pub(crate) fn result(text: &str) -> ContentRef {
    ContentRef::of(Media::Text, text.as_bytes())
}

/// A task with these agents, one after the other.
pub(crate) fn submit(key: &str, agents: &[&str]) -> task::Body {
    let step = |(index, agent): (usize, &&str)| StepSpec {
        name: name(&format!("s{index}")),
        agent: name(agent),
        priority: Priority::Normal,
        depends_on: index.checked_sub(1).map(|before| before as u16).into_iter().collect(),
        compensates: None,
        input: None,
        retry: RetryPolicy { max_attempts: 3, backoff: Backoff { base_ms: 10, max_ms: 40 } },
        timeout_ms: None,
        approve: None,
        flow: None,
        terms: None,
    };
    let steps = agents.iter().enumerate().map(step).collect();
    let (name, fingerprint) = (name("task"), Hash::sha256(key.as_bytes()));
    task::Body::ScheduleJob {
        schedule: Schedule {
            name,
            key: IdempotencyKey::Given(key.parse().expect("a key")),
            fingerprint,
            trace_id: 1,
            input: None,
            steps,
        },
    }
}

pub(crate) fn held(claim: &Linked, epoch: u32) -> Hold<u16> {
    let Body::Task(task::Body::ClaimWork { step, token, .. }) = &claim.op.body else { panic!("not a claim") };
    Hold { step: *step, epoch, token: *token }
}

pub(crate) fn complete(claim: &Linked, epoch: u32, text: &str) -> task::Body {
    task::Body::CompleteJob { held: held(claim, epoch), result: result(text) }
}

/// Everything but what is for the owner alone.
pub(crate) fn everything() -> Vec<Att> {
    let all = Action::ALL.map(|action| Att { resource: Resource::Ops, action, caveats: Caveats::default() });
    all.into_iter().filter(|att| att.action != Action::Write).chain(writes()).collect()
}

fn writes() -> Vec<Att> {
    let resources = [Resource::Entity, Resource::Claim, Resource::UserAssertion, Resource::Registration];
    resources.map(|resource| Att { resource, action: Action::Write, caveats: Caveats::default() }).to_vec()
}

/// One thing that may be done, with work of these kinds alone.
pub(crate) fn only(resource: Resource, action: Action, prefix: Option<&str>) -> Att {
    let kind_prefix = prefix.map(|prefix| prefix.parse().expect("a kind"));
    Att { resource, action, caveats: Caveats { kind_prefix, ..Caveats::default() } }
}

/// The owner lets somebody in with these rights.
pub(crate) fn first_hand(to: u8, att: Vec<Att>) -> Ucan {
    Ucan::new(vec![link(0, to, att, None)]).expect("one link is a chain")
}

pub(crate) fn link(from: u8, to: u8, att: Vec<Att>, parent: Option<&Link>) -> Link {
    let delegation = Delegation {
        iss: signer(from).public_key(),
        aud: signer(to).public_key(),
        att,
        nbf: 0,
        exp: None,
        prf: parent.map(Link::cid).into_iter().collect(),
        depth: 4 - parent.map_or(0, |_| 1),
        nnc: Nonce([from ^ to.wrapping_mul(16); 16]),
    };
    Link::issue(&signer(from), &delegation).expect("it can be meant")
}

pub(crate) fn give(chain: &Ucan) -> register::Body {
    register::Body::DelegateUcan { ucan_bytes: chain.encode() }
}

/// So many authors, the owner first, who all know that they are let in.
pub(crate) fn mesh(count: u8) -> (Vec<Author>, Vec<Linked>) {
    let mut authors: Vec<Author> = (0..count).map(Author::new).collect();
    let mut ops = Vec::new();
    for number in 1..count {
        let given = give(&first_hand(number, everything()));
        ops.push(authors[0].word(START_MS, given));
    }
    for author in &mut authors[1..] {
        ops.iter().for_each(|linked| author.hear(linked, START_MS));
    }
    (authors, ops)
}

/// All orders of a few things.
pub(crate) fn permutations<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let Some((first, rest)) = items.split_first() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for shorter in permutations(rest) {
        for place in 0..=shorter.len() {
            let mut longer = shorter.clone();
            longer.insert(place, first.clone());
            all.push(longer);
        }
    }
    all
}
