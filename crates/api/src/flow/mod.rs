//! Requests: whether they can be put on the log, whichever way they came in.

pub mod schema;
pub mod yaml;

use crate::error::{Code, Error, Place};
use relaymesh_agents::{Agents, config::FILE};
use relaymesh_core::{
    name::Name,
    suggest,
    task::{
        request::{self, Prepared, Request, RetryRequest, StepRequest},
        spec::{IdempotencyKey, RetryPolicy, Schedule},
    },
};
use relaymesh_runtime::builtin::{AGENTS, Builtin};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The most characters of a file that an error repeats: in its message, and of the line it shows. A file may be one line
/// of megabytes, and its keys and values as long as that.
const SHOWN_CHARS_MAX: usize = 160;

/// The request, ready for the log. What a step does not say about retries its agent says, and then the settings; they are no part of the
/// fingerprint, so a submit that is repeated after they have changed is still the same task.
pub fn prepare(
    request: &Request,
    namespace: &Name,
    key: Option<IdempotencyKey>,
    trace_id: u128,
    (agents, otherwise): (&Agents, RetryPolicy),
) -> Result<Prepared, Error> {
    let mut prepared = request.prepare(namespace, key, trace_id).map_err(|error| refused(&error, request))?;
    fill_retries(&mut prepared.schedule, &retry_gaps(request), agents, otherwise);
    Ok(prepared)
}

/// What a step says about retries itself; the rest is filled in by its agent and the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryGap {
    /// The step's place.
    pub step: u16,
    /// Attempts in all.
    pub max_attempts: Option<u32>,
    /// Time before the second attempt.
    pub base_backoff_ms: Option<u64>,
    /// The longest time between two attempts.
    pub max_backoff_ms: Option<u64>,
}

/// The steps that do not say everything about retries.
pub fn retry_gaps(request: &Request) -> Vec<RetryGap> {
    let gaps = (0u16..).zip(&request.steps).map(|(step, StepRequest { retry, .. })| {
        let RetryRequest { max_attempts, base_backoff_ms, max_backoff_ms } = *retry;
        RetryGap { step, max_attempts, base_backoff_ms, max_backoff_ms }
    });
    let is_silent =
        |gap: &RetryGap| gap.max_attempts.is_none() || gap.base_backoff_ms.is_none() || gap.max_backoff_ms.is_none();
    gaps.filter(is_silent).collect()
}

/// Fills these gaps by what the agents of the steps say, and otherwise by the settings.
pub fn fill_retries(schedule: &mut Schedule, gaps: &[RetryGap], agents: &Agents, otherwise: RetryPolicy) {
    for RetryGap { step, max_attempts, base_backoff_ms, max_backoff_ms } in gaps.iter().copied() {
        let Some(spec) = schedule.steps.get_mut(usize::from(step)) else { continue };
        let agent = agents.get(&spec.agent).map_or(otherwise, |agent| agent.terms.retry.policy(otherwise));
        spec.retry = RetryRequest { max_attempts, base_backoff_ms, max_backoff_ms }.policy(agent);
    }
}

/// Everything that is wrong with the request, for people who mend it: its agents, its schemas, its references, its graph.
pub fn mistakes(request: &Request, agents: &Agents, namespace: &Name) -> Vec<Error> {
    let mut found: Vec<Error> = unknown_agents(request, agents).map(|(_, error)| error).collect();
    found.extend(request.input.as_ref().and_then(|schema| schema::valid(schema).err()));
    found.extend(schema::bad_results(request).map(|(error, _)| error));
    found.extend(request.mistakes(namespace).iter().map(|error| refused(error, request)));
    found
}

/// Whether the request can be submitted with this input: its agents, its schemas, its graph.
pub fn check(request: Request, given: Option<Value>, agents: &Agents) -> Result<Request, Error> {
    known(&request, agents).map_err(|(_, error)| error)?;
    schema::bad_results(&request).next().map_or(Ok(()), |(error, _)| Err(error))?;
    if let Some(schema) = &request.input {
        schema::check(schema, given.as_ref())?;
    }
    Ok(Request { given, ..request })
}

