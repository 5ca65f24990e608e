//! Fan out: the holder found out for how many items the step runs. Each gets a step of its own; when all of them have
//! succeeded, the step itself is held once more and completed with the list of their results.
//!
//! The steps of items are never taken away again. If the list changes, because a redrive made it anew, they are used again for the
//! items of the new one: their epochs go on, and no fence is given twice.

use super::{
    apply::{At, Effect, Refusal},
    follow, graph,
    lease::held_step,
    redrive::reset,
    spec::{Flow, Item, StepSpec},
    state::TaskRows,
    submit::fresh,
    table::{Status, Verb},
};
use crate::{name::Name, op::Hold};

pub(super) fn fan_out(
    rows: &mut TaskRows,
    held: &Hold<u16>,
    count: u16,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let unwanted = rows.task.cancel.is_some() || rows.task.failing.is_some();
    let of = held.step;
    let there: Vec<(u16, usize)> = places(rows, of);
    let room = graph::STEPS_MAX - rows.steps.len();
    let step = held_step(rows, held)?;
    let name = || step.spec.name.clone();
    if step.spec.foreach().is_none() || step.fan.is_some() || step.is_weighed() {
        return Err(Refusal::NothingToWeigh { name: name(), what: "list" });
    }
    if usize::from(count) > room + there.len() {
        return Err(Refusal::TooManyItems { name: name(), count });
    }
    let specs: Option<Vec<StepSpec>> = (0..count).map(|index| item_spec(&step.spec, of, index)).collect();
    let specs = specs.ok_or_else(|| Refusal::TooManyItems { name: name(), count })?;
    step.end_hold();
    step.ready = false;
    if unwanted {
        step.go(Verb::FanOut, Status::Cancelled, at.now_ms);
        follow::after(rows, of, at, effects);
        return Ok(());
    }
    step.go(Verb::FanOut, Status::Pending, at.now_ms);
    step.fan = Some(count);
    for (index, spec) in (0..count).zip(&specs) {
        match there.iter().find(|(there, _)| *there == index) {
            Some((_, place)) => reset(&mut rows.steps[*place], at.now_ms),
            None => rows.steps.push(fresh(spec, at.now_ms)),
        }
    }
    follow::open_ready(rows, at, effects);
    Ok(())
}

/// The steps that ran for items of an earlier list, with their places.
fn places(rows: &TaskRows, of: u16) -> Vec<(u16, usize)> {
    let item = |(place, step): (usize, &super::state::Step)| Some((step.spec.item()?, place));
    let mine = |(item, place): (Item, usize)| (item.of == of).then_some((item.index, place));
    rows.steps.iter().enumerate().filter_map(item).filter_map(mine).collect()
}

/// What the step for one item is asked for; `None` if it can have no name, which a graph that was checked does not have.
fn item_spec(spec: &StepSpec, of: u16, index: u16) -> Option<StepSpec> {
    let name: Name = graph::item_name(&spec.name, index).parse().ok()?;
    let flow = Flow { when: None, foreach: None, templated: spec.is_templated(), item: Some(Item { of, index }) };
    Some(StepSpec {
        name,
        depends_on: Vec::new(),
        compensates: None,
        approve: None,
        flow: Some(Box::new(flow)),
        ..spec.clone()
    })
}
