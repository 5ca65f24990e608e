//! Every move of the transition table can be made, and nothing else can.

use super::*;
use std::collections::BTreeSet;

/// A row that rests in `status`.
fn resting(status: Status) -> Queue {
    let mut queue = one();
    match status {
        Status::Pending => {}
        Status::Replaying => drop(queue.begin(id(1), 20).unwrap()),
        Status::Applied => {
            queue.begin(id(1), 20).unwrap();
            queue.settle(id(1), decided(Outcome::Applied), 30).unwrap();
        }
        Status::Failed => {
            queue.begin(id(1), 20).unwrap();
            queue.settle(id(1), decided(Outcome::Superseded), 30).unwrap();
        }
    }
    assert_eq!(queue.row(id(1)).unwrap().status, status);
    queue
}

/// Every way to say `verb`, with where the row rests then.
fn say(queue: &Queue, verb: Verb) -> Vec<Result<Status, Refusal>> {
    let said = |verb: &dyn Fn(&mut Queue) -> Result<(), Refusal>| {
        let mut queue = queue.clone();
        let result = verb(&mut queue);
        queue.validate().unwrap();
        result.map(|()| queue.row(id(1)).unwrap().status)
    };
    match verb {
        Verb::Begin => vec![said(&|queue| queue.begin(id(1), 40).map(drop))],
        Verb::Settle => {
            let all = Outcome::ALL.map(|outcome| said(&|queue| queue.settle(id(1), decided(outcome), 40).map(drop)));
            let refused = said(&|queue| queue.refuse(id(1), Failure::Http(409), 40).map(drop));
            all.into_iter().chain([refused]).collect()
        }
        Verb::Postpone => vec![said(&|queue| queue.postpone(id(1), Failure::Timeout, 40, 5).map(drop))],
        // It takes whatever is replaying; what is not is left alone, which is no move.
        Verb::Recover => vec![said(&|queue| match queue.recover(40)?.as_slice() {
            [] => Err(Refusal::Unknown { id: id(1) }),
            _ => Ok(()),
        })],
        Verb::Redrive => vec![said(&|queue| queue.redrive(id(1), None, 40).map(drop))],
    }
}

#[test]
fn every_move_of_the_table_can_be_made_and_no_other() {
    for from in Status::ALL {
        for verb in Verb::ALL {
            let queue = resting(from);
            let made: BTreeSet<Status> = say(&queue, verb).into_iter().flatten().collect();
            let expected: BTreeSet<Status> = targets(from, verb).iter().copied().collect();
            assert_eq!(made, expected, "{verb:?} from {from}");
        }
    }
    assert_eq!(TRANSITIONS.len(), 5);
}

#[test]
fn f7_each_outcome_ends_the_row_where_it_belongs_and_the_row_says_which() {
    for (outcome, status) in [
        (Outcome::Applied, Status::Applied),
        (Outcome::NoopAlreadyApplied, Status::Applied),
        (Outcome::Superseded, Status::Failed),
        (Outcome::ConflictRequiresMerge, Status::Failed),
        (Outcome::RejectedFenced, Status::Failed),
    ] {
        let mut queue = resting(Status::Replaying);
        let entry = queue.settle(id(1), decided(outcome), 40).unwrap();
        assert_eq!((entry.status, entry.outcome), (status, Some(outcome)));
        assert_eq!(entry.applied_ms, (status == Status::Applied).then_some(40));
    }
}
