//! What one member, or a stranger, can make a node believe about the others by words of membership.

use super::{START_MS, configured, converse, enrol, node, open, signer, turn, word};
use rand_pcg::Pcg64Mcg;
use relaymesh_core::{
    id::NodeId,
    op::{Body, Scope},
    register,
};
use relaymesh_mesh::{
    feed::MemoryFeedLog,
    membership::{Identity, Status, frame::sample_of},
    peer::{Channel, Command, Config, Peer},
    register::Register,
    sync::Frame,
};

fn id(number: u8) -> NodeId {
    signer(number).public_key().node()
}

fn life(number: u8, life: u64) -> Identity {
    Identity { node: id(number), life }
}

/// The owner's node, after it let these in and was told where they are.
fn owner_of(numbers: &[u8]) -> Peer<Pcg64Mcg> {
    let mut owner = open(MemoryFeedLog::default(), 1, START_MS);
    for number in numbers {
        owner.handle_command(enrol(*number), START_MS).expect("it is there");
    }
    turn(&mut owner, START_MS);
    owner.remember(numbers.iter().map(|number| id(*number)), START_MS);
    owner
}

fn hear(peer: &mut Peer<Pcg64Mcg>, from: u8, words: &[(Identity, Status)], now_ms: u64) {
    peer.handle_bytes(id(from), Channel::Membership, &sample_of(life(from, 1), words.iter().copied()), now_ms);
}

fn invented() -> Vec<(Identity, Status)> {
    (0..200).map(|number| (Identity { node: NodeId::new(7, number), life: 1 }, Status::Alive)).collect()
}

fn known(peer: &Peer<Pcg64Mcg>) -> Vec<NodeId> {
    peer.membership().members().map(|known| known.identity.node).collect()
}

fn peers(peer: &Peer<Pcg64Mcg>) -> Vec<NodeId> {
    peer.sync().peers(peer.log()).into_iter().map(|status| status.peer).collect()
}

fn sorted(numbers: &[u8]) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = numbers.iter().map(|number| id(*number)).collect();
    nodes.sort_unstable();
    nodes
}

/// Everybody goes on from one time to another and hears everybody.
fn meet(nodes: &mut [Peer<Pcg64Mcg>], span_ms: std::ops::Range<u64>) {
    for now_ms in span_ms.step_by(100) {
        for from in 0..nodes.len() {
            let sender = nodes[from].node();
            for (to, channel, bytes) in turn(&mut nodes[from], now_ms) {
                if let Some(to) = nodes.iter_mut().find(|node| node.node() == to) {
                    to.handle_bytes(sender, channel, &bytes, now_ms);
                }
            }
        }
    }
}

fn freeze(number: u8, frozen: bool) -> Command {
    let scope = Scope::Register(Register::Freezes);
    Command { scope, body: Body::Register(register::Body::FreezeNode { node: id(number), frozen }), ..word() }
}

#[test]
fn ids_that_nobody_let_in_are_neither_kept_nor_exchanged_with() {
    let mut owner = owner_of(&[1, 2]);
    hear(&mut owner, 1, &invented(), START_MS + 10);
    assert_eq!((known(&owner), peers(&owner)), (sorted(&[1, 2]), sorted(&[1, 2])));
}

#[test]
fn words_of_a_stranger_are_not_read() {
    let mut owner = owner_of(&[1]);
    hear(&mut owner, 9, &[(life(9, 1), Status::Alive), (life(1, 1), Status::Dead)], START_MS + 10);
    assert_eq!((known(&owner), peers(&owner)), (sorted(&[1]), sorted(&[1])));
    assert_eq!(owner.membership().status(id(1)), Some(Status::Alive));
}

#[test]
fn nobody_speaks_in_the_name_of_another() {
    let mut owner = owner_of(&[1, 2]);
    let bytes = sample_of(life(2, u64::MAX), [(life(2, u64::MAX), Status::Alive)]);
    owner.handle_bytes(id(1), Channel::Membership, &bytes, START_MS + 10);
    owner.handle_timeout(START_MS + 500);
    let lives: Vec<u64> = owner.membership().members().map(|known| known.identity.life).collect();
    assert_eq!(lives, [0, 0], "their lives are not known yet");
}

