//! The liar: a node with a valid key and few rights, that runs none of our rules.
//!
//! It writes whatever it likes on its feed and signs it. It says different things to different nodes: after a while it is two or more, with
//! one key, each with a branch of its own. It dates back, dates ahead, uses counters up, breaks its promises, claims and finishes in others' names, gives itself rights,
//! replays what it once heard, and floods.

use super::actor::{KINDS, command, grants, submit};
use crate::rng::Rng;
use rand_pcg::{Pcg64Mcg, rand_core::SeedableRng as _};
use relaymesh_bus::sign::Signer;
use relaymesh_core::{
    content::{ContentRef, Media},
    hash::Hash,
    hlc::{Hlc, HlcClock, MAX_CLOCK_DRIFT_MS},
    id::{LeaseToken, NodeId, OpId, WorkerId},
    op::{Body, Header, Hold, Op, Scope, WriteClass},
    register,
    task::{self, Status},
};
use relaymesh_mesh::{
    capability::{Chain as Ucan, Delegation, Link, Nonce},
    feed::{FeedId, MemoryFeedLog, Place, SignedHead},
    fold::Fold,
    membership::{Config as MembershipConfig, Identity, Membership},
    peer::Channel,
    rows::Rows,
    sync::{Around, Frame, Frontier, Gate, Sync},
};

/// How many stories it tells at most.
const FACES_MAX: usize = 4;
/// How many frames with heads it sends at once.
const FLOOD: usize = 20;

/// One of the liar's faces.
struct Face {
    log: MemoryFeedLog,
    sync: Sync<Pcg64Mcg>,
    /// What it goes by when it lies; none once it has stopped.
    fold: Option<Fold>,
    clock: HlcClock,
}

pub(super) struct Liar {
    signer: Signer,
    pub(super) id: NodeId,
    faces: Vec<Face>,
    pub(super) membership: Membership<Pcg64Mcg>,
    heard: Vec<(Channel, Vec<u8>)>,
    rng: Rng,
    others: Vec<NodeId>,
    pub(super) lies: u64,
}

/// What the liar lets in: everything.
struct Open;

impl Gate for Open {
    fn enrolled(&self, _origin: NodeId) -> bool {
        true
    }

    fn max_drift_ms(&self) -> u64 {
        u64::MAX
    }

    fn may_see(&self, _peer: NodeId, _content: &Hash, _scope: Scope) -> bool {
        true
    }

    fn content(&self, _content: &Hash, _offset: u32, _len_max: usize) -> Option<Vec<u8>> {
        None
    }
}

impl Liar {
    pub(super) fn new(signer: Signer, others: Vec<NodeId>, mut rng: Rng, now_ms: u64) -> Self {
        let id = signer.public_key().node();
        let mut draw = || Pcg64Mcg::seed_from_u64(rng.between(0, u64::MAX - 1));
        let mut membership =
            Membership::new(Identity { node: id, life: 1 }, MembershipConfig::default(), draw(), now_ms);
        membership.remember(others.iter().map(|node| Identity { node: *node, life: 0 }), now_ms);
        let mut sync = Sync::new(id, super::node::config().sync, draw(), now_ms);
        let log = MemoryFeedLog::default();
        let around = Around { log: &log, gate: &Open, now_ms };
        others.iter().for_each(|other| sync.handle_peer_up(*other, &around));
        let face = Face { log, sync, fold: Some(Fold::of_mesh(super::node::root())), clock: HlcClock::new(id) };
        Self { signer, id, faces: vec![face], membership, heard: Vec::new(), rng, others, lies: 0 }
    }

    pub(super) fn handle(&mut self, from: usize, sender: NodeId, channel: Channel, bytes: &[u8], now_ms: u64) {
        if self.heard.len() < 64 && self.rng.chance(50) {
            self.heard.push((channel, bytes.to_vec()));
        }
        match channel {
            Channel::Membership => drop(self.membership.handle_datagram(bytes, now_ms)),
            Channel::Sync => {
                let count = self.faces.len();
                let face = &mut self.faces[from % count];
                let around = Around { log: &face.log, gate: &Open, now_ms };
                let _ = face.sync.handle_frame(sender, bytes, &around);
                face.take(now_ms);
            }
        }
    }

    pub(super) fn tick(&mut self, now_ms: u64) {
        self.membership.handle_timeout(now_ms);
        for face in &mut self.faces {
            let around = Around { log: &face.log, gate: &Open, now_ms };
            face.sync.handle_timeout(&around);
            face.take(now_ms);
        }
    }

