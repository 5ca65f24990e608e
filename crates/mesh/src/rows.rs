//! The rows of one scope in a mesh: those that a node alone has, and registers.
//!
//! The kernel of one node folds tasks, threads, repositories, namespaces and plans. Registers exist in a mesh alone, because they
//! rest on capabilities. This file is the switch between the two.

use crate::register::{self, RegisterRow};
use relaymesh_core::{
    hlc::Hlc,
    kernel::{self, Purged},
    op::{Body, Op, Scope},
    row::{self, RowKey, StateHash},
    task::TaskRows,
};

/// All rows of one scope.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every scope is a node's own; a box would cost each of them an allocation"
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rows {
    /// Of a machine that a node alone has, too.
    Node(kernel::Rows),
    /// A register of the mesh.
    Register(RegisterRow),
}

/// Why an op has no effect. It changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The kernel refused it.
    #[error(transparent)]
    Node(#[from] kernel::Refusal),
    /// The register refused it.
    #[error(transparent)]
    Register(#[from] register::Refusal),
}

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// Of a machine that a node alone has, too.
    #[error(transparent)]
    Node(#[from] kernel::Invalid),
    /// Of a register.
    #[error(transparent)]
    Register(#[from] register::Invalid),
}

/// Applies `op` to the rows of its scope. A refusal has changed nothing. Effects are not told: a fold of many authors tells what
/// changed by its rows.
pub fn apply(rows: &mut Option<Rows>, op: &Op) -> Result<(), Refusal> {
    let (kind, scope) = (op.body.kind(), op.header.scope);
    match (scope, rows.take()) {
        (Scope::Register(register), before @ (None | Some(Rows::Register(_)))) if op.body.fits(scope) => {
            let mut own = before.and_then(Rows::into_register);
            let outcome = if let Body::Register(body) = &op.body {
                register::apply(&mut own, &op.about(register, body))
            } else {
                Err(register::Refusal::NeverPurged)
            };
            *rows = own.map(Rows::Register);
            Ok(outcome?)
        }
        // Not about a register, or rows of another sort than the scope: whoever loaded them mixed them up.
        (Scope::Register(_), before) | (_, before @ Some(Rows::Register(_))) => {
            *rows = before;
            Err(kernel::Refusal::WrongScope { kind, scope }.into())
        }
        (_, before) => {
            let mut own = before.and_then(Rows::into_node);
            let outcome = kernel::apply(&mut own, op, &mut Vec::new());
            *rows = own.map(Rows::Node);
            Ok(outcome?)
        }
    }
}

/// Checks every rule of the machine that the rows belong to.
pub fn validate(rows: &Rows) -> Result<(), Invalid> {
    match rows {
        Rows::Node(rows) => Ok(kernel::validate(rows)?),
        Rows::Register(row) => Ok(register::validate(row)?),
    }
}

/// The hash of the rows of one scope alone.
pub fn state_hash(rows: &Rows) -> StateHash {
    match rows {
        Rows::Node(rows) => StateHash::of_rows(rows),
        Rows::Register(row) => StateHash(row::encode(RowKey::Register(row.words.register()), row, &mut Vec::new()).0),
    }
}

impl Rows {
    /// The task, if it is one.
    pub fn task(&self) -> Option<&TaskRows> {
        self.node()?.task()
    }

    /// The rows of a node's own machine, if they are.
    pub fn node(&self) -> Option<&kernel::Rows> {
        if let Self::Node(rows) = self { Some(rows) } else { None }
    }

    /// The register, if it is one.
    pub fn register(&self) -> Option<&RegisterRow> {
        if let Self::Register(row) = self { Some(row) } else { None }
    }

    /// When they were purged, if they were.
    pub fn purged(&self) -> Option<Hlc> {
        if let Self::Node(kernel::Rows::Purged(Purged { at })) = self { Some(*at) } else { None }
    }

    /// The newest op that took effect on them; claims and acquires cite it (D19).
    pub fn head(&self) -> Hlc {
        match self {
            Self::Node(rows) => rows.head(),
            Self::Register(row) => row.head,
        }
    }

    fn into_node(self) -> Option<kernel::Rows> {
        if let Self::Node(rows) = self { Some(rows) } else { None }
    }

    fn into_register(self) -> Option<RegisterRow> {
        if let Self::Register(row) = self { Some(row) } else { None }
    }
}