#[test]
fn d20_only_members_count_when_a_node_is_told_that_it_is_ahead() {
    let mut owner = owner_of(&[1, 2, 3]);
    owner.remember([id(7), id(8), id(9)], START_MS);
    hear(&mut owner, 3, &invented(), START_MS + 10);
    let told = |owner: &mut Peer<Pcg64Mcg>, from: u8| {
        let notice = Frame::Notice { origin: owner.node(), ahead_ms: 90_000 };
        owner.handle_bytes(id(from), Channel::Sync, &notice.encode(), START_MS + 20);
        owner.ahead_ms(START_MS + 20)
    };
    for stranger in [7, 8, 9] {
        assert_eq!(told(&mut owner, stranger), None, "who was not let in has no voice");
    }
    assert_eq!(told(&mut owner, 1), None, "one of three");
    assert_eq!(told(&mut owner, 2), Some(90_000), "two of three are more than half");
}

#[test]
fn r34_one_liar_does_not_keep_a_node_from_pulling() {
    let mut owner = owner_of(&[1, 2]);
    let mut other = node(2, 1, (MemoryFeedLog::default(), 1), START_MS);
    other.remember([owner.node()], START_MS);
    converse(&mut owner, &mut other, START_MS..START_MS + 10_000);
    for second in 10..60 {
        let now_ms = START_MS + second * 1_000;
        for _ in 0..20 {
            let own = owner.membership().identity();
            hear(&mut owner, 1, &[(own, Status::Dead)], now_ms);
        }
        converse(&mut owner, &mut other, now_ms..now_ms + 1_000);
        assert!(owner.may_pull(now_ms), "after {second} s");
    }
    let lives = owner.membership().identity().life;
    assert!(lives < 20, "each word costs a life only after the time to refute: {lives}");
}

#[test]
fn r34_what_more_than_half_say_is_believed() {
    let mut owner = owner_of(&[1, 2, 3]);
    let own = owner.membership().identity();
    hear(&mut owner, 1, &[(own, Status::Dead)], START_MS + 6_000);
    assert!(owner.may_pull(START_MS + 6_000));
    hear(&mut owner, 2, &[(own, Status::Dead)], START_MS + 6_100);
    owner.handle_timeout(START_MS + 6_500);
    assert!(!owner.may_pull(START_MS + 6_500));
}

#[test]
fn a_word_of_death_does_not_outweigh_what_a_node_hears_itself() {
    let mut owner = owner_of(&[1, 2]);
    let mut other = node(2, 1, (MemoryFeedLog::default(), 1), START_MS);
    other.remember([owner.node()], START_MS);
    converse(&mut owner, &mut other, START_MS..START_MS + 10_000);
    for second in 10..40 {
        let now_ms = START_MS + second * 1_000;
        let (true_life, last) = (other.membership().identity().life, u64::MAX);
        hear(&mut owner, 1, &[(life(2, true_life), Status::Dead), (life(2, last), Status::Dead)], now_ms);
        converse(&mut owner, &mut other, now_ms..now_ms + 1_000);
        assert_eq!(owner.membership().status(id(2)), Some(Status::Alive), "after {second} s");
    }
    assert_eq!(other.membership().identity().life, 1, "and it never had to come back");
}

#[test]
fn a_node_says_itself_which_life_it_lives_whatever_was_said_before() {
    let mut owner = owner_of(&[1, 2]);
    hear(&mut owner, 1, &[(life(2, u64::MAX), Status::Dead)], START_MS + 10);
    let mut other = node(2, 1, (MemoryFeedLog::default(), 1), START_MS);
    other.remember([owner.node()], START_MS);
    converse(&mut owner, &mut other, START_MS + 100..START_MS + 60_000);
    let shown = owner.membership().members().find(|known| known.identity.node == id(2)).expect("it is there");
    assert_eq!((shown.identity.life, shown.status()), (1, Status::Alive));
}

#[test]
fn a_flood_of_one_member_is_not_read_to_its_end() {
    let mut owner = owner_of(&[1, 2]);
    for _ in 0..5_000 {
        hear(&mut owner, 1, &[], START_MS + 10);
    }
    hear(&mut owner, 2, &[], START_MS + 10);
    let counters = owner.membership().counters();
    assert_eq!((counters.read, counters.flooded), (257, 4_744), "256 of one and one of the other");
    hear(&mut owner, 1, &[], START_MS + 1_010);
    assert_eq!(owner.membership().counters().read, 258, "the next second is another one");
}

