//! The kinds of ops, by their numbers on the wire.

use serde::{Deserialize, Serialize};

macro_rules! kinds {
    ($($name:ident = $number:literal,)*) => {
        /// The number of each kind on the wire. Numbers are never used again for something else. What an op of a kind says is
        /// the variant of the same name of a machine's body.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[repr(u16)]
        pub enum Kind {
            $(#[doc = concat!("Number ", $number, ".")] $name = $number,)*
        }

        impl Kind {
            /// Every kind there is.
            pub const ALL: &[Kind] = &[$(Kind::$name),*];
        }
    };
}

kinds! {
    ScheduleJob = 1,
    ClaimWork = 2,
    CompleteJob = 3,
    FailJob = 4,
    YieldWork = 5,
    ExpireWork = 6,
    TimeoutWork = 7,
    CancelTask = 8,
    RedriveTask = 9,
    ApproveStep = 10,
    DenyStep = 11,
    AcquireLock = 12,
    RenewLock = 13,
    ReleaseLock = 14,
    ExpireLock = 15,
    SendMessage = 16,
    DeliverMessage = 17,
    AcknowledgeMessage = 18,
    ReplyMessage = 19,
    FailMessage = 20,
    ReturnMessage = 21,
    ExpireDelivery = 22,
    ExpireMessage = 23,
    RedriveMessage = 24,
    RecordArtifact = 25,
    PurgeScope = 26,
    Checkpoint = 27,
    PassWork = 28,
    SkipWork = 29,
    FanOut = 30,
    CreateNamespace = 31,
    AuditEvent = 32,
    RouteKind = 33,
    DesignateCoordinator = 34,
    DelegateUcan = 35,
    RevokeUcan = 36,
    FreezeNode = 37,
    SetSetting = 38,
    SetFeatureLevel = 39,
    Seal = 40,
    AddItem = 48,
    ChangeItem = 49,
    MoveItem = 50,
    SetItemStatus = 51,
    RemoveItem = 52,
}
