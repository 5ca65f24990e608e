//! R6: what a task delivers is named by a hash.

use super::world::{Say, World, result, step};
use crate::{hash::Hash, task::Status};

#[test]
fn one_last_step_gives_the_task_its_result() {
    let mut world = World::new([step("a"), step("b").after(&[0])]);
    world.run(0);
    assert_eq!(world.rows().task.result_hash, None);
    world.run(1);
    assert_eq!(world.rows().task.result_hash, Some(result(1).hash));
    assert_eq!(world.step(0).result, Some(result(0)));
}

#[test]
fn several_last_steps_give_the_hash_over_their_hashes_in_order() {
    let mut world = World::new([step("a"), step("b").after(&[0]), step("c").after(&[0]), step("undo").undoes(0)]);
    [0, 2, 1].into_iter().for_each(|index| world.run(index));
    let hashes = [result(1).hash.0, result(2).hash.0].concat();
    assert_eq!(world.rows().task.result_hash, Some(Hash::sha256(&hashes)), "not the order of finishing");
    assert_eq!(world.ended(), Status::Success);
}

#[test]
fn successes_are_numbered_in_order_of_finishing() {
    let mut world = World::new([step("a"), step("b"), step("c").after(&[0, 1])]);
    [1, 0, 2].into_iter().for_each(|index| world.run(index));
    assert_eq!(world.rows().steps.iter().map(|step| step.success).collect::<Vec<_>>(), [2, 1, 3]);
}

#[test]
fn the_row_says_where_the_result_lies_here() {
    let mut world = World::new([step("a")]);
    world.run(0);
    assert_eq!((world.rows().task.key, world.step(0).result_pos), (1, 3), "positions of submit and completion");
}

#[test]
fn a_task_that_ends_badly_has_no_result() {
    let mut world = World::new([step("a"), step("b").after(&[0])]);
    world.run(0);
    world.break_down(1);
    assert_eq!((world.ended(), world.rows().task.result_hash), (Status::Failed, None));
}
