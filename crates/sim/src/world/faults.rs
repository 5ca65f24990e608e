//! Breaking things, and mending them.

use super::{Event, World};
use crate::{
    actor::Phase,
    fault::Fault,
    node::{Ails, Busy, Input},
    share::COUNTED,
    time::{MS, Ns, SECOND},
    trace::What,
};

impl World {
    /// Breaks one thing and says when the next one will break.
    pub(super) fn break_something(&mut self) {
        if self.phase != Phase::Break {
            return;
        }
        let gap = self.rng.between(self.plan.fault_gap / 4, self.plan.fault_gap * 2);
        self.agenda.after(gap, Event::Break);
        let node = self.rng.index(self.nodes.len());
        let fault = Fault::ALL[self.rng.weighted(&self.plan.weights)];
        self.inflict(node, fault);
    }

    /// A fault took effect.
    pub(super) fn count(&mut self, node: usize, kind: Fault, much: i64) {
        *self.faults.entry(kind).or_default() += 1;
        self.note(What::Fault { node, kind, much });
    }

    fn inflict(&mut self, index: usize, fault: Fault) {
        let now = self.agenda.now();
        let for_a_while = now + self.rng.spread(100, 8_000) * MS;
        let much = match fault {
            // These take effect later, and are counted then.
            Fault::Kill => {
                self.nodes[index].kill_in = Some(self.rng.between(0, 40));
                return;
            }
            Fault::KillInWrite => {
                self.nodes[index].kill_in_write = true;
                return;
            }
            Fault::IoError => {
                self.nodes[index].ails.io_error = true;
                return;
            }
            Fault::FullDisk => {
                self.nodes[index].ails.full_until = for_a_while;
                return;
            }
            Fault::Stop => self.stop(index),
            Fault::Pause => self.pause(index),
            Fault::JumpAhead => self.jump(index, 1),
            Fault::JumpBack => self.jump(index, -1),
            Fault::Drift => self.drift(index),
            Fault::SlowDisk => {
                let slow = self.rng.spread(100, 4_000) * MS;
                let ails = &mut self.nodes[index].ails;
                (ails.slow_until, ails.slow) = (for_a_while, slow);
                signed(slow / MS)
            }
            Fault::FailingReads => self.fail_reads(index, for_a_while),
            Fault::RateLimit => self.limit_rate(index),
        };
        self.count(index, fault, much);
    }

    fn stop(&mut self, index: usize) -> i64 {
        if let Some(life) = &mut self.nodes[index].life {
            life.inputs.push_back(Input::Close);
        }
        self.soon(index);
        0
    }

    fn pause(&mut self, index: usize) -> i64 {
        let until = self.agenda.now() + self.rng.spread(500, 40_000) * MS;
        // What waits for the end of the pause is on the agenda by then: it cannot be mended early.
        let until = until.min(self.plan.break_ends);
        self.nodes[index].paused_until = until;
        signed((until - self.agenda.now()) / MS)
    }

    fn jump(&mut self, index: usize, sign: i64) -> i64 {
        let by_ms = sign * signed(self.rng.spread(200, 3_600_000));
        self.nodes[index].panel.look().jump(by_ms);
        self.invariants.clock_set(self.agenda.now(), by_ms);
        by_ms
    }

    fn drift(&mut self, index: usize) -> i64 {
        let ppm = signed(self.rng.between(0, 40_000)) - 20_000;
        self.nodes[index].panel.look().drift(ppm);
        ppm
    }

    fn fail_reads(&mut self, index: usize, until: Ns) -> i64 {
        let per_mille = self.rng.spread(20, 600);
        self.nodes[index].ails.reads_until = until;
        self.nodes[index].panel.look().reads_fail = per_mille;
        signed(per_mille)
    }

    fn limit_rate(&mut self, index: usize) -> i64 {
        let (_, provider) = COUNTED[self.rng.index(COUNTED.len())];
        let takes = self.rng.spread(1_000, 60_000) * MS;
        let busy = Busy { until: self.agenda.now() + takes, says_until: self.rng.chance(700) };
        self.nodes[index].panel.look().busy.insert(provider.to_owned(), busy);
        signed(takes / MS)
    }

    /// From now on nothing is broken.
    pub(super) fn heal(&mut self) {
        for index in 0..self.nodes.len() {
            let node = &mut self.nodes[index];
            node.ails = Ails::default();
            node.kill_in = None;
            node.kill_in_write = false;
            let mut panel = node.panel.look();
            panel.reads_fail = 0;
            panel.busy.clear();
            panel.drift(0);
            drop(panel);
            self.agenda.after(SECOND / 10, Event::Start { node: index });
        }
    }

    /// Reads are well again once their time is over.
    pub(super) fn mend_reads(&mut self, index: usize) {
        let now = self.agenda.now();
        let node = &mut self.nodes[index];
        if node.ails.reads_until <= now {
            node.panel.look().reads_fail = 0;
        }
    }
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
