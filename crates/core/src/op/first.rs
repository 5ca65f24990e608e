//! First forms of bodies that have a second one. Ops are for ever: what was written in them is read in them.

use super::{Body, Kind};
use crate::{
    content::ContentRef,
    hash::Hash,
    lanes::Priority,
    name::Name,
    task::spec::{Ask, IdempotencyKey, RetryPolicy, Schedule, StepSpec},
};
use serde::Deserialize;

/// The kind that had another form, by its number.
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

/// The body in these bytes, and what is left of them.
pub(super) fn schedule_job(bytes: &[u8]) -> Result<(Body, &[u8]), postcard::Error> {
    let (first, rest) = postcard::take_from_bytes::<FirstSchedule>(bytes)?;
    let FirstSchedule { name, key, fingerprint, trace_id, steps } = first;
    let steps = steps.into_iter().map(StepSpec::from).collect();
    Ok((Body::ScheduleJob { schedule: Schedule { name, key, fingerprint, trace_id, input: None, steps } }, rest))
}

impl From<FirstStep> for StepSpec {
    fn from(first: FirstStep) -> Self {
        let FirstStep { name, agent, priority, depends_on, compensates, input, retry, timeout_ms, approve } = first;
        Self { name, agent, priority, depends_on, compensates, input, retry, timeout_ms, approve, flow: None }
    }
}
