//! Runs: what makes one good, and that a log can always go on with the next one.

use super::*;
use proptest::prelude::*;
use relaymesh_bus::sign;
use relaymesh_core::op::Break;

#[test]
fn f5_a_run_gives_its_ops_with_the_hashes_that_tie_them() {
    let mut author = Author::new(1);
    let first = author.run(2, 100, "x").verify(None).unwrap();
    assert_eq!((first[0].op.pos, first[0].op.header.seq, first[0].previous), (0, 1, author.feed().start().hash));
    assert_eq!(first[1].previous, first[0].hash);
    let next = author.run(1, 200, "x").verify(Some(author.stamp(101))).unwrap();
    assert_eq!((next[0].previous, next[0].hash), (first[1].hash, author.place().hash));
}

/// A run of one op with another header than it should have, under a true signature.
fn with(change: impl Fn(&mut Header)) -> Result<Vec<Linked>, Refusal> {
    let mut author = Author::new(1);
    let after = author.place();
    let mut header = author.header(100);
    change(&mut header);
    let op = author.say(&header, "x");
    let place = Place { seq: 1, hash: author.place().hash };
    let head = SignedHead::sign(&author.signer, 1, place, author.stamp(100));
    Run::new(after, vec![op], head).verify(None)
}

#[test]
fn a_signed_run_whose_ops_are_wrong_is_refused() {
    assert!(with(|_| {}).is_ok());
    let other = Author::new(2).feed().origin;
    assert!(matches!(with(|header| header.hlc.node = other), Err(Refusal::Stamp { seq: 1, .. })), "L4");
    assert!(matches!(with(|header| header.origin = other), Err(Refusal::Op(Break::Origin { .. }))));
    assert!(matches!(with(|header| header.origin_epoch = 2), Err(Refusal::Op(Break::Origin { .. }))));
    assert!(matches!(with(|header| header.seq = 2), Err(Refusal::Op(Break::Sequence { .. }))));
    assert!(matches!(with(|header| header.hlc.wall_ms = 101), Err(Refusal::AsOf { .. })), "the head is as of 100");
}

#[test]
fn a_run_that_does_not_lead_to_its_head_is_refused_before_its_signature_is_looked_at() {
    let mut author = Author::new(1);
    let good = author.run(3, 100, "x");
    let unsigned = SignedHead { signature: sign::Signature([7; 64]), ..good.head };
    let ops: Vec<Vec<u8>> = good.clone().verify(None).unwrap().into_iter().map(|linked| linked.bytes).collect();
    let run = |ops: &[Vec<u8>], head| Run::new(good.after, ops.to_vec(), head).verify(None);
    assert!(matches!(run(&ops[..2], unsigned), Err(Refusal::Length { after: 0, ops: 2, head: 3 })));
    let swapped = [ops[1].clone(), ops[0].clone(), ops[2].clone()];
    assert!(matches!(run(&swapped, unsigned), Err(Refusal::Hash { .. })));
    assert!(matches!(run(&ops, unsigned), Err(Refusal::Signature(_))));
    let overflow = Place { seq: u64::MAX, ..good.after };
    assert!(matches!(Run::new(overflow, ops, good.head).verify(None), Err(Refusal::Length { .. })));
}

#[test]
fn f5_what_is_here_already_is_dropped_and_what_does_not_join_is_refused() {
    let mut author = Author::new(1);
    let (first, second) = (author.run(5, 100, "x"), author.run(5, 200, "x"));
    let mut log = MemoryFeedLog::default();
    assert_eq!(log.append(second.clone()), Err(Refusal::Gap { feed: author.feed(), after: 5 }));
    assert_eq!(taken(&mut log, first.clone()).ops.len(), 5);
    assert_eq!(log.append(first.clone()), Ok(Admission::Known));
    taken(&mut log, second.clone());
    assert_eq!(log.append(second), Ok(Admission::Known));
    assert_eq!(log.append(first), Ok(Admission::Known));
    let whole = log.run(author.feed(), Branch::TRUNK, 2, u64::MAX).unwrap();
    assert_eq!((whole.after.seq, whole.len(), whole.head), (2, 8, author.head(204)));
    // Half of it is here: only the other half is news.
    let mut half = MemoryFeedLog::default();
    half.append(log.run(author.feed(), Branch::TRUNK, 0, 150).unwrap()).unwrap();
    let news = taken(&mut half, log.run(author.feed(), Branch::TRUNK, 0, u64::MAX).unwrap());
    assert_eq!(news.ops.iter().map(|linked| linked.op.header.seq).collect::<Vec<_>>(), [6, 7, 8, 9, 10]);
}

