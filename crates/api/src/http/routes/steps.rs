//! Steps: how each stands, its attempts and what they said; and working on one from outside.

use super::{Answered, State, Who, id, tasks::rows, unexpected};
use crate::{
    error::{Code, Error},
    http::{
        desk::blocking,
        json::{self, Json, Query, Said},
        problem::Problem,
        query::{Position, Whole},
        stream::Documents,
    },
    lookup, time,
    view::{
        Attempts, Changed, LogPart, Results, RunningAttempt, ShownStep,
        document::{Document, Form},
    },
};
use axum::{extract::Path, response::Response};
use relaymesh_core::{
    content::Media,
    id::{LeaseToken, StepId, TaskId, WorkerId},
    task::Status,
    trace::Context,
};
use relaymesh_runtime::{
    agents::said,
    driver::{Answer, Command},
    token::Bound,
    world::{Hold, Outcome},
};
use relaymesh_store::Content;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
};
use utoipa::{IntoParams, ToSchema};

/// The most of a log that is read at once.
const LOG_BYTES_MAX: u64 = 256 << 10;
/// How long a lease lasts if nobody says.
const LEASE_MS: u64 = 60_000;
const LEASE_MS_RANGE: std::ops::RangeInclusive<u64> = 1_000..=3_600_000;

/// What is shown.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct StepQuery {
    /// Result in the answer: `none`; `short`, the default, if it has up to 64 KiB; or `full`, however long.
    #[serde(default)]
    #[param(inline)]
    results: Results,
}

/// Shows a step with its attempts.
#[utoipa::path(
    get, path = "/tasks/{id}/steps/{step}", tag = "steps",
    params(("id" = String, Path), ("step" = String, Path, description = "name or index of the step"), StepQuery),
    security(("token" = ["ro", "agent"])), responses((status = 200, body = ShownStep)),
)]
pub(super) async fn show(
    house: State,
    who: Who,
    Path((task, step)): Path<(String, String)>,
    Query(query): Query<StepQuery>,
) -> Result<Response, Problem> {
    let (task, who, root) = (id(&task)?, who.0, Some(house.desk.root.clone()));
    let form = Form { results: query.results, history: true, root, ..Form::default() };
    let found = house.desk.readers.read(move |reader| {
        let rows = rows(reader, &who, task)?;
        let mut document = Document::step(task, lookup::step(&rows, &step)?.0, form);
        document.fill_with(reader, &rows).map(|()| document)
    });
    Ok(Documents::one(found.await?).answer(&house.desk).await?)
}

/// Lists the attempts of a step, oldest first.
#[utoipa::path(
    get, path = "/tasks/{id}/steps/{step}/attempts", tag = "steps", params(("id" = String, Path), ("step" = String, Path)),
    security(("token" = ["ro", "agent"])), responses((status = 200, body = Attempts)),
)]
pub(super) async fn attempts(house: State, who: Who, Path((task, step)): Path<(String, String)>) -> Answered {
    let (task, who) = (id(&task)?, who.0);
    let found = house.desk.readers.read(move |reader| {
        let rows = rows(reader, &who, task)?;
        let step = lookup::step(&rows, &step)?.1;
        let running = step.lease.as_ref().filter(|_| step.status == Status::Running);
        let running = running.map(|lease| RunningAttempt {
            epoch: step.epoch,
            worker: lease.worker,
            claimed_ms: lease.claimed_ms,
        });
        Ok(json!(Attempts { attempts: step.history.clone(), running }))
    });
    Ok(Said(found.await?))
}

/// Which part of which log.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct LogQuery {
    /// Epoch of the attempt; by default, the last.
    epoch: Option<u32>,
    /// `stderr` (default) or `stdout`.
    stream: Option<String>,
    /// Offset: `next` of the previous part.
    #[param(value_type = Option<u64>)]
    offset: Option<Position>,
}

/// Reads the output of an attempt, in parts of at most 256 KiB.
#[utoipa::path(
    get, path = "/tasks/{id}/steps/{step}/logs", tag = "steps", params(("id" = String, Path), ("step" = String, Path), LogQuery),
    security(("token" = ["ro", "agent"])), responses((status = 200, body = LogPart)),
)]
pub(super) async fn logs(
    house: State,
    who: Who,
    Path((task, step)): Path<(String, String)>,
    Query(query): Query<LogQuery>,
) -> Answered {
    let task: TaskId = id(&task)?;
    let stream = match query.stream.as_deref() {
        None | Some("stderr") => "stderr",
        Some("stdout") => "stdout",
        Some(_) => return Err(Error::new(Code::Usage, "`stream` must be `stderr` or `stdout`").into()),
    };
    let who = who.0;
    let found = house.desk.readers.read(move |reader| {
        let rows = rows(reader, &who, task)?;
        let step = lookup::step(&rows, &step)?.1;
        Ok((step.spec.name.clone(), step.epoch, rows.task.status.is_terminal()))
    });
    let (name, newest, is_over) = found.await?;
    let (epoch, offset) = (query.epoch.unwrap_or(newest), query.offset.map_or(0, |Whole(offset)| offset));
    let path = said(&house.desk.root, task, &name, epoch, stream);
    let part = blocking(move || {
        part(&path, offset).map_err(|error| Error::new(Code::StoreIo, format!("the log cannot be read: {error}")))
    });
    let (text, next, is_end) = part.await?;
    let end = is_end && (is_over || epoch < newest);
    Ok(Said(json!(LogPart { step: name, epoch, stream: stream.to_owned(), offset, next, text, end })))
}

