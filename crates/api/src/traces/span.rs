//! The spans of a task, from its rows.

use super::{Wanted, otlp};
use opentelemetry_proto::tonic::trace::v1::{
    Status as Ended,
    span::{Link, SpanKind},
    status::StatusCode,
};
use otlp::{Span, id, number, text};
use relaymesh_agents::{Agent, Agents};
use relaymesh_core::{
    name::Name,
    task::{Outcome, Status, Step, Task, TaskRows, artifact::inference::KIND},
    trace::SpanId,
};

/// The spans that are wanted and there.
pub(super) fn spans(rows: &TaskRows, wanted: &Wanted, agents: &Agents) -> Vec<Span> {
    let mut spans = Vec::new();
    if let Some(asked_in) = wanted.submitted {
        spans.push(submitted(&rows.task, asked_in));
    }
    let step = |index: u16| Some((index, rows.steps.get(usize::from(index))?));
    spans.extend(wanted.attempts.iter().filter_map(|(index, epoch)| attempt(rows, step(*index)?, *epoch, agents)));
    spans.extend(wanted.steps.iter().filter_map(|index| whole(rows, step(*index)?)));
    if wanted.is_over && rows.task.status.is_terminal() {
        spans.push(task(&rows.task));
    }
    spans
}

/// That it was asked for. It takes no time: it is durable, or it was never asked for.
fn submitted(task: &Task, asked_in: Option<SpanId>) -> Span {
    Span {
        name: format!("submit {}", task.name),
        kind: SpanKind::Producer.into(),
        attributes: vec![id("relaymesh.task.id", task.id), id("relaymesh.namespace", &task.namespace)],
        ..otlp::span(task.trace_id, SpanId::of_submit(task.id), asked_in, (task.created_ms, task.created_ms))
    }
}

fn task(task: &Task) -> Span {
    let parent = Some(SpanId::of_submit(task.id));
    Span {
        name: task.name.to_string(),
        kind: SpanKind::Consumer.into(),
        attributes: vec![
            id("relaymesh.task.id", task.id),
            id("relaymesh.namespace", &task.namespace),
            id("relaymesh.status", task.status),
        ],
        status: failed(matches!(task.status, Status::Failed | Status::DeadLetter).then_some("")),
        ..otlp::span(task.trace_id, SpanId::of_task(task.id), parent, (task.created_ms, task.updated_ms))
    }
}

/// A step from the beginning of its first attempt to its end. One that was never tried took no time.
fn whole(rows: &TaskRows, (index, step): (u16, &Step)) -> Option<Span> {
    let (first, last) = (step.history.first()?, step.history.last()?);
    let task = &rows.task;
    // What runs for an item of a list is part of the list.
    let list = step.spec.item().map(|item| SpanId::of_step(rows.step_id(item.of)));
    let parent = list.unwrap_or_else(|| SpanId::of_task(task.id));
    let link = |of: &u16| Link {
        trace_id: task.trace_id.to_be_bytes().to_vec(),
        span_id: SpanId::of_step(rows.step_id(*of)).to_bytes().to_vec(),
        ..Link::default()
    };
    let mut attributes = about(&step.spec.name, &step.spec.agent);
    attributes.extend([
        number("relaymesh.step.index", index.into()),
        number("relaymesh.attempts", step.attempt.into()),
        id("relaymesh.status", step.status),
    ]);
    let error = step.error.as_deref().unwrap_or_default();
    Some(Span {
        name: step.spec.name.to_string(),
        kind: SpanKind::Internal.into(),
        attributes,
        links: step.spec.depends_on.iter().map(link).collect(),
        status: failed(matches!(step.status, Status::Failed | Status::DeadLetter).then_some(error)),
        ..otlp::span(
            task.trace_id,
            SpanId::of_step(rows.step_id(index)),
            Some(parent),
            (first.started_ms, last.ended_ms),
        )
    })
}

/// One attempt, in the words that are agreed on for models where one was asked.
fn attempt(rows: &TaskRows, (index, step): (u16, &Step), epoch: u32, agents: &Agents) -> Option<Span> {
    let ended = step.history.iter().find(|attempt| attempt.epoch == epoch)?;
    let (task, of, agent) = (&rows.task, rows.step_id(index), &step.spec.agent);
    let known = agents.get(agent);
    let is_far = known.is_some_and(|agent| agent.http().is_some());
    let mut attributes = about(&step.spec.name, agent);
    attributes.extend([
        id("relaymesh.task.id", task.id),
        number("relaymesh.epoch", epoch.into()),
        id("relaymesh.outcome", ended.outcome),
    ]);
    let is_bad = matches!(ended.outcome, Outcome::Failed | Outcome::Timeout | Outcome::Abandoned);
    if is_bad {
        attributes.push(text("error.type", ended.outcome.to_string().to_ascii_lowercase()));
    }
    let asked = step.output_artifacts.iter().find(|left| left.epoch == epoch && left.kind.as_str() == KIND);
    let is_model = asked.is_some() || known.is_some_and(|agent| agent.terms.llm);
    if is_model {
        attributes.push(text("gen_ai.operation.name", "invoke_agent".to_owned()));
        attributes.push(id("gen_ai.agent.name", agent));
        attributes.extend(known.map(|agent| text("gen_ai.provider.name", agent.terms.provider.clone())));
        let model = known.and_then(Agent::model);
        attributes.extend(model.map(|model| text("gen_ai.request.model", model.to_owned())));
    }
    for (word, value) in asked.iter().flat_map(|asked| &asked.about) {
        attributes.extend(used(word, value));
    }
    Some(Span {
        name: if is_model { format!("invoke_agent {agent}") } else { format!("attempt {agent}") },
        kind: if is_far { SpanKind::Client } else { SpanKind::Internal }.into(),
        attributes,
        status: failed(is_bad.then(|| ended.error.as_deref().unwrap_or_default())),
        ..otlp::span(
            task.trace_id,
            SpanId::of_attempt(of, epoch),
            Some(SpanId::of_step(of)),
            (ended.started_ms, ended.ended_ms),
        )
    })
}

/// What a model used, in the words that are agreed on. There is none for money.
fn used(word: &Name, value: &str) -> Option<otlp::KeyValue> {
    let count = |name| Some(number(name, value.parse().ok()?));
    match word.as_str() {
        "model" => Some(text("gen_ai.response.model", value.to_owned())),
        "input_tokens" => count("gen_ai.usage.input_tokens"),
        "output_tokens" => count("gen_ai.usage.output_tokens"),
        "cached_tokens" => count("gen_ai.usage.cache_read.input_tokens"),
        "cost_micros" => count("relaymesh.cost_micros"),
        "turns" => count("relaymesh.turns"),
        _ => None,
    }
}

fn about(step: &Name, agent: &Name) -> Vec<otlp::KeyValue> {
    vec![id("relaymesh.step", step), id("relaymesh.agent", agent)]
}

/// `None` for what went well: a collector may think better of it.
fn failed(error: Option<&str>) -> Option<Ended> {
    error.map(|error| Ended { code: StatusCode::Error.into(), message: error.to_owned() })
}
