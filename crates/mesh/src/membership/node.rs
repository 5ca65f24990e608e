//! The machine: SWIM inside, what the contract adds around it.

use super::{
    config::Config,
    dwell::{Status, Step},
    ears::Ears,
    frame::{Frame, Malformed},
    identity::Identity,
    local::Local,
    sync::Ring,
    view::{Known, View},
    wire::Asked,
};
use foca::{Foca, Member, NoCustomBroadcast, OwnedNotification, PostcardCodec, State, Timer};
use rand_core::Rng;
use relaymesh_core::id::NodeId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// How often suspicions are looked for: SWIM announces who is up and who is down, and not who is doubted.
const LOOK_PERIOD_MS: u64 = 250;

/// Bytes for another node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// For whom.
    pub to: NodeId,
    /// At most [`FRAME_BYTES_MAX`](super::frame::FRAME_BYTES_MAX) of them.
    pub bytes: Vec<u8>,
}

/// What changed, for whoever watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A node is heard of for the first time, or again after it was pruned.
    Discovered {
        /// Which node.
        node: NodeId,
        /// When.
        at_ms: u64,
    },
    /// A node is shown in another state; this one included.
    Changed {
        /// Which node.
        node: NodeId,
        /// How it was.
        was: Status,
        /// How it is.
        now: Status,
        /// When.
        at_ms: u64,
    },
    /// A node came back too early to be believed.
    RecoverySuppressed {
        /// Which node.
        node: NodeId,
        /// When.
        at_ms: u64,
    },
    /// A node is not known any more.
    Forgotten {
        /// Which node.
        node: NodeId,
    },
    /// This node was declared dead and goes on under a new life. The life has to be kept for the next start.
    Renewed {
        /// The new life.
        identity: Identity,
    },
}

/// What was counted since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// `relaymesh_membership_recovery_suppressed_total`.
    pub recovery_suppressed: u64,
    /// `relaymesh_anti_entropy_merge_total`: members of samples that were news.
    pub anti_entropy_merged: u64,
    /// Frames that were no frames, or not to be believed.
    pub malformed: u64,
    /// Frames that were read.
    pub read: u64,
    /// Frames of nodes that do not belong to the mesh.
    pub strangers: u64,
    /// Frames that were not read, because their sender had used up its quota.
    pub flooded: u64,
    /// Words that were not believed.
    pub disbelieved: u64,
    /// Complaints of SWIM about late timers and the like.
    pub complaints: u64,
}

/// Membership of one node. After each `handle_*` drain [`poll_transmit`](Self::poll_transmit) and
/// [`poll_event`](Self::poll_event), and call [`handle_timeout`](Self::handle_timeout) when
/// [`poll_timeout`](Self::poll_timeout) is due. Times are of one clock that does not go back.
pub struct Membership<R> {
    pub(super) swim: Foca<Identity, PostcardCodec, R, NoCustomBroadcast>,
    pub(super) asked: Asked,
    pub(super) config: Config,
    pub(super) view: View,
    pub(super) ring: Ring,
    pub(super) counters: Counters,
    pub(super) local: Local,
    pub(super) ears: Ears,
    /// Since when this node lives its present life.
    pub(super) life_since_ms: u64,
    /// What is said comes through the door, where it was judged what is to be believed.
    pub(super) is_careful: bool,
    /// Nodes that are named in the frame that is being read, and not known yet.
    pub(super) awaited: BTreeSet<NodeId>,
    timers: BTreeMap<(u64, u64), Timer<Identity>>,
    /// Which timer removes a dead node.
    pub(super) removals: BTreeMap<NodeId, (u64, u64)>,
    timer_count: u64,
    look_ms: u64,
    sync_ms: u64,
    sized_for: usize,
    transmits: VecDeque<Transmit>,
    pub(super) events: VecDeque<Event>,
}

