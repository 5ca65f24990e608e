//! What must be true, asked every two seconds and when everything should rest.

use super::{actor::KINDS, holders::holders, node::Node, rumours::unmoved, sealed::sealed, world::World};
use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    id::{NodeId, TaskId},
    op::{Body, Op, Scope},
    register,
    row::StateHash,
    task,
};
use relaymesh_mesh::{
    capability::Chain,
    feed::{FeedLog, MemoryFeedLog},
    fold::{Fold, Standing},
    membership::Status,
    peer::Peer,
    rows::{Rows, validate},
};
use std::collections::{BTreeMap, BTreeSet};

/// Something that was not true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Which invariant.
    pub invariant: &'static str,
    /// What was found.
    pub found: String,
}

/// What nodes were told to be durable: each of their ops by the hash of its bytes.
#[derive(Debug, Default)]
pub(super) struct Acks {
    ops: BTreeMap<NodeId, Vec<Hash>>,
}

impl Acks {
    pub(super) fn add(&mut self, node: NodeId, ops: &[Vec<u8>]) {
        self.ops.entry(node).or_default().extend(ops.iter().map(|bytes| Hash::blake3(&[bytes])));
    }

    pub(super) fn len(&self) -> usize {
        self.ops.values().map(Vec::len).sum()
    }
}

/// What some node called stable: each task by the hash of its rows.
#[derive(Debug, Default)]
pub(super) struct Stable {
    tasks: BTreeMap<TaskId, (StateHash, Hlc)>,
}

impl Stable {
    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }
}

