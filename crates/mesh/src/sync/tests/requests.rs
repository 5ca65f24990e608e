//! Requests: one for each feed, few for each peer, none while there is no room, and somebody else when one keeps silent.

use super::{
    world::{START_MS, World},
    *,
};
use crate::feed::{FeedLog as _, tests::Author};
use relaymesh_core::id::NodeId;

/// The requests that a node has sent and that were not carried yet, by whom they are for.
fn wants(world: &mut World, index: usize) -> Vec<(NodeId, Want)> {
    let mut wants = Vec::new();
    while let Some(Transmit { to, bytes }) = world.nodes[index].sync.poll_transmit() {
        if let Ok(Frame::Want(want)) = Frame::decode(&bytes) {
            wants.push((to, want));
        }
    }
    wants
}

/// Tells node 0, as node `from`, of these heads.
fn tell(world: &mut World, from: usize, authors: &[Author]) {
    let heads = authors.iter().map(|author| author.head(START_MS + 5_000)).collect();
    let (id, frame) = (world.id(from), Frame::Frontier(Frontier { complete: None, heads }).encode());
    world.with_node(0, |sync, around| sync.handle_frame(id, &frame, around)).unwrap();
}

fn authors(count: u8) -> Vec<Author> {
    let mut authors: Vec<Author> = (50..50 + count).map(Author::new).collect();
    authors.iter_mut().for_each(|author| drop(author.write(3, START_MS, "x")));
    authors
}

#[test]
fn a_peer_is_asked_for_only_so_much_at_a_time() {
    let mut world = World::of(3, 1);
    wants(&mut world, 0);
    let authors = authors(10);
    tell(&mut world, 1, &authors);
    assert_eq!(wants(&mut world, 0).len(), Config::default().wants_per_peer_max);
    tell(&mut world, 1, &authors);
    assert_eq!(wants(&mut world, 0).len(), 0, "one request for each feed");
    tell(&mut world, 2, &authors);
    let more = wants(&mut world, 0);
    assert!(more.len() == Config::default().wants_per_peer_max && more.iter().all(|(to, _)| *to == world.id(2)));
}

#[test]
fn whoever_keeps_silent_is_not_waited_for() {
    let mut world = World::of(3, 2);
    wants(&mut world, 0);
    let authors = authors(1);
    tell(&mut world, 1, &authors);
    tell(&mut world, 2, &authors);
    assert_eq!(wants(&mut world, 0).first().map(|(to, _)| *to), Some(world.id(1)));
    world.now_ms += Config::default().want_timeout_ms;
    world.with_node(0, |sync, around| sync.handle_timeout(around));
    assert_eq!(wants(&mut world, 0).first().map(|(to, _)| *to), Some(world.id(2)));
    let id = world.id(2);
    world.with_node(0, |sync, around| sync.handle_peer_down(id, around));
    assert_eq!(wants(&mut world, 0).len(), 0, "nobody is left");
    assert_eq!(world.nodes[0].sync.peers(&world.nodes[0].log)[..].iter().map(|peer| peer.timeouts).sum::<u64>(), 1);
    tell(&mut world, 1, &authors);
    assert_eq!(wants(&mut world, 0).first().map(|(to, _)| *to), Some(world.id(1)), "until it is offered again");
}

#[test]
fn nothing_is_asked_for_while_what_was_accepted_is_not_taken() {
    let config = Config { accepted_max: 3, ..Config::default() };
    let mut world = World::with(2, 3, config);
    for mut author in authors(8) {
        let run = author.run(1, START_MS + 100, "x");
        let mut whole = Author::new(0);
        whole.signer = author.signer.clone();
        whole.chain = author.feed().chain();
        let first = whole.run(3, START_MS, "x");
        world.nodes[0].log.append(first).unwrap();
        world.nodes[0].log.append(run).unwrap();
    }
    world.nodes[1].idle = true;
    world.run(30_000);
    assert_eq!(world.nodes[1].sync.counters().wants, 3);
    let mut held = Vec::new();
    while let Some(accepted) = world.nodes[1].sync.poll_accepted() {
        held.push(accepted);
    }
    assert_eq!(held.len(), 3);
    world.run(30_000);
    assert_eq!(world.nodes[1].sync.counters().wants, 3, "taking them out is not keeping them");
    // One of them goes back: that feed waits for its next offer, the others go on.
    world.nodes[1].idle = false;
    world.nodes[1].sync.handle_put_back(held[0].news.feed);
    for accepted in held.drain(1..) {
        let feed = accepted.news.feed;
        world.nodes[1].log.take(accepted.news).unwrap();
        world.with_node(1, |sync, around| sync.handle_taken(feed, around));
    }
    world.run(20_000);
    world.assert_agreed(0..2);
}

