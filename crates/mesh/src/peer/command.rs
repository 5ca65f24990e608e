//! Commands: what somebody at this node wants to be said.

use super::{node::Peer, seal::FIRST_EPOCH};
use crate::fold::NoEffect;
use rand_core::Rng;
use relaymesh_bus::write_class::{EntityType, Order, class_of};
use relaymesh_core::{
    hlc,
    id::{NodeId, OpId},
    name::Name,
    op::{Body, Header, Op, Scope, WriteClass},
};

/// What is to be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The principal that is answerable for it.
    pub author: Name,
    /// Who asked, from where.
    pub source: Name,
    /// The team or project it belongs to.
    pub namespace: Name,
    /// What it is about.
    pub scope: Scope,
    /// The ops that must come before it: a claim cites the results that it stands on.
    pub causal_deps: Vec<OpId>,
    /// What.
    pub body: Body,
}

/// Why nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It would have no effect.
    #[error(transparent)]
    NoEffect(#[from] NoEffect),
    /// The clock has no stamp.
    #[error(transparent)]
    Clock(#[from] hlc::Error),
    /// Others found this node's clock to be ahead: it writes nothing until time has caught up (D20).
    #[error("this node's clock is ahead of the others' by {ahead_ms} ms: nothing is written until time has caught up")]
    Ahead {
        /// By how much.
        ahead_ms: u64,
    },
    /// Others have more of this node's own feed than the node itself: it was set back to an older state, and would write something else where
    /// it has written before (D24).
    #[error(
        "others know more of what this node wrote than the node itself: it was set back, and writes nothing before it is given a new origin epoch"
    )]
    Forgetful,
    /// This node lost its memory, and what it promised before with it. Until everybody was heard who may know of that, or it is long past, it would
    /// date what it says before what the others have agreed on.
    #[error(
        "this node begins again without its memory, and has not heard yet what {node} knows of it: it writes nothing before that, or for {wait_ms} ms more"
    )]
    Unheard {
        /// Who has to be heard; this node itself: nobody was heard who knew of it.
        node: NodeId,
        /// After how long it writes all the same.
        wait_ms: u64,
    },
    /// The mesh has gone on to a level that this program does not know.
    #[error("the mesh is at a level that this program does not know: a newer relaymesh is needed to write here")]
    Behind,
}

impl<R: Rng> Peer<R> {
    /// Tries something, and takes it into the batch that is written next. A refusal has written nothing. It counts for this node at once;
    /// whoever asked is told after [`handle_committed`](Self::handle_committed).
    pub fn handle_command(&mut self, command: Command, now_ms: u64) -> Result<OpId, Refused> {
        if let Some(ahead_ms) = self.ahead_ms(now_ms) {
            return Err(Refused::Ahead { ahead_ms });
        }
        if self.is_forgetful {
            return Err(Refused::Forgetful);
        }
        if let Some((node, wait_ms)) = self.silent(now_ms) {
            return Err(Refused::Unheard { node, wait_ms });
        }
        if self.fold.registers().is_some_and(crate::mandate::Registers::is_behind) {
            return Err(Refused::Behind);
        }
        let hlc = self.clock.tick(now_ms)?;
        let Command { author, source, namespace, scope, causal_deps, body } = command;
        let write_class = class_of(EntityType::of_scope(&scope), Order::Feed);
        let header = Header {
            op_id: OpId::new(hlc.wall_ms, self.draw()),
            origin: self.node,
            origin_epoch: self.feed.origin_epoch,
            seq: self.chain.next_seq(),
            hlc,
            author,
            source,
            namespace,
            scope,
            write_class: if write_class == WriteClass::Local { WriteClass::AppendOnly } else { write_class },
            causal_deps,
            via: None,
        };
        let op = Op { pos: 0, header, body };
        self.fold.attempt(&op)?;
        let previous = self.chain.head;
        let link = self.chain.append(&op.header, &op.body);
        let id = op.header.op_id;
        self.fold.insert_linked(op, previous, link.hash);
        self.open.push(link.bytes);
        Ok(id)
    }

    /// Whom a node that lost its memory has to hear before it says its first word, and for how long at most. Its clock was at most a drift ahead, its
    /// stamps at most one more, and its clock is at most one behind now: after three nothing is dated before what it promised in its earlier life.
    fn silent(&self, now_ms: u64) -> Option<(NodeId, u64)> {
        let until_ms = self.opened_ms.saturating_add(self.config.max_clock_drift_ms.saturating_mul(3));
        let wait_ms = until_ms.saturating_sub(now_ms);
        if self.feed.origin_epoch == FIRST_EPOCH || self.chain.next_seq() > 1 || wait_ms == 0 {
            return None;
        }
        self.unheard(self.clock.last()).map(|node| (node, wait_ms))
    }

    fn draw(&mut self) -> u128 {
        u128::from(self.rng.next_u64()) << 64 | u128::from(self.rng.next_u64())
    }
}