/// What depends on what, for programs.
pub fn outline(request: &Request, prepared: &Prepared) -> Value {
    let schedule = &prepared.schedule;
    let name = |of: &u16| &schedule.steps[usize::from(*of)].name;
    let steps = schedule.steps.iter().map(|step| {
        json!({
            "step": step.name, "agent": step.agent, "depends_on": step.depends_on.iter().map(name).collect::<Vec<_>>(),
            "when": step.when(), "foreach": step.foreach(), "asks": step.approve.as_ref().map(|ask| &ask.text),
            "compensates": step.compensates.as_ref().map(name),
        })
    });
    let steps = steps.collect::<Vec<_>>();
    json!({ "name": schedule.name, "fingerprint": schedule.fingerprint, "input": request.input, "steps": steps })
}

/// What to say about a request that cannot be put on the log: a slip of the finger is known when it is seen.
pub fn refused(error: &request::Error, request: &Request) -> Error {
    let unknown = match error {
        request::Error::Reference(bad) => bad.unknown.clone(),
        request::Error::UnknownStep { unknown, .. } => {
            Some((unknown.to_string(), request.steps.iter().map(|step| step.id.to_string()).collect()))
        }
        request::Error::Graph(_)
        | request::Error::Input { .. }
        | request::Error::Given { .. }
        | request::Error::Canonical(_)
        | request::Error::InputTooLong { .. }
        | request::Error::Terms { .. }
        | request::Error::TooLarge { .. } => None,
    };
    let mut said = bad_flow(&error.to_string());
    if let Some((word, known)) = unknown {
        let near = suggest::nearest(&word, known.iter().map(String::as_str));
        if let Some(near) = near {
            said = said.and_hint(format!("did you mean `{near}`?"));
        }
        if !known.is_empty() {
            said = said.and_hint(beginning(&format!("allowed: {}", known.join(", "))));
        }
    }
    said
}

/// The beginning of a text that may be long.
pub fn beginning(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

/// What a parser says about a flow. Parsers quote what they found, and it may be long.
pub fn bad_flow(message: &str) -> Error {
    let cut = message.char_indices().nth(2 * SHOWN_CHARS_MAX).map(|(at, _)| format!("{}…", &message[..at]));
    Error::new(Code::BadFlow, cut.unwrap_or_else(|| message.to_owned()))
}

/// The place at this line and column of the text, both from 1.
pub fn place(text: &str, line: usize, column: usize) -> Option<Place> {
    let shown = text.lines().nth(line.checked_sub(1)?).unwrap_or_default();
    Some(Place { file: String::new(), line, column: column.max(1), text: beginning(shown) })
}

/// What to say about a field that nobody knows.
pub fn unknown_field(field: &str, expected: &[&str]) -> Error {
    let error = bad_flow(&format!("unknown field `{}`", beginning(field)));
    let error = match suggest::nearest(field, expected.iter().copied()) {
        Some(near) => error.and_hint(format!("did you mean `{near}`?")),
        None => error,
    };
    error.and_hint(format!("allowed: {}", expected.join(", ")))
}

/// Every agent that is named must be here: there is nobody else to do the work.
pub fn known<'a>(request: &'a Request, agents: &Agents) -> Result<(), (&'a StepRequest, Error)> {
    unknown_agents(request, agents).next().map_or(Ok(()), Err)
}

/// The steps whose agent is not here.
pub fn unknown_agents<'a>(request: &'a Request, agents: &Agents) -> impl Iterator<Item = (&'a StepRequest, Error)> {
    let known = |name: &Name| Builtin::knows(name) || agents.get(name).is_some();
    request.steps.iter().filter(move |step| !known(&step.agent)).map(|step| (step, unknown(&step.agent, agents)))
}

/// What to say about an agent that is not there.
pub fn unknown(agent: &Name, agents: &Agents) -> Error {
    let names = AGENTS.iter().map(|(name, _)| *name).chain(agents.iter().map(|(name, _)| name.as_str()));
    let error = Error::new(Code::UnknownAgent, format!("there is no agent `{agent}`"))
        .hint(format!("list agents with `relaymesh agent list`; your own are defined in {FILE} in the root"));
    match suggest::nearest(agent.as_str(), names) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    }
}
