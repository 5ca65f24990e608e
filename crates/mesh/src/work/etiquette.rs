//! When to look for work, and how much of it to take.

use crate::fold::Job;
use relaymesh_core::id::StepId;
use std::collections::BTreeMap;

/// What a node keeps in mind about taking work. Times are of one clock that does not go back.
#[derive(Debug, Clone)]
pub struct Etiquette {
    places: usize,
    period_ms: u64,
    look_ms: u64,
    /// Jobs that somebody else was faster with, and until when to leave them alone.
    left_alone: BTreeMap<StepId, u64>,
}

impl Etiquette {
    /// A node that works on so many jobs at once and looks for work about so often.
    pub const fn new(places: usize, period_ms: u64) -> Self {
        Self { places, period_ms, look_ms: 0, left_alone: BTreeMap::new() }
    }

    /// When it looks for work next.
    pub const fn look_ms(&self) -> u64 {
        self.look_ms
    }

    /// It has looked. The next look comes after half a period to one and a half: `jitter` is any number.
    pub fn looked(&mut self, now_ms: u64, jitter: u64) {
        let spread = jitter % (self.period_ms + 1);
        self.look_ms = now_ms.saturating_add(self.period_ms / 2).saturating_add(spread);
    }

    /// Which of the pending jobs to claim, with so many under way: as many as there is a place for, no one that was left to somebody
    /// else, and beginning at another job than the others do. `jitter` is any number.
    pub fn choose(&mut self, pending: &[Job], under_way: usize, now_ms: u64, jitter: u64) -> Vec<StepId> {
        self.left_alone.retain(|_, until_ms| *until_ms > now_ms);
        let free = self.places.saturating_sub(under_way);
        let wanted: Vec<StepId> =
            pending.iter().map(|job| job.step).filter(|step| !self.left_alone.contains_key(step)).collect();
        let begin = usize::try_from(jitter % wanted.len().max(1) as u64).unwrap_or(0);
        wanted.iter().cycle().skip(begin).take(wanted.len().min(free)).copied().collect()
    }

    /// Somebody else was faster: the job is left alone until that lease is over. A job that comes back earlier, because it was yielded, is
    /// pending again for whoever looks then.
    pub fn lost(&mut self, step: StepId, until_ms: u64) {
        self.left_alone.insert(step, until_ms);
    }

    /// The job is anybody's again.
    pub fn free(&mut self, step: StepId) {
        self.left_alone.remove(&step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relaymesh_core::{id::TaskId, task::Status};

    fn jobs(count: u16) -> Vec<Job> {
        let step = |index| StepId { task: TaskId::new(0, 1), index };
        (0..count).map(|index| Job { step: step(index), kind: None, status: Status::Pending, lease: None }).collect()
    }

    #[test]
    fn l9_no_more_is_claimed_than_there_is_a_place_for() {
        let mut etiquette = Etiquette::new(3, 1_000);
        assert_eq!(etiquette.choose(&jobs(9), 0, 0, 0).len(), 3);
        assert_eq!(etiquette.choose(&jobs(9), 2, 0, 0).len(), 1);
        assert_eq!(etiquette.choose(&jobs(9), 5, 0, 0).len(), 0);
        assert_eq!(etiquette.choose(&jobs(2), 0, 0, 7).len(), 2);
        assert_eq!(etiquette.choose(&[], 0, 0, 7).len(), 0);
    }

    #[test]
    fn l9_nodes_look_at_different_times_and_begin_with_different_jobs() {
        let mut etiquette = Etiquette::new(1, 1_000);
        let looks: Vec<u64> = [0, 500, 1_000, 1_001]
            .map(|jitter| {
                etiquette.looked(10_000, jitter);
                etiquette.look_ms()
            })
            .to_vec();
        assert_eq!(looks, [10_500, 11_000, 11_500, 10_500]);
        let first = |jitter| Etiquette::new(1, 1_000).choose(&jobs(4), 0, 0, jitter)[0].index;
        assert_eq!([first(0), first(1), first(2), first(7)], [0, 1, 2, 3]);
    }

    #[test]
    fn l9_whoever_was_slower_does_not_race_until_the_lease_is_over() {
        let mut etiquette = Etiquette::new(2, 1_000);
        let lost = jobs(1)[0].step;
        etiquette.lost(lost, 5_000);
        assert!(etiquette.choose(&jobs(1), 0, 4_999, 0).is_empty());
        assert_eq!(etiquette.choose(&jobs(1), 0, 5_000, 0), [lost]);
        etiquette.lost(lost, 9_000);
        etiquette.free(lost);
        assert_eq!(etiquette.choose(&jobs(1), 0, 6_000, 0), [lost], "it was yielded");
    }
}
