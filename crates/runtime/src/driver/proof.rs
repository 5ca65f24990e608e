//! The proof of a delivery as text: `THREAD:MESSAGE:EPOCH:TOKEN`. Whoever takes a message is given it, and shows it with its answer.

use relaymesh_core::{id::ThreadId, op::HeldMessage};
use std::{fmt, str::FromStr};

/// A delivery, as its recipient knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof {
    /// The thread of the message.
    pub thread: ThreadId,
    /// Which delivery.
    pub held: HeldMessage,
}

/// Why a text is no proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a THREAD:MESSAGE:EPOCH:TOKEN as `take` returns it")]
pub struct NoProof {
    found: String,
}

/// The longest text that is repeated to whoever gave it.
const TOLD_CHARS: usize = 120;

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HeldMessage { message, epoch, token } = self.held;
        write!(f, "{}:{message}:{epoch}:{token}", self.thread)
    }
}

impl FromStr for Proof {
    type Err = NoProof;

    fn from_str(text: &str) -> Result<Self, NoProof> {
        let parse = || {
            let parts: Vec<&str> = text.split(':').collect();
            let [thread, message, epoch, token] = parts[..] else { return None };
            let held = HeldMessage {
                message: message.parse().ok()?,
                epoch: epoch.parse().ok().filter(|number: &u32| number.to_string() == epoch)?,
                token: token.parse().ok()?,
            };
            Some(Self { thread: thread.parse().ok()?, held })
        };
        parse().ok_or_else(|| NoProof { found: text.chars().take(TOLD_CHARS).collect() })
    }
}
