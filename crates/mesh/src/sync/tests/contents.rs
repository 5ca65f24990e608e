//! F16, L13: content by hash, in parts, from whoever may give it.

use super::{
    world::{START_MS, World},
    *,
};
use crate::feed::FeedLog as _;
use relaymesh_core::{
    content::{ContentRef, Media},
    op::Scope,
};

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 % 251) as u8).collect()
}

/// A world of so many nodes in which all but node 0 have a content.
fn world(count: usize, len: usize) -> (World, ContentRef, Vec<u8>) {
    let mut world = World::of(count, 1);
    let bytes = bytes(len);
    let content = ContentRef::of(Media::Text, &bytes);
    for node in &mut world.nodes[1..] {
        node.door.contents.insert(content.hash, bytes.clone());
    }
    world.run(10);
    (world, content, bytes)
}

fn want(world: &mut World, content: ContentRef, held: &[u8]) -> bool {
    let now_ms = world.now_ms;
    world.nodes[0].sync.want_content(content, Scope::Log, held.to_vec(), now_ms)
}

/// Cuts node 0 off from the one whom it asks for content just now.
fn cut_giver(world: &mut World) -> usize {
    let asked = |index: &usize| world.nodes[0].sync.contents.asked_of(world.id(*index)) > 0;
    let giver = (1..world.nodes.len()).find(asked).unwrap();
    world.cut.insert((0, giver));
    giver
}

fn outcomes(world: &World) -> Vec<Outcome> {
    world.nodes[0].fetched.iter().map(|fetched| fetched.outcome.clone()).collect()
}

#[test]
fn f16_content_comes_in_parts_and_is_checked() {
    for len in [0, 1, PART_BYTES_MAX - 1, PART_BYTES_MAX, PART_BYTES_MAX + 1, 3 * PART_BYTES_MAX + 5] {
        let (mut world, content, bytes) = world(3, len);
        assert!(want(&mut world, content, &[]));
        world.run(100);
        assert_eq!(outcomes(&world), [Outcome::Complete(bytes)], "{len} bytes");
    }
}

#[test]
fn f16_what_is_held_already_is_not_fetched_again() {
    let (mut world, content, bytes) = world(2, 3 * PART_BYTES_MAX);
    let carried = world.carried;
    want(&mut world, content, &bytes[..2 * PART_BYTES_MAX + 1]);
    world.run(100);
    assert_eq!(outcomes(&world), [Outcome::Complete(bytes)]);
    assert!(world.carried - carried < PART_BYTES_MAX as u64 + 1_000);
}

#[test]
fn f16_damage_in_what_was_held_is_nobodys_fault() {
    let (mut world, content, bytes) = world(2, 2 * PART_BYTES_MAX);
    let mut damaged = bytes[..PART_BYTES_MAX].to_vec();
    damaged[5] ^= 1;
    want(&mut world, content, &damaged);
    world.run(100);
    assert_eq!(outcomes(&world), [Outcome::Complete(bytes)]);
}

#[test]
fn l13_a_peer_without_permission_gets_all_ops_and_no_content() {
    let (mut world, content, bytes) = world(3, 1_000);
    let (blind, other) = (world.id(0), world.id(2));
    for node in &mut world.nodes[1..] {
        node.door.blind.insert(blind);
    }
    world.write(1, 9);
    want(&mut world, content, &[]);
    let missing = ContentRef::of(Media::Text, b"nobody has this");
    want(&mut world, missing, &[]);
    world.run(3_000);
    world.assert_agreed(0..3);
    let nothing = Outcome::Unavailable { withheld: 2, failed: 0, held: Vec::new() };
    assert_eq!(outcomes(&world), [nothing.clone(), nothing], "not to be told from what is not there");
    world.nodes[1].door.blind.remove(&blind);
    want(&mut world, content, &[]);
    world.run(100);
    assert_eq!(outcomes(&world).last(), Some(&Outcome::Complete(bytes)));
    assert!(world.nodes[1].door.may_see(other, &content.hash, Scope::Log));
}

#[test]
fn a_peer_that_falls_silent_is_gone_on_from_with_the_next_one() {
    let (mut world, content, bytes) = world(3, 6 * PART_BYTES_MAX);
    want(&mut world, content, &[]);
    world.run(4);
    let carried = world.carried;
    assert!(outcomes(&world).is_empty());
    cut_giver(&mut world);
    world.run(5_100);
    assert_eq!(outcomes(&world), [Outcome::Complete(bytes)]);
    assert!(world.carried - carried < 6 * PART_BYTES_MAX as u64 + 20_000, "nothing came twice");
}

#[test]
fn a_liar_among_those_who_give_spoils_nothing_for_good() {
    for liar in [1, 2, 3] {
        let (mut world, content, bytes) = world(4, 4 * PART_BYTES_MAX);
        let mut wrong = bytes.clone();
        wrong[2 * PART_BYTES_MAX + 9] ^= 1;
        world.nodes[liar].door.contents.insert(content.hash, wrong);
        want(&mut world, content, &[]);
        // The first one falls silent after a part, so what is put together is of several.
        world.run(3);
        let silent = cut_giver(&mut world);
        assert!(outcomes(&world).is_empty() && silent > 0);
        world.run(60_000);
        assert_eq!(outcomes(&world), [Outcome::Complete(bytes)], "liar {liar}");
    }
}

#[test]
fn content_that_only_liars_have_is_not_believed() {
    let (mut world, content, bytes) = world(3, 2_000);
    for node in &mut world.nodes[1..] {
        node.door.contents.insert(content.hash, bytes[..1_999].iter().copied().chain([0]).collect());
    }
    want(&mut world, content, &[]);
    world.run(1_000);
    assert_eq!(outcomes(&world), [Outcome::Unavailable { withheld: 0, failed: 2, held: Vec::new() }]);
}

#[test]
fn only_so_many_contents_wait_and_only_few_are_on_their_way() {
    let config = Config { contents_max: 5, contents_active_max: 2, ..Config::default() };
    let mut world = World::with(2, 1, config);
    world.run(10);
    for nth in 0..8u8 {
        let bytes = vec![nth; 10];
        let content = ContentRef::of(Media::Text, &bytes);
        world.nodes[1].door.contents.insert(content.hash, bytes);
        assert_eq!(want(&mut world, content, &[]), nth < 5, "{nth}");
    }
    let asked = std::iter::from_fn(|| world.nodes[0].sync.poll_transmit()).count();
    assert_eq!(asked, 2);
    world.run(20_000);
    assert_eq!(outcomes(&world).len(), 5);
    let too_long = ContentRef { len: u32::MAX, ..ContentRef::of(Media::Text, b"x") };
    assert!(!want(&mut world, too_long, &[]));
    assert_eq!(world.nodes[0].log.tips(world.feed(0)).len(), 0);
    assert!(world.now_ms > START_MS);
}
