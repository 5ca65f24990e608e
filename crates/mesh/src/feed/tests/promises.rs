//! Promises: a quiet node moves its head, and whoever breaks its word is known for it.

use super::*;

#[test]
fn a_quiet_node_moves_its_promise_without_an_op() {
    let mut author = Author::new(1);
    let mut log = MemoryFeedLog::default();
    let empty = taken(&mut log, Run::promise(author.head(50)));
    assert_eq!((empty.ops.len(), empty.head.seq), (0, 0), "also before its first op");
    taken(&mut log, author.run(2, 100, "x"));
    for as_of_ms in [500, 900] {
        taken(&mut log, Run::promise(author.head(as_of_ms)));
        assert_eq!(log.tips(author.feed())[0].head.as_of, author.stamp(as_of_ms));
    }
    for older in [101, 500, 900] {
        assert_eq!(log.append(Run::promise(author.head(older))), Ok(Admission::Known), "{older}");
    }
    let less = log.append(Run::promise(author.head(100)));
    assert!(matches!(less, Err(Refusal::AsOf { .. })), "less than its own last op: {less:?}");
}

#[test]
fn an_op_that_breaks_a_promise_is_kept_and_proves_the_lie() {
    let mut author = Author::new(1);
    let mut log = MemoryFeedLog::default();
    taken(&mut log, author.run(2, 100, "x"));
    let promise = author.head(500);
    taken(&mut log, Run::promise(promise));
    for dated in [102, 499, 500] {
        let (mut log, mut liar) = (log.clone(), author.clone());
        let run = liar.run(3, dated, "late");
        let evidence = taken(&mut log, run.clone()).evidence.unwrap();
        assert_eq!((evidence.lie, evidence.from_seq), (Lie::Promise, 3));
        assert_eq!((evidence.known, evidence.other), (promise, run.head));
        assert_eq!(log.tips(author.feed())[0].head.seq, 5, "whoever never heard the promise has it, too");
    }
    taken(&mut log, author.run(1, 501, "in time"));
}

#[test]
fn whoever_took_the_op_first_learns_of_the_promise_later() {
    let mut author = Author::new(1);
    let mut log = MemoryFeedLog::default();
    taken(&mut log, author.run(2, 100, "x"));
    let (kept, broken) = (author.head(199), author.head(200));
    let newest = author.run(2, 200, "x");
    taken(&mut log, newest.clone());
    assert_eq!(log.append(Run::promise(kept)), Ok(Admission::Known));
    let evidence = *log.append(Run::promise(broken)).unwrap_err().evidence().unwrap();
    assert_eq!((evidence.lie, evidence.from_seq, evidence.known), (Lie::Promise, 3, newest.head));
    let forged = SignedHead { signature: kept.signature, ..broken };
    assert!(matches!(log.append(Run::promise(forged)), Err(Refusal::Signature(_))), "no proof without a signature");
}