impl<R: Rng> Membership<R> {
    /// A node that knows nobody yet. `identity.life` is greater than that of any earlier start.
    pub fn new(identity: Identity, config: Config, rng: R, now_ms: u64) -> Self {
        Self {
            swim: Foca::new(identity, config.for_size(1), rng, PostcardCodec),
            asked: Asked::default(),
            config,
            view: View::default(),
            ring: Ring::new(identity.node),
            counters: Counters::default(),
            local: Local::new(now_ms),
            ears: Ears::default(),
            life_since_ms: now_ms,
            is_careful: false,
            awaited: BTreeSet::new(),
            timers: BTreeMap::new(),
            removals: BTreeMap::new(),
            timer_count: 0,
            look_ms: now_ms.saturating_add(LOOK_PERIOD_MS),
            sync_ms: now_ms.saturating_add(config.sync_period_ms),
            sized_for: 1,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Asks a node that is known by name alone to be let in.
    pub fn join(&mut self, seed: NodeId, now_ms: u64) {
        let told = self.swim.announce(Identity { node: seed, life: 0 }, &mut self.asked);
        self.counted(told);
        self.settle(now_ms);
    }

    /// Takes members for alive that were known before, as after a restart, without telling anybody.
    pub fn remember(&mut self, members: impl IntoIterator<Item = Identity>, now_ms: u64) {
        let told = self.swim.apply_many(members.into_iter().map(Member::alive), false, &mut self.asked);
        self.counted(told);
        self.settle(now_ms);
    }

    /// Says goodbye.
    pub fn leave(&mut self, now_ms: u64) {
        let told = self.swim.leave_cluster(&mut self.asked);
        self.counted(told);
        self.settle(now_ms);
    }

    /// Takes in bytes and believes what they say: for a mesh in which nobody lies. Bytes that are no frame change nothing.
    pub fn handle_datagram(&mut self, bytes: &[u8], now_ms: u64) -> Result<(), Malformed> {
        let frame = Frame::decode(bytes).inspect_err(|_| self.counters.malformed += 1)?;
        match frame {
            Frame::Swim(datagram) => {
                if self.swim.handle_data(&datagram, &mut self.asked).is_err() {
                    self.counters.malformed += 1;
                    self.settle(now_ms);
                    return Err(Malformed { bytes: bytes.len() });
                }
                self.local.heard(now_ms);
                self.settle(now_ms);
            }
            Frame::Sync(sample) => {
                self.local.heard(now_ms);
                self.handle_sample(sample, now_ms);
            }
        }
        Ok(())
    }

    /// Does whatever is due at `now_ms`.
    pub fn handle_timeout(&mut self, now_ms: u64) {
        while let Some(first) = self.timers.first_entry().filter(|first| first.key().0 <= now_ms) {
            let timer = first.remove();
            if let Timer::RemoveDown(identity) = &timer {
                self.removals.remove(&identity.node);
            }
            let told = self.swim.handle_timer(timer, &mut self.asked);
            self.counted(told);
            self.settle(now_ms);
        }
        if self.look_ms <= now_ms {
            self.look_ms = now_ms.saturating_add(LOOK_PERIOD_MS);
            self.look(now_ms);
        }
        if self.sync_ms <= now_ms {
            self.sync_ms = now_ms.saturating_add(self.config.sync_period_ms);
            self.sync();
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due next.
    pub fn poll_timeout(&self) -> u64 {
        let swim = self.timers.first_key_value().map_or(u64::MAX, |((due_ms, _), _)| *due_ms);
        swim.min(self.look_ms).min(self.sync_ms)
    }

    /// The next bytes to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// What changed next.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// How another node is, if it is known.
    pub fn status(&self, node: NodeId) -> Option<Status> {
        self.view.known(node).map(Known::status)
    }

    /// Every other node, in the order of their ids.
    pub fn members(&self) -> impl Iterator<Item = &Known> {
        self.view.all()
    }

    /// How this node is, in its own eyes.
    pub fn local(&self) -> Status {
        self.local.status()
    }

    /// Whether this node should pull work (R34).
    pub fn may_pull(&self) -> bool {
        !self.config.pause_worker_when_local_not_alive || self.local() == Status::Alive
    }

    /// Who this node is now.
    pub fn identity(&self) -> Identity {
        *self.swim.identity()
    }

    /// What was counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Forgets nodes that have been DEAD for so long, at most `limit` of them, and says which.
    pub fn prune(&mut self, now_ms: u64, older_than_ms: u64, limit: usize) -> Vec<NodeId> {
        self.view.prune(now_ms, older_than_ms, limit)
    }

    pub(super) fn transmit(&mut self, to: NodeId, frame: &Frame) {
        self.transmits.push_back(Transmit { to, bytes: frame.encode() });
    }

    pub(super) fn counted(&mut self, told: Result<(), foca::Error>) {
        self.counters.complaints += u64::from(told.is_err());
    }

    /// Does what SWIM asked for.
    pub(super) fn settle(&mut self, now_ms: u64) {
        let own = self.identity().node;
        while let Some((to, datagram)) = self.asked.sends.pop_front() {
            // SWIM keeps a former life of this node among the dead, and now and then calls on it.
            if to.node != own {
                self.transmit(to.node, &Frame::Swim(datagram));
            }
        }
        while let Some((after_ms, timer)) = self.asked.timers.pop_front() {
            self.timer_count += 1;
            let at = (now_ms.saturating_add(after_ms), self.timer_count);
            // Of one node only the last life is there to be removed: else each of its deaths would be kept for two days.
            if let Timer::RemoveDown(identity) = &timer
                && let Some(earlier) = self.removals.insert(identity.node, at)
            {
                self.timers.remove(&earlier);
            }
            self.timers.insert(at, timer);
        }
        while let Some(note) = self.asked.notes.pop_front() {
            match note {
                OwnedNotification::MemberUp(identity) => self.hear(identity, Status::Alive, now_ms),
                OwnedNotification::MemberDown(identity) => self.hear(identity, Status::Dead, now_ms),
                OwnedNotification::Rejoin(identity) => {
                    self.life_since_ms = now_ms;
                    self.declared_dead();
                    self.events.push_back(Event::Renewed { identity });
                    self.look_at_itself(now_ms);
                }
                OwnedNotification::Defunct => {
                    self.declared_dead();
                    self.look_at_itself(now_ms);
                }
                OwnedNotification::Rename(_, _) | OwnedNotification::Active | OwnedNotification::Idle => {}
            }
        }
    }

    /// A dead node need not be removed any more.
    pub(super) fn removed(&mut self, node: NodeId) {
        if let Some(at) = self.removals.remove(&node) {
            self.timers.remove(&at);
        }
    }

    /// Compares what is shown with what SWIM knows of everybody, and fits SWIM to the size of the mesh.
    fn look(&mut self, now_ms: u64) {
        let word = |state| match state {
            State::Alive => Status::Alive,
            State::Suspect => Status::Suspect,
            State::Down => Status::Dead,
        };
        let words: Vec<_> =
            self.swim.iter_membership_state().map(|member| (*member.id(), word(member.state()))).collect();
        words.into_iter().for_each(|(identity, word)| self.hear(identity, word, now_ms));
        self.look_at_itself(now_ms);
        let digits = |nodes: usize| nodes.max(1).ilog10();
        let nodes = self.view.len() + 1;
        if digits(nodes) != digits(self.sized_for) {
            self.sized_for = nodes;
            let told = self.swim.set_config(self.config.for_size(nodes));
            self.counted(told);
        }
    }

    /// SWIM believes that this node was given up. Behind the door that was judged already.
    fn declared_dead(&mut self) {
        if !self.is_careful {
            self.local.declared_dead();
        }
    }

    /// How long a suspicion may be refuted in a mesh of this size.
    pub(super) fn refute_ms(&self) -> u64 {
        let refute = self.config.for_size(self.sized_for).suspect_to_down_after;
        u64::try_from(refute.as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn look_at_itself(&mut self, now_ms: u64) {
        let step = self.local.look(self.view.len(), now_ms, &self.config);
        self.tell(self.swim.identity().node, step, self.local.status(), now_ms);
    }

    fn hear(&mut self, identity: Identity, word: Status, now_ms: u64) {
        if identity.node == self.identity().node {
            return;
        }
        let known = self.view.len();
        let step = self.view.hear(identity, word, now_ms, self.config.windows);
        if self.view.len() > known {
            self.events.push_back(Event::Discovered { node: identity.node, at_ms: now_ms });
        }
        let shown = self.status(identity.node).unwrap_or(word);
        self.tell(identity.node, step, shown, now_ms);
    }

    fn tell(&mut self, node: NodeId, step: Step, now: Status, at_ms: u64) {
        match step {
            Step::Same => {}
            Step::Changed { was } => self.events.push_back(Event::Changed { node, was, now, at_ms }),
            Step::Suppressed => {
                self.counters.recovery_suppressed += 1;
                self.events.push_back(Event::RecoverySuppressed { node, at_ms });
            }
        }
    }
}
