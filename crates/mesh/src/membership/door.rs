//! The door: what is believed of what another node says.
//!
//! SWIM believes whoever speaks its language. One member that lies could then invent thousands of nodes, declare everybody dead, or
//! say that somebody lives a life that it never reaches, so that its true one counts for nothing. To believe nobody's word about third nodes
//! would be safe and slow: in a large mesh a death is known by hearsay long before one's own probe finds it. So hearsay counts where this
//! node has nothing better, and its own ears come first.
//!
//! | what is said | is believed |
//! |---|---|
//! | anything, by a stranger or in another's name | never |
//! | anything about a stranger | never: it is not even kept |
//! | "I live, in this life" | always, whatever others said before |
//! | "it is dead", "it lives a later life" | unless this node has heard it itself, lately |
//! | "you are dead" | costs a life, once in the time to refute; as the truth only if more than half say so, or if this node doubts itself already |
//! | "you live a later life" | never: nobody knows that better |

use super::{
    dwell::Status,
    frame::{Frame, Malformed, Sample},
    identity::Identity,
    node::{Event, Membership},
};
use foca::{Header, Member, Message, State, Timer};
use rand_core::Rng;
use relaymesh_core::id::NodeId;

/// What a node is to the mesh, in the eyes of this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// It was let in.
    Member,
    /// This node was told to begin with it, and nothing was ever said about it.
    Guest,
    /// Anybody else.
    Stranger,
}

/// Why a frame was not taken in. Nothing but counters changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unheard {
    /// It is not let in, or there is no room for it.
    #[error("{from} does not belong to the mesh")]
    Stranger {
        /// Who sent it.
        from: NodeId,
    },
    /// It has said too much in this second.
    #[error("{from} says more than is listened to")]
    Flood {
        /// Who sent it.
        from: NodeId,
    },
    /// It speaks in another's name.
    #[error("{from} speaks as {posing_as}")]
    Posing {
        /// Who sent it.
        from: NodeId,
        /// In whose name.
        posing_as: NodeId,
    },
    /// The bytes are no frame.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

impl<R: Rng> Membership<R> {
    /// Takes in bytes from another node, as far as they are to be believed. That `from` sent them is for the link to say; what anybody is to
    /// the mesh, for `rank`.
    pub fn handle_frame(
        &mut self,
        from: NodeId,
        bytes: &[u8],
        rank: impl Fn(NodeId) -> Rank,
        now_ms: u64,
    ) -> Result<(), Unheard> {
        if from == self.identity().node || !self.has_room_for(from, &rank) {
            self.counters.strangers += 1;
            return Err(Unheard::Stranger { from });
        }
        if !self.ears.read(from, self.config.frames_per_second_max, now_ms) {
            self.counters.flooded += 1;
            return Err(Unheard::Flood { from });
        }
        self.counters.read += 1;
        let frame = Frame::decode(bytes).inspect_err(|_| self.counters.malformed += 1)?;
        self.is_careful = true;
        let heard = match frame {
            Frame::Swim(datagram) => self.hear_datagram(from, &datagram, &rank, now_ms),
            Frame::Sync(sample) => self.hear_sample(from, sample, &rank, now_ms),
        };
        self.is_careful = false;
        self.awaited.clear();
        heard
    }

    /// Takes a node for alive that is known by name, as far as there is room for it.
    pub fn welcome(&mut self, node: NodeId, rank: impl Fn(NodeId) -> Rank, now_ms: u64) -> bool {
        let has_room = self.has_room_for(node, &rank);
        if has_room && self.view.known(node).is_none() {
            self.remember([Identity { node, life: 0 }], now_ms);
        }
        has_room
    }

    /// Forgets a node at once, whatever is known of it.
    pub fn forget(&mut self, node: NodeId) {
        self.forget_life(node);
        self.ears.forget(node);
        if self.view.remove(node) {
            self.events.push_back(Event::Forgotten { node });
        }
    }

