//! What an op says about a plan: one variant per verb.

use super::{NewItem, Status};
use crate::{
    id::{ItemId, TaskId},
    op::{SeenItem, bodies},
};

bodies! {
    /// What happened to a plan.
    Plan {
        /// Something more is planned. A mission begins a plan.
        AddItem {
            /// What, and where in the plan.
            item: NewItem,
        }
        /// Other words about an item of a plan, or another task that does it.
        ChangeItem {
            /// What the author had seen of it.
            seen: SeenItem,
            /// What people call it from now on.
            title: String,
            /// What else there is to say about it from now on.
            notes: String,
            /// Of an item of the lowest level: the task that does it.
            task: Option<TaskId>,
        }
        /// An item of a plan goes to another place, with everything below it.
        MoveItem {
            /// What the author had seen of it.
            seen: SeenItem,
            /// What it lies in from now on.
            parent: ItemId,
            /// Where among its siblings.
            place: u64,
        }
        /// An item of a plan is begun, blocked, done, dropped, or planned once more.
        SetItemStatus {
            /// What the author had seen of it.
            seen: SeenItem,
            /// Where it rests from now on.
            status: Status,
            /// Why, for people.
            reason: String,
        }
        /// An item of a plan was never meant.
        RemoveItem {
            /// What the author had seen of it.
            seen: SeenItem,
        }
    }
}
