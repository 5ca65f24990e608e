//! R5: every move of the transition table can be made, and there is a story for each.

use super::world::{LEASE_MS, Say, World, step};
use crate::{
    op::{CancelMode, ExpireReason},
    task::{
        Status,
        Status::{Cancelled, DeadLetter, Failed, Pending, Retrying, Running, Skipped, Success, Waiting},
        Verb,
        spec::StepSpec,
        table::{TRANSITIONS, targets},
    },
};
use std::collections::BTreeSet;

type Story = fn(&mut World);
type Steps = fn() -> Vec<StepSpec>;
type Told = (Status, Verb, Status, Steps, Story, Story);

/// Step 0 is the one that moves. Step 1 is there to fail, so that step 0 is skipped.
fn plain() -> Vec<StepSpec> {
    vec![step("a"), step("b")]
}

fn asking() -> Vec<StepSpec> {
    vec![step("a").asks("ok?", None), step("b")]
}

fn compensated() -> Vec<StepSpec> {
    vec![step("a"), step("b").after(&[0]), step("undo").undoes(0)]
}

fn after_b() -> Vec<StepSpec> {
    vec![step("a").after(&[1]).asks("ok?", None), step("b")]
}

fn once() -> Vec<StepSpec> {
    vec![step("a").attempts(1), step("b")]
}

fn fail_retryable(world: &mut World) {
    let held = world.take(0);
    world.fail(held, true).unwrap();
}

fn soft_cancel(world: &mut World) {
    world.cancel(CancelMode::Soft).unwrap();
}

fn hold(world: &mut World) {
    world.take(0);
}

fn hold_and_soft_cancel(world: &mut World) {
    hold(world);
    soft_cancel(world);
}

fn nothing(_: &mut World) {}

/// What the holder of step 0 would show.
fn held(world: &World) -> crate::op::Hold<u16> {
    let step = world.step(0);
    crate::op::Hold { step: 0, epoch: step.epoch, token: step.lease.as_ref().unwrap().token }
}

fn say_fail(world: &mut World) {
    world.fail(held(world), true).unwrap();
}

fn say_yield(world: &mut World) {
    world.give_back(held(world)).unwrap();
}

fn say_expire(world: &mut World) {
    world.wait(LEASE_MS);
    world.expire(held(world), ExpireReason::DeadlinePassed).unwrap();
}

fn say_time_out(world: &mut World) {
    world.time_out(held(world)).unwrap();
}

fn hard_cancel(world: &mut World) {
    world.cancel(CancelMode::Hard).unwrap();
}

fn skip(world: &mut World) {
    world.break_down(1);
}

fn redrive(world: &mut World) {
    world.redrive().unwrap();
}

fn conditional() -> Vec<StepSpec> {
    vec![step("a").gated(), step("b")]
}

fn conditional_asking() -> Vec<StepSpec> {
    vec![step("a").gated().asks("ok?", None), step("b")]
}

fn listing() -> Vec<StepSpec> {
    vec![step("a").listing(), step("b")]
}

fn say_pass(world: &mut World) {
    world.pass(held(world)).unwrap();
}

fn say_fan_out(world: &mut World) {
    world.fan_out(held(world), 2).unwrap();
}

