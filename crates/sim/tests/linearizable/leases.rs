//! The specification is a register with a fence: a claim takes what nobody holds and gets the next epoch, an end counts
//! only for the epoch in force. An operation without an answer may stand anywhere after its beginning, or nowhere.

use super::{Judged, judge};
use relaymesh_sim::{
    history::{LeaseOp, LeaseRet, Moment, Thread},
    run,
};
use stateright::semantics::SequentialSpec;
use std::collections::BTreeMap;

type Moments = [(Thread, Moment<LeaseOp, LeaseRet>)];

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

/// Those with an answer come first, by time; what was never answered is tried only where nothing else explains the rest.
fn ranks(moments: &Moments) -> BTreeMap<Thread, (u64, u64)> {
    let answered = |thread: Thread| moments.iter().any(|(t, m)| *t == thread && matches!(m, Moment::Returned(_)));
    let mut ranks = BTreeMap::new();
    for (place, (thread, _)) in (0..).zip(moments) {
        ranks.entry(*thread).or_insert((u64::from(!answered(*thread)), place));
    }
    ranks
}

fn judged(moments: &Moments) -> Judged {
    judge(Lease::default(), moments, &ranks(moments))
}

#[test]
fn leases_are_linearizable() {
    let (mut count, mut concurrent) = (0, 0);
    for seed in 0..60 {
        let report = run(seed);
        for (step, moments) in report.history.steps() {
            let by_workers = moments.iter().filter(|(thread, _)| thread.is_multiple_of(2)).count();
            if by_workers == 0 {
                continue; // only the node itself, one after the other
            }
            assert_eq!(judged(moments), Judged::Linearizable, "seed {seed}, {step}: {moments:#?}");
            count += 1;
            let overlaps = |pair: &Moments| matches!((pair[0].1, pair[1].1), (Moment::Invoked(_), Moment::Invoked(_)));
            concurrent += usize::from(moments.windows(2).any(overlaps));
        }
    }
    assert!(count > 500 && concurrent > 50, "{count} histories, {concurrent} with overlap: too few to mean anything");
}

#[test]
fn a_stale_end_that_counts_is_found() {
    use LeaseOp::{Claim, End};
    use LeaseRet::{Claimed, Ended, Fenced};
    let op = |thread, op, ret| [(thread, Moment::Invoked(op)), (thread, Moment::Returned(ret))];
    let fine = [op(1, Claim, Claimed(1)), op(3, End { epoch: 1 }, Ended), op(2, End { epoch: 1 }, Fenced)].concat();
    assert_eq!(judged(&fine), Judged::Linearizable);
    let stale = [op(1, Claim, Claimed(1)), op(3, End { epoch: 1 }, Ended), op(2, End { epoch: 1 }, Ended)].concat();
    assert_eq!(judged(&stale), Judged::Not, "the second end of one epoch");
    let twice = [op(2, Claim, Claimed(1)), op(4, Claim, Claimed(1))].concat();
    assert_eq!(judged(&twice), Judged::Not, "an epoch given out twice");
    let mut unknown = vec![(2, Moment::Invoked(Claim))];
    unknown.extend(op(1, End { epoch: 1 }, Ended));
    assert_eq!(judged(&unknown), Judged::Linearizable, "an unanswered claim may have happened");
}
