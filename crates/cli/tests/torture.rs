//! TORTURE: what a disk, a hand or a bad day does to the files. Slow, so ignored; `cargo xtask torture` runs it.
//!
//! One seed decides the run (`RELAYMESH_TORTURE_SEED`, told at the beginning); `RELAYMESH_TORTURE_QUICK=1` takes a tenth.
//! Each test ends with a table of outcomes. Two are allowed: the same data, or a named error that says what to do. A
//! green start with fewer or other data fails the test, with the folder as evidence and the command that repeats it.

#[allow(dead_code, reason = "the kill test uses the rest")]
#[path = "harness/torture/amnesia.rs"]
mod amnesia;
#[path = "harness/torture/damage.rs"]
mod damage;
#[path = "harness/torture/faults.rs"]
mod faults;
#[path = "harness/torture/full.rs"]
mod full;

use crate::harness::{disk::Disk, flow::Flow, striker::Striker};

#[test]
#[ignore = "slow: cargo xtask torture"]
fn a_failed_sync_is_never_called_durable() {
    if Striker::Strace.is_there("the torture of syncs") {
        faults::fail_every_sync(&[Flow::Submit, Flow::Complete]);
    }
}

#[test]
#[ignore = "slow: cargo xtask torture"]
fn a_write_without_room_loses_nothing() {
    if Striker::Strace.is_there("the torture of writes") {
        faults::fail_every_write(&[Flow::Submit, Flow::Complete]);
    }
}

#[test]
#[ignore = "slow: cargo xtask torture"]
fn a_full_disk_refuses_and_goes_on_once_there_is_room() {
    full::fill_a_disk(Disk::mounted);
}

#[test]
#[ignore = "slow: cargo xtask torture"]
fn so_does_a_disk_that_is_full_before_anybody_saw_it_coming() {
    full::fill_a_disk(Disk::bounded);
}

#[test]
#[ignore = "slow: cargo xtask torture"]
fn a_flipped_bit_in_a_closed_store_is_no_lie() {
    damage::flip(damage::State::Closed);
}

#[test]
#[ignore = "slow: cargo xtask torture"]
fn a_flipped_bit_in_a_killed_store_is_no_lie() {
    if Striker::Strace.is_there("the torture of a killed store") {
        damage::flip(damage::State::Killed);
    }
}

#[test]
#[ignore = "slow: cargo xtask torture"]
fn a_cut_file_of_a_closed_store_is_no_lie() {
    damage::cut(damage::State::Closed);
}

#[test]
#[ignore = "slow: cargo xtask torture"]
fn a_cut_file_of_a_killed_store_is_no_lie() {
    if Striker::Strace.is_there("the torture of a killed store") {
        damage::cut(damage::State::Killed);
    }
}

#[test]
#[ignore = "slow: cargo xtask torture"]
fn an_older_copy_put_back_is_amnesia_and_can_be_recovered() {
    amnesia::put_an_older_copy_back();
}
