//! The suite of promises that every mesh store keeps, one named test per promise (A7).
//!
//! A backend supplies "a fresh store with room for so much", "open it again" and "wait for a future". The envelopes that the
//! promises admit are really sealed and opened: nothing else can be admitted.

#![allow(clippy::unwrap_used, reason = "a suite is test code: what fails should stop with the line")]

mod differential;
pub mod inbound;
pub mod outbound;
pub mod outbox;
pub mod restart;
pub mod samples;
pub mod section;
mod world;

pub use differential::differential;

use crate::{inbound as inbox, outbound as out, store::MeshStore};
use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

/// What a crate that implements a mesh store gives to the suite.
pub trait MeshBackend {
    /// The store.
    type Store: MeshStore;

    /// A place with nothing in it and room for so much.
    fn fresh(inbound: inbox::Limits, outbound: out::Limits) -> Self;

    /// Opens the store in this place. Called again after the store was dropped, it is a restart.
    fn open(&mut self) -> Self::Store;

    /// Waits for a future of the store.
    fn wait<F: Future>(future: F) -> F::Output;
}

/// Waits for a future that is ready at once, as those of a store in memory are.
pub fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a future of this store is ready at once"),
    }
}

/// An envelope with this number as nonce and as sequence, all of one sender.
pub fn numbered(number: u64) -> inbox::Arrival {
    arrived(1, 0, number, number)
}

/// An envelope of this sender with this epoch, sequence and nonce.
pub fn arrived(sender: u8, epoch: u64, sequence: u64, nonce: u64) -> inbox::Arrival {
    world::arrival(sender, epoch, sequence, nonce)
}

/// Expands to one `#[test]` per promise, for a type that is a [`MeshBackend`](crate::contract::MeshBackend).
#[macro_export]
macro_rules! mesh_contract_suite {
    ($backend:ty) => {
        $crate::mesh_contract_area!($backend, inbound:
            an_envelope_is_admitted_once,
            a_nonce_is_refused_with_another_sequence,
            a_sequence_that_does_not_grow_is_refused,
            a_gap_in_the_sequence_is_no_reason,
            each_sender_has_its_own_mark,
            each_sender_has_its_own_nonces,
            a_later_epoch_counts_anew,
            an_earlier_epoch_is_refused,
            a_refusal_changes_nothing,
            the_oldest_nonces_are_forgotten_and_the_mark_is_not,
            a_loud_sender_pushes_out_its_own_nonces,
            more_senders_than_allowed_are_refused,
            a_sender_that_is_known_is_not_one_more,
            nobody_has_a_mark_before_the_first_envelope,
        );
        $crate::mesh_contract_area!($backend, outbound:
            numbers_begin_with_one,
            blocks_follow_each_other_without_a_gap,
            a_block_of_nothing_has_one_number,
            a_later_epoch_begins_with_one,
            an_epoch_that_is_not_later_changes_nothing,
        );
        $crate::mesh_contract_area!($backend, outbox:
            what_is_enqueued_comes_back_whole,
            nothing_is_due_before_its_time,
            of_each_peer_only_the_first_is_due,
            the_longest_due_comes_first,
            due_is_limited,
            what_went_is_gone_and_the_next_is_due,
            a_failed_try_waits_with_its_reason,
            what_was_tried_too_often_is_given_up,
            a_peer_that_is_back_need_not_wait,
            what_is_over_is_told_once_and_never_due,
            a_full_outbox_refuses_and_changes_nothing,
            what_is_not_there_can_be_removed_and_failed,
        );
        $crate::mesh_contract_area!($backend, restart:
            a_replay_from_before_is_refused_after,
            marks_are_kept,
            numbers_go_on_behind_the_last_block,
            the_epoch_is_kept,
            what_waits_is_kept_in_order,
            a_refused_envelope_leaves_nothing,
        );
    };
}

/// Expands to one `#[test]` per promise about traffic as a section of a batch, for a type that is a
/// [`Backend`](relaymesh_store::contract::Backend).
#[macro_export]
macro_rules! section_contract_suite {
    ($backend:ty) => {
        $crate::mesh_contract_area!($backend, section:
            a_new_store_knows_of_no_traffic,
            what_was_decided_is_restored_from_what_was_kept,
            what_waits_comes_back_whole,
            traffic_alone_moves_no_head,
            an_effect_and_its_admission_are_one_commit,
            a_refused_batch_leaves_neither_op_nor_nonce,
            a_second_admission_takes_its_effect_along,
            nonces_come_once_and_marks_only_grow,
            numbers_of_a_sender_only_grow,
            ids_of_the_outbox_are_given_once,
            traffic_of_one_batch_is_in_order,
        );
    };
}

/// One area of [`mesh_contract_suite!`].
#[doc(hidden)]
#[macro_export]
macro_rules! mesh_contract_area {
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
