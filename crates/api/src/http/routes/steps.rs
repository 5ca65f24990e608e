//! Steps: how each stands, its attempts and what they said; and working on one from outside.

use super::{Answered, State, Who, id, tasks::rows, unexpected};
use crate::{
    error::{Code, Error},
    http::{
        desk::blocking,
        json::{Json, Query, Said},
    },
    lookup, time,
    view::{Attempts, Changed, LogPart, RunningAttempt, ShownStep, View},
};
use axum::extract::Path;
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
const LEASE_MS_MAX: u64 = 3_600_000;

/// One step with its attempts.
#[utoipa::path(
    get, path = "/tasks/{id}/steps/{step}", tag = "steps", params(("id" = String, Path), ("step" = String, Path, description = "its name or its place")),
    security(("token" = ["ro", "agent"])), responses((status = 200, body = ShownStep)),
)]
pub(super) async fn show(house: State, who: Who, Path((task, step)): Path<(String, String)>) -> Answered {
    let (task, who, root) = (id(&task)?, who.0, house.desk.root.clone());
    let found = house.desk.readers.read(move |reader| {
        let rows = rows(reader, &who, task)?;
        let index = lookup::step(&rows, &step)?.0;
        let view = View::load(reader, rows)?.with_processes(&root);
        Ok(json!(view.step(index, &view.rows.steps[usize::from(index)], true)))
    });
    Ok(Said(found.await?))
}

/// The attempts at a step, oldest first.
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
    /// Which attempt; without one, the last.
    epoch: Option<u32>,
    /// `stderr` (without one) or `stdout`.
    stream: Option<String>,
    /// From this byte on: `next` of the part before.
    offset: Option<u64>,
}

/// What an attempt wrote, in parts of at most 256 KiB.
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
        Some(_) => return Err(Error::new(Code::Usage, "a stream is stderr or stdout").into()),
    };
    let who = who.0;
    let found = house.desk.readers.read(move |reader| {
        let rows = rows(reader, &who, task)?;
        let step = lookup::step(&rows, &step)?.1;
        Ok((step.spec.name.clone(), step.epoch, rows.task.status.is_terminal()))
    });
    let (name, newest, is_over) = found.await?;
    let (epoch, offset) = (query.epoch.unwrap_or(newest), query.offset.unwrap_or(0));
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

/// A step that was taken.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Claimed {
    /// Its task.
    #[schema(value_type = String)]
    task: TaskId,
    /// Its place.
    step: u16,
    /// Its fence.
    epoch: u32,
    /// What is shown when it is ended.
    #[schema(value_type = String)]
    lease: LeaseToken,
    /// Who works.
    #[schema(value_type = String)]
    worker: WorkerId,
    /// Without a word for longer than this, it is somebody else's.
    lease_ms: u64,
    /// A token that is good for this attempt alone.
    token: String,
    /// Where in the task's trace it is.
    traceparent: String,
}

/// A worker that was heard.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Heartbeat)]
pub(super) struct Beaten {
    /// Who.
    #[schema(value_type = String)]
    worker: WorkerId,
}

/// Who works, and for how long without a word.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Claim {
    /// Its own id; without one, a new one is made.
    #[schema(value_type = Option<String>)]
    worker: Option<WorkerId>,
    /// Without a word for longer than this, the step is somebody else's.
    lease_ms: Option<u64>,
}

/// Takes a ready step to work on it from outside. The token in the answer is good for this attempt and dies with it.
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
    let lease_ms = claim.lease_ms.unwrap_or(LEASE_MS).clamp(1_000, LEASE_MS_MAX);
    let step = StepId { task, index };
    let answer = house.desk.ask(&who.caller, Command::Claim { step, worker, lease_ms }).await?;
    let Answer::Claimed(hold) = answer else { return Err(unexpected().into()) };
    let token = house.keys.issue(Bound { step, epoch: hold.epoch, namespace, agent });
    let context = Context::of_attempt(step, hold.epoch, trace_id, house.desk.settings().traced_per_mille());
    let (epoch, lease, traceparent) = (hold.epoch, hold.token, context.to_string());
    Ok(Said(json!(Claimed { task, step: index, epoch, lease, worker, lease_ms, token, traceparent })))
}

/// Who is still there.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Beat {
    /// Who.
    #[schema(value_type = String)]
    worker: WorkerId,
}

/// A worker is still there: all its leases begin anew.
#[utoipa::path(
    post, path = "/workers/heartbeat", tag = "steps", request_body = Beat, security(("token" = ["rw", "agent"])),
    responses((status = 200, body = Beaten)),
)]
pub(super) async fn heartbeat(house: State, who: Who, Json(beat): Json<Beat>) -> Answered {
    house.desk.ask(&who.caller, Command::Heartbeat { worker: beat.worker }).await?;
    Ok(Said(json!(Beaten { worker: beat.worker })))
}

/// How an attempt ended.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Finish {
    /// Which attempt.
    epoch: u32,
    /// What `claim` gave as `lease`.
    #[schema(value_type = String)]
    lease: relaymesh_core::id::LeaseToken,
    /// The result; without an `error`.
    #[schema(value_type = Option<Value>)]
    result: Option<Value>,
    /// What went wrong; without a `result`.
    error: Option<String>,
    /// Whether another attempt may help.
    #[serde(default = "yes")]
    retryable: bool,
}

fn yes() -> bool {
    true
}

/// A worker from outside is done with a step, one way or the other.
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
