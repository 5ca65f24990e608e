//! HELD: no step of an agent that is held is claimed before its hold is over, over a restart too, and an attempt that was turned away
//! does not count. That all such steps run in the end is for PROGRESS; here, that none of them ended without another attempt.

use super::{Accounting, Hold, Invariant, Look, Rest, Verdict, ensure};
use crate::{
    ledger::OpSeen,
    share::Shares,
    time::{MS, Ns},
};
use relaymesh_core::{
    id::{StepId, TaskId},
    kernel::Rows,
    op::Body,
    task::{self, Status, Step, TaskRows},
};
use relaymesh_runtime::world::Outcome;
use std::collections::BTreeMap;

pub(crate) struct Held {
    shares: Shares,
    holds: BTreeMap<Whose, Until>,
    /// Steps that were turned away and not claimed since.
    turned_away: BTreeMap<StepId, TurnedAway>,
}

/// An attempt that was turned away.
#[derive(Debug, Clone, Copy)]
struct TurnedAway {
    epoch: u32,
    /// Whether the log says so. Until it does, a process that dies takes the knowledge with it: its successor can only count the attempt
    /// as abandoned.
    is_durable: bool,
}

/// An agent alone, or all of a provider.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Agent(String),
    Provider(String),
}

#[derive(Debug, Clone, Copy)]
struct Until {
    since: Ns,
    /// In the node's time.
    until_ms: u64,
    /// The same by the world's clock, which the node's time follows while it runs.
    until: Ns,
}

impl Held {
    pub(crate) fn new(shares: &Shares) -> Self {
        Self { shares: shares.clone(), holds: BTreeMap::new(), turned_away: BTreeMap::new() }
    }

    /// The node decides by itself who runs: claims of workers come with a call.
    fn claimed(&mut self, step: StepId, row: &Step, seen: &OpSeen<'_>) -> Verdict {
        self.turned_away.remove(&step);
        let agent = &row.spec.agent;
        let Some(provider) = self.shares.provider(agent) else { return Ok(()) };
        if crate::call::call_of(seen.op).is_some() || row.is_inward() {
            return Ok(());
        }
        let whose = [Whose::Agent(agent.to_string()), Whose::Provider(provider.to_owned())];
        let holds = whose.iter().find_map(|whose| self.holds.get(whose));
        // What was decided in the same batch may have come before the hold.
        let holds = holds.filter(|hold| hold.since < seen.decided.0 && seen.decided.1 < hold.until);
        ensure(holds.is_none(), || format!("{step} of `{agent}` was claimed (op {}): {holds:?}", seen.op.pos))
    }

    fn given_back(&mut self, step: StepId, before: &Step, after: &Step) -> Verdict {
        ensure(after.attempt + 1 == before.attempt, || {
            format!("{step} was given back, and its attempts went from {} to {}", before.attempt, after.attempt)
        })?;
        if let Some(known) = self.turned_away.get_mut(&step).filter(|known| known.epoch == before.epoch) {
            known.is_durable = true;
        }
        Ok(())
    }

    fn turned_away(&mut self, step: StepId, epoch: u32) {
        self.turned_away.insert(step, TurnedAway { epoch, is_durable: false });
    }

    /// An attempt that was turned away has not failed.
    fn failed(&self, step: StepId, before: &Step) -> Verdict {
        let known = self.turned_away.get(&step);
        let counts = before.status == Status::Running && known.is_some_and(|known| known.epoch == before.epoch);
        ensure(!counts, || format!("{step} epoch {} was turned away, and counts as failed", before.epoch))
    }
}