/// From where, what, to where; the steps, what happens before, and the op that makes the move.
#[rustfmt::skip]
const STORIES: &[Told] = &[
    (Pending, Verb::Ask, Waiting, after_b, nothing, |world| world.run(1)),
    (Waiting, Verb::Approve, Pending, asking, nothing, |world| world.approve(0, "ok?").unwrap()),
    (Waiting, Verb::Deny, Failed, asking, nothing, |world| world.deny(0, "ok?").unwrap()),
    (Pending, Verb::Claim, Running, plain, nothing, hold),
    (Retrying, Verb::Claim, Running, plain, |world| { fail_retryable(world); world.wait(1000); }, hold),
    (Running, Verb::Renew, Running, plain, hold, |world| {
        let claim = world.claim_body(0, 1, held(world).token, 1);
        world.say(claim).unwrap();
    }),
    (Running, Verb::Complete, Success, plain, hold, |world| world.complete(held(world)).unwrap()),
    (Running, Verb::Fail, Retrying, plain, hold, say_fail),
    (Running, Verb::Fail, Failed, plain, hold, |world| world.fail(held(world), false).unwrap()),
    (Running, Verb::Fail, DeadLetter, once, hold, say_fail),
    (Running, Verb::Fail, Cancelled, plain, hold_and_soft_cancel, say_fail),
    (Running, Verb::Yield, Pending, plain, hold, say_yield),
    (Running, Verb::Yield, Cancelled, plain, hold_and_soft_cancel, say_yield),
    (Running, Verb::Pass, Pending, conditional, hold, say_pass),
    (Running, Verb::Pass, Waiting, conditional_asking, hold, say_pass),
    (Running, Verb::Pass, Cancelled, conditional, hold_and_soft_cancel, say_pass),
    (Running, Verb::FanOut, Pending, listing, hold, say_fan_out),
    (Running, Verb::FanOut, Cancelled, listing, hold_and_soft_cancel, say_fan_out),
    (Running, Verb::Skip, Skipped, conditional, hold, |world| world.skip(held(world)).unwrap()),
    (Running, Verb::Expire, Retrying, plain, hold, say_expire),
    (Running, Verb::Expire, DeadLetter, once, hold, say_expire),
    (Running, Verb::Expire, Cancelled, plain, hold_and_soft_cancel, say_expire),
    (Running, Verb::TimeOut, Retrying, plain, hold, say_time_out),
    (Running, Verb::TimeOut, DeadLetter, once, hold, say_time_out),
    (Running, Verb::TimeOut, Cancelled, plain, hold_and_soft_cancel, say_time_out),
    (Pending, Verb::Cancel, Cancelled, plain, nothing, soft_cancel),
    (Waiting, Verb::Cancel, Cancelled, asking, nothing, soft_cancel),
    (Running, Verb::Cancel, Cancelled, plain, hold, hard_cancel),
    (Retrying, Verb::Cancel, Cancelled, plain, fail_retryable, hard_cancel),
    (Pending, Verb::Skip, Skipped, plain, nothing, skip),
    (Waiting, Verb::Skip, Skipped, asking, nothing, skip),
    (Retrying, Verb::Skip, Skipped, plain, fail_retryable, skip),
    (Failed, Verb::Redrive, Pending, plain, |world| world.break_down(0), redrive),
    (DeadLetter, Verb::Redrive, Pending, once, fail_retryable, redrive),
    (Cancelled, Verb::Redrive, Pending, plain, hard_cancel, redrive),
    (Skipped, Verb::Redrive, Pending, plain, skip, redrive),
    (Success, Verb::Redrive, Pending, compensated, |world| { world.run(0); world.break_down(1); world.run(2); }, redrive),
];

#[test]
fn every_move_of_the_table_can_be_made() {
    for (from, verb, to, steps, before, act) in STORIES {
        let mut world = World::new(steps());
        before(&mut world);
        assert_eq!(world.status(0), *from, "before {verb:?}");
        act(&mut world);
        assert_eq!(world.status(0), *to, "{verb:?} from {from}");
    }
}

#[test]
fn there_is_a_story_for_exactly_the_moves_of_the_table() {
    let told: BTreeSet<(Status, Verb, Status)> =
        STORIES.iter().map(|(from, verb, to, ..)| (*from, *verb, *to)).collect();
    let table = TRANSITIONS.iter().flat_map(|(from, verb, to)| to.iter().map(|to| (*from, *verb, *to)));
    assert_eq!(table.collect::<BTreeSet<_>>(), told);
    assert_eq!(told.len(), STORIES.len(), "no story is told twice");
}

#[test]
fn the_table_has_one_line_for_each_place_and_verb() {
    let lines: BTreeSet<(Status, Verb)> = TRANSITIONS.iter().map(|(from, verb, _)| (*from, *verb)).collect();
    assert_eq!(lines.len(), TRANSITIONS.len());
    assert_eq!(targets(Running, Verb::Yield), [Pending, Cancelled]);
    assert_eq!(targets(Success, Verb::Claim), []);
}

#[test]
fn only_a_redrive_leads_on_from_a_terminal_status() {
    for (from, verb, _) in TRANSITIONS {
        assert_eq!(from.is_terminal(), *verb == Verb::Redrive, "{verb:?} from {from}");
    }
}

#[test]
fn statuses_have_the_names_of_the_contract() {
    for (number, status) in (0u8..).zip(Status::ALL) {
        assert_eq!(status as u8, number);
        assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        assert_eq!(status.to_string(), status.as_str());
    }
}
