//! The registers as the folds of other scopes ask them: by node, and as of a time.

use super::room::Room;
use crate::{
    capability::{Authority, Chain, Revocations},
    register::{FEATURE_LEVEL, FIRST_LEVEL, History, SealWord, Seals},
    route::Routes,
};
use relaymesh_bus::sign::PublicKey;
use relaymesh_core::{
    hlc::Hlc,
    id::NodeId,
    name::Name,
    op::{Body, Op},
    register,
};
use std::{collections::BTreeMap, sync::Arc};

/// What the registers of a mesh say, with every word. [`prepare`](Self::prepare) each op of a register when it arrives;
/// [`judge`](Self::judge) ops and [`take`](Self::take) those that took effect, in the order of time.
#[derive(Debug, Clone)]
pub struct Registers {
    pub(super) root: PublicKey,
    pub(super) root_node: NodeId,
    pub(super) routes: Routes,
    coordinator: History<NodeId>,
    pub(super) given: BTreeMap<NodeId, Vec<Given>>,
    pub(super) revoked: Revocations,
    freezes: BTreeMap<NodeId, History<bool>>,
    settings: BTreeMap<Name, History<Option<String>>>,
    level: History<u32>,
    seals: Seals,
    pub(super) room: Room,
    /// Chains that were verified, so that a second fold costs no signature.
    verified: BTreeMap<Vec<u8>, Option<Arc<Authority>>>,
}

/// A chain, and since when it counts.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub(super) since: Hlc,
    pub(super) authority: Arc<Authority>,
}

/// A node that may say something in a mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    /// Which node.
    pub node: NodeId,
    /// The key that signs its feed.
    pub key: PublicKey,
}

impl Registers {
    /// The registers of the mesh whose owner has this key, in which nothing was said yet.
    pub fn new(root: PublicKey) -> Self {
        Self {
            root,
            root_node: root.node(),
            routes: Routes::default(),
            coordinator: History::default(),
            given: BTreeMap::new(),
            revoked: Revocations::default(),
            freezes: BTreeMap::new(),
            settings: BTreeMap::new(),
            level: History::default(),
            seals: Seals::default(),
            room: Room::default(),
            verified: BTreeMap::new(),
        }
    }

    /// The same mesh, in which nothing was said yet. Chains that were verified need not be verified again.
    #[must_use]
    pub fn emptied(self) -> Self {
        Self { verified: self.verified, ..Self::new(self.root) }
    }

    /// Takes in an op that took effect. Ops come in the order of their times.
    pub fn take(&mut self, op: &Op) {
        let (at, origin) = (op.header.hlc, op.header.origin);
        self.count_word(op);
        let Body::Register(body) = &op.body else { return };
        match body {
            register::Body::RouteKind { pattern, target } => self.routes.record(pattern.clone(), *target, at),
            register::Body::DesignateCoordinator { coordinator } => self.coordinator.push(at, *coordinator),
            register::Body::DelegateUcan { ucan_bytes } => {
                if let Some(authority) = self.chain(ucan_bytes).cloned() {
                    let node = authority.holder().node();
                    self.given.entry(node).or_default().push(Given { since: at, authority });
                }
            }
            register::Body::RevokeUcan { ucan_cid } => {
                if let Some(by) = self.key(origin) {
                    self.revoked.record(*ucan_cid, by, at);
                }
            }
            register::Body::FreezeNode { node, frozen } => self.freezes.entry(*node).or_default().push(at, *frozen),
            register::Body::SetSetting { name, value } => {
                self.settings.entry(name.clone()).or_default().push(at, value.clone());
            }
            register::Body::SetFeatureLevel { level } => self.level.push(at, *level),
            // What the row took, this takes: the rules are the same.
            register::Body::Seal { upto, heads } => {
                let taken = self.seals.push(SealWord { at, upto: *upto, heads: heads.clone() });
                debug_assert!(taken.is_ok(), "the row took it");
            }
        }
    }

