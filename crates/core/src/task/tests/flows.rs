//! Steps with conditions and lists: what follows once a node has worked them out.

use super::world::{Say, World, result, step};
use crate::{
    hash::Hash,
    op::{CancelMode, ExpireReason},
    task::{
        Refusal, Status,
        Status::{Cancelled, Failed, Pending, Retrying, Skipped, Success, Waiting},
        graph::{Error, STEPS_MAX},
    },
};

/// The node finds that the condition holds.
fn passes(world: &mut World, index: u16) {
    let held = world.take(index);
    world.pass(held).unwrap();
}

/// The node finds that it does not.
fn skips(world: &mut World, index: u16) {
    let held = world.take(index);
    world.skip(held).unwrap();
}

fn fans_out(world: &mut World, index: u16, count: u16) {
    let held = world.take(index);
    world.fan_out(held, count).unwrap();
}

#[test]
fn a_step_whose_condition_holds_runs_and_looking_was_no_attempt() {
    let mut world = World::new([step("a").gated().attempts(1)]);
    passes(&mut world, 0);
    assert_eq!((world.status(0), world.step(0).attempt, world.step(0).epoch), (Pending, 0, 1));
    assert!(world.step(0).history.is_empty());
    world.run(0);
    assert_eq!((world.ended(), world.step(0).attempt, world.step(0).epoch), (Success, 1, 2));
}

#[test]
fn a_step_with_a_condition_cannot_be_completed_before_anybody_looked() {
    let mut world = World::new([step("a").gated(), step("b").listing()]);
    for index in [0, 1] {
        let held = world.take(index);
        assert!(matches!(world.complete(held), Err(Refusal::NotWeighed { .. })));
    }
}

#[test]
fn what_depends_only_on_skipped_steps_is_skipped_with_them_and_the_rest_goes_on() {
    // fix and answer are two ways; test stands behind fix alone, report behind both.
    let mut world = World::new([
        step("triage"),
        step("fix").after(&[0]).gated(),
        step("answer").after(&[0]).gated(),
        step("test").after(&[1]),
        step("report").after(&[2, 3]),
    ]);
    world.run(0);
    skips(&mut world, 1);
    assert_eq!(world.status(3), Skipped);
    assert_eq!(world.claimable(), [2]);
    passes(&mut world, 2);
    world.run(2);
    world.run(4);
    assert_eq!(world.ended(), Success);
    assert_eq!(world.rows().task.result_hash, Some(result(4).hash));
}

#[test]
fn a_task_whose_last_steps_were_all_skipped_succeeds_with_nothing() {
    let mut world = World::new([step("report").after(&[1]), step("find").gated()]);
    skips(&mut world, 1);
    assert_eq!(world.statuses(), [Skipped, Skipped]);
    assert_eq!(world.ended(), Success);
    assert_eq!(world.rows().task.result_hash, Some(Hash::sha256(b"null")));
}

#[test]
fn nobody_is_asked_about_a_step_that_is_not_wanted() {
    let deploy = || step("deploy").gated().asks("ok?", Some(500));
    let mut world = World::new([deploy()]);
    assert_eq!(world.status(0), Pending);
    skips(&mut world, 0);
    assert_eq!(world.ended(), Success);

    let mut world = World::new([deploy()]);
    passes(&mut world, 0);
    assert_eq!(world.status(0), Waiting);
    assert!(world.step(0).due_ms > world.now_ms);
    world.approve(0, "ok?").unwrap();
    world.run(0);
    assert_eq!(world.ended(), Success);
}

#[test]
fn each_item_gets_a_step_of_its_own_and_the_list_ends_after_them() {
    let mut world = World::new([step("fix").listing(), step("report").after(&[0])]);
    fans_out(&mut world, 0, 3);
    assert_eq!(world.claimable(), [2, 3, 4]);
    let names: Vec<&str> = world.rows().steps.iter().map(|step| step.spec.name.as_str()).collect();
    assert_eq!(names, ["fix", "report", "fix.0", "fix.1", "fix.2"]);
    for index in [3, 2] {
        world.run(index);
    }
    assert_eq!(world.claimable(), [4], "the list waits for all of them");
    world.run(4);
    assert_eq!(world.claimable(), [0]);
    world.run(0);
    world.run(1);
    assert_eq!(world.ended(), Success);
    assert_eq!(world.rows().task.result_hash, Some(result(1).hash), "items are not last steps");
}

#[test]
fn an_empty_list_is_done_at_once() {
    let mut world = World::new([step("fix").listing()]);
    fans_out(&mut world, 0, 0);
    world.run(0);
    assert_eq!(world.ended(), Success);
}