/// A part of a file, as text, up to where a character or the file ends. One that is not there has nothing in it.
fn part(path: &std::path::Path, offset: u64) -> io::Result<(String, u64, bool)> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((String::new(), offset, true)),
        Err(error) => return Err(error),
    };
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(LOG_BYTES_MAX).read_to_end(&mut bytes)?;
    let is_end = (bytes.len() as u64) < LOG_BYTES_MAX;
    // A character that is cut in two goes with the next part.
    if let (false, Err(error)) = (is_end, std::str::from_utf8(&bytes))
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    let next = offset + bytes.len() as u64;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), next, is_end))
}

/// A claimed step.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ClaimedStep)]
pub(super) struct Claimed {
    /// Id of the task.
    #[schema(value_type = String)]
    task: TaskId,
    /// Index of the step.
    step: u16,
    /// Epoch of the attempt, its fence.
    epoch: u32,
    /// Lease to send back with `finish`.
    #[schema(value_type = String)]
    lease: LeaseToken,
    /// Id of the worker.
    #[schema(value_type = String)]
    worker: WorkerId,
    /// Lease duration, in milliseconds.
    lease_ms: u64,
    /// Interval at which to send `heartbeat`, in milliseconds.
    heartbeat_ms: u64,
    /// Token for this attempt only: use it for `heartbeat` and `finish`.
    token: String,
    /// Trace context of the attempt.
    traceparent: String,
}

/// Answer to a heartbeat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HeartbeatAnswer)]
pub(super) struct Beaten {
    /// Id of the worker.
    #[schema(value_type = String)]
    worker: WorkerId,
    /// Steps whose leases were renewed.
    held: Vec<HeldStep>,
}

/// A step that a worker holds.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HeldStep {
    /// Id of the task.
    #[schema(value_type = String)]
    task: TaskId,
    /// Index of the step.
    step: u16,
}

/// Claim of a step.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = StepClaim)]
#[serde(deny_unknown_fields)]
pub(super) struct Claim {
    /// Id of the worker; by default, a new one.
    #[schema(value_type = Option<String>)]
    worker: Option<WorkerId>,
    /// Lease duration, in milliseconds, from one second to one hour: without a heartbeat for this long, the step is given to another worker.
    #[serde(default, alias = "lease", deserialize_with = "json::duration")]
    lease_ms: Option<u64>,
}

/// Claims a ready step for an external worker. The token in the answer is valid for this attempt only.
#[utoipa::path(
    post, path = "/tasks/{id}/steps/{step}/claim", tag = "steps", params(("id" = String, Path), ("step" = String, Path)),
    request_body = Claim, security(("token" = ["rw", "agent"])), responses((status = 200, body = Claimed)),
)]
pub(super) async fn claim(
    house: State,
    who: Who,
    Path((task, step)): Path<(String, String)>,
    Json(claim): Json<Claim>,
) -> Answered {
    let (task, looker): (TaskId, _) = (id(&task)?, who.0.clone());
    let found = house.desk.readers.read(move |reader| {
        let rows = rows(reader, &looker, task)?;
        let (index, step) = lookup::step(&rows, &step)?;
        Ok((index, step.spec.agent.clone(), rows.task.namespace.clone(), rows.task.trace_id))
    });
    let (index, agent, namespace, trace_id) = found.await?;
    who.check_agent(&agent)?;
    let worker = claim.worker.unwrap_or_else(|| WorkerId::new(time::now_ms(), rand::random()));
    let lease_ms = claim.lease_ms.unwrap_or(LEASE_MS);
    if !LEASE_MS_RANGE.contains(&lease_ms) {
        let (min, max) = LEASE_MS_RANGE.into_inner();
        return Err(Error::new(Code::Usage, format!("`lease_ms` must be a whole number from {min} to {max}")).into());
    }
    let step = StepId { task, index };
    let answer = house.desk.ask(&who.caller, Command::Claim { step, worker, lease_ms }).await?;
    let Answer::Claimed(hold) = answer else { return Err(unexpected().into()) };
    let token = house.keys.issue(Bound { step, epoch: hold.epoch, namespace, agent });
    let context = Context::of_attempt(step, hold.epoch, trace_id, house.desk.settings().traced_per_mille());
    let (epoch, lease, traceparent) = (hold.epoch, hold.token, context.to_string());
    let heartbeat_ms = house.desk.settings().lease_heartbeat_ms.min(lease_ms / 3);
    Ok(Said(json!(Claimed { task, step: index, epoch, lease, worker, lease_ms, heartbeat_ms, token, traceparent })))
}