    /// What goes out, and to whom: each face speaks to its own half.
    pub(super) fn poll(&mut self) -> Vec<(NodeId, Channel, Vec<u8>)> {
        let mut out = Vec::new();
        while let Some(sent) = self.membership.poll_transmit() {
            out.push((sent.to, Channel::Membership, sent.bytes));
        }
        let count = self.faces.len();
        for (number, face) in self.faces.iter_mut().enumerate() {
            while let Some(sent) = face.sync.poll_transmit() {
                let half = self.others.iter().position(|other| *other == sent.to).unwrap_or(0);
                if half % count == number {
                    out.push((sent.to, Channel::Sync, sent.bytes));
                }
            }
        }
        if !self.heard.is_empty() && self.rng.chance(100) {
            let (channel, bytes) = self.heard[self.rng.index(self.heard.len())].clone();
            out.push((self.others[self.rng.index(self.others.len())], channel, bytes));
            self.lies += 1;
        }
        if self.rng.chance(10) {
            let to = self.others[self.rng.index(self.others.len())];
            for _ in 0..50 {
                let bytes = (0..self.rng.index(40)).map(|_| self.rng.between(0, 255) as u8).collect();
                out.push((to, Channel::Sync, bytes));
            }
            self.lies += 1;
        }
        if self.faces[0].fold.is_some() && self.rng.chance(10) {
            let to = self.others[self.rng.index(self.others.len())];
            out.extend((0..FLOOD).map(|_| (to, Channel::Sync, self.boast())));
            self.lies += 1;
        }
        out
    }

    /// Heads of feeds that it never wrote, rightly signed: nobody can give what leads to them.
    fn boast(&mut self) -> Vec<u8> {
        let heads = (0..8).map(|_| {
            let (origin_epoch, seq) = (self.rng.between(1, 50) as u32, self.rng.between(0, 4_000));
            let start = FeedId { origin: self.id, origin_epoch }.start();
            let made_up = Place { seq, hash: Hash::blake3(&[&self.rng.wide().to_be_bytes()]) };
            let place = if seq < 2_000 && origin_epoch > 1 { start } else { made_up };
            SignedHead::sign(&self.signer, origin_epoch, place, self.faces[0].clock.last())
        });
        Frame::Frontier(Frontier { complete: None, heads: heads.collect() }).encode()
    }

    /// Says something that it should not, or that it should.
    pub(super) fn act(&mut self, now_ms: u64) {
        let is_due = if self.faces.len() == 1 { 40 } else { 10 };
        if self.faces.len() < FACES_MAX && self.rng.chance(is_due) {
            self.split(now_ms);
        }
        let number = self.rng.index(self.faces.len());
        let Some((scope, body)) = self.lie(number) else { return };
        let dated = self.rng.weighted(&[80, 12, 1, 1]);
        let next = |last: Hlc| HlcClock::resume(last).tick(0).expect("there is a later one");
        let next = self.faces[number].log.chain(self.feed()).hlc.map(next);
        let clock = self.faces[number].clock.tick(now_ms).expect("there is a later one");
        let hlc = match (dated, next) {
            (1, Some(next)) => next,
            (2, _) => Hlc { wall_ms: clock.wall_ms + 3_600_000, ..clock },
            // As far ahead as is believed, with a counter that is used up.
            (3, _) => {
                Hlc { wall_ms: now_ms + MAX_CLOCK_DRIFT_MS, logical: u32::MAX, ..clock }.max(next.unwrap_or(clock))
            }
            _ => next.map_or(clock, |next| clock.max(next)),
        };
        self.write(number, scope, body, hlc, now_ms);
        self.lies += 1;
    }

    /// It says nothing more, and goes on passing on what it has.
    pub(super) fn stop(&mut self) {
        self.faces.iter_mut().for_each(|face| face.fold = None);
    }

    fn feed(&self) -> FeedId {
        FeedId { origin: self.id, origin_epoch: 1 }
    }

    /// From now on it has one face more, which goes on from where another one is.
    fn split(&mut self, now_ms: u64) {
        let number = self.rng.index(self.faces.len());
        let face = &self.faces[number];
        let rng = Pcg64Mcg::seed_from_u64(self.rng.between(0, u64::MAX - 1));
        let mut sync = Sync::new(self.id, super::node::config().sync, rng, now_ms);
        let (log, fold, clock) = (face.log.clone(), face.fold.clone(), face.clock.clone());
        let around = Around { log: &log, gate: &Open, now_ms };
        self.others.iter().for_each(|other| sync.handle_peer_up(*other, &around));
        self.faces.push(Face { log, sync, fold, clock });
    }

