//! The suite of promises that every store keeps, one named test per promise.
//!
//! A backend supplies only "a fresh store" and "open it again":
//!
//! ```ignore
//! struct Sqlite(tempfile::TempDir);
//! impl relaymesh_store::contract::Backend for Sqlite { /* … */ }
//! relaymesh_store::contract_suite!(Sqlite);
//! ```
//!
//! [`contract_suite!`](crate::contract_suite) expands to a test module per area with one `#[test]` per promise, so that a
//! report says what a store does not keep and not only that it failed. The batches that the promises commit are made by
//! [`author::Author`] with the kernel, the same way as a driver makes them; a suite that made up its own rows would test
//! a store for things that never happen. [`differential()`] compares two backends on random histories.

#![allow(clippy::unwrap_used, reason = "a suite is test code: what fails should stop with the line")]

pub mod atomicity;
pub mod author;
pub mod content;
mod differential;
pub mod gallery;
pub mod graph;
pub mod idempotency;
pub mod journal;
pub mod life;
pub mod log;
pub mod namespaces;
pub mod plans;
pub mod queues;
pub mod readers;
pub mod restart;
pub mod rows;
pub mod scopes;
pub mod snapshot;
pub mod world;

use crate::{Error, Store};

pub use differential::{Dice, differential, differential_with};

/// What a crate that implements a store gives to the suite.
pub trait Backend {
    /// The store.
    type Store: Store;

    /// A place with nothing in it.
    fn fresh() -> Self;

    /// Opens the store in this place. Called again after the store was dropped, it is a restart.
    fn open(&mut self) -> Result<Self::Store, Error>;
}

