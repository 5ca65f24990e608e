//! Whether what workers and the node did with leases has a sequential explanation.
//!
//! The specification is a register with a fence: a claim takes what nobody holds and gets the next epoch, an end counts
//! only for the epoch in force. Operations overlap, answers get lost, processes die; still there must be one order, in
//! agreement with who had finished before whom began, in which every answer is right. An operation without an answer may
//! stand anywhere after its beginning, or nowhere.
//!
//! Locks will get a specification of their own here.

use relaymesh_sim::{
    history::{LeaseOp, LeaseRet, Moment, Thread},
    run,
};
use std::collections::BTreeMap;

use stateright::semantics::{ConsistencyTester as _, LinearizabilityTester, SequentialSpec};

/// A leased step.
#[derive(Debug, Clone, Default)]
struct Lease {
    /// The epoch of the last claim.
    epoch: u32,
    is_held: bool,
}

impl SequentialSpec for Lease {
    type Op = LeaseOp;
    type Ret = LeaseRet;

    fn invoke(&mut self, op: &LeaseOp) -> LeaseRet {
        match op {
            LeaseOp::Claim if self.is_held => LeaseRet::Held,
            LeaseOp::Claim => {
                *self = Self { epoch: self.epoch + 1, is_held: true };
                LeaseRet::Claimed(self.epoch)
            }
            LeaseOp::End { epoch } if self.is_held && self.epoch == *epoch => {
                self.is_held = false;
                LeaseRet::Ended
            }
            LeaseOp::End { .. } => LeaseRet::Fenced,
            LeaseOp::Clear => {
                self.is_held = false;
                LeaseRet::Cleared
            }
        }
    }

    /// A claim may be refused for reasons that are none of the lease's: the step has ended, or is not due.
    fn is_valid_step(&mut self, op: &LeaseOp, ret: &LeaseRet) -> bool {
        (*op == LeaseOp::Claim && *ret == LeaseRet::NotNow) || self.invoke(op) == *ret
    }
}

/// How a history is judged.
#[derive(Debug, PartialEq, Eq)]
enum Judged {
    Linearizable,
    Not,
}

fn judge(moments: &[(Thread, Moment)]) -> Judged {
    // What came to nothing for sure was never there.
    let gone = |thread: Thread| moments.contains(&(thread, Moment::Withdrawn));
    let mut tester = LinearizabilityTester::new(Lease::default());
    let ranks = ranks(moments);
    for (thread, moment) in moments.iter().filter(|(thread, _)| !gone(*thread)) {
        let rank = ranks[thread];
        let valid = match moment {
            Moment::Invoked(op) => tester.on_invoke(rank, *op).is_ok(),
            Moment::Returned(ret) => tester.on_return(rank, *ret).is_ok(),
            Moment::Withdrawn => true,
        };
        assert!(valid, "one question, one answer: {moments:?}");
    }
    if tester.is_consistent() { Judged::Linearizable } else { Judged::Not }
}

/// The tester tries its threads in their order. Those with an answer come first, by time; what was never answered is
/// tried only where nothing else explains the rest. Any other order takes for ever.
fn ranks(moments: &[(Thread, Moment)]) -> BTreeMap<Thread, (bool, usize)> {
    let answered = |thread: Thread| moments.iter().any(|(t, m)| *t == thread && matches!(m, Moment::Returned(_)));
    let mut ranks = BTreeMap::new();
    for (place, (thread, _)) in moments.iter().enumerate() {
        ranks.entry(*thread).or_insert((!answered(*thread), place));
    }
    ranks
}

#[test]
fn leases_are_linearizable() {
    let (mut judged, mut concurrent) = (0, 0);
    for seed in 0..60 {
        let report = run(seed);
        for (step, moments) in report.history.steps() {
            let by_workers = moments.iter().filter(|(thread, _)| thread.is_multiple_of(2)).count();
            if by_workers == 0 {
                continue; // only the node itself, one after the other
            }
            assert_eq!(judge(moments), Judged::Linearizable, "seed {seed}, {step}: {moments:#?}");
            judged += 1;
            let overlaps =
                |pair: &[(Thread, Moment)]| matches!((pair[0].1, pair[1].1), (Moment::Invoked(_), Moment::Invoked(_)));
            concurrent += usize::from(moments.windows(2).any(overlaps));
        }
    }
    assert!(judged > 500 && concurrent > 50, "{judged} histories, {concurrent} with overlap: too few to mean anything");
}

#[test]
fn a_stale_end_that_counts_is_found() {
    use LeaseOp::{Claim, End};
    use LeaseRet::{Claimed, Ended, Fenced};
    let op = |thread, op, ret| [(thread, Moment::Invoked(op)), (thread, Moment::Returned(ret))];
    let fine = [op(1, Claim, Claimed(1)), op(3, End { epoch: 1 }, Ended), op(2, End { epoch: 1 }, Fenced)].concat();
    assert_eq!(judge(&fine), Judged::Linearizable);
    let stale = [op(1, Claim, Claimed(1)), op(3, End { epoch: 1 }, Ended), op(2, End { epoch: 1 }, Ended)].concat();
    assert_eq!(judge(&stale), Judged::Not, "the second end of one epoch");
    let twice = [op(2, Claim, Claimed(1)), op(4, Claim, Claimed(1))].concat();
    assert_eq!(judge(&twice), Judged::Not, "an epoch given out twice");
    let mut unknown = vec![(2, Moment::Invoked(Claim))];
    unknown.extend(op(1, End { epoch: 1 }, Ended));
    assert_eq!(judge(&unknown), Judged::Linearizable, "an unanswered claim may have happened");
}
