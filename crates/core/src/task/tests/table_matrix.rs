//! R5: whatever is said about a step, wherever it rests, it moves as the table says or not at all, and the refusal has
//! the right type.

use super::world::{LEASE_MS, Say, World, elsewhere, step};
use crate::{
    id::LeaseToken,
    op::{CancelMode, ExpireReason, Hold},
    task::{Refusal, Status, Verb, table::targets},
};

/// Verbs that somebody can say of any step. Ask follows from what is said about other steps; Pass, FanOut and Skip are for steps
/// with conditions and lists (`flows.rs`).
const SAID: [Verb; 11] = [
    Verb::Approve,
    Verb::Deny,
    Verb::Claim,
    Verb::Renew,
    Verb::Complete,
    Verb::Fail,
    Verb::Yield,
    Verb::Expire,
    Verb::TimeOut,
    Verb::Cancel,
    Verb::Redrive,
];

/// A world whose step 0 rests in `status`, and what its last holder would show. Step 1 never begins by itself.
fn resting_in(status: Status) -> (World, Hold<u16>) {
    let ask = matches!(status, Status::Waiting);
    let first = if ask {
        step("a").asks("ok?", None)
    } else {
        step("a").attempts(if status == Status::DeadLetter { 1 } else { 2 })
    };
    let mut world = World::new([first, step("b"), step("undo-a").undoes(0)]);
    let nobody = Hold { step: 0, epoch: 0, token: LeaseToken::new(1, 1) };
    let held = match status {
        Status::Pending | Status::Waiting => nobody,
        Status::Running => world.take(0),
        Status::Retrying | Status::DeadLetter => {
            let held = world.take(0);
            world.fail(held, true).unwrap();
            world.wait(1000);
            held
        }
        Status::Success => {
            let held = world.take(0);
            world.complete(held).unwrap();
            held
        }
        Status::Failed => {
            let held = world.take(0);
            world.fail(held, false).unwrap();
            held
        }
        Status::Cancelled => {
            let held = world.take(0);
            world.cancel(CancelMode::Hard).unwrap();
            held
        }
        Status::Skipped => {
            world.break_down(1);
            nobody
        }
    };
    assert_eq!(world.status(0), status);
    (world, held)
}

fn say(world: &mut World, verb: Verb, held: Hold<u16>) -> Result<(), Refusal> {
    match verb {
        Verb::Approve => world.approve(0, "ok?"),
        Verb::Deny => world.deny(0, "ok?"),
        Verb::Claim => world.claim(0).map(|_| ()),
        Verb::Renew => world.say(world.claim_body(0, 1, held.token, LEASE_MS)),
        Verb::Complete => world.complete(held),
        Verb::Fail => world.fail(held, true),
        Verb::Yield => world.give_back(held),
        Verb::Expire => world.expire(held, ExpireReason::OwnerGone),
        Verb::TimeOut => world.time_out(held),
        Verb::Cancel => world.cancel(CancelMode::Hard),
        Verb::Redrive => world.redrive(),
        Verb::Ask | Verb::Skip | Verb::Pass | Verb::FanOut => panic!("nobody says {verb:?}"),
    }
}

/// Whether this refusal is the one that fits.
fn fits(refusal: &Refusal, verb: Verb, from: Status) -> bool {
    match verb {
        Verb::Approve | Verb::Deny => {
            matches!(refusal, Refusal::NotPossible { verb: v, found, .. } if (*v, *found) == (verb, from))
        }
        Verb::Claim | Verb::Renew if from == Status::Running => matches!(refusal, Refusal::Held { .. }),
        Verb::Claim | Verb::Renew => {
            matches!(refusal, Refusal::NotPossible { verb: Verb::Claim, found, .. } if *found == from)
        }
        Verb::Complete | Verb::Fail | Verb::Yield | Verb::Expire | Verb::TimeOut => {
            matches!(refusal, Refusal::Fenced { found, .. } if *found == from)
        }
        Verb::Cancel => matches!(refusal, Refusal::Ended { .. }),
        Verb::Redrive => matches!(refusal, Refusal::NotRedrivable { .. }),
        Verb::Ask | Verb::Skip | Verb::Pass | Verb::FanOut => false,
    }
}

#[test]
fn a_step_moves_as_the_table_says_or_not_at_all() {
    for from in Status::ALL {
        for verb in SAID {
            let (mut world, held) = resting_in(from);
            let before = world.step(0).clone();
            let outcome = say(&mut world, verb, held);
            // A claim with the holder's own token is a claim wherever it is not a renewal.
            let claims = verb == Verb::Renew && from != Status::Running;
            let allowed = targets(from, if claims { Verb::Claim } else { verb });
            // These two speak to the whole task: one step may stay where it is while others move.
            let whole_task = matches!(verb, Verb::Cancel | Verb::Redrive);
            match outcome {
                Ok(()) if *world.step(0) == before => assert!(whole_task, "{verb:?} from {from} did nothing"),
                Ok(()) => assert!(allowed.contains(&world.status(0)), "{verb:?}: {from} to {}", world.status(0)),
                Err(refusal) => {
                    assert!(allowed.is_empty() || whole_task, "{verb:?} from {from}: {refusal}");
                    assert!(fits(&refusal, verb, from), "{verb:?} from {from}: {refusal}");
                }
            }
        }
    }
}

#[test]
fn a_success_that_was_not_undone_is_never_redriven() {
    let (mut world, _) = resting_in(Status::Success);
    world.cancel(CancelMode::Hard).unwrap();
    let before = world.step(0).clone();
    world.redrive().unwrap();
    assert_eq!(*world.step(0), before);
}

#[test]
fn another_node_may_claim_what_nobody_holds() {
    let (mut world, _) = resting_in(Status::Pending);
    world.say_from(elsewhere(), world.claim_body(0, 5, LeaseToken::new(5, 5), LEASE_MS)).unwrap();
    assert_eq!(world.status(0), Status::Running);
}