/// Expands to one `#[test]` per promise, for a type that is a [`Backend`](crate::contract::Backend).
#[macro_export]
macro_rules! contract_suite {
    ($backend:ty) => {
        $crate::contract_area!($backend, log:
            a_fresh_store_has_an_empty_head,
            the_head_is_that_of_the_last_batch,
            ops_come_back_byte_for_byte_in_order,
            ops_are_paged_without_loss,
            ops_after_the_newest_are_none,
            a_gap_in_the_ops_is_refused,
            a_batch_from_before_the_head_is_refused,
            a_batch_cannot_be_committed_twice,
            the_chain_of_what_was_stored_holds,
            the_head_goes_on_in_a_new_epoch,
            an_op_of_the_largest_size_comes_back,
        );
        $crate::contract_area!($backend, rows:
            rows_in_every_status_come_back,
            a_task_with_many_steps_comes_back,
            a_missing_task_is_none,
            a_task_is_found_by_its_key,
            a_row_changes_with_every_batch,
            of_a_row_twice_in_a_batch_the_later_counts,
            lists_are_newest_first,
            lists_are_paged_by_key,
            lists_are_filtered_by_namespace,
            lists_are_filtered_by_status,
            lists_are_filtered_by_both,
            a_limit_of_nothing_gives_nothing,
            counts_are_of_rows,
            the_state_hash_is_that_of_all_rows,
            a_far_deadline_comes_back,
        );
        $crate::contract_area!($backend, queues:
            only_ready_steps_are_due,
            each_lane_has_its_own_queue,
            due_is_in_order_of_time_then_key,
            due_is_paged_without_loss_or_doubles,
            steps_of_a_namespace_are_found_page_by_page,
            what_is_not_due_yet_is_invisible,
            approvals_with_a_deadline_have_a_queue,
            a_claimed_step_leaves_its_queue,
            the_next_due_time_is_the_first_of_all_queues,
            with_nothing_to_come_there_is_no_next_due_time,
            leases_are_found_by_owner,
            leases_are_paged_by_key,
            a_lease_is_gone_with_its_attempt,
            steps_that_wait_for_an_approval_are_found,
        );
        $crate::contract_area!($backend, idempotency:
            the_newest_request_is_the_greatest_of_all_namespaces,
            a_key_leads_to_its_task,
            an_unknown_key_is_none,
            one_key_in_two_namespaces_is_two_tasks,
            a_key_goes_only_with_its_own_task,
            keys_come_and_go_in_order,
            keys_of_all_kinds_come_back,
        );
        $crate::contract_area!($backend, content:
            content_comes_back,
            empty_content_is_content,
            the_largest_inline_content_comes_back,
            a_blob_comes_back,
            equal_bytes_are_one_blob,
            an_unknown_blob_is_none,
            unknown_content_is_none,
            inputs_and_results_do_not_meet,
        );
        $crate::contract_area!($backend, scopes:
            a_repository_comes_back_with_its_locks,
            a_released_lock_is_gone_and_the_fence_stays,
            rows_may_come_and_go_within_a_batch,
            scopes_are_listed_in_pages,
            locks_fall_due_at_their_deadlines,
            the_state_hash_covers_scopes,
            rows_that_do_not_fit_are_refused,
            a_thread_comes_back_with_its_messages,
            an_inbox_is_in_order_and_holds_nothing_else,
            messages_fall_due_by_lease_and_by_age,
            threads_are_found_by_the_state_of_a_message,
        );
        $crate::contract_area!($backend, namespaces:
            a_namespace_comes_back,
            namespaces_are_listed_right_after_the_log,
            the_state_hash_covers_namespaces,
            a_namespace_is_not_created_twice,
            a_namespace_outlives_its_op,
        );
        $crate::contract_area!($backend, plans:
            a_plan_comes_back_with_its_items,
            plans_are_listed_last,
            the_state_hash_covers_plans,
            an_item_that_went_and_came_again_in_one_batch_is_the_new_one,
            an_item_is_not_created_twice,
            a_purged_plan_is_gone_and_its_ops_may_go,
            a_plan_is_rebuilt_from_its_ops,
        );
        $crate::contract_area!($backend, life:
            a_purged_task_is_gone_with_its_key,
            a_purged_thread_is_gone,
            only_a_task_that_is_there_is_purged,
            what_was_swept_is_not_forgotten,
            ended_tasks_are_listed_by_time,
            threads_at_rest_are_listed_by_time,
            dropped_ops_leave_a_stub_and_take_their_content_along,
            runs_are_joined_to_the_stub_before_them,
            a_blob_goes_with_the_last_op_that_names_it,
            ops_above_the_horizon_are_not_dropped,
            the_snapshot_is_of_the_horizon,
            a_compacted_log_verifies_and_rebuilds,
            a_half_compacted_log_verifies_and_rebuilds,
            a_restart_keeps_what_was_let_go_of,
        );
        $crate::contract_area!($backend, journal:
            conflicts_are_newest_first,
            conflicts_are_limited,
            a_conflict_keeps_all_its_fields,
            the_last_heartbeat_counts,
            an_unknown_worker_was_never_heard_of,
            a_journal_alone_moves_no_head,
            what_is_used_adds_up,
            what_is_used_does_not_overflow,
        );
        $crate::contract_area!($backend, atomicity:
            a_task_that_exists_is_not_created,
            a_task_id_is_not_given_twice,
            a_missing_task_is_not_changed,
            a_step_that_exists_is_not_created,
            a_missing_step_is_not_changed,
            an_idempotency_row_that_exists_is_not_created,
            refused_ops_leave_no_trace,
            refused_rows_leave_no_trace,
            refused_content_leaves_no_trace,
            a_refused_journal_leaves_no_trace,
            after_a_refusal_the_right_batch_fits,
            an_empty_batch_changes_nothing,
            a_thousand_tasks_in_one_batch,
            a_thousand_tasks_and_one_mistake,
        );
        $crate::contract_area!($backend, restart:
            a_restart_keeps_the_log,
            a_restart_keeps_the_rows,
            a_restart_keeps_the_queues,
            a_restart_keeps_idempotency_and_content,
            a_restart_keeps_the_journal,
            a_restart_of_nothing_is_nothing,
            a_restart_goes_on_with_the_chain,
            many_restarts_lose_nothing,
            a_second_writer_is_refused,
            a_refused_batch_is_not_there_after_a_restart,
        );
        $crate::contract_area!($backend, readers:
            a_reader_sees_what_is_committed_after_it_was_made,
            two_readers_agree,
            a_reader_sees_nothing_of_a_refused_batch,
            many_readers_live_side_by_side,
            an_old_reader_follows_a_task_to_its_end,
        );
    };
}

/// One area of [`contract_suite!`].
#[doc(hidden)]
#[macro_export]
macro_rules! contract_area {
    ($backend:ty, $area:ident: $($promise:ident,)*) => {
        mod $area {
            use super::*;
            $(
                #[test]
                fn $promise() {
                    $crate::contract::$area::$promise::<$backend>();
                }
            )*
        }
    };
}
