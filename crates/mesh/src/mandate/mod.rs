//! The mandate: whether whoever wrote an op may say what it says, as of the op's own time (L1, L5, L6, L14).
//!
//! ```text
//!  what is said                                   who may
//!  RouteKind DesignateCoordinator FreezeNode      the owner: its key, or who has (Mesh, Write) from it at first hand
//!  SetSetting SetFeatureLevel                     (nobody freezes the node of the owner's key)
//!  DelegateUcan                                   whoever issued a link of the chain
//!  RevokeUcan AuditEvent Checkpoint               whoever has a chain that holds (who revokes a stranger's link revokes nothing)
//!  Seal, and work of kind relaymesh.derive.*      the coordinator, besides what the work itself asks for
//!  ScheduleJob CancelTask RedriveTask             (Job, Schedule) for the kind of every step
//!  ClaimWork                                      (Job, Claim), for itself, unless a route leads elsewhere
//!  CompleteJob FailJob YieldWork TimeoutWork …    (Job, Complete), and only the node that claimed
//!  ExpireWork                                     (Job, Complete), anybody; that the owner is gone only its own node
//!  ApproveStep DenyStep                           (UserAssertion, Write)
//!  locks                                          (Entity, Write); renewed and released by the node that took them
//!  plans                                          (Entity, Write)
//!  messages                                       (Claim, Write); a delivery is ended by the node that took it
//!  CreateNamespace                                (Registration, Write)
//!  PurgeScope                                     what making the thing takes
//! ```
//!
//! Besides, a word of a register needs room there, and half of the room is for the owner's key alone (`room.rs`).
//!
//! The token of a lease stands on the log for all to read. Between nodes it proves nothing; that the op comes from the feed of
//! the node that claimed does.
//!
//! The kind of a step is the name of its agent (L10). Time decides: a chain counts from the op that gave it, until it runs out or
//! an op that is dated before ours takes it back. So all nodes that hold the same ops agree, whichever came first.
//!
//! Invariant: [`Registers::judge`] is a function of the op, the rows before it, and the words of registers dated before it.

mod judge;
mod need;
mod registers;
mod room;

pub use judge::{Unauthorised, kind_of};
pub use registers::{Member, Registers};

/// The kinds of work that are the coordinator's alone (L14).
pub const DERIVE_PREFIX: &str = "relaymesh.derive";
