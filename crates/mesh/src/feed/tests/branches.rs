//! D24: two ops in one place. All branches are kept, up to so many, and those that were sealed.

use super::*;
use proptest::prelude::*;

/// The second branch that became known.
const FORK: Branch = Branch(1);

/// A log with ten ops, and its author.
fn ten() -> (MemoryFeedLog, Author) {
    let (mut log, mut author) = (MemoryFeedLog::default(), Author::new(1));
    taken(&mut log, author.run(4, 100, "x"));
    taken(&mut log, author.run(6, 200, "x"));
    (log, author)
}

/// Somebody with the same key who stopped after so many of the ten.
fn twin(log: &MemoryFeedLog, author: &Author, at: u64) -> Author {
    let held = log.held(author.feed(), Branch::TRUNK, at).unwrap();
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
    assert_eq!(admitted.attach, Attach::Forks { from: Branch::TRUNK, at: 7 });
    let evidence = admitted.evidence.unwrap();
    assert_eq!((evidence.lie, evidence.from_seq, evidence.other), (Lie::Fork, 8, fork.head));
    assert_eq!(log.forked_at(author.feed()), Some(7));
    let tips: Vec<u64> = log.tips(author.feed()).iter().map(|tip| tip.head.seq).collect();
    assert_eq!(tips, [10, 9]);
    let more = taken(&mut log, twin.run(2, 400, "y"));
    assert_eq!((more.attach, more.evidence), (Attach::Extends(FORK), None), "it is known by now");
    assert_eq!(log.find(author.feed(), twin.place()), Some(FORK));
    assert_eq!(log.find(author.feed(), author.place()), Some(Branch::TRUNK));
    // The fork travels from any common place, and joins on the other side.
    let mut other = MemoryFeedLog::default();
    other.append(log.run(author.feed(), Branch::TRUNK, 0, u64::MAX).unwrap()).unwrap();
    for after in [9, 7, 4, 0] {
        let run = log.run(author.feed(), FORK, after, u64::MAX).unwrap();
        assert_eq!(run.head.seq, 11);
        let mut copy = other.clone();
        match copy.append(run) {
            Ok(_) => assert_eq!(copy.ops(author.feed(), FORK), log.ops(author.feed(), FORK)),
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
fn d24_branches_leave_branches_and_the_earliest_fork_counts() {
    let (mut log, author) = ten();
    let mut fork = twin(&log, &author, 7);
    taken(&mut log, fork.run(4, 300, "y"));
    // One leaves the trunk earlier, one the fork in its middle, and one where the fork leaves the trunk.
    let middle = log.held(author.feed(), FORK, 9).unwrap();
    let mut of_fork = author.clone();
    (of_fork.chain.seq, of_fork.chain.head, of_fork.chain.hlc) = (9, middle.hash, middle.hlc);
    let others =
        [(twin(&log, &author, 2), Branch::TRUNK, 2), (of_fork, FORK, 9), (twin(&log, &author, 7), Branch::TRUNK, 7)];
    for (index, (mut other, from, at)) in others.into_iter().enumerate() {
        let admitted = taken(&mut log, other.run(3, 400, &format!("z{index}")));
        assert_eq!(admitted.attach, Attach::Forks { from, at });
        assert_eq!(admitted.evidence.unwrap().from_seq, at + 1);
        let branch = log.find(author.feed(), other.place()).unwrap();
        assert_eq!(taken(&mut log, other.run(2, 500, "more")).attach, Attach::Extends(branch));
        assert_eq!(log.validate(), Ok(()));
    }
    assert_eq!(log.forked_at(author.feed()), Some(2));
    // All of them travel, from the start or from what is there.
    let mut other = MemoryFeedLog::default();
    for tip in log.tips(author.feed()) {
        let mut after = 0;
        while after < tip.head.seq {
            let run = log.run(author.feed(), tip.branch, after, u64::MAX).unwrap();
            after = run.head.seq;
            other.append(run).unwrap();
        }
    }
    assert_eq!(other.validate(), Ok(()));
    let ends =
        |log: &MemoryFeedLog| log.tips(author.feed()).iter().map(|tip| (tip.since, tip.head)).collect::<Vec<_>>();
    assert_eq!((ends(&log).len(), ends(&other)), (5, ends(&log)));
}

#[test]
fn d24_only_so_many_branches_are_kept_and_one_that_was_sealed() {
    let (mut log, author) = ten();
    for number in 1..BRANCHES_UNSEALED_MAX {
        let at = number as u64 % 9;
        let run = twin(&log, &author, at).run(2, 400, &format!("z{number}"));
        taken(&mut log, run);
    }
    assert_eq!(log.validate(), Ok(()));
    let (mut third, mut fourth) = (twin(&log, &author, 5), twin(&log, &author, 5));
    let (run, other) = (third.run(2, 500, "third"), fourth.run(2, 500, "fourth"));
    let refusal = log.append(run.clone()).unwrap_err();
    assert!(matches!(refusal, Refusal::Branches { .. }), "{refusal}");
    assert_eq!(refusal.evidence().unwrap().from_seq, 6, "what it proves is told");

    let place = third.place();
    let sealed = |feed| if feed == author.feed() { vec![place] } else { Vec::new() };
    let refusal = admit(&log, other, &sealed).unwrap_err();
    assert!(matches!(refusal, Refusal::Branches { .. }), "another one was sealed: {refusal}");
    let Ok(Admission::News(news)) = admit(&log, run, &sealed) else { panic!("it was sealed") };
    assert_eq!(log.take(*news), Ok(()));
    assert_eq!(log.validate(), Ok(()));
    assert!(log.find(author.feed(), place).is_some());
    taken(&mut log, third.run(2, 600, "third"));
}

#[test]
fn what_was_admitted_is_taken_only_where_it_belongs() {
    let (mut log, mut author) = ten();
    let mut twin = twin(&log, &author, 10);
    let (Ok(Admission::News(one)), Ok(Admission::News(two))) =
        (admit(&log, author.run(2, 300, "x"), &|_| Vec::new()), admit(&log, twin.run(2, 300, "y"), &|_| Vec::new()))
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
            let held: Vec<Vec<u8>> = log.ops(author.feed(), Branch::TRUNK)[..at as usize].iter().map(|op| op.bytes.clone()).collect();
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
