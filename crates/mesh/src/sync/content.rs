//! Content by hash (F16, L13): inputs and results travel beside the log, in parts, from whoever may and will give them.
//!
//! All parts come from one peer as long as it answers; when it falls silent the next one goes on from where it stopped. Only the whole can be
//! checked, so if it is damaged and came from several, it is fetched again from one alone: then it is known who is to blame.
//!
//! "You may not see it" and "I do not have it" are one answer. Anything more would tell a peer what there is.

use super::{
    config::Config,
    frame::Frame,
    gate::{Around, Gate},
    node::Sync,
};
use crate::feed::FeedLog;
use rand_core::Rng;
use relaymesh_core::{
    content::{CONTENT_BYTES_MAX, ContentRef},
    hash::Hash,
    id::NodeId,
    op::Scope,
};
use std::collections::{BTreeMap, BTreeSet};

/// The longest part of a content.
pub const PART_BYTES_MAX: usize = 256 * 1024;

/// How often a peer may keep silent before it is not asked any more.
const FAILED_MAX: u8 = 3;

/// How the fetching of a content ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Which content.
    pub content: ContentRef,
    /// How it ended.
    pub outcome: Outcome,
}

/// How the fetching of a content ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// These are the bytes. They were checked.
    Complete(Vec<u8>),
    /// Nobody who can be reached gave it. Ask again later.
    Unavailable {
        /// How many said that we do not get it.
        withheld: usize,
        /// How many kept silent, or gave something else.
        failed: usize,
        /// What came before that: whoever asks again goes on behind it.
        held: Vec<u8>,
    },
}

/// What is being fetched, by hash.
#[derive(Debug, Default)]
pub(super) struct Contents {
    fetches: BTreeMap<Hash, Fetch>,
    ring: Option<NodeId>,
}

#[derive(Debug)]
struct Fetch {
    content: ContentRef,
    scope: Scope,
    bytes: Vec<u8>,
    asked: Option<(NodeId, u64)>,
    /// Who gave parts of the bytes that are here.
    givers: BTreeSet<NodeId>,
    /// Some of the bytes were here before anybody was asked: nobody can be blamed for them.
    held: bool,
    /// Something damaged was put together: now one has to give all of it.
    alone: bool,
    withheld: BTreeSet<NodeId>,
    /// Who kept silent or gave something else, and how often.
    failed: BTreeMap<NodeId, u8>,
}

impl Fetch {
    /// Whether a peer may still be asked.
    fn is_open(&self, peer: NodeId) -> bool {
        !self.withheld.contains(&peer) && self.failed.get(&peer).is_none_or(|times| *times < FAILED_MAX)
    }

    /// Gives up what is here, and whoever gave it alone.
    fn spoiled(&mut self) {
        if let (Some(giver), 1, false) = (self.givers.first(), self.givers.len(), self.held) {
            self.failed.insert(*giver, FAILED_MAX);
        }
        self.alone = true;
        self.restart();
    }

    fn restart(&mut self) {
        self.bytes.clear();
        self.givers.clear();
        self.held = false;
    }

    /// The peer that was asked does not go on.
    fn failed(&mut self, peer: NodeId, times: u8) {
        self.asked = None;
        let failed = self.failed.entry(peer).or_default();
        *failed = failed.saturating_add(times);
        if self.alone {
            self.restart();
        }
    }
}

impl Contents {
    pub(super) fn asked_of(&self, peer: NodeId) -> usize {
        self.fetches.values().filter(|fetch| fetch.asked.is_some_and(|(asked, _)| asked == peer)).count()
    }

    pub(super) fn is_bounded(&self, config: &Config) -> bool {
        let active = self.fetches.values().filter(|fetch| fetch.asked.is_some()).count();
        let fits = |fetch: &Fetch| fetch.bytes.len() <= fetch.content.len as usize;
        let few = self.fetches.len() <= config.contents_max && active <= config.contents_active_max;
        few && self.fetches.values().all(fits)
    }

    pub(super) fn due_ms(&self) -> Option<u64> {
        self.fetches.values().filter_map(|fetch| fetch.asked.map(|(_, due_ms)| due_ms)).min()
    }

    pub(super) fn forget_peer(&mut self, peer: NodeId) {
        let of = |fetch: &&mut Fetch| fetch.asked.is_some_and(|(asked, _)| asked == peer);
        self.fetches.values_mut().filter(of).for_each(|fetch| fetch.failed(peer, 1));
    }

    /// The content that is being asked of this peer.
    fn asked(&mut self, content: Hash, from: NodeId) -> Option<&mut Fetch> {
        self.fetches.get_mut(&content).filter(|fetch| fetch.asked.is_some_and(|(asked, _)| asked == from))
    }
}

impl<R: Rng> Sync<R> {
    /// Fetches a content that is named in `scope`, going on after the bytes that are `held` already. False if too many wait; it is then for
    /// the caller to ask again.
    pub fn want_content(&mut self, content: ContentRef, scope: Scope, held: Vec<u8>, now_ms: u64) -> bool {
        let fits = (content.len as usize) <= CONTENT_BYTES_MAX && held.len() <= content.len as usize;
        if !fits || self.contents.fetches.len() >= self.config.contents_max {
            return self.contents.fetches.contains_key(&content.hash);
        }
        let fetch = Fetch {
            content,
            scope,
            held: !held.is_empty(),
            bytes: held,
            asked: None,
            givers: BTreeSet::new(),
            alone: false,
            withheld: BTreeSet::new(),
            failed: BTreeMap::new(),
        };
        self.contents.fetches.entry(content.hash).or_insert(fetch);
        self.fetch(now_ms);
        true
    }

