//! What an op says about the log itself.

use super::{ChainHead, bodies};
use crate::{name::Name, row::StateHash};

bodies! {
    /// What happened to the log itself.
    Log {
        /// What the log had come to: about the log itself.
        Checkpoint {
            /// How many ops the author had.
            pos: u64,
            /// Where every chain stood, by origin and epoch.
            heads: Vec<ChainHead>,
            /// The hash of all rows.
            state: StateHash,
        }
        /// Something was done, or seen, that changes no row and that somebody may ask about: about the log itself.
        AuditEvent {
            /// What: `settings.update`, `token.create`, `web.write.get_compat`, …
            event: Name,
            /// A few words about it, in the order of their names; never a value that may be secret.
            about: Vec<(Name, String)>,
        }
    }
}
