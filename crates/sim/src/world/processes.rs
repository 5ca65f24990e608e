//! What happens to the processes of the nodes: rounds, commits, deaths and starts.

use super::{Event, World};
use crate::{
    fault::Fault,
    invariant::{Look, Turn},
    ledger::Moments,
    node::{Input, Life, Turned},
    time::{MS, Ns},
    trace::What,
};
use relaymesh_runtime::world::Alert;
use relaymesh_store::Error as StoreError;

impl World {
    /// Gives the event back if it happens now; a process that stands still sees it later, and one that is about to be
    /// killed does not see it at all.
    pub(super) fn postponed(&mut self, event: Event) -> Option<Event> {
        let index = match &event {
            Event::Turn { node, .. }
            | Event::Wake { node, .. }
            | Event::Written { node, .. }
            | Event::Use { node, .. }
            | Event::Stopped { node, .. }
            | Event::Outcome { node, .. } => *node,
            Event::Arrive { call } => self.calls.get(call)?.node,
            Event::Kill { .. }
            | Event::Start { .. }
            | Event::Deliver { .. }
            | Event::Timeout { .. }
            | Event::Think { .. }
            | Event::Look { .. }
            | Event::Beat { .. }
            | Event::Speak { .. }
            | Event::Act { .. }
            | Event::Break
            | Event::Enter { .. }
            | Event::Settled { .. } => return Some(event),
        };
        self.mend_reads(index);
        let node = &mut self.nodes[index];
        if node.paused_until > self.agenda.now() && node.life.is_some() {
            let until = node.paused_until;
            self.agenda.at(until, event);
            return None;
        }
        if node.life.is_some()
            && let Some(left) = node.kill_in
        {
            node.kill_in = left.checked_sub(1);
            if left == 0 {
                self.count(index, Fault::Kill, 0);
                self.die(index, "killed");
            }
        }
        Some(event)
    }

    /// A round of the process comes up, unless one is due already.
    pub(super) fn soon(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        let Some(life) = node.life.as_mut().filter(|life| !life.turn_due) else { return };
        life.turn_due = true;
        let life = life.number;
        let takes = node.rng.between(1_000, self.plan.round);
        self.agenda.after(takes, Event::Turn { node: index, life });
    }

    pub(super) fn turn(&mut self, index: usize, number: u64) {
        let now = self.agenda.now();
        let node = &mut self.nodes[index];
        let Some(life) = node.life.as_mut().filter(|life| life.number == number) else { return };
        let woken = life.inputs.is_empty();
        let full = |input: &Input| matches!(input, Input::Committed(Err(StoreError::Full { .. })));
        let only_full = !woken && !life.has_requests() && life.inputs.iter().all(full);
        life.turn_due = false;
        let turned = life.turn(self.plan.decisions_at_once, node.rng.chance(500));
        let idle = woken && !turned.again && turned.handed.is_none() && turned.wake.is_some_and(|at| at <= now);
        let handed_ops = turned.handed.as_ref().map(|batch| batch.ops.len());
        let sizes = life.sizes();
        if handed_ops.is_some() {
            node.decided = (node.opened.take().unwrap_or(now), now);
        }
        node.opened = node.opened.or((sizes.open_ops > 0).then_some(now));
        self.invariants.turn(&Turn { sizes, handed_ops, idle, only_full });
        self.collect(index, number);
        self.follow(index, number, &turned);
    }

    /// Takes what the process has left on the panel.
    fn collect(&mut self, index: usize, life: u64) {
        let (alerts, mut answers) = {
            let mut panel = self.nodes[index].panel.look();
            (std::mem::take(&mut panel.alerts), std::mem::take(&mut panel.answers))
        };
        let jumped = alerts.iter().any(|alert| matches!(alert, Alert::ClockJump(_)));
        if jumped {
            let wall_ms = self.nodes[index].wall_ms();
            self.invariants.clock_alert(self.agenda.now(), wall_ms);
        }
        // Those who wait are told in no particular order: the engine keeps them in a hash map. Whoever's call is on the log is told in the
        // order of the log; a call from before a pause may well have been decided after a later one.
        let written = &self.ledgers[index].by_call;
        answers.sort_by_key(|(call, _)| (written.get(call).map(|first| first.pos), *call));
        for (call, result) in answers {
            self.answered(index, call, result);
        }
        self.collect_attempts(index, life);
    }

    fn follow(&mut self, index: usize, life: u64, turned: &Turned) {
        let now = self.agenda.now();
        if turned.ended {
            return self.die(index, "ended by itself");
        }
        if let Some(batch) = &turned.handed {
            let node = &mut self.nodes[index];
            let takes = node.commit_takes(now);
            self.agenda.after(takes, Event::Written { node: index, life });
            if std::mem::take(&mut node.kill_in_write) {
                let within = node.rng.between(0, takes);
                self.agenda.after(within, Event::Kill { node: index, life });
            }
            self.note(What::Handed { node: index, ops: batch.ops.len(), takes_ns: takes });
        }
        if turned.again {
            return self.soon(index);
        }
        self.sleep(index, turned.wake);
    }

