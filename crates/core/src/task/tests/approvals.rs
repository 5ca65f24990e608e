//! Approvals: a person decides about exactly what was asked, once.

use super::world::{Say, World, name, step};
use crate::{
    hash::Hash,
    task::{Effect, Refusal, Status, Verb},
};

const ASK: &str = "Publish to everyone?";

fn asking(deadline_ms: Option<u64>) -> World {
    World::new([step("a").asks(ASK, deadline_ms), step("b").after(&[0])])
}

#[test]
fn a_step_that_asks_waits_until_its_dependencies_are_done_and_then_for_an_answer() {
    let mut world = World::new([step("a"), step("b").after(&[0]).asks(ASK, None)]);
    assert_eq!(world.status(1), Status::Pending);
    world.run(0);
    assert_eq!((world.status(1), world.claimable()), (Status::Waiting, vec![]));
    assert!(matches!(world.claim(1), Err(Refusal::NotPossible { verb: Verb::Claim, found: Status::Waiting, .. })));
    world.approve(1, ASK).unwrap();
    assert_eq!(world.effects, [Effect::Offer { step: 1 }]);
    assert_eq!(world.step(1).decided_by, Some(name("alice")));
    world.run(1);
    assert_eq!(world.ended(), Status::Success);
}

#[test]
fn an_ask_with_a_deadline_wakes_somebody_up_then() {
    let world = asking(Some(500));
    let at_ms = world.now_ms + 500;
    assert_eq!(world.effects, [Effect::Wake { step: 0, at_ms }]);
    assert_eq!(world.step(0).due_ms, at_ms);
    assert_eq!(asking(None).effects, [], "without a deadline nobody is woken");
}

#[test]
fn an_answer_takes_the_deadline_away() {
    for answer in [World::approve, World::deny] {
        let mut world = asking(Some(500));
        answer(&mut world, 0, ASK).unwrap();
        assert_eq!(world.step(0).due_ms, 0);
    }
}

#[test]
fn a_denial_fails_the_step_and_the_task() {
    let mut world = asking(None);
    world.deny(0, ASK).unwrap();
    assert_eq!((world.status(0), world.status(1), world.ended()), (Status::Failed, Status::Skipped, Status::Failed));
    assert_eq!(world.step(0).error.as_deref(), Some("denied: no"));
    assert_eq!(world.step(0).decided_by, Some(name("alice")));
}

#[test]
fn a_denial_undoes_what_came_before() {
    let mut world = World::new([step("a"), step("b").after(&[0]).asks(ASK, None), step("undo-a").undoes(0)]);
    world.run(0);
    world.deny(1, ASK).unwrap();
    assert_eq!(world.claimable(), [2]);
}

#[test]
fn a_decision_about_something_else_is_refused() {
    for answer in [World::approve, World::deny] {
        let mut world = asking(None);
        let (asked, cited) = (Hash::sha256(ASK.as_bytes()), Hash::sha256(b"Publish to nobody?"));
        let expected = Refusal::OtherAsk { name: name("a"), asked, cited };
        assert_eq!(answer(&mut world, 0, "Publish to nobody?"), Err(expected));
        answer(&mut world, 0, ASK).unwrap();
    }
}

#[test]
fn the_first_decision_counts() {
    for first in [World::approve, World::deny] {
        for (second, verb) in
            [(World::approve as fn(&mut World, u16, &str) -> _, Verb::Approve), (World::deny, Verb::Deny)]
        {
            let mut world = asking(None);
            first(&mut world, 0, ASK).unwrap();
            let found = world.status(0);
            assert_eq!(second(&mut world, 0, ASK), Err(Refusal::NotPossible { name: name("a"), verb, found }));
        }
    }
}

#[test]
fn a_step_that_asks_nothing_cannot_be_decided_about() {
    let mut world = World::new([step("a")]);
    assert!(matches!(world.approve(0, ""), Err(Refusal::NotPossible { .. })));
    assert!(matches!(world.deny(0, ""), Err(Refusal::NotPossible { .. })));
}

#[test]
fn an_approval_holds_for_retries_and_not_for_a_redrive() {
    let mut world = asking(None);
    world.approve(0, ASK).unwrap();
    let held = world.take(0);
    world.fail(held, true).unwrap();
    world.wait(1000);
    let held = world.take(0);
    world.give_back(held).unwrap();
    let held = world.take(0);
    world.fail(held, false).unwrap();
    world.redrive().unwrap();
    assert_eq!((world.status(0), &world.step(0).decided_by), (Status::Waiting, &None));
    world.approve(0, ASK).unwrap();
    world.run(0);
    world.run(1);
    assert_eq!(world.ended(), Status::Success);
}