    /// The key that a node signs with, if it is the owner's or was given a chain.
    pub fn key(&self, node: NodeId) -> Option<PublicKey> {
        if node == self.root_node {
            return Some(self.root);
        }
        self.given.get(&node)?.first().map(|given| given.authority.holder())
    }

    /// The owner's key.
    pub fn root(&self) -> PublicKey {
        self.root
    }

    /// Whether a node was ever let in, so that its feed is worth having.
    pub fn is_enrolled(&self, node: NodeId) -> bool {
        node == self.root_node || self.given.contains_key(&node)
    }

    /// Everybody whose word counts at a time: the owner, and whoever has a chain that holds and is not frozen.
    pub fn members(&self, at: Hlc) -> Vec<Member> {
        let root = Member { node: self.root_node, key: self.root };
        let holds = |given: &Given| given.since < at && given.authority.holds(&self.revoked, at).is_ok();
        let others = self.given.iter().filter(|(_, chains)| chains.iter().any(holds));
        let others = others.filter_map(|(node, chains)| {
            chains.first().map(|given| Member { node: *node, key: given.authority.holder() })
        });
        let mut members: Vec<Member> = std::iter::once(root).chain(others).collect();
        members.retain(|member| !self.is_frozen(member.node, at));
        members.sort_unstable();
        members
    }

    /// Every node that was ever let in.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        std::iter::once(self.root_node).chain(self.given.keys().copied())
    }

    /// Who coordinates at a time: whom the owner named last, or the owner.
    pub fn coordinator(&self, at: Hlc) -> NodeId {
        self.coordinator.as_of(at).map_or(self.root_node, |(_, node)| *node)
    }

    /// When whoever coordinates at a time was named.
    pub fn coordinator_since(&self, at: Hlc) -> Option<Hlc> {
        self.coordinator.as_of(at).map(|(since, _)| since)
    }

    /// Whether the owner said that what this node says at a time does not count.
    pub fn is_frozen(&self, node: NodeId, at: Hlc) -> bool {
        self.freezes.get(&node).and_then(|words| words.as_of(at)).is_some_and(|(_, frozen)| *frozen)
    }

    /// Where work goes.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// The value of a setting at a time, if it is not the default.
    pub fn setting(&self, name: &Name, at: Hlc) -> Option<&str> {
        self.settings.get(name)?.as_of(at)?.1.as_deref()
    }

    /// What ops mean at a time.
    pub fn level(&self, at: Hlc) -> u32 {
        self.level.as_of(at).map_or(FIRST_LEVEL, |(_, level)| *level)
    }

    /// Whether the mesh has gone on to a level that this program does not know.
    pub fn is_behind(&self) -> bool {
        self.level.last().is_some_and(|(_, level)| *level > FEATURE_LEVEL)
    }

    /// Up to where everything is agreed on.
    pub fn seals(&self) -> &Seals {
        &self.seals
    }

    /// The chains that a node had at a time, whether they hold or not.
    pub(super) fn chains(&self, node: NodeId, at: Hlc) -> impl Iterator<Item = &Authority> {
        let given = self.given.get(&node).map(Vec::as_slice).unwrap_or_default();
        given.iter().filter(move |given| given.since < at).map(|given| &*given.authority)
    }

    /// Verifies the chain that an op gives, if it gives one: once, before it is judged for the first time.
    pub fn prepare(&mut self, op: &Op) {
        let Body::Register(register::Body::DelegateUcan { ucan_bytes }) = &op.body else { return };
        if !self.verified.contains_key(ucan_bytes) {
            let authority = Chain::decode(ucan_bytes).and_then(|chain| chain.verify(self.root)).ok().map(Arc::new);
            self.verified.insert(ucan_bytes.clone(), authority);
        }
    }

    /// The chain in these bytes, if it was verified and holds together.
    pub(super) fn chain(&self, bytes: &[u8]) -> Option<&Arc<Authority>> {
        self.verified.get(bytes)?.as_ref()
    }
}