#[test]
fn news_are_collected_for_a_moment_and_sent_as_they_are() {
    let mut world = World::of(2, 4);
    world.write(0, 1);
    world.run(5_000);
    let sent = |world: &mut World| {
        let bytes = std::iter::from_fn(|| world.nodes[0].sync.poll_transmit()).map(|transmit| transmit.bytes);
        bytes.map(|bytes| Frame::decode(&bytes).unwrap()).collect::<Vec<_>>()
    };
    for _ in 0..3 {
        world.write(0, 1);
        world.with_node(0, |sync, around| sync.handle_timeout(around));
    }
    let first = sent(&mut world);
    assert!(matches!(&first[..], [Frame::Run(run)] if run.len() == 1), "{first:?}");
    world.now_ms += Config::default().news_gap_ms;
    world.with_node(0, |sync, around| sync.handle_timeout(around));
    let rest = sent(&mut world);
    assert!(matches!(&rest[..], [Frame::Run(run)] if run.len() == 2), "{rest:?}");
    // Both were lost here: the next one does not join, and is asked for.
    world.run(100);
    world.write(0, 1);
    world.run(200);
    world.assert_agreed(0..2);
}

#[test]
fn a_want_says_where_its_sender_stands() {
    let mut world = World::of(2, 5);
    let mut author = Author::new(60);
    for _ in 0..10 {
        let run = author.run(100, START_MS + author.chain.seq, "x");
        world.nodes[0].log.append(run).unwrap();
    }
    wants(&mut world, 0);
    author.write(5, START_MS + 2_000, "x");
    tell(&mut world, 1, &[author.clone()]);
    let (_, want) = wants(&mut world, 0).remove(0);
    let seqs: Vec<u64> = want.locator.iter().map(|place| place.seq).collect();
    assert_eq!(seqs, [1000, 999, 998, 996, 992, 984, 968, 936, 872, 744, 488]);
    let log = &world.nodes[0].log;
    assert!(want.locator.iter().all(|place| log.find(author.feed(), *place).is_some()));
    assert_eq!((want.target.seq, want.target.hash), (1_005, author.place().hash));
}

#[test]
fn f17_an_operator_sees_who_is_behind_and_since_when() {
    let mut world = World::of(3, 6);
    world.write(0, 10);
    world.run(10_000);
    world.cut_off(2);
    let heard_ms =
        world.nodes[0].sync.peers(&world.nodes[0].log).iter().find(|peer| peer.peer == world.id(2)).unwrap().heard_ms;
    world.write(0, 7);
    let id = world.id(2);
    world.with_node(0, |sync, around| sync.handle_peer_down(id, around));
    world.run(5_000);
    let peers = world.nodes[0].sync.peers(&world.nodes[0].log);
    let cut = peers.iter().find(|peer| peer.peer == id).unwrap();
    assert_eq!((cut.up, cut.heard_ms, cut.behind_ops), (false, heard_ms, Some(7)));
    let other = peers.iter().find(|peer| peer.peer != id).unwrap();
    assert_eq!((other.up, other.behind_ops), (true, Some(0)));
    // The one who is cut off learns how far behind it is as soon as it hears of it, before it has anything.
    world.heal();
    let author = world.nodes[0].author.clone();
    let (id, frame) =
        (world.id(0), Frame::Frontier(Frontier { complete: None, heads: vec![author.head(world.now_ms)] }).encode());
    world.with_node(2, |sync, around| sync.handle_frame(id, &frame, around)).unwrap();
    assert_eq!(world.nodes[2].sync.feed(author.feed(), &world.nodes[2].log).lag_ops, 7);
}

#[test]
fn news_that_cross_a_request_are_neither_its_answer_nor_refused() {
    let mut world = World::of(2, 7);
    wants(&mut world, 0);
    let mut author = Author::new(50);
    let (first, second) = (author.run(3, START_MS, "x"), author.run(2, START_MS + 10, "x"));
    let from = world.id(1);
    let hear = |world: &mut World, frame: Frame| {
        world.with_node(0, |sync, around| sync.handle_frame(from, &frame.encode(), around)).unwrap();
    };
    hear(&mut world, Frame::Frontier(Frontier { complete: None, heads: vec![first.head] }));
    hear(&mut world, Frame::Run(second.clone()));
    assert_eq!(world.nodes[0].sync.peers(&world.nodes[0].log)[0].asked, 1, "the answer is still waited for");
    hear(&mut world, Frame::Run(first));
    let counters = world.nodes[0].sync.counters();
    assert_eq!((counters.refused, counters.accepted_ops), (0, 3));
    assert_eq!(world.nodes[0].sync.feed(author.feed(), &world.nodes[0].log).lag_ops, 5, "and the news are remembered");
    world.run(10);
    assert_eq!(wants(&mut world, 0).len(), 0, "they were asked for");
    hear(&mut world, Frame::Run(second));
    world.run(10);
    assert_eq!(world.nodes[0].log.chain(author.feed()), author.chain);
}
