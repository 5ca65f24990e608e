//! When to say that somebody else's lease is over.

use crate::fold::Job;
use relaymesh_core::id::StepId;
use std::collections::BTreeMap;

/// What a node has seen of leases, on its own monotonic clock.
#[derive(Debug, Clone, Default)]
pub struct LeaseWatch {
    /// By job: the deadline that was seen, and since when by the monotonic clock.
    seen: BTreeMap<StepId, (u64, u64)>,
}

impl LeaseWatch {
    /// Looks at all jobs whose lease is past its deadline by the HLC, and gives those that were so, unrenewed, for a full term of the
    /// monotonic clock. Call it again and again with all of them: what is not named any more is forgotten.
    pub fn over(&mut self, overdue: &[Job], term_ms: u64, monotonic_ms: u64) -> Vec<StepId> {
        let before = std::mem::take(&mut self.seen);
        let mut over = Vec::new();
        for job in overdue {
            let Some(lease) = &job.lease else { continue };
            let known = before.get(&job.step).filter(|(deadline_ms, _)| *deadline_ms == lease.deadline_ms);
            let since_ms = known.map_or(monotonic_ms, |(_, since_ms)| *since_ms);
            self.seen.insert(job.step, (lease.deadline_ms, since_ms));
            if monotonic_ms.saturating_sub(since_ms) >= term_ms {
                over.push(job.step);
            }
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relaymesh_core::{
        id::{LeaseToken, NodeId, TaskId, WorkerId},
        task::{Lease, Status},
    };

    fn job(deadline_ms: u64) -> Job {
        let lease = Lease {
            owner: NodeId::new(0, 1),
            worker: WorkerId::new(0, 1),
            token: LeaseToken::new(0, 1),
            claimed_ms: 0,
            deadline_ms,
        };
        let step = StepId { task: TaskId::new(0, 1), index: 0 };
        Job { step, kind: None, status: Status::Running, lease: Some(lease) }
    }

    #[test]
    fn l3_a_lease_is_over_only_after_a_full_term_of_ones_own_clock_without_a_renewal() {
        let mut watch = LeaseWatch::default();
        assert!(watch.over(&[job(50)], 100, 1_000).is_empty(), "a clock that jumped ends nothing");
        assert!(watch.over(&[job(50)], 100, 1_099).is_empty());
        assert!(watch.over(&[job(80)], 100, 1_100).is_empty(), "it was renewed");
        assert_eq!(watch.over(&[job(80)], 100, 1_200), [job(80).step]);
        assert!(watch.over(&[], 100, 1_300).is_empty());
        assert!(watch.over(&[job(80)], 100, 1_301).is_empty(), "it was not overdue in between: the term begins again");
    }
}
