//! What holds between the rows before an op, the rows after it, and its effects.

use crate::{
    id::TaskId,
    op::About,
    task::{Body, Effect, Status, Step, TaskRows, validate},
};

pub(super) fn check(before: Option<&TaskRows>, after: &TaskRows, effects: &[Effect], op: &About<'_, TaskId, Body>) {
    validate(after).unwrap_or_else(|invalid| panic!("{invalid} after {:?}\n{after:#?}", op.body.kind()));
    assert_eq!(after.task.head, op.header.hlc, "the head is the newest op that took effect");
    assert_eq!(after.task.rev, before.map_or(1, |rows| rows.task.rev + 1), "the task's revision counts its ops");
    for (index, step) in after.indexed() {
        let old = before.and_then(|rows| rows.steps.get(usize::from(index)));
        if let Some(old) = old {
            assert_eq!(step.rev > old.rev, step != old, "step {index}: a revision grows exactly with a change");
            assert!(step.epoch >= old.epoch, "step {index}: the epoch shrank");
            assert!(step.epoch <= old.epoch + 1, "step {index}: one op, one claim");
            assert!(old.result.is_none() || step.result.is_none() || step.result == old.result, "a result changed");
        }
        effects_of_step(index, old, step, effects, op);
    }
    let ended = after.task.status.is_terminal() && before.is_none_or(|rows| !rows.task.status.is_terminal());
    let ends: Vec<&Effect> = effects.iter().filter(|effect| matches!(effect, Effect::End { .. })).collect();
    let redriven = matches!(op.body, Body::RedriveTask { .. });
    if ended || (redriven && after.task.status.is_terminal()) {
        assert_eq!(ends, [&Effect::End { status: after.task.status }], "the end is told once");
    } else {
        assert!(ends.is_empty(), "an end was told that is none");
    }
}

/// Whoever follows the effects alone knows what is to be done.
fn effects_of_step(index: u16, old: Option<&Step>, step: &Step, effects: &[Effect], op: &About<'_, TaskId, Body>) {
    let told = |effect: Effect| effects.iter().filter(|other| **other == effect).count();
    let offered = |step: &Step| step.ready && step.status == Status::Pending;
    let newly_offered = offered(step) && !old.is_some_and(offered);
    assert_eq!(told(Effect::Offer { step: index }), usize::from(newly_offered), "step {index}: offers");

    let waits = |step: &Step| step.due_ms > 0 && matches!(step.status, Status::Retrying | Status::Waiting);
    let newly_waits = waits(step) && !old.is_some_and(waits);
    let wakes = effects.iter().filter(|effect| matches!(effect, Effect::Wake { step, .. } if *step == index)).count();
    assert_eq!(wakes, usize::from(newly_waits), "step {index}: wakes");
    assert_eq!(told(Effect::Wake { step: index, at_ms: step.due_ms }), wakes, "step {index}: wakes at the wrong time");

    let started = old.is_some_and(|old| step.epoch > old.epoch);
    assert_eq!(told(Effect::Start { step: index, epoch: step.epoch }), usize::from(started), "step {index}: starts");

    let own_word = matches!(op.body, Body::CompleteJob { held, .. } | Body::FailJob { held, .. } | Body::YieldWork { held, .. } | Body::PassWork { held } | Body::SkipWork { held, .. } | Body::FanOut { held, .. } if held.step == index);
    let stopped = old.is_some_and(|old| old.lease.is_some() && step.lease.is_none() && !own_word);
    assert_eq!(told(Effect::Stop { step: index, epoch: step.epoch }), usize::from(stopped), "step {index}: stops");
}
