//! Every move of the transition table can be made, and nothing else can.

use super::world::{LEASE_MS, World, mortal};
use crate::{
    message::{
        Refusal,
        State::{self, Dead, Done, Failed, Processing, Queued},
        Verb,
        table::{TRANSITIONS, targets},
    },
    op::{ExpireReason, HeldMessage},
};
use std::collections::BTreeSet;

type Story = fn(&mut World);

const VERBS: [Verb; 9] = [
    Verb::Deliver,
    Verb::Renew,
    Verb::Acknowledge,
    Verb::Reply,
    Verb::Fail,
    Verb::Return,
    Verb::ExpireDelivery,
    Verb::Expire,
    Verb::Redrive,
];

fn nothing(_: &mut World) {}

fn hold(world: &mut World) {
    world.take(1);
}

/// The last delivery that is allowed.
fn hold_again(world: &mut World) {
    let held = world.take(1);
    world.fail(held, true).unwrap();
    world.wait(2000);
    world.take(1);
}

fn refuse(world: &mut World) {
    let held = world.take(1);
    world.fail(held, false).unwrap();
}

/// What the holder of the message would show.
fn held(world: &World) -> HeldMessage {
    let message = world.message(1);
    let token = message.lease.as_ref().map_or(crate::id::LeaseToken::new(9, 9), |lease| lease.token);
    HeldMessage { message: message.draft.id, epoch: message.epoch, token }
}

fn say(world: &mut World, verb: Verb) -> Result<(), Refusal> {
    let held = held(world);
    match verb {
        Verb::Deliver => world.deliver(1).map(|_| ()),
        Verb::Renew => {
            let token = u128::from_be_bytes(held.token.to_bytes());
            world.say(world.deliver_body(1, "bob", 1, token))
        }
        Verb::Acknowledge => world.acknowledge(held),
        Verb::Reply => world.reply(held, 2),
        Verb::Fail => world.fail(held, true),
        Verb::Return => world.give_back(held),
        Verb::ExpireDelivery => world.expire_delivery(held, ExpireReason::OwnerGone),
        Verb::Expire => world.expire(1),
        Verb::Redrive => world.redrive(1),
    }
}

/// From where, what, to where; what happens before, and the op that makes the move.
#[rustfmt::skip]
const STORIES: &[(State, Verb, State, Story, Story)] = &[
    (Queued, Verb::Deliver, Processing, nothing, hold),
    (Processing, Verb::Renew, Processing, hold, |world| say(world, Verb::Renew).unwrap()),
    (Processing, Verb::Acknowledge, Done, hold, |world| say(world, Verb::Acknowledge).unwrap()),
    (Processing, Verb::Reply, Done, hold, |world| say(world, Verb::Reply).unwrap()),
    (Processing, Verb::Fail, Queued, hold, |world| say(world, Verb::Fail).unwrap()),
    (Processing, Verb::Fail, Failed, hold, |world| world.fail(held(world), false).unwrap()),
    (Processing, Verb::Fail, Dead, hold_again, |world| say(world, Verb::Fail).unwrap()),
    (Processing, Verb::Return, Queued, hold, |world| say(world, Verb::Return).unwrap()),
    (Processing, Verb::ExpireDelivery, Queued, hold, |world| say(world, Verb::ExpireDelivery).unwrap()),
    (Processing, Verb::ExpireDelivery, Dead, hold_again, |world| {
        world.wait(LEASE_MS);
        world.expire_delivery(held(world), ExpireReason::DeadlinePassed).unwrap();
    }),
    (Queued, Verb::Expire, Dead, |world| world.wait(60_000), |world| world.expire(1).unwrap()),
    (Processing, Verb::Expire, Dead, |world| { hold(world); world.wait(60_000); }, |world| world.expire(1).unwrap()),
    (Failed, Verb::Redrive, Queued, refuse, |world| world.redrive(1).unwrap()),
    (Dead, Verb::Redrive, Queued, |world| world.use_up(1), |world| world.redrive(1).unwrap()),
];

#[test]
fn every_move_of_the_table_can_be_made() {
    for (from, verb, to, before, act) in STORIES {
        let mut world = World::new(mortal(1));
        before(&mut world);
        assert_eq!(world.state(1), *from, "before {verb:?}");
        act(&mut world);
        assert_eq!(world.state(1), *to, "{verb:?} from {from}");
    }
}

#[test]
fn there_is_a_story_for_exactly_the_moves_of_the_table() {
    let told: BTreeSet<_> = STORIES.iter().map(|(from, verb, to, ..)| (*from, *verb, *to)).collect();
    let table = TRANSITIONS.iter().flat_map(|(from, verb, to)| to.iter().map(|to| (*from, *verb, *to)));
    assert_eq!(table.collect::<BTreeSet<_>>(), told);
    assert_eq!(told.len(), STORIES.len(), "no story is told twice");
    let lines: BTreeSet<(State, Verb)> = TRANSITIONS.iter().map(|(from, verb, _)| (*from, *verb)).collect();
    assert_eq!(lines.len(), TRANSITIONS.len(), "one line for each place and verb");
}

/// Whether this refusal is the one that fits.
fn fits(refusal: &Refusal, verb: Verb, from: State) -> bool {
    match verb {
        Verb::Deliver | Verb::Renew if from == Processing => matches!(refusal, Refusal::Held { .. }),
        Verb::Deliver | Verb::Renew | Verb::Redrive | Verb::Expire => {
            matches!(refusal, Refusal::NotPossible { found, .. } if *found == from)
        }
        Verb::Acknowledge | Verb::Reply | Verb::Fail | Verb::Return | Verb::ExpireDelivery => {
            matches!(refusal, Refusal::Fenced { found, .. } if *found == from)
        }
    }
}

#[test]
fn a_message_moves_as_the_table_says_or_not_at_all() {
    let ways: [(State, Story); 5] = [
        (Queued, nothing),
        (Processing, hold),
        (Done, |world| {
            let held = world.take(1);
            world.acknowledge(held).unwrap();
        }),
        (Failed, refuse),
        (Dead, |world| world.use_up(1)),
    ];
    for (from, before) in ways {
        for verb in VERBS {
            let mut world = World::new(mortal(1));
            before(&mut world);
            if verb == Verb::Expire {
                world.wait(60_000);
            }
            assert_eq!(world.state(1), from);
            // A delivery with the holder's own token is a delivery wherever it is not a renewal.
            let claims = verb == Verb::Renew && from != Processing;
            let allowed = targets(from, if claims { Verb::Deliver } else { verb });
            match say(&mut world, verb) {
                Ok(()) => assert!(allowed.contains(&world.state(1)), "{verb:?}: {from} to {}", world.state(1)),
                Err(refusal) => {
                    assert!(allowed.is_empty(), "{verb:?} from {from}: {refusal}");
                    assert!(fits(&refusal, verb, from), "{verb:?} from {from}: {refusal}");
                }
            }
        }
    }
}

#[test]
fn states_have_the_names_of_the_source_and_only_a_redrive_leads_on_from_an_end() {
    for (number, state) in (0u8..).zip(State::ALL) {
        assert_eq!(state as u8, number);
        assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        assert_eq!(state.to_string(), state.as_str());
    }
    for (from, verb, _) in TRANSITIONS {
        assert_eq!(from.is_terminal(), *verb == Verb::Redrive, "{verb:?} from {from}");
    }
}