#[test]
fn one_question_is_asked_for_the_whole_list() {
    let mut world = World::new([step("fix").listing().asks("ok?", None)]);
    world.approve(0, "ok?").unwrap();
    fans_out(&mut world, 0, 2);
    assert_eq!(world.claimable(), [1, 2]);
    world.run(1);
    world.run(2);
    world.run(0);
    assert_eq!(world.ended(), Success);
}

#[test]
fn an_item_that_fails_for_good_fails_the_task_and_a_redrive_repeats_that_item_alone() {
    let mut world = World::new([step("find"), step("fix").after(&[0]).listing()]);
    world.run(0);
    fans_out(&mut world, 1, 2);
    world.run(2);
    world.break_down(3);
    assert_eq!((world.ended(), world.status(2), world.status(3)), (Failed, Success, Failed));
    world.redrive().unwrap();
    assert_eq!(world.claimable(), [3]);
    world.run(3);
    world.run(1);
    assert_eq!(world.ended(), Success);
}

#[test]
fn a_list_that_is_made_anew_uses_the_steps_of_the_old_one_and_their_fences() {
    let mut world =
        World::new([step("find"), step("fix").after(&[0]).listing(), step("pay").after(&[1]), step("undo").undoes(0)]);
    world.run(0);
    fans_out(&mut world, 1, 3);
    (4..7).for_each(|index| world.run(index));
    world.run(1);
    world.break_down(2);
    world.run(3);
    assert_eq!(world.ended(), Failed);
    world.redrive().unwrap();
    assert_eq!(world.claimable(), [0], "what was undone is done again, and what came after it");
    world.run(0);
    assert_eq!(world.claimable(), [1]);
    fans_out(&mut world, 1, 2);
    assert_eq!(world.rows().steps.len(), 7);
    assert_eq!((world.claimable(), world.status(6)), (vec![4, 5], Skipped));
    world.run(4);
    assert_eq!(world.step(4).epoch, 2);
    world.run(5);
    world.run(1);
    world.run(2);
    assert_eq!(world.ended(), Success);
}

#[test]
fn a_cancel_ends_the_steps_of_items_too() {
    let mut world = World::new([step("fix").listing()]);
    fans_out(&mut world, 0, 2);
    world.take(1);
    world.cancel(CancelMode::Hard).unwrap();
    assert_eq!(world.statuses(), [Cancelled; 3]);
}

#[test]
fn a_list_is_worked_out_once_and_no_longer_than_a_task_has_room() {
    let mut world = World::new([step("fix").listing()]);
    let held = world.take(0);
    let count = STEPS_MAX as u16;
    assert!(matches!(world.fan_out(held, count), Err(Refusal::TooManyItems { .. })));
    world.fan_out(held, count - 1).unwrap();
    assert!(matches!(world.fan_out(held, 1), Err(Refusal::Fenced { .. })));
    let mut world = World::new([step("fix").listing(), step("plain")]);
    fans_out(&mut world, 0, 0);
    let held = world.take(0);
    assert!(matches!(world.fan_out(held, 1), Err(Refusal::NothingToWeigh { .. })));
    let held = world.take(1);
    assert!(matches!(world.fan_out(held, 1), Err(Refusal::NothingToWeigh { .. })));
    assert!(matches!(world.skip(held), Err(Refusal::NothingToWeigh { .. })));
    assert!(matches!(world.pass(held), Err(Refusal::NothingToWeigh { .. })));
}

#[test]
fn names_that_items_would_get_must_be_free() {
    let refused = |steps: Vec<_>| matches!(World::try_new(steps), Err(Refusal::Graph(Error::Foreach { .. })));
    assert!(refused(vec![step("fix").listing(), step("fix.0")]));
    assert!(refused(vec![step(&"x".repeat(60)).listing()]));
    assert!(refused(vec![step("a"), step("undo").undoes(0).listing()]));
    assert!(World::try_new([step("fix").listing(), step("fix.x")]).is_ok());
}

#[test]
fn a_node_that_dies_while_it_looks_costs_no_attempt() {
    for mut world in [World::new([step("a").gated().attempts(1)]), World::new([step("a").listing().attempts(1)])] {
        for _ in 0..3 {
            let held = world.take(0);
            world.expire(held, ExpireReason::OwnerGone).unwrap();
            assert_eq!((world.status(0), world.step(0).attempt), (Retrying, 0));
            world.wait(1000);
        }
    }
}

#[test]
fn a_condition_found_to_hold_after_the_task_broke_starts_nothing() {
    let mut world = World::new([step("a").gated(), step("b")]);
    let held = world.take(0);
    world.break_down(1);
    world.pass(held).unwrap();
    assert_eq!((world.status(0), world.ended()), (Cancelled, Status::Failed));
}