    fn sleep(&mut self, index: usize, wake: Option<Ns>) {
        let Some(life) = &mut self.nodes[index].life else { return };
        if life.wake == wake {
            return;
        }
        life.wake = wake;
        let number = life.number;
        if let Some(at) = wake {
            self.agenda.at(at, Event::Wake { node: index, life: number, at });
        }
    }

    pub(super) fn wake(&mut self, index: usize, number: u64, at: Ns) {
        let Some(life) = self.nodes[index].life.as_mut() else { return };
        if life.number == number && life.wake == Some(at) {
            life.wake = None;
            self.soon(index);
        }
    }

    /// The time that a commit takes is over.
    pub(super) fn written(&mut self, index: usize, number: u64) {
        let now = self.agenda.now();
        let node = &mut self.nodes[index];
        if node.life.as_ref().is_none_or(|life| life.number != number || life.writing.is_none()) {
            return;
        }
        node.arm(now);
        let Some((_, result)) = node.life.as_mut().and_then(Life::written) else { return };
        let how = match &result {
            Ok(()) => "done",
            Err(StoreError::Full { .. }) => {
                self.count(index, Fault::FullDisk, 0);
                "full"
            }
            Err(StoreError::Poisoned { .. }) => {
                self.count(index, Fault::IoError, 0);
                "poisoned"
            }
            Err(error) => {
                self.invariants.say("REBUILD", format!("the store refused a batch: {error}"));
                "refused"
            }
        };
        self.note(What::Written { node: index, how });
        self.read_on(index);
        self.soon(index);
    }

    /// Reads what is new on the disk.
    fn read_on(&mut self, index: usize) {
        let (now, trace, history) = (self.agenda.now(), &mut self.trace, &mut self.history);
        let mut reader = self.nodes[index].reader();
        let moments = Moments { now, decided: self.nodes[index].decided };
        self.ledgers[index].read_on(moments, &mut reader, &mut self.invariants, &mut |seen| {
            let (op, call) = (seen.op, crate::call::call_of(seen.op));
            trace.note(now, What::Op { pos: op.pos, kind: op.body.kind(), about: op.header.scope, call });
            history.durable(seen);
        });
    }

    pub(super) fn kill_in_write(&mut self, index: usize, number: u64) {
        if self.nodes[index].life.as_ref().is_some_and(|life| life.number == number) {
            self.count(index, Fault::KillInWrite, 0);
            self.die(index, "killed in a write");
        }
    }

    /// The process is gone. A batch that was on its way is on the disk or not; whoever waited for an answer gets none.
    pub(super) fn die(&mut self, index: usize, why: &'static str) {
        let node = &mut self.nodes[index];
        let Some(life) = node.life.take() else { return };
        let torn = life.writing.is_some().then(|| node.rng.chance(500));
        if let Err(error) = life.die(torn == Some(true)) {
            self.invariants.say("REBUILD", format!("the store refused a batch: {error}"));
        }
        let pending = std::mem::take(&mut self.nodes[index].pending);
        self.note(What::Died { node: index, why, torn });
        self.cut_off(pending);
        self.forget_times();
        let node = &mut self.nodes[index];
        node.panel.look().answers.clear();
        node.paused_until = 0;
        node.silenced.clear();
        let healthy = self.phase != crate::actor::Phase::Break;
        let down = if healthy { 100 * MS } else { node.rng.spread(20, 12_000) * MS };
        self.agenda.after(down, Event::Start { node: index });
    }

    pub(super) fn start(&mut self, index: usize) {
        if self.nodes[index].life.is_some() {
            return;
        }
        self.mend_reads(index);
        let node = &mut self.nodes[index];
        // Opening the disk shows whether a batch of unknown fate is there; that is what a start finds.
        if let Ok(store) = node.disk.open() {
            drop(store);
        }
        self.read_on(index);
        let look = Look { reader: &mut self.nodes[index].reader(), ledger: &self.ledgers[index] };
        self.invariants.start(look);
        let node = &mut self.nodes[index];
        node.lives += 1;
        match Life::start(node.lives, &node.disk, &node.panel, &self.plan.config) {
            Ok(life) => {
                node.opened = (life.sizes().open_ops > 0).then_some(self.agenda.now());
                node.life = Some(life);
                self.invariants.started(self.agenda.now(), node.wall_ms());
                let (life, pos) = (node.lives, self.ledgers[index].pos());
                self.note(What::Started { node: index, life, pos });
                self.soon(index);
            }
            Err(_) => {
                let after = node.rng.spread(50, 2_000) * MS;
                self.note(What::NotStarted { node: index });
                self.agenda.after(after, Event::Start { node: index });
            }
        }
    }
}