impl Invariant for Held {
    fn name(&self) -> &'static str {
        "HELD"
    }

    fn held(&mut self, hold: &Hold) {
        let whose =
            if hold.alone { Whose::Agent(hold.agent.to_string()) } else { Whose::Provider(hold.provider.clone()) };
        let until = over_at(hold.now, hold.wall_ms, hold.until_ms);
        self.holds.insert(whose, Until { since: hold.now, until_ms: hold.until_ms, until });
    }

    fn account(&mut self, what: &Accounting<'_>, _wall_ms: u64) -> Verdict {
        match what {
            Accounting::Configured(shares) => {
                self.shares = (*shares).clone();
                self.holds.retain(|whose, _| matches!(whose, Whose::Provider(_)));
            }
            Accounting::Refused { work, outcome: Outcome::Limited { .. } } => {
                self.turned_away(work.hold.step, work.hold.epoch);
            }
            Accounting::TurnedAway { attempt: (step, epoch) } => {
                self.turned_away(*step, *epoch);
            }
            Accounting::Refused { .. }
            | Accounting::Opened { .. }
            | Accounting::Used { .. }
            | Accounting::Closed { .. }
            | Accounting::Spent { .. } => {}
        }
        Ok(())
    }

    /// What an agent has used is looked up again after a start. The node's time may begin elsewhere, also earlier than it was: a hold
    /// that was over stays over. What the former process knew and had not written down is lost.
    fn started(&mut self, now: Ns, wall_ms: u64) {
        self.turned_away.retain(|_, known| known.is_durable);
        self.holds.retain(|whose, hold| matches!(whose, Whose::Provider(_)) && hold.until > now);
        for hold in self.holds.values_mut() {
            hold.until = over_at(now, wall_ms, hold.until_ms);
        }
    }

    fn op(&mut self, seen: &OpSeen<'_>) -> Verdict {
        let (Some(Rows::Task(before)), Some(after)) = (seen.before, seen.task()) else { return Ok(()) };
        let Body::Task(body) = &seen.op.body else { return Ok(()) };
        match body {
            task::Body::ClaimWork { .. } => {
                changed(before, after).try_for_each(|(step, _, row)| self.claimed(step, row, seen))
            }
            task::Body::YieldWork { .. } => changed(before, after)
                .filter(|(_, before, _)| before.status == Status::Running)
                .try_for_each(|(step, before, after)| self.given_back(step, before, after)),
            task::Body::FailJob { .. } => {
                changed(before, after).try_for_each(|(step, before, _)| self.failed(step, before))
            }
            // It begins anew, and may end before it is claimed: a person may deny it.
            task::Body::RedriveTask { .. } => {
                self.turned_away.retain(|step, _| step.task != after.task.id);
                Ok(())
            }
            task::Body::ScheduleJob { .. }
            | task::Body::CompleteJob { .. }
            | task::Body::PassWork { .. }
            | task::Body::SkipWork { .. }
            | task::Body::FanOut { .. }
            | task::Body::ExpireWork { .. }
            | task::Body::TimeoutWork { .. }
            | task::Body::CancelTask { .. }
            | task::Body::ApproveStep { .. }
            | task::Body::DenyStep { .. }
            | task::Body::RecordArtifact { .. } => Ok(()),
        }
    }

    fn rest(&mut self, look: &mut Look<'_>, _rest: &Rest) -> Verdict {
        for step in self.turned_away.keys() {
            let rows = look.ledger.tasks.get(&step.task).map(|seen| &seen.rows);
            let Some(row) = rows.and_then(|rows| rows.steps.get(usize::from(step.index))) else { continue };
            let ran = matches!(row.status, Status::Success | Status::Failed | Status::DeadLetter);
            ensure(!ran, || format!("{step} was turned away, and is {} without another attempt", row.status))?;
        }
        Ok(())
    }
}

/// When a hold is over by the world's clock. Nodes count whole milliseconds.
fn over_at(now: Ns, wall_ms: u64, until_ms: u64) -> Ns {
    now / MS * MS + until_ms.saturating_sub(wall_ms) * MS
}

/// The steps that the op has changed, before and after.
fn changed<'a>(
    before: &'a TaskRows,
    after: &'a TaskRows,
) -> impl Iterator<Item = (StepId, &'a Step, &'a Step)> + use<'a> {
    let task: TaskId = after.task.id;
    let both = (0u16..).zip(before.steps.iter().zip(&after.steps));
    both.filter(|(_, (before, after))| before != after)
        .map(move |(index, (before, after))| (StepId { task, index }, before, after))
}
