//! What an op says about a lock: one variant per verb.

use super::{Case, Key, Mode, RepositoryName};
use crate::{
    hlc::Hlc,
    id::{LeaseToken, NodeId},
    name::Name,
    op::{HeldLock, bodies},
};

bodies! {
    /// What happened to the locks of a repository.
    Lock {
        /// Somebody took a lock, renewed it, or holds it in another mode from now on.
        AcquireLock {
            /// What people call the repository; the op's scope is derived from it.
            repository: RepositoryName,
            /// What is locked: one key, or every path that a glob matches.
            key: Key,
            /// Alone, or with others of the same mind.
            mode: Mode,
            /// Whether `README` and `readme` are one.
            case: Case,
            /// Who holds it.
            holder: Name,
            /// The node that answers for the holder.
            owner: NodeId,
            /// What the holder will show to prove it.
            token: LeaseToken,
            /// How long it lasts from the op's HLC.
            ttl_ms: u64,
            /// What for, for people.
            purpose: String,
            /// The newest op of the repository that the author had seen (D19).
            seen: Hlc,
        }
        /// The holder keeps its lock longer.
        RenewLock {
            /// Who says so.
            held: HeldLock,
            /// How long it lasts from the op's HLC.
            ttl_ms: u64,
        }
        /// The holder gave its lock back.
        ReleaseLock {
            /// Who says so.
            held: HeldLock,
        }
        /// A lock's time ran out. Any node may say so.
        ExpireLock {
            /// The lock.
            held: HeldLock,
        }
    }
}