#[test]
fn whoever_is_frozen_is_gone_until_it_is_thawed() {
    let mut owner = owner_of(&[1, 2]);
    let mut other = node(1, 1, (MemoryFeedLog::default(), 1), START_MS);
    other.remember([owner.node()], START_MS);
    converse(&mut owner, &mut other, START_MS..START_MS + 5_000);
    owner.handle_command(freeze(1, true), START_MS + 5_000).expect("it is there");
    converse(&mut owner, &mut other, START_MS + 5_000..START_MS + 10_000);
    assert_eq!((known(&owner), peers(&owner)), (sorted(&[2]), sorted(&[2])));

    owner.handle_command(freeze(1, false), START_MS + 10_000).expect("it is there");
    converse(&mut owner, &mut other, START_MS + 10_000..START_MS + 80_000);
    assert_eq!((known(&owner), peers(&owner)), (sorted(&[1, 2]), sorted(&[1, 2])));
    assert_eq!(owner.membership().status(id(1)), Some(Status::Alive));
    assert_eq!(owner.fold().state_hash(), other.fold().state_hash());
}

#[test]
fn whose_rights_were_taken_back_is_gone() {
    let mut owner = owner_of(&[1, 2]);
    let Body::Register(register::Body::DelegateUcan { ucan_bytes }) = enrol(1).body else { panic!("it gives rights") };
    let chain = relaymesh_mesh::capability::Chain::decode(&ucan_bytes).expect("it is there");
    let body = Body::Register(register::Body::RevokeUcan { ucan_cid: chain.links()[0].cid() });
    let scope = Scope::Register(Register::Delegations);
    owner.handle_command(Command { scope, body, ..word() }, START_MS + 10).expect("it is there");
    turn(&mut owner, START_MS + 20);
    hear(&mut owner, 1, &[(life(1, 1), Status::Alive)], START_MS + 30);
    assert_eq!((known(&owner), peers(&owner)), (sorted(&[2]), sorted(&[2])));
}

#[test]
fn a_newcomer_learns_of_everybody_from_the_one_node_that_it_was_told_of() {
    let mut nodes = vec![owner_of(&[1, 2]), node(1, 1, (MemoryFeedLog::default(), 1), START_MS)];
    nodes[1].remember([id(0)], START_MS);
    meet(&mut nodes, START_MS..START_MS + 20_000);
    nodes.push(node(2, 1, (MemoryFeedLog::default(), 1), START_MS + 20_000));
    nodes[2].remember([id(1)], START_MS + 20_000);
    meet(&mut nodes, START_MS + 20_000..START_MS + 100_000);
    for (number, peer) in (0..).zip(&nodes) {
        let others: Vec<u8> = (0..3).filter(|other| *other != number).collect();
        assert_eq!((known(peer), peers(peer)), (sorted(&others), sorted(&others)), "node {number}");
        assert!(peer.membership().members().all(|known| known.status() == Status::Alive), "node {number}");
    }
    assert_eq!(nodes[2].fold().state_hash(), nodes[0].fold().state_hash());
}

#[test]
fn a_first_peer_that_was_never_let_in_is_forgotten_when_it_has_been_dead_for_long() {
    let mut config = Config::default();
    config.membership.mesh_prune_older_than_ms = 600_000;
    let mut owner = configured(0, 1, (MemoryFeedLog::default(), 1), config, START_MS);
    owner.handle_command(enrol(1), START_MS).expect("it is there");
    turn(&mut owner, START_MS);
    owner.remember([id(1), id(9)], START_MS);
    for now_ms in (START_MS..START_MS + 590_000).step_by(1_000) {
        turn(&mut owner, now_ms);
    }
    assert_eq!((known(&owner), peers(&owner)), (sorted(&[1, 9]), sorted(&[1, 9])));
    for now_ms in (START_MS + 590_000..START_MS + 620_000).step_by(1_000) {
        turn(&mut owner, now_ms);
    }
    assert_eq!((known(&owner), peers(&owner)), (sorted(&[1]), sorted(&[1])), "who was let in stays, dead or not");
    assert_eq!(owner.membership().status(id(1)), Some(Status::Dead));
}
