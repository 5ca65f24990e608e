//! What comes in by the door: how many are kept, and what one node can make of another's words.

use super::{
    door::Rank,
    dwell::Status::{Alive, Dead},
    frame::sample_of,
    world::World,
    *,
};
use rand_pcg::Pcg64Mcg;

/// Numbers up to 99 are members, up to 999 guests.
fn rank(of: NodeId) -> Rank {
    if of < node(100) {
        Rank::Member
    } else if of < node(1_000) {
        Rank::Guest
    } else {
        Rank::Stranger
    }
}

fn life(number: u128, life: u64) -> Identity {
    Identity { node: node(number), life }
}

fn lone(config: Config) -> Membership<Pcg64Mcg> {
    World::strangers(1, config).nodes.remove(0)
}

fn say(membership: &mut Membership<Pcg64Mcg>, by: u128, words: &[(Identity, Status)], now_ms: u64) {
    let bytes = sample_of(life(by, 1), words.iter().copied());
    membership.handle_frame(node(by), &bytes, rank, now_ms).unwrap();
    membership.validate().unwrap();
}

fn known(membership: &Membership<Pcg64Mcg>) -> Vec<NodeId> {
    membership.members().map(|known| known.identity.node).collect()
}

#[test]
fn no_more_are_known_than_may_be_and_members_come_before_guests() {
    let mut membership = lone(Config { members_max: 3, ..Config::default() });
    for number in [100, 101, 102, 103] {
        assert_eq!(membership.welcome(node(number), rank, 0), number < 103, "guest {number}");
    }
    let words: Vec<_> = (2..90).map(|number| (life(number, 1), Alive)).collect();
    say(&mut membership, 1, &words, 1);
    assert_eq!(
        known(&membership),
        [1, 2, 3].map(node),
        "members take the places of guests, and no more than there are"
    );
    let forgotten = std::iter::from_fn(|| membership.poll_event());
    assert_eq!(forgotten.filter(|event| matches!(event, Event::Forgotten { .. })).count(), 3);
    let full = membership.handle_frame(node(100), &sample_of(life(100, 1), []), rank, 2);
    assert_eq!(full, Err(Unheard::Stranger { from: node(100) }));
}

#[test]
fn deaths_that_are_made_up_again_and_again_leave_nothing_behind() {
    let mut membership = lone(Config::default());
    for number in 0..100 {
        let state = if number % 2 == 0 { Alive } else { Dead };
        say(&mut membership, 1, &[(life(2, number), state)], 1);
    }
    assert_eq!(membership.removals.len(), 1, "it is to be removed once");
}

#[test]
fn hearsay_counts_about_whom_one_does_not_hear_oneself() {
    let mut membership = lone(Config::default());
    say(&mut membership, 1, &[(life(2, 7), Alive)], 0);
    membership.handle_timeout(300);
    assert_eq!(membership.members().map(|known| known.identity).collect::<Vec<_>>(), [life(1, 1), life(2, 7)]);
    say(&mut membership, 1, &[(life(2, 7), Dead)], 400);
    assert_eq!(membership.status(node(2)), Some(Dead));
}

#[test]
fn a_node_that_forgot_how_often_it_came_back_is_heard_all_the_same() {
    let mut membership = lone(Config::default());
    let speak = |membership: &mut Membership<Pcg64Mcg>, own: Identity, now_ms: u64| {
        membership.handle_frame(own.node, &sample_of(own, [(own, Alive)]), rank, now_ms).unwrap();
        membership.handle_timeout(now_ms + 300);
        membership.members().next().unwrap().identity
    };
    assert_eq!(speak(&mut membership, life(1, 9), 0), life(1, 9));
    assert_eq!(speak(&mut membership, life(1, 2), 500), life(1, 9), "it may have been long on its way");
    assert_eq!(speak(&mut membership, life(1, 2), 5_000), life(1, 2));
}

#[test]
fn nobody_is_asked_to_call_on_a_stranger() {
    let mut membership = lone(Config::default());
    say(&mut membership, 1, &[], 0);
    while membership.poll_transmit().is_some() {}
    let ask = |target: u128| {
        let message = foca::Message::PingReq { target: life(target, 1), probe_number: 1 };
        let header = foca::Header { src: life(1, 1), src_incarnation: 0, dst: life(0, 1), message };
        frame::Frame::Swim(postcard::to_stdvec(&header).unwrap()).encode()
    };
    membership.handle_frame(node(1), &ask(5_000), rank, 1).unwrap();
    assert_eq!(membership.poll_transmit(), None);
    membership.handle_frame(node(1), &ask(2), rank, 1).unwrap();
    assert_eq!(membership.poll_transmit().map(|sent| sent.to), Some(node(2)));
}