    /// Checks that every bound holds; the first broken rule is the answer.
    pub fn validate(&self) -> Result<(), &'static str> {
        let max = self.config.members_max;
        let rules = [
            (self.view.len() <= max, "no more members are known than may be"),
            (self.ears.len() <= max, "no more nodes are listened to than may be known"),
            // One more: a former life of this node itself.
            (self.swim.iter_membership_state().len() <= max + 1, "SWIM knows no more than that"),
            (self.removals.len() <= max + 1, "each is to be removed once"),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, rule)| Err(rule))
    }

    fn hear_sample(
        &mut self,
        from: NodeId,
        mut sample: Sample,
        rank: &impl Fn(NodeId) -> Rank,
        now_ms: u64,
    ) -> Result<(), Unheard> {
        self.speaks_for_itself(from, sample.from)?;
        if self.hear_itself(sample.from, now_ms) {
            self.local.heard(now_ms);
            sample.members.retain(|word| self.believes(sample.from, word, rank, now_ms));
            self.handle_sample(sample, now_ms);
        }
        Ok(())
    }

    fn hear_datagram(
        &mut self,
        from: NodeId,
        datagram: &[u8],
        rank: &impl Fn(NodeId) -> Rank,
        now_ms: u64,
    ) -> Result<(), Unheard> {
        let Some((header, mut words)) = read(datagram) else {
            self.counters.malformed += 1;
            return Err(Malformed { bytes: datagram.len() }.into());
        };
        self.speaks_for_itself(from, header.src)?;
        if !self.hear_itself(header.src, now_ms) {
            return Ok(());
        }
        self.local.heard(now_ms);
        let asked = match &header.message {
            Message::PingReq { target: third, .. }
            | Message::IndirectPing { origin: third, .. }
            | Message::IndirectAck { target: third, .. }
            | Message::ForwardedAck { origin: third, .. } => rank(third.node) != Rank::Stranger,
            // Foca has a word for it that names nobody; we never send it (`Config::for_size`).
            Message::TurnUndead => self.believes(header.src, &Member::down(self.identity()), rank, now_ms),
            Message::Ping(_) | Message::Ack(_) | Message::Announce | Message::Feed | Message::Gossip => true,
            // Nothing of ours is carried by SWIM.
            Message::Broadcast => false,
        };
        if !asked {
            self.counters.disbelieved += 1;
            return Ok(());
        }
        words.retain(|word| self.believes(header.src, word, rank, now_ms));
        let told = self.swim.handle_data(&write(&header, &words), &mut self.asked);
        self.counted(told);
        self.settle(now_ms);
        Ok(())
    }

    fn speaks_for_itself(&mut self, from: NodeId, speaker: Identity) -> Result<(), Unheard> {
        if speaker.node == from {
            return Ok(());
        }
        self.counters.malformed += 1;
        Err(Unheard::Posing { from, posing_as: speaker.node })
    }

    /// A node says which life it lives, which nobody knows better. False if a later one has spoken already.
    fn hear_itself(&mut self, speaker: Identity, now_ms: u64) -> bool {
        if !self.ears.hear(speaker.node, speaker.life, self.refute_ms(), now_ms) {
            return false;
        }
        let known = self.life_of(speaker.node);
        if known.is_some_and(|known| known > speaker) {
            self.forget_life(speaker.node);
            self.view.correct(speaker);
        }
        // A frame that is addressed to another life of this node is not read by SWIM, and tells that much all the same.
        if known != Some(speaker) {
            let told = self.swim.apply_many([Member::alive(speaker)].into_iter(), true, &mut self.asked);
            self.counted(told);
            self.settle(now_ms);
        }
        true
    }

    fn believes(
        &mut self,
        speaker: Identity,
        word: &Member<Identity>,
        rank: &impl Fn(NodeId) -> Rank,
        now_ms: u64,
    ) -> bool {
        let about = *word.id();
        let is_dead = word.state() == State::Down;
        let believed = if about.node == self.identity().node {
            // At the last incarnation a suspicion cannot be refuted: it is as good as a death.
            let is_dead = is_dead || (word.state() == State::Suspect && word.incarnation() == u16::MAX);
            self.believes_of_itself(speaker.node, about.life, is_dead, now_ms)
        } else if about.node == speaker.node {
            about.life <= speaker.life
        } else if rank(about.node) == Rank::Stranger || (is_dead && self.life_of(about.node).is_none()) {
            false
        } else {
            let heard = self.ears.life_within(about.node, self.refute_ms(), now_ms);
            heard.is_none_or(|life| !is_dead && about.life <= life) && self.await_one(about.node, rank)
        };
        self.counters.disbelieved += u64::from(!believed);
        believed
    }

    /// Whether SWIM is told what somebody says of this node. That it is dead costs it a life and no more, as long as others speak to it and
    /// most of them say nothing of the kind.
    fn believes_of_itself(&mut self, by: NodeId, life: u64, is_dead: bool, now_ms: u64) -> bool {
        let own = self.identity().life;
        if life > own || !is_dead {
            return life <= own;
        }
        let voices = self.ears.accuse(by, self.config.windows.dead_recover_min_ms, now_ms);
        if voices * 2 > self.view.len() || self.local() != Status::Alive {
            self.local.declared_dead();
            self.look_at_itself(now_ms);
        }
        // Nobody who follows the rules can have given up a life that is younger than the time to refute.
        life < own || now_ms.saturating_sub(self.life_since_ms) >= self.refute_ms()
    }

    /// Whether a node may be known here. A member takes the place of a guest.
    fn has_room_for(&mut self, node: NodeId, rank: &impl Fn(NodeId) -> Rank) -> bool {
        let own = rank(node);
        if own == Rank::Stranger {
            return false;
        }
        let is_known = self.view.known(node).is_some() || self.awaited.contains(&node);
        if is_known || self.view.len() + self.awaited.len() < self.config.members_max {
            return true;
        }
        let guest = self.view.all().map(|known| known.identity.node).find(|other| rank(*other) > own);
        guest.inspect(|guest| self.forget(*guest)).is_some()
    }

    /// Keeps a place for a node that is named in this frame.
    fn await_one(&mut self, node: NodeId, rank: &impl Fn(NodeId) -> Rank) -> bool {
        let has_room = self.has_room_for(node, rank);
        if has_room && self.view.known(node).is_none() {
            self.awaited.insert(node);
        }
        has_room
    }

    fn life_of(&self, node: NodeId) -> Option<Identity> {
        self.swim.iter_membership_state().map(|member| *member.id()).find(|id| id.node == node)
    }

    /// Makes SWIM forget a node: it forgets only the dead.
    fn forget_life(&mut self, node: NodeId) {
        let Some(known) = self.life_of(node) else { return };
        let told = self.swim.apply_many([Member::down(known)].into_iter(), false, &mut self.asked);
        self.counted(told);
        let told = self.swim.handle_timer(Timer::RemoveDown(known), &mut self.asked);
        self.counted(told);
        // Nobody died, and it is removed already.
        self.asked.notes.clear();
        self.asked.timers.clear();
        self.removed(node);
    }
}

/// A datagram of SWIM: its header, and what it says of others.
fn read(datagram: &[u8]) -> Option<(Header<Identity>, Vec<Member<Identity>>)> {
    let (header, rest): (Header<Identity>, &[u8]) = postcard::take_from_bytes(datagram).ok()?;
    let Some((count, mut rest)) = rest.split_first_chunk::<2>() else {
        return rest.is_empty().then(|| (header, Vec::new()));
    };
    let mut words = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (word, after) = postcard::take_from_bytes(rest).ok()?;
        words.push(word);
        rest = after;
    }
    rest.is_empty().then_some((header, words))
}

fn write(header: &Header<Identity>, words: &[Member<Identity>]) -> Vec<u8> {
    // Plain data into memory: there is nothing that could fail.
    let mut bytes = postcard::to_stdvec(header).unwrap_or_default();
    if let (1.., Ok(count)) = (words.len(), u16::try_from(words.len())) {
        bytes.extend(count.to_be_bytes());
        words.iter().for_each(|word| bytes.extend(postcard::to_stdvec(word).unwrap_or_default()));
    }
    bytes
}