pub(super) type Verdict = Result<(), (&'static str, String)>;

pub(super) fn ensure(holds: bool, invariant: &'static str, found: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err((invariant, found())) }
}

impl World {
    /// What can be asked at any time; and, once the world is healthy, whether it rests.
    pub(super) fn look(&mut self) {
        let verdict = self.always().and_then(|()| if self.healed { self.rest() } else { Ok(()) });
        if let Err((invariant, found)) = verdict {
            self.broken = Some(Broken { invariant, found });
        }
    }

    /// The time is up.
    pub(super) fn not_at_rest(&mut self) {
        let found = self.unrest().unwrap_or_else(|| "nothing is left to do, and nobody saw it".to_owned());
        let found = format!("{found}{}", self.describe());
        self.broken = Some(Broken { invariant: "PROGRESS", found });
    }

    fn always(&mut self) -> Verdict {
        let mut seen: BTreeMap<Hash, (usize, StateHash)> = BTreeMap::new();
        let honest: Vec<NodeId> = self.honest().map(|node| node.id).collect();
        for node in 0..self.nodes.len() {
            let number = self.nodes[node].number;
            let Some(peer) = &mut self.nodes[node].peer else { continue };
            bounded(number, peer)?;
            unmoved(number, peer, &self.ids)?;
            believed(number, peer, &honest)?;
            self.stable.check(number, peer.fold())?;
            if !peer.is_settled() {
                continue;
            }
            sealed(number, peer.fold(), self.ids[0], peer.log().all().map(|linked| &linked.op))?;
            let (ops, state) = (all_ops(peer.log()), peer.fold_mut().sum_up());
            let (first, known) = *seen.entry(ops).or_insert((number, state));
            ensure(known == state, "CONVERGE", || {
                format!("nodes {first} and {number} hold the same ops, and their rows differ")
            })?;
        }
        Ok(())
    }

    fn rest(&mut self) -> Verdict {
        if self.unrest().is_some() {
            return Ok(());
        }
        self.resting = true;
        for node in self.honest() {
            let Some(peer) = &node.peer else { continue };
            rebuilt(node.number, peer)?;
            self.durable(node)?;
            once(node.number, peer.fold())?;
            holders(node.number, peer.fold(), peer.log().all().map(|linked| &linked.op))?;
        }
        let Some(first) = self.nodes[0].peer.as_ref() else { return Ok(()) };
        // All hold the same by now, and every signature in it is checked again.
        first.log().validate().map_err(|rule| ("REBUILD", format!("on node 0: {rule}")))?;
        let liar = self.plan.liar.map(|liar| self.ids[liar]);
        authority(first, self.ids[0], liar)
    }

    /// Why the world does not rest yet.
    fn unrest(&self) -> Option<String> {
        let mut sets: BTreeSet<Hash> = BTreeSet::new();
        for node in self.honest() {
            let number = node.number;
            let Some(peer) = &node.peer else { return Some(format!("node {number} does not run")) };
            if !peer.is_settled() {
                return Some(format!("node {number} has something to write or to fold"));
            }
            let dead = self
                .honest()
                .find(|other| other.id != node.id && peer.membership().status(other.id) != Some(Status::Alive));
            if let Some(dead) = dead {
                return Some(format!("node {number} does not see node {}", dead.number));
            }
            for rows in peer.fold().all_rows().filter_map(Rows::task) {
                let task = rows.task.id;
                if !rows.task.status.is_terminal() {
                    return Some(format!("on node {number} {task} is {}: {:?}", rows.task.status, rows.steps));
                }
                if peer.fold().standing(task) != Standing::Stable {
                    let behind = peer.behind(peer.now());
                    return Some(format!("on node {number} {task} is provisional; {:?}", behind.first()));
                }
            }
            sets.insert(all_ops(peer.log()));
        }
        (sets.len() > 1).then(|| "nodes hold different ops".to_owned())
    }

    /// Where every node stands, for whoever has to find out why.
    fn describe(&self) -> String {
        let number = |id: NodeId| self.ids.iter().position(|other| *other == id).unwrap_or(99);
        let mut text = String::new();
        for node in self.honest() {
            let Some(peer) = &node.peer else { continue };
            let feeds: Vec<String> = peer
                .log()
                .feeds(None, usize::MAX)
                .into_iter()
                .map(|feed| {
                    let tips = peer.log().tips(feed);
                    let tips: Vec<String> = tips
                        .iter()
                        .map(|tip| format!("{}+{}:{}", tip.since, tip.head.seq, &tip.head.hash.to_string()[..6]))
                        .collect();
                    format!("{}={}", number(feed.origin), tips.join("/"))
                })
                .collect();
            let missing: Vec<String> = peer
                .fold()
                .missing()
                .iter()
                .map(|head| format!("{}@{}:{}", number(head.origin), head.seq, &head.hash.to_string()[..6]))
                .collect();
            let registers = peer.fold().registers();
            let seals = registers.map_or(0, |registers| registers.seals().all().len());
            let coordinator = registers.map_or(99, |registers| number(registers.coordinator(peer.now())));
            text.push_str(&format!(
                "\n  node {}: {} seals, coordinator {coordinator}, unsealed {:?}, missing {missing:?}, quarantined {}, feeds {}",
                node.number,
                seals,
                peer.unsealed().map(|why| why.to_string()),
                peer.sync().quarantined().count(),
                feeds.join(" ")
            ));
        }
        text
    }

    /// What a node was told to be durable is on every node.
    fn durable(&self, node: &Node) -> Verdict {
        for (author, acks) in &self.acks.ops {
            let here: BTreeSet<Hash> = node
                .log()
                .all()
                .filter(|linked| linked.op.header.origin == *author)
                .map(|linked| Hash::blake3(&[&linked.bytes]))
                .collect();
            let lost = acks.iter().filter(|ack| !here.contains(ack)).count();
            ensure(lost == 0, "DURABLE", || {
                format!("node {} lacks {lost} ops that {author} was told of", node.number)
            })?;
        }
        Ok(())
    }
}

/// The hash of all ops that a node holds, whatever their order.
fn all_ops(log: &MemoryFeedLog) -> Hash {
    let mut hashes: Vec<Hash> = log.all().map(|linked| linked.hash).collect();
    hashes.sort_unstable();
    let parts: Vec<&[u8]> = hashes.iter().map(|hash| &hash.0[..]).collect();
    Hash::blake3(&parts)
}

fn bounded<R: rand_pcg::rand_core::Rng>(number: usize, peer: &Peer<R>) -> Verdict {
    peer.sync().validate().map_err(|rule| ("BOUNDED", format!("on node {number} it is not so that {rule}")))?;
    let waiting = peer.fold().waiting();
    ensure(waiting <= relaymesh_mesh::fold::WAITING_MAX, "BOUNDED", || format!("on node {number} {waiting} ops wait"))
}

/// Nobody has proof that an honest node lies: that it wrote twice in one place, or dated an op before what it had promised.
fn believed<R: rand_pcg::rand_core::Rng>(number: usize, peer: &Peer<R>, honest: &[NodeId]) -> Verdict {
    for feed in peer.log().feeds(None, usize::MAX).into_iter().filter(|feed| honest.contains(&feed.origin)) {
        let lies_from = peer.sync().feed(feed, peer.log()).lies_from;
        ensure(lies_from.is_none(), "HONEST", || {
            format!("node {number} has proof that {feed}, which is honest, lies from op {lies_from:?} on")
        })?;
    }
    Ok(())
}

fn rebuilt<R: rand_pcg::rand_core::Rng>(number: usize, peer: &Peer<R>) -> Verdict {
    let again = peer.fold().again();
    ensure(again.state_hash() == peer.fold().state_hash(), "REBUILD", || {
        format!("on node {number} a fold from nothing gives other rows")
    })?;
    for rows in peer.fold().all_rows() {
        validate(rows).map_err(|rule| ("REBUILD", format!("on node {number}: {rule}")))?;
    }
    for feed in peer.log().feeds(None, usize::MAX) {
        ensure(!peer.log().tips(feed).is_empty(), "REBUILD", || format!("on node {number} {feed} has no head"))?;
    }
    Ok(())
}

/// Each step has one result that counts, each key one task.
fn once(number: usize, fold: &Fold) -> Verdict {
    let mut keys = BTreeSet::new();
    for rows in fold.all_rows().filter_map(Rows::task) {
        let task = rows.task.id;
        for (index, _) in rows.indexed() {
            let counting = fold.results_of(task).iter().filter(|result| result.step == index && result.counts).count();
            ensure(counting <= 1, "ONCE", || {
                format!("on node {number} step {index} of {task} has {counting} results")
            })?;
        }
        let key = (rows.task.namespace.clone(), rows.task.idempotency_key.clone());
        ensure(keys.insert(key), "ONCE", || format!("on node {number} {task} has a key that another task has"))?;
    }
    Ok(())
}

impl Stable {
    /// What was stable on any node is what it was, wherever it is stable.
    fn check(&mut self, number: usize, fold: &Fold) -> Verdict {
        for rows in fold.all_rows().filter_map(Rows::task) {
            let task = rows.task.id;
            if fold.standing(task) != Standing::Stable {
                let known = self.tasks.get(&task);
                // A node that has not heard of the seal yet knows less, and so does one that has something to fold; any other may not say less.
                let forgot = known.is_some_and(|(_, upto)| fold.lag() == 0 && fold.stable_upto() >= Some(*upto));
                ensure(!forgot, "STABLE", || format!("{task} was stable and is provisional on node {number}"))?;
                continue;
            }
            let hash = StateHash::of(rows);
            let (known, _) = *self.tasks.entry(task).or_insert((hash, fold.stable_upto().unwrap_or(rows.task.head)));
            ensure(known == hash, "STABLE", || format!("{task} was stable and is another one on node {number}"))?;
        }
        let gone = self
            .tasks
            .iter()
            .find(|(task, (_, upto))| fold.stable_upto() >= Some(*upto) && fold.rows(Scope::Task(**task)).is_none());
        ensure(gone.is_none(), "STABLE", || format!("a task that was stable is gone on node {number}: {gone:?}"))
    }
}

/// Everything that took effect was its author's to say: by a model that shares nothing with the kernel's judgement.
fn authority<R: rand_pcg::rand_core::Rng>(peer: &Peer<R>, owner: NodeId, liar: Option<NodeId>) -> Verdict {
    let fold = peer.fold();
    let took_effect = |op: &&Op| fold.no_effect(op.header.scope, op.header.op_id).is_none();
    let mut ops: Vec<&Op> = peer.log().all().map(|linked| &linked.op).filter(took_effect).collect();
    ops.sort_by_key(|op| op.header.hlc);
    let mut model = Model { owner, coordinator: owner, liar, ..Model::default_for(owner) };
    for op in ops {
        model
            .judge(op)
            .map_err(|found| ("AUTHORITY", format!("{:?} at {}: {found}", op.body.kind(), op.header.hlc)))?;
    }
    Ok(())
}

/// Who may say what, as plainly as it can be said.
struct Model {
    owner: NodeId,
    coordinator: NodeId,
    liar: Option<NodeId>,
    routes: BTreeMap<String, Option<NodeId>>,
    frozen: BTreeSet<NodeId>,
    /// What each node was given and not taken back: until when each link holds.
    rights: BTreeMap<NodeId, BTreeMap<Hash, Option<u64>>>,
    agents: BTreeMap<(TaskId, u16), String>,
    claims: BTreeMap<(TaskId, u16), NodeId>,
}

impl Model {
    fn default_for(owner: NodeId) -> Self {
        Self {
            owner,
            coordinator: owner,
            liar: None,
            routes: BTreeMap::new(),
            frozen: BTreeSet::new(),
            rights: BTreeMap::new(),
            agents: BTreeMap::new(),
            claims: BTreeMap::new(),
        }
    }

    fn judge(&mut self, op: &Op) -> Result<(), String> {
        let by = op.header.origin;
        let must = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
        must(!self.frozen.contains(&by), "its author was frozen")?;
        let holds = |until: &Option<u64>| until.is_none_or(|until| op.header.hlc.wall_ms < until);
        let has_rights = self.rights.get(&by).is_some_and(|links| links.values().any(holds));
        must(by == self.owner || has_rights, "its author had no rights by then")?;
        if let Scope::Register(_) = op.header.scope {
            return self.word(op, by);
        }
        let Scope::Task(task) = op.header.scope else {
            return must(Some(by) != self.liar, "the liar may work, and nothing else");
        };
        if let Body::Task(task::Body::ScheduleJob { schedule }) = &op.body {
            must(Some(by) != self.liar, "the liar may not submit")?;
            for (index, step) in (0u16..).zip(&schedule.steps) {
                self.agents.insert((task, index), step.agent.to_string());
            }
        } else if let Body::Task(task::Body::ClaimWork { step, owner, .. }) = &op.body {
            must(*owner == by, "it claims for another node")?;
            let agent = self.agents.get(&(task, *step)).cloned().unwrap_or_default();
            let route = self.routes.get(&agent).copied().flatten().or(self.routes.get("x.*").copied().flatten());
            must(route.is_none_or(|target| target == by), "the work goes to another node")?;
            must(KINDS.contains(&agent.as_str()), "nobody was given that kind")?;
            self.claims.insert((task, *step), by);
        } else if let Body::Task(task::Body::CompleteJob { held, .. } | task::Body::YieldWork { held, .. }) = &op.body {
            must(self.claims.get(&(task, held.step)) == Some(&by), "another node had claimed it")?;
        } else if let Body::Task(task::Body::CancelTask { .. }) = &op.body {
            must(Some(by) != self.liar, "the liar may not cancel")?;
        }
        Ok(())
    }

    fn word(&mut self, op: &Op, by: NodeId) -> Result<(), String> {
        if let Body::Register(register::Body::Seal { .. }) = &op.body {
            return if by == self.coordinator { Ok(()) } else { Err("it does not coordinate".to_owned()) };
        }
        if by != self.owner {
            return Err("it is not the owner's".to_owned());
        }
        if let Body::Register(register::Body::RouteKind { pattern, target }) = &op.body {
            self.routes.insert(pattern.to_string(), *target);
        } else if let Body::Register(register::Body::DesignateCoordinator { coordinator }) = &op.body {
            self.coordinator = *coordinator;
        } else if let Body::Register(register::Body::FreezeNode { node, frozen: true }) = &op.body {
            self.frozen.insert(*node);
        } else if let Body::Register(register::Body::DelegateUcan { ucan_bytes }) = &op.body {
            let chain = Chain::decode(ucan_bytes).map_err(|error| error.to_string())?;
            let link = chain.links().last().ok_or("it is no chain")?;
            let holder = link.delegation().aud.node();
            self.rights.entry(holder).or_default().insert(link.cid(), link.delegation().exp);
        } else if let Body::Register(register::Body::RevokeUcan { ucan_cid }) = &op.body {
            self.rights.values_mut().for_each(|links| links.retain(|cid, _| cid != ucan_cid));
        }
        Ok(())
    }
}
