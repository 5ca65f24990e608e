//! What an op says about a namespace.

use crate::op::bodies;

bodies! {
    /// What happened to a namespace.
    Namespace {
        /// Somebody made a namespace: the one in the op's header.
        CreateNamespace {
            /// What it is for, for people.
            about: String,
        }
    }
}
