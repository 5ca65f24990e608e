//! The hybrid logical clock: one order over the stamps of nodes whose wall clocks disagree.
//!
//! A wall clock alone breaks causality: an answer made on a slow node sorts before its question, and a clock set
//! back an hour makes an hour of stamps twice. A counter alone keeps causality and forgets the time of day, which
//! leases and people need. The hybrid keeps both: milliseconds of wall time, and a counter for all that happens
//! while wall time does not move forward, or while a peer has been seen ahead of it.
//!
//! ```text
//! tick     now later than the last stamp      (now, 0)
//!          otherwise                          (last.wall, last.logical + 1)
//! receive  m = the latest of last, remote, now
//!          last and remote are both at m      (m, the higher logical + 1)
//!          only last, or only remote          (m, its logical + 1)
//!          neither, so now alone              (m, 0)
//! either   where the counter is used up       (the next millisecond, 0)
//! ```
//!
//! The tempting mistake is to believe every peer. One node whose clock says next year would pull all others there,
//! and every lease would be over. So a stamp further ahead of our own wall clock than the allowed drift is refused
//! and leaves the clock where it was; how long ago a stamp was made never matters.
//!
//! The other one is to stand still where the counter is used up. No honest node comes there, but a stamp from elsewhere may
//! say so, as far ahead as is allowed, and would keep everybody who believes it from writing until then. Time goes on instead.
//!
//! Invariant: each stamp that a clock gives out is greater than all that it gave out or accepted before. A clock
//! that cannot keep this (there is no later millisecond) refuses, and does not move.
//!
//! There is no clock to read in here: `now_ms` comes in as an argument.

use crate::id::{self, NodeId};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// How far ahead of our wall clock a remote stamp may be, in milliseconds, unless the node is configured otherwise.
pub const MAX_CLOCK_DRIFT_MS: u64 = 60_000;

/// Why the clock gave out no stamp, or a text is not one. In every case the clock is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The last stamp of all was given out.
    #[error("the clock stamps are used up: no later stamp exists")]
    Exhausted,
    /// The remote stamp is too far in our future to be believed. What carries it is put into quarantine.
    #[error("the stamp {remote} is {ahead_ms} ms ahead of this node's clock; at most {max_drift_ms} ms are accepted")]
    TooFarAhead {
        /// The stamp that was refused.
        remote: Hlc,
        /// How far it is ahead of our wall clock.
        ahead_ms: u64,
        /// How far it could have been.
        max_drift_ms: u64,
    },
    /// The text is not a stamp.
    #[error("`{found}` is not a clock stamp such as 1700000000000.3@nod_<26 characters>")]
    Text {
        /// The text that was given, cut at 60 characters.
        found: String,
    },
    /// The text has the shape of a stamp, and what follows the `@` is not a node id.
    #[error(transparent)]
    Node(#[from] id::Error),
}

/// A stamp. Stamps of all nodes are totally ordered: by wall time, then by counter, then by node.
///
/// Text form `<wall_ms>.<logical>@<node id>`, with one spelling for each stamp.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Hlc {
    /// Milliseconds since the Unix epoch, at or ahead of the wall clock of the node that made the stamp.
    pub wall_ms: u64,
    /// Counts the stamps within `wall_ms`.
    pub logical: u32,
    /// Who made the stamp; decides between stamps that two nodes made independently.
    pub node: NodeId,
}

impl fmt::Display for Hlc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}@{}", self.wall_ms, self.logical, self.node)
    }
}

impl fmt::Debug for Hlc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hlc {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parts = || {
            let (time, node) = text.split_once('@')?;
            let (wall_ms, logical) = time.split_once('.')?;
            Some((parse_decimal(wall_ms)?, u32::try_from(parse_decimal(logical)?).ok()?, node))
        };
        let (wall_ms, logical, node) = parts().ok_or_else(|| Error::Text { found: text.chars().take(60).collect() })?;
        Ok(Self { wall_ms, logical, node: node.parse()? })
    }
}

/// Only the canonical spelling: no sign and no leading zero.
fn parse_decimal(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

/// One node's clock: the last stamp, and the rules for the next one.
///
/// [`tick`](Self::tick) for each fact that this node authors, [`receive`](Self::receive) for each that it takes
/// from another. After a restart, [`resume`](Self::resume) from the greatest stamp that was ever made durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HlcClock {
    last: Hlc,
}

impl HlcClock {
    /// A clock that has given out nothing yet.
    pub const fn new(node: NodeId) -> Self {
        Self { last: Hlc { wall_ms: 0, logical: 0, node } }
    }

    /// The clock of `last.node`, going on after `last`.
    pub const fn resume(last: Hlc) -> Self {
        Self { last }
    }

    /// The last stamp given out, or where the clock was resumed.
    pub const fn last(&self) -> Hlc {
        self.last
    }

    /// The stamp for something that this node does at `now_ms`.
    pub fn tick(&mut self, now_ms: u64) -> Result<Hlc, Error> {
        let prior = self.last;
        if now_ms > prior.wall_ms {
            self.advance(now_ms, None)
        } else {
            self.advance(prior.wall_ms, Some(prior.logical))
        }
    }

    /// Takes in a remote stamp that arrived at `now_ms`, and gives the stamp for its arrival.
    ///
    /// A stamp more than `max_drift_ms` ahead of `now_ms` is refused; exactly that far ahead is accepted.
    pub fn receive(&mut self, remote: Hlc, now_ms: u64, max_drift_ms: u64) -> Result<Hlc, Error> {
        let ahead_ms = remote.wall_ms.saturating_sub(now_ms);
        if ahead_ms > max_drift_ms {
            return Err(Error::TooFarAhead { remote, ahead_ms, max_drift_ms });
        }
        let wall_ms = self.last.wall_ms.max(remote.wall_ms).max(now_ms);
        // `None` is less than any `Some`: a stamp that is not at `wall_ms` has no say in the counter.
        let at_wall = |stamp: Hlc| (stamp.wall_ms == wall_ms).then_some(stamp.logical);
        self.advance(wall_ms, at_wall(self.last).max(at_wall(remote)))
    }

    /// Moves to the stamp after `logical` at `wall_ms`, or to the first one there.
    fn advance(&mut self, wall_ms: u64, logical: Option<u32>) -> Result<Hlc, Error> {
        let (wall_ms, logical) = match logical.map(|logical| logical.checked_add(1)) {
            None => (wall_ms, 0),
            Some(Some(logical)) => (wall_ms, logical),
            Some(None) => (wall_ms.checked_add(1).ok_or(Error::Exhausted)?, 0),
        };
        self.last = Hlc { wall_ms, logical, node: self.last.node };
        Ok(self.last)
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_against_uhlc;
