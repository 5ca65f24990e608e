//! One op on the row of its register.

use super::{
    Body, FIRST_LEVEL, Register, SETTING_BYTES_MAX, WORDS_MAX,
    seals::{SEAL_HEADS_MAX, SealWord},
    state::{RegisterRow, Words},
};
use crate::capability;
use relaymesh_core::{
    hlc::Hlc,
    op::{About, Kind},
};

/// Why an op has no effect. It changed nothing; each says what was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// What is to be a chain of delegations is none.
    #[error(transparent)]
    NoChain(Box<capability::Error>),
    /// The same chain was given before.
    #[error("this chain was given already, at {since}")]
    GivenAlready {
        /// When.
        since: Hlc,
    },
    /// The same one took the same link back before.
    #[error("this link was taken back already, at {since}")]
    TakenAlready {
        /// When.
        since: Hlc,
    },
    /// The level does not grow.
    #[error("the level is {found} and cannot become {given}: it only grows")]
    Level {
        /// The one in force.
        found: u32,
        /// The one that was to be.
        given: u32,
    },
    /// The value of the setting is too long.
    #[error("the setting has {bytes} bytes, {SETTING_BYTES_MAX} are allowed")]
    SettingSize {
        /// How many.
        bytes: usize,
    },
    /// A seal over what is yet to come.
    #[error("the seal is dated {at} and reaches up to {upto}: only what is past can be sealed")]
    SealAhead {
        /// Up to when it is to reach.
        upto: Hlc,
        /// When it was said.
        at: Hlc,
    },
    /// A seal that does not go on from the one before it.
    #[error(
        "the seal up to {upto} does not go on from the one before it, up to {last}: each is later, and no chain goes back"
    )]
    SealBack {
        /// Up to when it is to reach.
        upto: Hlc,
        /// Up to when the last one reaches.
        last: Hlc,
    },
    /// The heads of a seal are too many, or not in order.
    #[error("a seal names each chain once, in order, {SEAL_HEADS_MAX} at most; found {heads}")]
    SealHeads {
        /// How many.
        heads: usize,
    },
    /// There is no room for another word.
    #[error("the register {register} has {WORDS_MAX} words, and no room for another one")]
    Full {
        /// Which register.
        register: Register,
    },
    /// It is what the mesh goes by.
    #[error("a register is never purged")]
    NeverPurged,
    /// A word that is to wait for others.
    #[error("a word of a register waits for nothing, and this one cites {found} ops: say it without citations")]
    Cites {
        /// How many.
        found: usize,
    },
    /// The op says something that cannot be said about this register.
    #[error("{kind:?} is not about the register that it names")]
    WrongScope {
        /// What it says.
        kind: Kind,
    },
}

/// Applies `op` to the row of its register. Nothing has to be done about it besides; a refusal has changed nothing.
pub fn apply(row: &mut Option<RegisterRow>, op: &About<'_, Register, Body>) -> Result<(), Refusal> {
    let register = op.id;
    if op.body.register() != register {
        return Err(Refusal::WrongScope { kind: op.body.kind() });
    }
    if !op.header.causal_deps.is_empty() {
        return Err(Refusal::Cites { found: op.header.causal_deps.len() });
    }
    if let Some(row) = row {
        say(&mut row.words, op, register)?;
        (row.rev, row.head) = (row.rev + 1, op.header.hlc);
    } else {
        let mut words = Words::new(register);
        say(&mut words, op, register)?;
        *row = Some(RegisterRow { rev: 1, head: op.header.hlc, words });
    }
    Ok(())
}

fn say(words: &mut Words, op: &About<'_, Register, Body>, register: Register) -> Result<(), Refusal> {
    if words.len() >= WORDS_MAX {
        return Err(Refusal::Full { register });
    }
    let at = op.header.hlc;
    match (words, op.body) {
        (Words::Routes(routes), Body::RouteKind { pattern, target }) => routes.record(pattern.clone(), *target, at),
        (Words::Coordinator(words), Body::DesignateCoordinator { coordinator }) => words.push(at, *coordinator),
        (Words::Delegations(all), Body::DelegateUcan { ucan_bytes }) => all.give(at, ucan_bytes)?,
        (Words::Delegations(all), Body::RevokeUcan { ucan_cid }) => all.take(at, *ucan_cid, op.header.origin)?,
        (Words::Freezes(nodes), Body::FreezeNode { node, frozen }) => {
            nodes.entry(*node).or_default().push(at, *frozen);
        }
        (Words::Settings(names), Body::SetSetting { name, value }) => {
            let bytes = value.as_ref().map_or(0, String::len);
            if bytes > SETTING_BYTES_MAX {
                return Err(Refusal::SettingSize { bytes });
            }
            names.entry(name.clone()).or_default().push(at, value.clone());
        }
        (Words::Level(words), Body::SetFeatureLevel { level }) => {
            let found = words.last().map_or(FIRST_LEVEL, |(_, level)| *level);
            if *level <= found {
                return Err(Refusal::Level { found, given: *level });
            }
            words.push(at, *level);
        }
        (Words::Seals(seals), Body::Seal { upto, heads }) => {
            seals.push(SealWord { at, upto: *upto, heads: heads.clone() })?;
        }
        (
            _,
            Body::RouteKind { .. }
            | Body::DesignateCoordinator { .. }
            | Body::DelegateUcan { .. }
            | Body::RevokeUcan { .. }
            | Body::FreezeNode { .. }
            | Body::SetSetting { .. }
            | Body::SetFeatureLevel { .. }
            | Body::Seal { .. },
        ) => return Err(Refusal::WrongScope { kind: op.body.kind() }),
    }
    Ok(())
}
