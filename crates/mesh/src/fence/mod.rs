//! Coordinators and their fences: who orders writes in a part of the mesh, and how everybody else knows (F6, F18).
//!
//! A coordinator that was cut off does not know that it has been replaced. It goes on, with every right that it remembers.
//! No lease can prevent that, because a process may sleep between looking at its lease and writing. So authority has a
//! number, the **epoch**, which only grows, and every write carries it in a [`FenceToken`]; whoever stores the write
//! remembers the newest one ([`Gate`]) and refuses older ones. The late coordinator is not stopped; it is not heard.
//!
//! ```text
//!            acquire: epoch + 1                     release, restart, deadline passed
//!  nobody ───────────────────────► held by a node ───────────────────────────────────► nobody, the epoch stays
//!                                  │  ▲
//!                                  └──┘ renew: same epoch, later deadline
//! ```
//!
//! - The tempting wrong answer lets a node that restarts go on with the lease that it still has. Its former life may have
//!   writes under way. So a restart gives the lease up and keeps the epoch ([`Lease::restart`]), and the next acquire
//!   is a new epoch, also for the same node.
//! - A token is the epoch, the coordinator that has it and the origin's sequence. Two coordinators in one epoch must not be;
//!   if they are, the one that was seen first has it, and the other is refused by name.
//! - [`Routing`] is the list of who coordinates what: the narrowest realm that has a coordinator decides.
//!
//! Membership takes no part in this: that a node is thought dead is a reason to try to acquire, and gives nobody anything.
//!
//! Invariant: along every history the epoch of a [`Lease`] and of a [`Gate`] never falls.

mod gate;
mod lease;
mod routing;
#[cfg(test)]
mod tests;

pub use gate::{Gate, Stale};
pub use lease::{Held, Lease, Refusal};
pub use relaymesh_bus::envelope::FenceToken;
pub use routing::{Holder, Realm, Route, Routing};