    fn write(&mut self, number: usize, scope: Scope, body: Body, hlc: Hlc, now_ms: u64) {
        let feed = self.feed();
        let face = &mut self.faces[number];
        let mut chain = face.log.chain(feed);
        let command = command(scope, body);
        let header = Header {
            op_id: OpId::new(hlc.wall_ms, self.rng.wide() >> 48),
            origin: self.id,
            origin_epoch: 1,
            seq: chain.next_seq(),
            hlc,
            author: command.author,
            source: command.source,
            namespace: command.namespace,
            scope,
            write_class: WriteClass::AppendOnly,
            causal_deps: Vec::new(),
            via: None,
        };
        let previous = chain.head;
        let link = chain.append(&header, &command.body);
        // A promise that is often no more than the op itself: so it can go on dating back.
        let as_of = if self.rng.chance(700) { hlc } else { Hlc { wall_ms: hlc.wall_ms.max(now_ms), ..hlc } };
        if face.log.author(&self.signer, 1, vec![link.bytes], as_of).is_ok() {
            let op = Op { pos: 0, header, body: command.body };
            if let Some(fold) = &mut face.fold {
                fold.insert_linked(op, previous, link.hash);
            }
            face.sync.handle_local_news(feed, now_ms);
        }
    }

    fn lie(&mut self, number: usize) -> Option<(Scope, Body)> {
        let node = self.id;
        let word = |body: register::Body| Some((Scope::Register(body.register()), Body::from(body)));
        match self.rng.weighted(&[40, 20, 15, 5, 5, 5, 5, 5]) {
            0 => self.claim(number),
            1 => self.finish(number, true),
            2 => self.finish(number, false),
            3 => word(register::Body::RouteKind { pattern: "x.*".parse().ok()?, target: Some(node) }),
            4 => word(register::Body::DesignateCoordinator { coordinator: node }),
            5 => word(self.widened()?),
            6 => word(register::Body::FreezeNode { node: self.others[0], frozen: true }),
            _ => Some(submit(&mut self.rng)),
        }
    }

    /// A right that it gives itself, or that it makes larger than it is.
    fn widened(&mut self) -> Option<register::Body> {
        let own = self.rng.chance(500);
        let parent = super::actor::link(1, grants(true), 1, None);
        let delegation = Delegation {
            iss: self.signer.public_key(),
            aud: self.signer.public_key(),
            att: grants(false),
            nbf: 0,
            exp: None,
            prf: if own { Vec::new() } else { vec![parent.cid()] },
            depth: 1,
            nnc: Nonce([9; 16]),
        };
        let link = Link::issue(&self.signer, &delegation).ok()?;
        let links = if own { vec![link] } else { vec![parent, link] };
        Some(register::Body::DelegateUcan { ucan_bytes: Ucan::new(links).ok()?.encode() })
    }

    fn claim(&mut self, number: usize) -> Option<(Scope, Body)> {
        let face = &self.faces[number];
        let kinds = KINDS[0].split('.').next()?.parse().ok()?;
        let fold = face.fold.as_ref()?;
        let pending = fold.pending(&kinds, self.id, face.clock.last());
        let job = self.rng.pick(&pending)?;
        let scope = Scope::Task(job.step.task);
        let honest = self.rng.chance(700);
        let seen = if honest { fold.rows(scope)?.head() } else { Hlc { wall_ms: 0, logical: 0, node: self.id } };
        let owner = if self.rng.chance(900) { self.id } else { self.others[0] };
        let (token, worker) = (LeaseToken::new(1, self.rng.wide() >> 48), WorkerId::from_bytes(self.id.to_bytes()));
        Some((
            scope,
            Body::Task(task::Body::ClaimWork { step: job.step.index, owner, worker, token, lease_ms: 3_000, seen }),
        ))
    }

    /// Finishes what it has, or what somebody else has.
    fn finish(&mut self, number: usize, own: bool) -> Option<(Scope, Body)> {
        let mut held = Vec::new();
        for rows in self.faces[number].fold.as_ref()?.all_rows().filter_map(Rows::task) {
            for (index, step) in rows.indexed().filter(|(_, step)| step.status == Status::Running) {
                let Some(lease) = step.lease.as_ref().filter(|lease| (lease.owner == self.id) == own) else { continue };
                held.push((rows.task.id, Hold { step: index, epoch: step.epoch, token: lease.token }));
            }
        }
        let (task, held) = *self.rng.pick(&held)?;
        let text = format!("lie {}", self.rng.between(0, 1 << 40));
        Some((
            Scope::Task(task),
            Body::Task(task::Body::CompleteJob { held, result: ContentRef::of(Media::Text, text.as_bytes()) }),
        ))
    }
}

impl Face {
    fn take(&mut self, now_ms: u64) {
        while let Some(accepted) = self.sync.poll_accepted() {
            let feed = accepted.news.feed;
            let ops = accepted.news.ops.clone();
            if self.log.take(accepted.news).is_ok() {
                for linked in &ops {
                    let _ = self.clock.receive(linked.op.header.hlc, now_ms, u64::MAX);
                }
                if let Some(fold) = &mut self.fold {
                    fold.insert_all(ops);
                    fold.settle(usize::MAX);
                }
            }
            let around = Around { log: &self.log, gate: &Open, now_ms };
            self.sync.handle_taken(feed, &around);
        }
    }
}
