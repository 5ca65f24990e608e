//! Redrive: a task that ended badly is tried again from where it broke.

use super::world::{Say, World, result, step};
use crate::{
    op::CancelMode,
    task::{
        Effect, Refusal,
        Status::{Cancelled, DeadLetter, Failed, Pending, Running, Success},
    },
};

#[test]
fn a_redrive_goes_on_after_failed_dead_letter_and_cancelled() {
    for ended in [Failed, DeadLetter, Cancelled] {
        let mut world = World::new([step("a"), step("b").after(&[0]).attempts(1), step("c").after(&[1])]);
        world.run(0);
        let held = world.take(1);
        if ended == Cancelled {
            world.cancel(CancelMode::Hard).unwrap();
        } else {
            world.fail(held, ended == DeadLetter).unwrap();
        }
        assert_eq!(world.ended(), ended);
        world.redrive().unwrap();
        assert_eq!((world.ended(), world.statuses()), (Running, vec![Success, Pending, Pending]));
        assert_eq!(world.effects, [Effect::Offer { step: 1 }], "what succeeded is not done again");
        assert_eq!(world.step(0).result, Some(result(0)));
        world.run(1);
        world.run(2);
        assert_eq!((world.ended(), world.rows().task.result_hash), (Success, Some(result(2).hash)));
        assert_eq!((world.rows().task.failing, world.rows().task.cancel), (None, None));
    }
}

#[test]
fn attempts_start_over_and_history_and_epoch_go_on() {
    let mut world = World::new([step("a").attempts(1)]);
    let held = world.take(0);
    world.fail(held, true).unwrap();
    world.redrive().unwrap();
    let step = world.step(0);
    assert_eq!((step.attempt, step.epoch, step.history.len(), step.due_ms), (0, 1, 1, 0));
    let held = world.take(0);
    assert_eq!(held.epoch, 2);
}

#[test]
fn what_runs_or_ended_well_cannot_be_redriven() {
    let mut world = World::new([step("a")]);
    assert_eq!(world.redrive(), Err(Refusal::NotRedrivable { found: Pending }));
    let held = world.take(0);
    assert_eq!(world.redrive(), Err(Refusal::NotRedrivable { found: Running }));
    world.complete(held).unwrap();
    assert_eq!(world.redrive(), Err(Refusal::NotRedrivable { found: Success }));
}

#[test]
fn what_was_undone_is_done_again_and_can_be_undone_again() {
    let mut world = World::new([step("a"), step("kept"), step("b").after(&[0, 1]), step("undo-a").undoes(0)]);
    for round in 1..=3 {
        world.run(0);
        if round == 1 {
            world.run(1);
        }
        world.break_down(2);
        world.run(3);
        assert_eq!(world.ended(), Failed);
        world.redrive().unwrap();
        assert_eq!(world.statuses(), [Pending, Success, Pending, Pending]);
        assert_eq!((world.claimable(), world.step(0).result, world.step(0).epoch), (vec![0], None, round));
    }
    world.run(0);
    world.run(2);
    assert_eq!(world.ended(), Success);
}

#[test]
fn a_redone_step_counts_as_the_latest_success() {
    let mut world = World::new([
        step("a"),
        step("b"),
        step("c").after(&[0, 1]),
        step("undo-a").undoes(0),
        step("undo-b").undoes(1),
    ]);
    for order in [[0, 1], [1, 0], [0, 1]] {
        order.into_iter().for_each(|index| world.run(index));
        world.break_down(2);
        assert_eq!(world.claimable(), [order[1] + 3], "latest success first");
        world.run(order[1] + 3);
        world.run(order[0] + 3);
        world.redrive().unwrap();
    }
}

#[test]
fn a_cancelled_task_whose_last_step_had_still_succeeded_succeeds() {
    let mut world = World::new([step("a"), step("undo-a").undoes(0)]);
    let held = world.take(0);
    world.cancel(CancelMode::Soft).unwrap();
    world.complete(held).unwrap();
    assert_eq!(world.ended(), Cancelled);
    world.redrive().unwrap();
    assert_eq!((world.ended(), world.rows().task.result_hash), (Success, Some(result(0).hash)));
    assert_eq!(world.effects, [Effect::End { status: Success }]);
}

#[test]
fn a_redriven_task_can_be_cancelled_and_redriven_again() {
    let mut world = World::new([step("a")]);
    for _ in 0..3 {
        world.cancel(CancelMode::Soft).unwrap();
        world.redrive().unwrap();
    }
    world.run(0);
    assert_eq!(world.ended(), Success);
}

#[test]
fn what_came_after_a_step_that_is_done_again_is_done_again_too() {
    let mut world = World::new([step("a"), step("b").after(&[0]), step("c").after(&[1]), step("undo-a").undoes(0)]);
    world.run(0);
    world.run(1);
    world.break_down(2);
    world.run(3);
    world.redrive().unwrap();
    assert_eq!(world.statuses(), [Pending; 4]);
    for step in [0, 1, 2] {
        assert_eq!(world.claimable(), [step], "one after the other");
        world.run(step);
    }
    assert_eq!(world.ended(), Success);
}
