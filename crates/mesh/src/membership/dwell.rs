//! The three states, and how long each is kept at least (R32).
//!
//! What SWIM says of a node at this moment is its *word*; what we show is its *status*. Bad news counts at once. Good news
//! counts when the status is old enough; until then it is suppressed, and counted once for each time that the word turned
//! good. If the word is still good when the window ends, the status follows without more ado.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    /// It answers.
    Alive,
    /// It did not answer, and may still refute that.
    Suspect,
    /// It did not refute it in time.
    Dead,
}

/// How long a status is kept at least before it may become ALIVE again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// The setting `suspect_recover_min_ms`.
    pub suspect_recover_min_ms: u64,
    /// The setting `dead_recover_min_ms`.
    pub dead_recover_min_ms: u64,
}

/// What is shown of a node, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dwell {
    status: Status,
    since_ms: u64,
    word: Status,
}

/// What came of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The status is as it was.
    Same,
    /// The status changed.
    Changed {
        /// From what.
        was: Status,
    },
    /// The word turned good too early; the status is as it was.
    Suppressed,
}

impl Dwell {
    /// A node that is seen for the first time.
    pub const fn new(status: Status, now_ms: u64) -> Self {
        Self { status, since_ms: now_ms, word: status }
    }

    /// What is shown.
    pub const fn status(&self) -> Status {
        self.status
    }

    /// Since when.
    pub const fn since_ms(&self) -> u64 {
        self.since_ms
    }

    /// Takes in what SWIM says at `now_ms`.
    ///
    /// ```text
    ///  status    ALIVE is said            SUSPECT is said   DEAD is said
    ///  ALIVE     same                     SUSPECT           DEAD
    ///  SUSPECT   ALIVE, if old enough     same              DEAD
    ///  DEAD      ALIVE, if old enough     same              same
    /// ```
    pub fn hear(&mut self, word: Status, now_ms: u64, windows: Windows) -> Step {
        let turned = std::mem::replace(&mut self.word, word) != word;
        let dwelt_ms = now_ms.saturating_sub(self.since_ms);
        let min_ms = match (self.status, word) {
            (Status::Alive, Status::Suspect | Status::Dead) | (Status::Suspect, Status::Dead) => 0,
            (Status::Suspect, Status::Alive) => windows.suspect_recover_min_ms,
            (Status::Dead, Status::Alive) => windows.dead_recover_min_ms,
            // Somebody who came back and is doubted already has not come back.
            (Status::Dead, Status::Suspect) => return Step::Same,
            (Status::Alive, Status::Alive) | (Status::Suspect, Status::Suspect) | (Status::Dead, Status::Dead) => {
                return Step::Same;
            }
        };
        if dwelt_ms < min_ms {
            return if turned { Step::Suppressed } else { Step::Same };
        }
        let was = std::mem::replace(&mut self.status, word);
        self.since_ms = now_ms;
        Step::Changed { was }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Alive => "ALIVE",
            Self::Suspect => "SUSPECT",
            Self::Dead => "DEAD",
        })
    }
}