#[test]
fn an_own_batch_of_any_length_is_signed_often_enough_to_be_sent() {
    let mut author = Author::new(1);
    let mut log = MemoryFeedLog::default();
    let ops = author.write(2_500, 1_000, &"x".repeat(900));
    let head = log.author(&author.signer, 1, ops, author.stamp(9_999)).unwrap();
    assert_eq!(head, author.head(9_999));
    assert_eq!(log.validate(), Ok(()));
    let mut other = MemoryFeedLog::default();
    let mut runs = 0;
    while other.tips(author.feed()).first().map(|tip| tip.head) != Some(head) {
        let after = other.chain(author.feed()).seq;
        let run = log.run(author.feed(), Branch::TRUNK, after, u64::MAX).unwrap();
        assert!(run.check_bounds().is_ok() && run.len() <= RUN_OPS_MAX);
        taken(&mut other, run);
        runs += 1;
    }
    assert_eq!(runs, 3);
    assert_eq!(log.chain(author.feed()), author.chain);
    assert_eq!(log.author(&author.signer, 1, Vec::new(), author.stamp(10_000)).unwrap(), author.head(10_000));
}

#[test]
fn a_run_ends_at_the_last_head_before_a_time_if_there_is_one() {
    let mut author = Author::new(1);
    let mut log = MemoryFeedLog::default();
    for batch in 0..4 {
        taken(&mut log, author.run(2, 100 * (batch + 1), "x"));
    }
    for (after, until_ms, expected) in
        [(0, u64::MAX, 8), (0, 301, 6), (0, 300, 4), (0, 299, 4), (0, 1, 2), (2, 1, 4), (3, 1, 4), (8, 1, 8)]
    {
        let run = log.run(author.feed(), Branch::TRUNK, after, until_ms).unwrap();
        assert_eq!(run.head.seq, expected, "after {after} until {until_ms}");
    }
    assert_eq!(log.run(author.feed(), Branch::TRUNK, 9, 1), None);
    assert_eq!(log.run(author.feed(), Branch(1), 0, 1), None);
}

#[test]
fn an_origin_begins_only_so_many_feeds() {
    let author = Author::new(1);
    let mut log = MemoryFeedLog::default();
    for epoch in 0..=FEEDS_UNSEALED_MAX as u32 {
        let feed = FeedId { origin: author.feed().origin, origin_epoch: epoch };
        let head = SignedHead::sign(&author.signer, epoch, feed.start(), author.stamp(1));
        let told = log.append(Run::promise(head));
        assert_eq!(told.is_ok(), epoch < FEEDS_UNSEALED_MAX as u32, "{told:?}");
    }
    let mut another = author.clone();
    another.chain = FeedId { origin: author.feed().origin, origin_epoch: 900 }.chain();
    let run = another.run(3, 100, "x");
    assert_eq!(log.append(run.clone()), Err(Refusal::Feeds { origin: author.feed().origin }));
    let place = Place { seq: 2, hash: run.hashes().unwrap()[1] };
    let Ok(Admission::News(news)) = admit(&log, run, &|_| vec![place]) else { panic!("it was sealed") };
    assert_eq!(log.take(*news), Ok(()));
    assert_eq!(log.validate(), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// However the batches were cut, and however somebody caught up with parts of them, there is a way on from every place.
    #[test]
    fn from_every_place_there_is_a_run_to_the_end(batches in prop::collection::vec(1..40u64, 1..12), steps: Vec<u64>) {
        let mut author = Author::new(1);
        let (mut log, mut other) = (MemoryFeedLog::default(), MemoryFeedLog::default());
        for (nth, batch) in batches.iter().enumerate() {
            log.append(author.run(*batch, 100 * (nth as u64 + 1), "x")).unwrap();
            if let Some(step) = steps.get(nth) {
                let end = other.chain(author.feed()).seq;
                let run = log.run(author.feed(), Branch::TRUNK, end - step % (end + 1), u64::MAX).unwrap();
                other.append(run).unwrap();
            }
        }
        prop_assert_eq!(other.validate(), Ok(()));
        for from in 0..=author.chain.seq {
            let mut copy = MemoryFeedLog::default();
            let source = if other.chain(author.feed()).seq > from { &other } else { &log };
            let run = source.run(author.feed(), Branch::TRUNK, from, u64::MAX).unwrap();
            prop_assert!(run.head.seq > from || from == author.chain.seq);
            while let Some(run) = log.run(author.feed(), Branch::TRUNK, copy.chain(author.feed()).seq, u64::MAX)
                && !run.is_empty()
            {
                copy.append(run).unwrap();
            }
            prop_assert_eq!(copy.chain(author.feed()), author.chain.clone());
        }
    }
}
