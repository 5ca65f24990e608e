//! Peers that lost their memory, or part of it.

use super::{
    START_MS, all_converse, commit, converse, converse_apart, enrol, feed, node, open, seals, signer, turn, word,
};
use relaymesh_core::{
    op::{Body, Scope},
    register,
};
use relaymesh_mesh::{
    feed::{Branch, FeedLog as _, MemoryFeedLog},
    peer::{Command, Refused, Unsealed},
    register::Register,
};

#[test]
fn a_coordinator_that_lost_its_memory_seals_nothing_before_it_has_heard_everybody() {
    let mut owner = open(MemoryFeedLog::default(), 1, START_MS);
    let mut other = node(1, 1, (MemoryFeedLog::default(), 1), START_MS);
    owner.remember([other.node()], START_MS);
    other.remember([owner.node()], START_MS);
    owner.handle_command(enrol(1), START_MS).expect("it is there");
    converse(&mut owner, &mut other, START_MS..START_MS + 20_000);
    assert_eq!(seals(&owner), 0, "the first one is yet to come");
    assert_eq!(owner.log().all().count(), other.log().all().count());

    // Its disk is gone: it begins another feed, and as far as it knows it is alone in the world.
    let begins_ms = START_MS + 21_000;
    let mut owner = node(0, 2, (MemoryFeedLog::default(), 2), begins_ms);
    let alone = Refused::Unheard { node: owner.node(), wait_ms: 180_000 };
    assert_eq!(owner.handle_command(word(), begins_ms), Err(alone));
    for now_ms in (begins_ms..begins_ms + 100_000).step_by(1_000) {
        turn(&mut owner, now_ms);
    }
    assert_eq!(seals(&owner), 0);
    assert_eq!(owner.unsealed(), Some(Unsealed::Forgetful { node: owner.node() }));

    let meets_ms = begins_ms + 100_000;
    owner.remember([other.node()], meets_ms);
    converse(&mut owner, &mut other, meets_ms..meets_ms + 80_000);
    assert!(seals(&owner) > 0, "{:?}", owner.unsealed());
    let enrolled = owner.fold().registers().is_some_and(|registers| registers.is_enrolled(other.node()));
    assert!(enrolled, "what it had said before counts");
    assert_eq!(owner.fold().state_hash(), other.fold().state_hash());
}

/// A copy of the disk was put back, and the node was started as if nothing had happened.
#[test]
fn d24_a_node_that_was_set_back_writes_nothing_over_what_it_wrote() {
    let mut owner = open(MemoryFeedLog::default(), 1, START_MS);
    let mut other = node(1, 1, (MemoryFeedLog::default(), 1), START_MS);
    owner.remember([other.node()], START_MS);
    other.remember([owner.node()], START_MS);
    owner.handle_command(enrol(1), START_MS).expect("it is there");
    converse(&mut owner, &mut other, START_MS..START_MS + 5_000);
    let copy = owner.log().clone();
    owner.handle_command(word(), START_MS + 5_000).expect("it is there");
    converse(&mut owner, &mut other, START_MS + 5_000..START_MS + 10_000);
    let known = other.log().ops(feed(), Branch::TRUNK).len();

    let mut owner = open(copy, 2, START_MS + 10_000);
    owner.remember([other.node()], START_MS + 10_000);
    assert!(!owner.is_forgetful(), "nobody has told it yet");
    converse(&mut owner, &mut other, START_MS + 10_000..START_MS + 20_000);
    assert!(owner.is_forgetful());
    assert_eq!(owner.handle_command(word(), START_MS + 20_000), Err(Refused::Forgetful));
    converse(&mut owner, &mut other, START_MS + 20_000..START_MS + 40_000);
    assert!(!other.knows_fork(feed()), "it has not forked itself");
    assert_eq!(other.log().ops(feed(), Branch::TRUNK).len(), known);

    // With a new epoch it hears what it had written, and goes on.
    let mut owner = node(0, 2, (owner.into_log(), 3), START_MS + 40_000);
    owner.remember([other.node()], START_MS + 40_000);
    converse(&mut owner, &mut other, START_MS + 40_000..START_MS + 60_000);
    assert_eq!(owner.log().ops(feed(), Branch::TRUNK).len(), known);
    owner.handle_command(word(), START_MS + 60_000).expect("it is there");
}

