//! The judgement: one op, the rows before it, the registers before it.

use super::{
    DERIVE_PREFIX,
    need::{Need, agents, need, speaker},
    registers::Registers,
};
use crate::{
    capability::{self, Action, Deed, Kind, Resource, Shown},
    register::Register,
    route::Routed,
};
use relaymesh_core::{
    hlc::Hlc,
    id::NodeId,
    kernel::Rows,
    name::Name,
    op::{Body, Op},
    register, task,
};

/// Why whoever wrote an op may not say what it says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unauthorised {
    /// Nobody had let the node in by then.
    #[error("not_enrolled: nobody had let {node} in at {at}")]
    NotEnrolled {
        /// Who wrote it.
        node: NodeId,
        /// When.
        at: Hlc,
    },
    /// The owner said that its word does not count.
    #[error("frozen: the owner said that nothing counts that {node} says")]
    Frozen {
        /// Who wrote it.
        node: NodeId,
    },
    /// No chain of the author admits it; this is what the last one said.
    #[error(transparent)]
    Capability(#[from] capability::Refusal),
    /// It is the coordinator's to say.
    #[error("coordinator_only: {coordinator} coordinates, not {node}")]
    CoordinatorOnly {
        /// Who does.
        coordinator: NodeId,
        /// Who wrote it.
        node: NodeId,
    },
    /// It is another node's to say.
    #[error("not_the_claimer: {claimer} has it, and {node} cannot speak for it")]
    NotClaimer {
        /// Who may.
        claimer: NodeId,
        /// Who wrote it.
        node: NodeId,
    },
    /// The work goes to another node.
    #[error(transparent)]
    Routed(#[from] Routed),
    /// The chain does not come from the owner's key, or the author issued none of its links.
    #[error("not_the_issuer: {node} issued no link of this chain, or it is not rooted in the owner's key")]
    NotIssuer {
        /// Who wrote it.
        node: NodeId,
    },
    /// The owner's own node is to be frozen, or thawed.
    #[error("owners_node: all authority comes from the owner's key, and its node is never frozen")]
    OwnersNode,
    /// What others than the owner may say in this register is said.
    #[error("no_room: {register} has no room for a word of {node}: {found} of {max} are said")]
    NoRoom {
        /// Which register.
        register: Register,
        /// Who wrote it.
        node: NodeId,
        /// How many words are said, by all others or by the branch that the node belongs to.
        found: usize,
        /// How many may be.
        max: usize,
    },
}

impl Registers {
    /// Whether whoever wrote `op` may say so. `rows` are those of its scope, before it.
    pub fn judge(&self, op: &Op, rows: Option<&Rows>) -> Result<(), Unauthorised> {
        let (node, at) = (op.header.origin, op.header.hlc);
        if self.is_frozen(node, at) {
            return Err(Unauthorised::Frozen { node });
        }
        if node != self.root_node && self.chains(node, at).next().is_none() {
            return Err(Unauthorised::NotEnrolled { node, at });
        }
        if let Some(claimer) = speaker(&op.body, rows).filter(|claimer| *claimer != node) {
            return Err(Unauthorised::NotClaimer { claimer, node });
        }
        match need(&op.body, op.header.scope) {
            Need::Owner => self.owner(node, at).and_then(|()| self.spares_the_owner(op)),
            Need::Coordinator => self.coordinates(node, at),
            Need::Issuer => self.issuer(op, node, at),
            Need::Member => self.member(node, at),
            Need::Deed(Resource::Job, action) => self.work(op, rows, action),
            Need::Deed(resource, action) => self.deed(node, &Deed::new(resource, action, at)),
        }?;
        self.admit_word(op)
    }

    /// How much of some content a node is shown now, of a deed that is of its own time (L13). Of several chains the best one counts.
    pub fn shown(&self, node: NodeId, deed: &Deed<'_>, now: Hlc) -> Shown {
        if node == self.root_node {
            return Shown::Whole;
        }
        let mut best = Shown::Withheld;
        for chain in self.chains(node, now) {
            match chain.shows(&self.revoked, deed, now) {
                Shown::Whole => return Shown::Whole,
                Shown::Sanitized(rules) => best = Shown::Sanitized(rules),
                Shown::Withheld => {}
            }
        }
        best
    }

    /// The deed on work: for every kind that it is about.
    fn work(&self, op: &Op, rows: Option<&Rows>, action: Action) -> Result<(), Unauthorised> {
        let (node, at) = (op.header.origin, op.header.hlc);
        let agents = agents(&op.body, rows);
        let deed = Deed::new(Resource::Job, action, at);
        if agents.is_empty() {
            // About no task that there is: the machine says so, whoever asks.
            return self.deed(node, &deed).or_else(|refusal| if rows.is_none() { Ok(()) } else { Err(refusal) });
        }
        for agent in agents {
            let kind = kind_of(agent);
            self.deed(node, &Deed { kind: kind.as_ref(), ..deed })?;
            let Some(kind) = kind else { continue };
            if is_derived(&kind) {
                self.coordinates(node, at)?;
            }
            if let Body::Task(task::Body::ClaimWork { .. }) = &op.body {
                self.routes.admit(&kind, node, at)?;
            }
        }
        Ok(())
    }

    fn deed(&self, node: NodeId, deed: &Deed<'_>) -> Result<(), Unauthorised> {
        self.any(node, deed.at, |chain| chain.admit(&self.revoked, deed).map(|_| ()))
    }

    fn member(&self, node: NodeId, at: Hlc) -> Result<(), Unauthorised> {
        self.any(node, at, |chain| chain.holds(&self.revoked, at))
    }

    fn owner(&self, node: NodeId, at: Hlc) -> Result<(), Unauthorised> {
        self.any(node, at, |chain| chain.admit_owner(&self.revoked, at))
    }

    /// Whoever else is an owner is one by the owner's word, and must not be able to silence it: it could not even thaw itself.
    fn spares_the_owner(&self, op: &Op) -> Result<(), Unauthorised> {
        let freezes_it =
            matches!(&op.body, Body::Register(register::Body::FreezeNode { node, .. }) if *node == self.root_node);
        if freezes_it { Err(Unauthorised::OwnersNode) } else { Ok(()) }
    }

    fn coordinates(&self, node: NodeId, at: Hlc) -> Result<(), Unauthorised> {
        let coordinator = self.coordinator(at);
        if coordinator != node {
            return Err(Unauthorised::CoordinatorOnly { coordinator, node });
        }
        self.member(node, at)
    }

    /// Whoever issued a link may say that it gave it, while its own right holds.
    fn issuer(&self, op: &Op, node: NodeId, at: Hlc) -> Result<(), Unauthorised> {
        let Body::Register(register::Body::DelegateUcan { ucan_bytes }) = &op.body else { return Ok(()) };
        let authority = self.chain(ucan_bytes);
        let issued = |authority: &capability::Authority| {
            authority.links().iter().any(|link| link.delegation().iss.node() == node)
        };
        if !authority.is_some_and(|authority| issued(authority)) {
            return Err(Unauthorised::NotIssuer { node });
        }
        self.member(node, at)
    }

    /// Whether one of the author's chains will do. The owner's key needs none.
    fn any(
        &self,
        node: NodeId,
        at: Hlc,
        admits: impl Fn(&capability::Authority) -> Result<(), capability::Refusal>,
    ) -> Result<(), Unauthorised> {
        if node == self.root_node {
            return Ok(());
        }
        let mut outcome = Err(Unauthorised::NotEnrolled { node, at });
        for chain in self.chains(node, at) {
            match admits(chain) {
                Ok(()) => return Ok(()),
                Err(refusal) => outcome = Err(refusal.into()),
            }
        }
        outcome
    }
}

/// The kind of a step: the name of its agent, if that is one (L10).
pub fn kind_of(agent: &Name) -> Option<Kind> {
    agent.as_str().parse().ok()
}

/// Whether work of this kind is the coordinator's (L14).
fn is_derived(kind: &Kind) -> bool {
    let rest = kind.as_str().strip_prefix(DERIVE_PREFIX);
    rest.is_some_and(|rest| rest.starts_with('.'))
}