    /// A content whose fetching ended.
    pub fn poll_fetched(&mut self) -> Option<Fetched> {
        self.fetched.pop_front()
    }

    /// Asks for the next part of each content that is being fetched, and begins with others if there is room.
    pub(super) fn fetch(&mut self, now_ms: u64) {
        let active = self.contents.fetches.values().filter(|fetch| fetch.asked.is_some()).count();
        let idle = |(hash, fetch): (&Hash, &Fetch)| fetch.asked.is_none().then_some((fetch.bytes.is_empty(), *hash));
        // What was begun goes first, so that what is half here does not lie around.
        let mut waiting: Vec<(bool, Hash)> = self.contents.fetches.iter().filter_map(idle).collect();
        waiting.sort_unstable();
        let room = self.config.contents_active_max.saturating_sub(active);
        for (_, content) in waiting.into_iter().take(room) {
            self.fetch_part(content, now_ms);
        }
    }

    fn fetch_part(&mut self, content: Hash, now_ms: u64) {
        let up: Vec<NodeId> = self.up().collect();
        let Some(fetch) = self.contents.fetches.get_mut(&content) else { return };
        if fetch.bytes.len() == fetch.content.len as usize && !fetch.alone {
            return self.finish(content, now_ms);
        }
        let open = |peer: &NodeId| fetch.is_open(*peer);
        let turn = self.contents.ring.map_or(0, |last| up.partition_point(|peer| *peer <= last));
        let next = up[turn..].iter().chain(&up[..turn]).copied().find(open);
        let goes_on = |giver: &NodeId| open(giver) && up.contains(giver) && !fetch.failed.contains_key(giver);
        let last = fetch.givers.last().copied().filter(goes_on);
        let Some(peer) = last.or(next) else {
            let failed = fetch.failed.values().filter(|times| **times > 0).count();
            let withheld = fetch.withheld.len();
            let held = std::mem::take(&mut fetch.bytes);
            return self.end(content, Outcome::Unavailable { withheld, failed, held });
        };
        fetch.asked = Some((peer, now_ms.saturating_add(self.config.want_timeout_ms)));
        let offset = u32::try_from(fetch.bytes.len()).unwrap_or(u32::MAX);
        let want = Frame::ContentWant { content, scope: fetch.scope, offset };
        self.contents.ring = Some(peer);
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.budget.asked();
        }
        self.transmit(peer, &want);
    }

    pub(super) fn hear_part(&mut self, from: NodeId, content: Hash, offset: u32, bytes: &[u8], now_ms: u64) {
        let Some(fetch) = self.contents.asked(content, from) else { return };
        let (here, whole) = (fetch.bytes.len(), fetch.content.len as usize);
        if (offset as usize) < here {
            // A duplicate: the answer to this request is still on its way.
            return;
        }
        if offset as usize != here || bytes.is_empty() || here + bytes.len() > whole {
            fetch.failed(from, FAILED_MAX);
        } else {
            fetch.asked = None;
            fetch.givers.insert(from);
            fetch.bytes.extend_from_slice(bytes);
            if fetch.bytes.len() == whole {
                self.finish(content, now_ms);
            }
        }
        self.fetch(now_ms);
    }

    pub(super) fn hear_withheld(&mut self, from: NodeId, content: Hash, now_ms: u64) {
        let Some(fetch) = self.contents.asked(content, from) else { return };
        fetch.failed(from, 0);
        fetch.withheld.insert(from);
        self.fetch(now_ms);
    }

    pub(super) fn expire_contents(&mut self, now_ms: u64) {
        for fetch in self.contents.fetches.values_mut() {
            if let Some((peer, _)) = fetch.asked.filter(|(_, due_ms)| *due_ms <= now_ms) {
                self.counters.timeouts += 1;
                fetch.failed(peer, 1);
            }
        }
        self.fetch(now_ms);
    }

    /// All bytes are here: are they the ones?
    fn finish(&mut self, content: Hash, now_ms: u64) {
        let Some(fetch) = self.contents.fetches.get_mut(&content) else { return };
        if fetch.content.check(&fetch.bytes).is_ok() {
            let bytes = std::mem::take(&mut fetch.bytes);
            return self.end(content, Outcome::Complete(bytes));
        }
        fetch.spoiled();
        self.fetch_part(content, now_ms);
    }

    fn end(&mut self, content: Hash, outcome: Outcome) {
        if let Some(fetch) = self.contents.fetches.remove(&content) {
            self.fetched.push_back(Fetched { content: fetch.content, outcome });
        }
    }

    /// Gives a part to a peer that may see it.
    pub(super) fn give_content<L: FeedLog, G: Gate>(
        &mut self,
        to: NodeId,
        content: Hash,
        scope: Scope,
        offset: u32,
        around: &Around<'_, L, G>,
    ) {
        let may_see = around.gate.may_see(to, &content, scope);
        let part = if may_see { around.gate.content(&content, offset, PART_BYTES_MAX) } else { None };
        let part = part.filter(|bytes| !bytes.is_empty() && bytes.len() <= PART_BYTES_MAX);
        let serves = |bytes: &Vec<u8>| self.peers.get_mut(&to).is_some_and(|peer| peer.budget.serve(bytes.len()));
        match part.filter(serves) {
            Some(bytes) => self.transmit(to, &Frame::ContentPart { content, offset, bytes }),
            None => {
                self.counters.withheld += 1;
                self.transmit(to, &Frame::ContentWithheld { content });
            }
        }
    }
}
