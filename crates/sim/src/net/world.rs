//! The world: nodes, a liar perhaps, a network, and one agenda.

use super::{
    actor::{name, word},
    check::{Acks, Broken, Stable},
    liar::Liar,
    network::Network,
    node::{Node, signer},
    plan::Plan,
    report::OPS_MIN,
    rumours::Rumours,
};
use crate::{
    rng::Rng,
    time::{Agenda, MS, Ns, SECOND},
};
use relaymesh_core::{hash::Hash, id::NodeId, register};
use relaymesh_mesh::peer::{Channel, Commit, Refused};

/// How often the world looks whether everything has come to rest.
const LOOK_EVERY: Ns = 2 * SECOND;

/// How much longer a world may go on breaking.
const LONGER_MAX: Ns = 60 * SECOND;

pub(super) enum Event {
    Start { node: usize },
    Wake { node: usize, life: u64 },
    Written { node: usize, life: u64 },
    Arrive { from: usize, to: usize, channel: Channel, bytes: Vec<u8> },
    Act { node: usize },
    Fault,
    Join,
    Leave { node: usize },
    Heal,
    Look,
}

pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) agenda: Agenda<Event>,
    pub(super) rng: Rng,
    pub(super) nodes: Vec<Node>,
    pub(super) ids: Vec<NodeId>,
    pub(super) liar: Option<Liar>,
    pub(super) rumours: Rumours,
    pub(super) network: Network,
    pub(super) acks: Acks,
    pub(super) stable: Stable,
    pub(super) broken: Option<Broken>,
    pub(super) healed: bool,
    pub(super) resting: bool,
    /// What the owner has yet to say before everything can rest.
    unsaid: Vec<register::Body>,
    pub(super) faults: u64,
    /// How often a node lost its memory.
    pub(super) forgot: u64,
    pub(super) said: u64,
    pub(super) refused: u64,
    pub(super) events: Hash,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x6d65_7368);
        let plan = Plan::new(&mut rng);
        let nodes: Vec<Node> = (0..plan.nodes).map(|n| Node::new(n, plan.skew_ms[n], rng.fork())).collect();
        let ids: Vec<NodeId> = nodes.iter().map(|node| node.id).collect();
        let network = Network::new(&plan, rng.fork());
        let liar = plan.liar.map(|number| {
            let others = ids.iter().copied().filter(|id| *id != ids[number]).collect();
            Liar::new(signer(number), others, rng.fork(), nodes[number].wall_ms(0))
        });
        let mut world = Self {
            agenda: Agenda::new(),
            rng,
            nodes,
            ids,
            liar,
            rumours: Rumours::new(Rng::new(seed ^ 0x7275_6d6f)),
            network,
            acks: Acks::default(),
            stable: Stable::default(),
            broken: None,
            healed: false,
            resting: false,
            unsaid: Vec::new(),
            faults: 0,
            forgot: 0,
            said: 0,
            refused: 0,
            events: Hash::default(),
            plan,
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        for node in 0..self.nodes.len() {
            self.agenda.at(0, Event::Start { node });
            self.agenda.at(self.rng.between(200, 900) * MS, Event::Act { node });
        }
        self.agenda.at(3 * SECOND + self.plan.fault_gap, Event::Fault);
        self.agenda.at(self.plan.break_ends, Event::Heal);
        self.agenda.at(SECOND, Event::Look);
        if let Some((node, _)) = self.plan.absent {
            self.agenda.at(3 * SECOND, Event::Leave { node });
        }
    }

    /// Runs until everything rests, the time is up, or an invariant is broken.
    pub(super) fn run(&mut self) {
        while let Some(event) = self.agenda.next_until(self.plan.rest_by) {
            self.mark(&event);
            self.handle(event);
            if self.resting || self.broken.is_some() {
                return;
            }
        }
        self.not_at_rest();
    }

    pub(super) fn now(&self) -> Ns {
        self.agenda.now()
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Start { node } => self.start(node),
            Event::Wake { node, life } => self.wake(node, life),
            Event::Written { node, life } => self.written(node, life),
            Event::Arrive { from, to, channel, bytes } => self.arrive(from, to, channel, &bytes),
            Event::Act { node } => self.act(node),
            Event::Fault => self.break_something(),
            Event::Join => self.network.join(),
            Event::Leave { node } => self.kill(node, true),
            // A world in which next to nothing happened goes on for a while.
            Event::Heal if self.is_too_short() => self.agenda.after(SECOND, Event::Heal),
            Event::Heal => self.heal(),
            Event::Look => {
                self.say_the_rest();
                self.look();
                self.return_of_the_absent();
                self.agenda.after(LOOK_EVERY, Event::Look);
            }
        }
    }

    fn is_too_short(&self) -> bool {
        (self.acks.len() as u64) < OPS_MIN && self.agenda.now() < self.plan.break_ends + LONGER_MAX
    }

    /// The same seed is the same run: every event is part of the hash that tells.
    fn mark(&mut self, event: &Event) {
        let (kind, node, bytes): (u8, usize, &[u8]) = match event {
            Event::Start { node } => (0, *node, &[]),
            Event::Wake { node, .. } => (1, *node, &[]),
            Event::Written { node, .. } => (2, *node, &[]),
            Event::Arrive { to, bytes, .. } => (3, *to, bytes),
            Event::Act { node } => (4, *node, &[]),
            Event::Fault => (5, 0, &[]),
            Event::Join => (6, 0, &[]),
            Event::Heal => (7, 0, &[]),
            Event::Look => (8, 0, &[]),
            Event::Leave { node } => (9, *node, &[]),
        };
        let at = self.agenda.now().to_be_bytes();
        self.events = Hash::blake3(&[&self.events.0, &at, &[kind, node as u8], bytes]);
    }

    fn is_liar(&self, node: usize) -> bool {
        self.plan.liar == Some(node)
    }

    fn start(&mut self, node: usize) {
        if self.is_liar(node) {
            return self.pump_liar();
        }
        if self.nodes[node].peer.is_some() {
            return;
        }
        let now = self.agenda.now();
        let ids = self.ids.clone();
        self.nodes[node].start(&ids, now);
        if node == 0 && self.nodes[0].life == 1 {
            for to in 1..self.nodes.len() {
                let is_liar = self.is_liar(to);
                let body = self.nodes[0].enrol(to, is_liar, None);
                self.nodes[0].say(now, word(body));
            }
        }
        self.pump(node);
    }

    fn wake(&mut self, node: usize, life: u64) {
        if self.is_liar(node) {
            return self.pump_liar();
        }
        let now = self.agenda.now();
        if self.nodes[node].life != life || self.nodes[node].wake_at != Some(now) {
            return;
        }
        self.nodes[node].wake_at = None;
        let wall_ms = self.nodes[node].wall_ms(now);
        if let Some(peer) = &mut self.nodes[node].peer {
            peer.handle_timeout(wall_ms);
        }
        self.pump(node);
    }

    fn arrive(&mut self, from: usize, to: usize, channel: Channel, bytes: &[u8]) {
        let sender = self.ids[from];
        let wall_ms = self.nodes[to].wall_ms(self.agenda.now());
        if let Some(liar) = self.liar.as_mut().filter(|_| self.plan.liar == Some(to)) {
            liar.handle(from, sender, channel, bytes, wall_ms);
            return self.pump_liar();
        }
        if let Some(peer) = &mut self.nodes[to].peer {
            peer.handle_bytes(sender, channel, bytes, wall_ms);
            self.pump(to);
        }
    }

    fn act(&mut self, node: usize) {
        let gap_ms = if self.healed { 150 } else { self.plan.act_gap_ms };
        self.agenda.after(self.rng.between(gap_ms / 2, gap_ms * 2) * MS, Event::Act { node });
        let now = self.agenda.now();
        if self.is_liar(node) {
            let wall_ms = self.nodes[node].wall_ms(now);
            if let Some(liar) = self.liar.as_mut().filter(|_| !self.healed) {
                liar.act(wall_ms);
            }
            return self.pump_liar();
        }
        let targets: Vec<(usize, NodeId)> = self.honest().map(|node| (node.number, node.id)).collect();
        let healed = self.healed;
        let outcomes = self.nodes[node].act(now, healed, &targets);
        self.said += outcomes.len() as u64;
        self.refused += outcomes.iter().filter(|outcome| outcome.is_err()).count() as u64;
        self.pump(node);
    }

    pub(super) fn honest(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| self.plan.liar != Some(node.number))
    }

    fn written(&mut self, node: usize, life: u64) {
        if self.nodes[node].life != life {
            return;
        }
        let Some(commit) = self.nodes[node].writing.take() else { return };
        let wall_ms = self.nodes[node].wall_ms(self.agenda.now());
        self.acknowledge(node, &commit);
        if let Some(peer) = &mut self.nodes[node].peer {
            peer.handle_committed(commit, wall_ms);
        }
        self.pump(node);
    }

    fn acknowledge(&mut self, node: usize, commit: &Commit) {
        self.acks.add(self.nodes[node].id, &commit.ops);
    }

    pub(super) fn kill(&mut self, node: usize, is_written: bool) {
        if let Some(commit) = self.nodes[node].kill(is_written) {
            self.acknowledge(node, &commit);
        }
    }

    /// Gives the disk and the network what a node has for them, and wakes it when it is due.
    fn pump(&mut self, node: usize) {
        let now = self.agenda.now();
        let wall_ms = self.nodes[node].wall_ms(now);
        let life = self.nodes[node].life;
        let Some(peer) = &mut self.nodes[node].peer else { return };
        if let Some(commit) = peer.poll_commit(wall_ms) {
            self.nodes[node].writing = Some(commit);
            // Now and then a disk is slow.
            let takes_ms = if self.rng.chance(50) { self.rng.between(20, 400) } else { self.rng.between(0, 8) };
            self.agenda.after(takes_ms * MS + 1, Event::Written { node, life });
        }
        let mut sent = Vec::new();
        if let Some(peer) = &mut self.nodes[node].peer {
            while let Some(transmit) = peer.poll_transmit() {
                sent.push((transmit.to, transmit.channel, transmit.bytes));
            }
        }
        self.send(node, sent);
        let Some(due_ms) = self.nodes[node].peer.as_ref().map(|peer| peer.poll_timeout()) else { return };
        let at = self.nodes[node].at(due_ms).max(now + MS);
        if self.nodes[node].wake_at.is_none_or(|wake_at| at < wake_at) {
            self.nodes[node].wake_at = Some(at);
            self.agenda.at(at, Event::Wake { node, life });
        }
    }

    fn pump_liar(&mut self) {
        let Some(number) = self.plan.liar else { return };
        let wall_ms = self.nodes[number].wall_ms(self.agenda.now());
        let Some(liar) = &mut self.liar else { return };
        liar.tick(wall_ms);
        let mut sent = liar.poll();
        sent.extend(self.rumours.spread(liar));
        self.send(number, sent);
        if self.nodes[number].wake_at.is_none_or(|at| at <= self.agenda.now()) {
            let at = self.agenda.now() + 200 * MS;
            self.nodes[number].wake_at = Some(at);
            self.agenda.at(at, Event::Wake { node: number, life: 0 });
        }
    }

    fn send(&mut self, from: usize, sent: Vec<(NodeId, Channel, Vec<u8>)>) {
        for (to, channel, bytes) in sent {
            let Some(to) = self.ids.iter().position(|id| *id == to) else { continue };
            for after in self.network.carry(from, to) {
                self.agenda.after(after, Event::Arrive { from, to, channel, bytes: bytes.clone() });
            }
        }
    }

    /// Whoever went away comes back when the others have written enough.
    fn return_of_the_absent(&mut self) {
        let Some((node, ops)) = self.plan.absent.filter(|_| self.agenda.now() > 4 * SECOND) else { return };
        if self.acks.len() >= ops {
            self.plan.absent = None;
            self.start(node);
        }
    }

    /// Nothing breaks any more, clocks are right, and the owner freezes the liar and lets everybody else in once more.
    fn heal(&mut self) {
        self.healed = true;
        self.network.heal();
        self.liar.iter_mut().for_each(Liar::stop);
        for node in 0..self.nodes.len() {
            if self.is_liar(node) {
                continue;
            }
            if self.nodes[node].skew_ms.abs() > 4_000 {
                self.kill(node, true);
                self.nodes[node].skew_ms = 0;
            }
            self.start(node);
        }
        let mut words = vec![register::Body::RouteKind { pattern: "x.*".parse().expect("a pattern"), target: None }];
        for kind in ["x.a", "x.b"] {
            words.push(register::Body::RouteKind { pattern: kind.parse().expect("a pattern"), target: None });
        }
        words.push(register::Body::SetSetting { name: name("healed"), value: None });
        if let Some(liar) = self.plan.liar {
            words.push(register::Body::FreezeNode { node: self.ids[liar], frozen: true });
        }
        let honest: Vec<usize> = self.honest().map(|node| node.number).filter(|number| *number != 0).collect();
        words.extend(honest.into_iter().map(|number| self.nodes[0].enrol(number, false, None)));
        self.unsaid = words;
        self.say_the_rest();
    }

    /// The owner says what it could not say yet: right after the faults its clock may still be ahead in the eyes of the others, or it may have lost
    /// its memory and not heard all of them.
    fn say_the_rest(&mut self) {
        if self.unsaid.is_empty() {
            return;
        }
        let now = self.agenda.now();
        let owner = &mut self.nodes[0];
        let waits = |said| matches!(said, None | Some(Err(Refused::Ahead { .. } | Refused::Unheard { .. })));
        self.unsaid.retain(|body| waits(owner.say(now, word(body.clone()))));
        self.pump(0);
    }
}
