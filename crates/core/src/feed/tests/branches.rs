//! D24: two ops in one place. Both branches are kept, so many and so long.

use super::*;
use proptest::prelude::*;

/// A log with ten ops, and its author.
fn ten() -> (MemoryFeedLog, Author) {
    let (mut log, mut author) = (MemoryFeedLog::default(), Author::new(1));
    taken(&mut log, author.run(4, 100, "x"));
    taken(&mut log, author.run(6, 200, "x"));
    (log, author)
}

/// Somebody with the same key who stopped after so many of the ten.
fn twin(log: &MemoryFeedLog, author: &Author, at: u64) -> Author {
    let held = log.held(author.feed(), Branch::Trunk, at).unwrap();
    let mut twin = author.clone();
    (twin.chain.seq, twin.chain.head, twin.chain.hlc) = (at, held.hash, held.hlc);
    twin
}

#[test]
fn d24_both_branches_are_kept_and_the_first_one_proves_it() {
    let (mut log, author) = ten();
    let mut twin = twin(&log, &author, 7);
    let fork = twin.run(2, 300, "y");
    let admitted = taken(&mut log, fork.clone());
    assert_eq!(admitted.attach, Attach::Forks { at: 7 });
    let evidence = admitted.evidence.unwrap();
    assert_eq!((evidence.lie, evidence.from_seq, evidence.other), (Lie::Fork, 8, fork.head));
    assert_eq!(log.forked_at(author.feed()), Some(7));
    let tips: Vec<u64> = log.tips(author.feed()).iter().map(|tip| tip.head.seq).collect();
    assert_eq!(tips, [10, 9]);
    let more = taken(&mut log, twin.run(2, 400, "y"));
    assert_eq!((more.attach, more.evidence), (Attach::Extends(Branch::Fork), None), "it is known by now");
    assert_eq!(log.find(author.feed(), twin.place()), Some(Branch::Fork));
    assert_eq!(log.find(author.feed(), author.place()), Some(Branch::Trunk));
    // The fork travels from any common place, and joins on the other side.
    let mut other = MemoryFeedLog::default();
    other.append(log.run(author.feed(), Branch::Trunk, 0, u64::MAX).unwrap()).unwrap();
    for after in [9, 7, 4, 0] {
        let run = log.run(author.feed(), Branch::Fork, after, u64::MAX).unwrap();
        assert_eq!(run.head.seq, 11);
        let mut copy = other.clone();
        match copy.append(run) {
            Ok(_) => assert_eq!(copy.ops(author.feed(), Branch::Fork), log.ops(author.feed(), Branch::Fork)),
            Err(refusal) => assert_eq!((after, refusal), (9, Refusal::Gap { feed: author.feed(), after: 9 })),
        }
    }
}

#[test]
fn d24_a_fork_is_kept_although_it_breaks_a_promise() {
    let (mut log, author) = ten();
    let mut twin = twin(&log, &author, 4);
    assert!(log.append(twin.run(1, 104, "y")).is_ok(), "op 5 is dated before all that came after op 4");
    assert_eq!(log.forked_at(author.feed()), Some(4));
    assert_eq!(log.validate(), Ok(()));
}

#[test]
fn d24_a_third_branch_is_refused_and_proves_more() {
    let (mut log, author) = ten();
    let fork = twin(&log, &author, 7).run(2, 300, "y");
    taken(&mut log, fork);
    for (at, from_seq) in [(7, 8), (2, 3), (8, 9)] {
        let refusal = log.append(twin(&log, &author, at).run(1, 400, "z")).unwrap_err();
        assert!(matches!(refusal, Refusal::Branches { .. }), "{refusal}");
        assert_eq!(refusal.evidence().unwrap().from_seq, from_seq);
    }
    assert_eq!(log.validate(), Ok(()));
}

#[test]
fn d24_a_branch_grows_only_so_far() {
    let (mut log, mut author) = ten();
    let mut twin = twin(&log, &author, 7);
    taken(&mut log, twin.run(1_000, 1_000, "y"));
    taken(&mut log, twin.run(24, 2_000, "y"));
    let full = |forked_at, seq| Refusal::BranchFull { feed: Author::new(1).feed(), forked_at, seq };
    assert_eq!(log.append(twin.run(1, 3_000, "y")), Err(full(7, 1_032)));
    taken(&mut log, author.run(1_000, 1_000, "x"));
    assert_eq!(log.append(author.run(22, 3_000, "x")), Err(full(7, 1_032)), "the trunk as well");
}

#[test]
fn what_was_admitted_is_taken_only_where_it_belongs() {
    let (mut log, mut author) = ten();
    let mut twin = twin(&log, &author, 10);
    let (Ok(Admission::News(one)), Ok(Admission::News(two))) =
        (admit(&log, author.run(2, 300, "x")), admit(&log, twin.run(2, 300, "y")))
    else {
        panic!("both go on from the end");
    };
    assert_eq!(log.take((*one).clone()), Ok(()));
    for late in [one, two] {
        assert_eq!(log.take(*late), Err(Refusal::Moved { feed: author.feed(), seq: 12 }));
    }
    assert_eq!(log.validate(), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whichever branch came first, both are there in the end, with the same ops.
    #[test]
    fn d24_the_order_of_arrival_only_names_the_branches(at in 0..=10u64, one in 1..20u64, two in 1..20u64) {
        let (log, author) = ten();
        let (mut first, mut second) = (twin(&log, &author, at), twin(&log, &author, at));
        let runs = [first.run(one, 500, "a"), second.run(two, 400, "b")];
        let mut common = MemoryFeedLog::default();
        if at > 0 {
            let held: Vec<Vec<u8>> = log.ops(author.feed(), Branch::Trunk)[..at as usize].iter().map(|op| op.bytes.clone()).collect();
            common.append(Run::new(author.feed().start(), held, twin(&log, &author, at).head(300))).unwrap();
        }
        let mut logs = [common.clone(), common];
        for run in &runs {
            logs[0].append(run.clone()).unwrap();
        }
        for run in runs.iter().rev() {
            logs[1].append(run.clone()).unwrap();
        }
        for log in &logs {
            prop_assert_eq!(log.validate(), Ok(()));
            prop_assert_eq!(log.forked_at(author.feed()), Some(at));
        }
        let branch = |log: &MemoryFeedLog, end: Place| {
            let branch = log.find(author.feed(), end).unwrap();
            (1..=end.seq).map(|seq| log.held(author.feed(), branch, seq).unwrap()).collect::<Vec<_>>()
        };
        for end in [first.place(), second.place()] {
            prop_assert_eq!(branch(&logs[0], end), branch(&logs[1], end));
        }
    }
}
