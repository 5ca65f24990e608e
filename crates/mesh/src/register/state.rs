//! The row: one a register, with every word.

use super::{Delegations, History, Register, Seals};
use crate::route::Routes;
use relaymesh_core::{hlc::Hlc, id::NodeId, name::Name};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The row of a register.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterRow {
    /// Grows by one with every op that took effect here.
    pub rev: u32,
    /// The newest op that took effect here.
    pub head: Hlc,
    /// What was said.
    pub words: Words,
}

/// What was said, register by register.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Words {
    /// Where work of which kinds goes.
    Routes(Routes),
    /// Who coordinates.
    Coordinator(History<NodeId>),
    /// Who may do what.
    Delegations(Delegations),
    /// Whose word counts: by node, whether it is frozen.
    Freezes(BTreeMap<NodeId, History<bool>>),
    /// What is set: by name.
    Settings(BTreeMap<Name, History<Option<String>>>),
    /// What ops mean.
    Level(History<u32>),
    /// Up to where everything is agreed on.
    Seals(Seals),
}

impl Words {
    /// A register in which nothing was said.
    pub fn new(register: Register) -> Self {
        match register {
            Register::Routes => Self::Routes(Routes::default()),
            Register::Coordinator => Self::Coordinator(History::default()),
            Register::Delegations => Self::Delegations(Delegations::default()),
            Register::Freezes => Self::Freezes(BTreeMap::new()),
            Register::Settings => Self::Settings(BTreeMap::new()),
            Register::Level => Self::Level(History::default()),
            Register::Seals => Self::Seals(Seals::default()),
        }
    }

    /// Which register it is.
    pub fn register(&self) -> Register {
        match self {
            Self::Routes(_) => Register::Routes,
            Self::Coordinator(_) => Register::Coordinator,
            Self::Delegations(_) => Register::Delegations,
            Self::Freezes(_) => Register::Freezes,
            Self::Settings(_) => Register::Settings,
            Self::Level(_) => Register::Level,
            Self::Seals(_) => Register::Seals,
        }
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Routes(routes) => routes.len(),
            Self::Coordinator(words) => words.len(),
            Self::Delegations(words) => words.len(),
            Self::Freezes(nodes) => nodes.values().map(History::len).sum(),
            Self::Settings(names) => names.values().map(History::len).sum(),
            Self::Level(words) => words.len(),
            Self::Seals(seals) => seals.all().len(),
        }
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
