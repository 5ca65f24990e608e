//! Earlier forms of bodies. Ops are for ever: what was written in a form is read in it.

use super::{Decoded, Kind};
use crate::{
    content::ContentRef,
    hash::Hash,
    lanes::Priority,
    name::Name,
    task::{
        self,
        spec::{Ask, Flow, IdempotencyKey, RetryPolicy, Schedule, StepSpec},
    },
};
use serde::Deserialize;

/// The kind that had other forms, by its number.
pub(super) const SCHEDULE_JOB: u16 = Kind::ScheduleJob as u16;

/// Before tasks had inputs of their own.
#[derive(Deserialize)]
struct FirstSchedule {
    name: Name,
    key: IdempotencyKey,
    fingerprint: Hash,
    #[serde(with = "crate::hex128")]
    trace_id: u128,
    steps: Vec<FirstStep>,
}

/// Before steps had conditions, lists and expressions.
#[derive(Deserialize)]
struct FirstStep {
    name: Name,
    agent: Name,
    priority: Priority,
    depends_on: Vec<u16>,
    compensates: Option<u16>,
    input: Option<ContentRef>,
    retry: RetryPolicy,
    timeout_ms: Option<u64>,
    approve: Option<Ask>,
}

/// As it is today, but for its steps.
#[derive(Deserialize)]
struct SecondSchedule {
    name: Name,
    key: IdempotencyKey,
    fingerprint: Hash,
    #[serde(with = "crate::hex128")]
    trace_id: u128,
    input: Option<ContentRef>,
    steps: Vec<SecondStep>,
}

/// Before steps had terms.
#[derive(Deserialize)]
struct SecondStep {
    name: Name,
    agent: Name,
    priority: Priority,
    depends_on: Vec<u16>,
    compensates: Option<u16>,
    input: Option<ContentRef>,
    retry: RetryPolicy,
    timeout_ms: Option<u64>,
    approve: Option<Ask>,
    flow: Option<Box<Flow>>,
}

/// The body in these bytes of the first form, and what is left of them.
pub(super) fn first_schedule(bytes: &[u8]) -> Decoded<'_> {
    let (first, rest) = postcard::take_from_bytes::<FirstSchedule>(bytes)?;
    let FirstSchedule { name, key, fingerprint, trace_id, steps } = first;
    let steps = steps.into_iter().map(StepSpec::from).collect();
    let schedule = Schedule { name, key, fingerprint, trace_id, input: None, steps };
    Ok(Some((task::Body::ScheduleJob { schedule }.into(), rest)))
}

/// The same of the second form.
pub(super) fn second_schedule(bytes: &[u8]) -> Decoded<'_> {
    let (second, rest) = postcard::take_from_bytes::<SecondSchedule>(bytes)?;
    let SecondSchedule { name, key, fingerprint, trace_id, input, steps } = second;
    let steps = steps.into_iter().map(StepSpec::from).collect();
    let schedule = Schedule { name, key, fingerprint, trace_id, input, steps };
    Ok(Some((task::Body::ScheduleJob { schedule }.into(), rest)))
}

impl From<FirstStep> for StepSpec {
    fn from(first: FirstStep) -> Self {
        let FirstStep { name, agent, priority, depends_on, compensates, input, retry, timeout_ms, approve } = first;
        Self {
            name,
            agent,
            priority,
            depends_on,
            compensates,
            input,
            retry,
            timeout_ms,
            approve,
            flow: None,
            terms: None,
        }
    }
}

impl From<SecondStep> for StepSpec {
    fn from(second: SecondStep) -> Self {
        let SecondStep { name, agent, priority, depends_on, compensates, input, retry, timeout_ms, approve, flow } =
            second;
        Self { name, agent, priority, depends_on, compensates, input, retry, timeout_ms, approve, flow, terms: None }
    }
}