/// Its clock is behind those of the others, which it had followed: what it said at once would be dated before what all have agreed on.
#[test]
fn d29_a_node_that_lost_its_memory_says_nothing_that_is_dated_before_what_it_promised() {
    let mut owner = open(MemoryFeedLog::default(), 1, START_MS);
    let mut other = node(1, 1, (MemoryFeedLog::default(), 1), START_MS);
    owner.remember([other.node()], START_MS);
    other.remember([owner.node()], START_MS);
    owner.handle_command(enrol(1), START_MS).expect("it is there");
    converse(&mut owner, &mut other, START_MS..START_MS + 40_000);
    let promised = other.log().promised(feed()).expect("it is there");
    assert!(promised.wall_ms > START_MS + 30_000 && other.fold().stable_upto().is_some());

    let begins_ms = START_MS + 5_000;
    let mut owner = node(0, 2, (MemoryFeedLog::default(), 2), begins_ms);
    owner.remember([other.node()], begins_ms);
    assert!(matches!(owner.handle_command(word(), begins_ms), Err(Refused::Unheard { .. })));
    converse_apart(&mut owner, &mut other, 36_000, begins_ms..begins_ms + 10_000);
    owner.handle_command(word(), begins_ms + 10_000).expect("all were heard");
    assert!(owner.now() > promised, "{} is not after {promised}", owner.now());

    // From then on it need not wait again, whoever is there.
    commit(&mut owner, begins_ms + 10_000);
    let mut owner = node(0, 2, (owner.into_log(), 3), begins_ms + 11_000);
    owner.handle_command(word(), begins_ms + 11_000).expect("it has spoken before");
}

/// Nobody is left who could be heard.
#[test]
fn a_node_that_lost_its_memory_waits_for_three_drifts_and_no_longer() {
    let mut owner = node(0, 2, (MemoryFeedLog::default(), 2), START_MS);
    let refused = |wait_ms| Err(Refused::Unheard { node: signer(0).public_key().node(), wait_ms });
    assert_eq!(owner.handle_command(word(), START_MS + 60_000), refused(120_000));
    assert_eq!(owner.handle_command(word(), START_MS + 179_999), refused(1));
    owner.handle_command(word(), START_MS + 180_000).expect("whatever it promised is long past");
}

/// It died before anybody had heard a word of it, so its earlier feed is nowhere.
#[test]
fn d29_a_node_whose_first_life_nobody_heard_of_holds_nothing_up() {
    let mut owner = open(MemoryFeedLog::default(), 1, START_MS);
    let mut other = node(1, 2, (MemoryFeedLog::default(), 2), START_MS);
    owner.remember([other.node()], START_MS);
    other.remember([owner.node()], START_MS);
    owner.handle_command(enrol(1), START_MS).expect("it is there");
    converse(&mut owner, &mut other, START_MS..START_MS + 60_000);
    assert!(seals(&owner) > 0, "{:?}", owner.unsealed());
    for peer in [&owner, &other] {
        assert!(peer.fold().stable_upto().is_some());
    }
}

/// The owner's last words reached one node alone, and then its disk was gone.
#[test]
fn d29_nothing_is_sealed_over_what_a_member_has_forgotten_before_all_are_heard() {
    let mut owner = open(MemoryFeedLog::default(), 1, START_MS);
    let [mut first, mut other] = [1, 2].map(|number| node(number, 1, (MemoryFeedLog::default(), 1), START_MS));
    let all = [owner.node(), first.node(), other.node()];
    [&mut owner, &mut first, &mut other].into_iter().for_each(|peer| peer.remember(all, START_MS));
    let scope = Scope::Register(Register::Coordinator);
    let coordinates = Command {
        scope,
        body: Body::Register(register::Body::DesignateCoordinator { coordinator: first.node() }),
        ..word()
    };
    for said in [enrol(1), enrol(2), coordinates] {
        owner.handle_command(said, START_MS).expect("it is there");
    }
    all_converse([&mut owner, &mut first, &mut other], START_MS..START_MS + 10_000);
    owner.handle_command(word(), START_MS + 11_000).expect("it is there");
    converse(&mut owner, &mut other, START_MS + 11_000..START_MS + 13_000);
    let said = other.log().ops(feed(), Branch::TRUNK).len();
    assert_eq!(first.log().ops(feed(), Branch::TRUNK).len() + 1, said, "one node alone has it");

    let mut owner = node(0, 2, (MemoryFeedLog::default(), 2), START_MS + 13_000);
    owner.remember(all, START_MS + 13_000);
    converse(&mut owner, &mut first, START_MS + 13_000..START_MS + 60_000);
    assert_eq!(first.unsealed(), Some(Unsealed::Forgetful { node: other.node() }));
    all_converse([&mut owner, &mut first, &mut other], START_MS + 60_000..START_MS + 130_000);
    assert!(seals(&first) > 0 && first.fold().stable_upto().is_some(), "{:?}", first.unsealed());
    assert_eq!(first.log().ops(feed(), Branch::TRUNK).len(), said);
    assert_eq!(owner.fold().state_hash(), other.fold().state_hash());
}
