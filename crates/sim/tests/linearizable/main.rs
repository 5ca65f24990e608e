//! Whether what was done with leases and locks has a sequential explanation.
//!
//! Operations overlap, answers get lost, processes die; still there must be one order, in agreement with who had finished
//! before whom began, in which every answer is right by a small sequential specification.

mod leases;
mod locks;

use relaymesh_sim::history::{Moment, Thread};
use stateright::semantics::{ConsistencyTester as _, LinearizabilityTester, SequentialSpec};
use std::{collections::BTreeMap, fmt::Debug};

/// How a history is judged.
#[derive(Debug, PartialEq, Eq)]
enum Judged {
    Linearizable,
    Not,
}

/// The operations of a history, in the order in which their ends were seen.
type Moments<S> = [(Thread, Moment<<S as SequentialSpec>::Op, <S as SequentialSpec>::Ret>)];

/// The tester tries its threads in the order of their ranks. What it finds does not depend on that; how long it takes to
/// find it does: with the wrong order, for ever.
fn judge<S>(spec: S, moments: &Moments<S>, ranks: &BTreeMap<Thread, (u64, u64)>) -> Judged
where
    S: SequentialSpec + Clone + Debug,
    S::Op: Clone + Debug + PartialEq,
    S::Ret: Clone + Debug + PartialEq,
{
    // What came to nothing for sure was never there.
    let gone: Vec<Thread> =
        moments.iter().filter(|(_, moment)| matches!(moment, Moment::Withdrawn)).map(|(thread, _)| *thread).collect();
    let mut tester = LinearizabilityTester::new(spec);
    for (thread, moment) in moments.iter().filter(|(thread, _)| !gone.contains(thread)) {
        let rank = ranks[thread];
        let valid = match moment {
            Moment::Invoked(op) => tester.on_invoke(rank, op.clone()).is_ok(),
            Moment::Returned(ret) => tester.on_return(rank, ret.clone()).is_ok(),
            Moment::Withdrawn => true,
        };
        assert!(valid, "one question, one answer: {moments:?}");
    }
    if tester.is_consistent() { Judged::Linearizable } else { Judged::Not }
}