/// Renewal of a worker's leases.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Heartbeat)]
#[serde(deny_unknown_fields)]
pub(super) struct Beat {
    /// Id of the worker.
    #[schema(value_type = String)]
    worker: WorkerId,
}

/// Renews all leases of a worker that the token may act for. The token of an attempt is good for its own worker. A worker that holds none
/// is told so with 409: its leases expired, or its attempts have ended.
#[utoipa::path(
    post, path = "/workers/heartbeat", tag = "steps", request_body = Beat, security(("token" = ["rw", "agent"])),
    responses((status = 200, body = Beaten)),
)]
pub(super) async fn heartbeat(house: State, who: Who, Json(beat): Json<Beat>) -> Answered {
    let worker = beat.worker;
    if let Some(bound) = who.bound.clone() {
        let held = house.desk.readers.read(move |reader| {
            let rows = reader.task(bound.step.task)?;
            let step = rows.as_ref().and_then(|rows| rows.steps.get(usize::from(bound.step.index)));
            Ok(step.and_then(|step| step.lease.as_ref().map(|lease| lease.worker)))
        });
        if held.await? != Some(worker) {
            return Err(Error::new(Code::Forbidden, "the token is for an attempt of another worker").into());
        }
    }
    let beat = Command::Heartbeat { worker, within: who.within() };
    let Answer::Renewed { steps } = house.desk.ask(&who.caller, beat).await? else {
        return Err(unexpected().into());
    };
    if steps.is_empty() {
        let message =
            format!("worker {worker} holds no lease: what it held has expired, ended or was given to another worker");
        return Err(Error::new(Code::Refused, message)
            .hint("stop the work; a result would be rejected as fenced")
            .into());
    }
    let held = steps.into_iter().map(|step| HeldStep { task: step.task, step: step.index }).collect();
    Ok(Said(json!(Beaten { worker, held })))
}

/// End of an attempt.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = StepOutcome)]
#[serde(deny_unknown_fields)]
pub(super) struct Finish {
    /// Epoch of the attempt.
    epoch: u32,
    /// `lease` from `claim`.
    #[schema(value_type = String)]
    lease: relaymesh_core::id::LeaseToken,
    /// Result; excludes `error`.
    #[schema(value_type = Option<Value>)]
    result: Option<Value>,
    /// Error message; excludes `result`.
    error: Option<String>,
    /// Whether the step may be retried.
    #[serde(default = "yes")]
    retryable: bool,
}

fn yes() -> bool {
    true
}

/// Finishes a claimed step with a result or an error.
#[utoipa::path(
    post, path = "/tasks/{id}/steps/{step}/finish", tag = "steps", params(("id" = String, Path), ("step" = String, Path)),
    request_body = Finish, security(("token" = ["rw", "agent"])), responses((status = 200, body = Changed)),
)]
pub(super) async fn finish(
    house: State,
    who: Who,
    Path((task, step)): Path<(String, String)>,
    Json(finish): Json<Finish>,
) -> Answered {
    let (task, looker): (TaskId, _) = (id(&task)?, who.0.clone());
    let found = house.desk.readers.read(move |reader| {
        let rows = rows(reader, &looker, task)?;
        let (index, step) = lookup::step(&rows, &step)?;
        Ok((index, step.spec.agent.clone()))
    });
    let (index, agent) = found.await?;
    who.check_agent(&agent)?;
    if who.bound.as_ref().is_some_and(|bound| bound.step.index != index) {
        return Err(Error::new(Code::Forbidden, "the token is for an attempt at another step").into());
    }
    let outcome = match (finish.result, finish.error) {
        (result, None) => {
            let bytes = result.unwrap_or(Value::Null).to_string().into_bytes();
            Outcome::Done { media: Media::Json, result: Content::Inline(bytes) }
        }
        (None, Some(error)) => Outcome::Failed { retryable: finish.retryable, error },
        (Some(_), Some(_)) => return Err(Error::new(Code::Usage, "give `result` or `error`, not both").into()),
    };
    let hold = Hold { step: StepId { task, index }, epoch: finish.epoch, token: finish.lease };
    let answer = house.desk.ask(&who.caller, Command::Finish { hold, outcome }).await?;
    let Answer::Done { status } = answer else { return Err(unexpected().into()) };
    Ok(Said(json!(Changed { task, status })))
}
