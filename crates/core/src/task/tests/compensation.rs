//! R4: when a step fails for good, what was done is undone, latest first, one at a time, durably.

use super::world::{Say, World, name, step};
use crate::{
    op::ExpireReason,
    task::{
        Effect, Refusal, Status,
        Status::{Cancelled, DeadLetter, Failed, Pending, Retrying, Running, Skipped, Success},
        spec::StepSpec,
    },
};

/// a and b can be undone, c cannot, d breaks; e would come after d.
fn steps() -> Vec<StepSpec> {
    vec![
        step("a"),
        step("b"),
        step("c"),
        step("d").after(&[0, 1, 2]),
        step("e").after(&[3]),
        step("undo-a").undoes(0),
        step("undo-b").undoes(1),
        step("undo-d").undoes(3),
        step("undo-e").undoes(4),
    ]
}

/// b succeeded before a; d has just failed for good.
fn broken() -> World {
    let mut world = World::new(steps());
    [1, 0, 2].into_iter().for_each(|index| world.run(index));
    world.break_down(3);
    world
}

#[test]
fn compensations_run_in_reverse_order_of_success_one_at_a_time() {
    let mut world = broken();
    assert_eq!(world.claimable(), [5], "a succeeded after b");
    assert_eq!(world.effects, [Effect::Offer { step: 5 }]);
    assert_eq!(world.claim(6), Err(Refusal::NotReady { name: name("undo-b") }));
    let held = world.take(5);
    assert_eq!(world.claimable(), [0u16; 0], "the next one waits until this one is done");
    world.complete(held).unwrap();
    assert_eq!(world.claimable(), [6]);
    world.run(6);
    assert_eq!(world.ended(), Failed);
}

#[test]
fn only_what_succeeded_is_undone_and_the_rest_is_skipped() {
    let mut world = broken();
    world.run(5);
    world.run(6);
    assert_eq!(world.statuses(), [Success, Success, Success, Failed, Skipped, Success, Success, Skipped, Skipped]);
}

#[test]
fn a_task_whose_attempts_were_used_up_ends_as_dead_letter_after_the_undoing() {
    let mut world = World::new([step("a"), step("b").after(&[0]).attempts(1), step("undo-a").undoes(0)]);
    world.run(0);
    let held = world.take(1);
    world.fail(held, true).unwrap();
    assert_eq!((world.status(1), world.ended()), (DeadLetter, Running));
    world.run(2);
    assert_eq!(world.ended(), DeadLetter);
}

#[test]
fn a_compensation_is_retried_like_any_step() {
    let mut world = broken();
    let held = world.take(5);
    world.fail(held, true).unwrap();
    assert_eq!((world.status(5), world.ended()), (Retrying, Running));
    assert_eq!(world.claimable(), [0u16; 0], "the others still wait for it");
    world.wait(1000);
    let held = world.take(5);
    world.give_back(held).unwrap();
    assert_eq!(world.status(5), Pending);
    world.run(5);
    world.run(6);
    assert_eq!(world.ended(), Failed);
}

#[test]
fn a_lost_worker_does_not_lose_the_compensation() {
    let mut world = broken();
    let held = world.take(5);
    world.expire(held, ExpireReason::OwnerGone).unwrap();
    assert!(matches!(world.complete(held), Err(Refusal::Fenced { .. })));
    world.wait(1000);
    world.run(5);
    world.run(6);
    assert_eq!(world.ended(), Failed);
}

#[test]
fn a_broken_compensation_stops_the_rest_and_ends_as_dead_letter() {
    let mut world = broken();
    world.break_down(5);
    assert_eq!(world.ended(), DeadLetter);
    assert_eq!((world.status(5), world.status(6)), (Failed, Skipped));
}

#[test]
fn a_redrive_goes_on_with_the_broken_compensation_and_the_rest() {
    let mut world = broken();
    world.break_down(5);
    world.redrive().unwrap();
    assert_eq!(world.claimable(), [5], "still the latest success first");
    assert_eq!((world.step(5).attempt, world.step(5).epoch), (0, 1));
    world.run(5);
    assert_eq!(world.claimable(), [6]);
    world.run(6);
    assert_eq!(world.ended(), Failed, "the undoing is done, the work is not");
    assert_eq!(world.status(3), Failed);
}

#[test]
fn what_was_undone_before_the_break_is_not_undone_twice() {
    let mut world = broken();
    world.run(5);
    world.break_down(6);
    assert_eq!(world.ended(), DeadLetter);
    world.redrive().unwrap();
    assert_eq!((world.claimable(), world.status(5)), (vec![6], Success));
    world.run(6);
    assert_eq!(world.ended(), Failed);
}

#[test]
fn running_siblings_finish_before_anything_is_undone() {
    let mut world = World::new([step("a"), step("b"), step("c"), step("undo-a").undoes(0), step("undo-b").undoes(1)]);
    world.run(0);
    let sibling = world.take(1);
    world.break_down(2);
    assert_eq!((world.claimable(), world.ended()), (vec![], Running));
    world.complete(sibling).unwrap();
    assert_eq!(world.claimable(), [4], "the sibling's own work is undone first");
    world.run(4);
    world.run(3);
    assert_eq!(world.ended(), Failed);
}

#[test]
fn a_sibling_that_is_lost_while_the_task_winds_down_is_not_tried_again() {
    type End = fn(&mut World, crate::op::Hold<u16>);
    let ends: [(End, Status); 4] = [
        (|world, held| world.fail(held, true).unwrap(), DeadLetter),
        (|world, held| world.expire(held, ExpireReason::OwnerGone).unwrap(), DeadLetter),
        (|world, held| world.time_out(held).unwrap(), DeadLetter),
        (|world, held| world.give_back(held).unwrap(), Cancelled),
    ];
    for (end, status) in ends {
        let mut world = World::new([step("a"), step("b"), step("undo-a").undoes(0)]);
        let sibling = world.take(0);
        world.break_down(1);
        end(&mut world, sibling);
        assert_eq!((world.status(0), world.status(2)), (status, Skipped));
        assert_eq!(world.ended(), Failed, "how the first one failed decides");
    }
}

#[test]
fn a_failure_skips_whatever_has_not_begun() {
    let mut world = World::new([
        step("fails"),
        step("ready"),
        step("asks").asks("ok?", Some(1000)),
        step("retries"),
        step("later").after(&[1]),
    ]);
    let held = world.take(3);
    world.fail(held, true).unwrap();
    world.break_down(0);
    assert_eq!(world.statuses(), [Failed, Skipped, Skipped, Skipped, Skipped]);
    assert!(world.rows().steps.iter().all(|step| step.due_ms == 0), "nothing is left to wake up for");
    assert_eq!(world.ended(), Failed);
}
