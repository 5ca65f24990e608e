//! Writing an op: stamp it, try it on the rows, and only if it took effect put it on the chain.

use super::{
    caller::Caller,
    engine::Engine,
    event::{Event, StepEvent},
    scopes::refused,
};
use crate::world::World;
use relaymesh_core::{
    id::{OpId, StepId, TaskId},
    name::Name,
    op::{Body, Header, Op, Subject, WriteClass},
    task::{self, Effect, Refusal, Status, TaskRows, spec::Schedule},
    trace::SpanId,
};
use relaymesh_store::Reader;

impl<R: Reader, W: World> Engine<R, W> {
    /// An op about a task that is there. On success the rows have changed and the effects are taken up; on refusal
    /// nothing has changed.
    pub(super) fn write(&mut self, task: TaskId, caller: &Caller, body: task::Body) -> Result<Status, super::Error> {
        self.write_to(task, caller, Subject::Task(task, body))
    }

    /// Forgets a task.
    pub(super) fn forget(&mut self, task: TaskId, caller: &Caller) -> Result<(), super::Error> {
        self.write_to(task, caller, Subject::PurgeTask(task)).map(drop)
    }

    fn write_to(&mut self, task: TaskId, caller: &Caller, subject: Subject) -> Result<Status, super::Error> {
        let rows = self.live.load(task, &mut self.reader).map_err(super::Error::Store)?;
        let namespace = rows.map(|rows| rows.task.namespace.clone()).ok_or(Refusal::NoTask)?;
        let op = self.stamp(subject, namespace, caller)?;
        self.apply(task, &op, None)?;
        Ok(self.status(task))
    }

    /// The op that makes a task.
    pub(super) fn write_new(
        &mut self,
        task: TaskId,
        namespace: Name,
        caller: &Caller,
        schedule: Schedule,
    ) -> Result<u64, super::Error> {
        let op = self.stamp(Subject::Task(task, task::Body::ScheduleJob { schedule }), namespace, caller)?;
        self.apply(task, &op, caller.asked_in.map(|context| context.span))?;
        Ok(op.pos)
    }

    pub(super) fn stamp(&mut self, subject: Subject, namespace: Name, caller: &Caller) -> Result<Op, super::Error> {
        let now = self.world.now();
        let hlc = self.pipeline.tick(now.wall_ms).map_err(|error| super::Error::Indeterminate(error.to_string()))?;
        let head = self.pipeline.tip();
        let header = Header {
            op_id: OpId::new(now.wall_ms, self.world.random()),
            origin: self.identity.node,
            origin_epoch: head.chain.origin_epoch,
            seq: head.chain.next_seq(),
            hlc,
            author: caller.author.clone(),
            source: caller.source.clone(),
            namespace,
            scope: subject.scope(),
            write_class: WriteClass::Strong,
            causal_deps: Vec::new(),
            via: caller.via.clone(),
        };
        Ok(Op { pos: head.pos + 1, header, body: subject.into() })
    }

    fn apply(&mut self, task: TaskId, op: &Op, asked_in: Option<SpanId>) -> Result<(), super::Error> {
        let marks = self.audience.is_watched().then(|| marks(self.live.task(task)));
        self.live.apply(task, op, &mut self.effects, &mut self.pipeline.after().live).map_err(refused)?;
        self.pipeline.append(op);
        if let (Some(marks), Some(rows)) = (marks, self.live.task(task)) {
            self.pipeline.after().audience.note_event(Event { asked_in, ..event(op, rows, &marks) });
        }
        self.take_up_effects(task, &op.body);
        Ok(())
    }

    fn take_up_effects(&mut self, task: TaskId, body: &Body) {
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Offer { step } => self.offer(task, step),
                Effect::Wake { at_ms, .. } => {
                    let wake = &mut self.pipeline.after().wake_ms;
                    *wake = Some(wake.map_or(at_ms, |other| other.min(at_ms)));
                }
                Effect::Start { step, epoch } => self.note_start(task, step, epoch),
                Effect::Stop { step, epoch } => {
                    let step = StepId { task, index: step };
                    self.attempts.end(step, epoch);
                }
                Effect::End { .. } => {
                    if let Some(rows) = self.live.task(task) {
                        self.audience.note_end(&rows.task, &mut self.pipeline.after().audience);
                    }
                }
            }
        }
        // What an attempt's own end frees, besides what a stop does.
        if let Body::Task(
            task::Body::CompleteJob { held, .. }
            | task::Body::FailJob { held, .. }
            | task::Body::YieldWork { held, .. }
            | task::Body::PassWork { held }
            | task::Body::SkipWork { held, .. }
            | task::Body::FanOut { held, .. },
        ) = body
        {
            self.attempts.end(StepId { task, index: held.step }, held.epoch);
        }
        // Offers made while the effects were taken up have left theirs behind.
        if self.effects.is_empty() {
            self.effects = effects;
        }
    }

    pub(super) fn status(&self, task: TaskId) -> Status {
        self.live.task(task).map_or(Status::Pending, |rows| rows.task.status)
    }
}

/// Revisions before an op, to tell which steps it changed.
fn marks(rows: Option<&TaskRows>) -> Vec<u32> {
    rows.map_or(Vec::new(), |rows| rows.steps.iter().map(|step| step.rev).collect())
}

fn event(op: &Op, rows: &TaskRows, marks: &[u32]) -> Event {
    let changed = |(index, step): &(u16, &relaymesh_core::task::Step)| {
        marks.get(usize::from(*index)).is_none_or(|rev| *rev != step.rev)
    };
    let steps = rows.indexed().filter(changed).map(|(index, step)| StepEvent::of(index, step));
    Event {
        pos: op.pos,
        kind: op.body.kind(),
        task: rows.task.id,
        trace_id: rows.task.trace_id,
        asked_in: None,
        status: rows.task.status,
        steps: steps.collect(),
    }
}
