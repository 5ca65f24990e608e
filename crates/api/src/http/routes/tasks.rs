//! Tasks: submit, look, wait, stop, try again.

use super::{Answered, State, TASKS_MAX, WAIT_MS_MAX, Who, content, id, unexpected};
use crate::{
    error::{Code, Error},
    flow,
    http::{
        bulk,
        json::{self, Json, Query, Said},
        principal::Principal,
        problem::Problem,
        query::{Position, Whole},
        stream::Documents,
        unread::Bounded,
    },
    time,
    view::{
        self, Results,
        document::{Document, Form},
    },
};
use axum::{
    Extension,
    body::Body,
    extract::{Path, Request as HttpRequest},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use relaymesh_agents::Agents;
use relaymesh_core::{
    hash::Hash,
    id::{RequestId, TaskId},
    lanes::Priority,
    name::Name,
    op::{CancelMode, Scope},
    task::{
        Status, TaskRows,
        key::{GivenKey, KeyError},
        request::{Request, RetryRequest},
        spec::IdempotencyKey,
    },
};
use relaymesh_runtime::{
    driver::{Answer, Command, LifeCommand, Submit, Until},
    settings::Settings,
};
use relaymesh_store::{Reader, TaskFilter};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use utoipa::{IntoParams, ToSchema};

/// A task to submit: one step of an agent, or a flow.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = TaskSubmission)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Submitted {
    /// Namespace.
    #[schema(value_type = Option<String>)]
    namespace: Option<Name>,
    /// Agent to run; excludes `flow`.
    #[schema(value_type = Option<String>)]
    agent: Option<Name>,
    /// Flow, according to docs/reference/flow.schema.json; excludes `agent`.
    #[schema(value_type = Option<Object>)]
    flow: Option<Request>,
    /// Input of the agent or the flow.
    #[schema(value_type = Option<Value>)]
    input: Option<Value>,
    /// Hash of content that this token has uploaded, to use as the input; not in bulk.
    #[schema(value_type = Option<String>)]
    input_hash: Option<Hash>,
    /// Name of the task; only with `agent`.
    #[schema(value_type = Option<String>)]
    name: Option<Name>,
    /// Priority: `high`, `normal` or `low`; only with `agent`.
    #[schema(value_type = Option<String>)]
    priority: Option<Priority>,
    /// Retry policy; only with `agent`.
    #[schema(value_type = Option<Object>)]
    retry: Option<RetryRequest>,
    /// Time limit of one attempt, in milliseconds; only with `agent`.
    #[serde(default, alias = "timeout", deserialize_with = "json::duration")]
    timeout_ms: Option<u64>,
    /// Idempotency key: a second submit with this key returns the same task. Same as the header `Idempotency-Key`. Any visible text of up to
    /// 255 characters; quotes around it do not count.
    #[schema(min_length = 1, example = "order:7")]
    key: Option<String>,
    /// Request id, as an idempotency key: repeat it when you repeat the submit.
    #[schema(value_type = Option<String>)]
    request_id: Option<RequestId>,
    /// Run again even if an equal request was submitted before; excludes `key` and `request_id`. A repeated submit with `new` runs once more: to
    /// be able to repeat one whose answer was lost, send a `key` of its own instead.
    #[serde(default)]
    new: bool,
}

impl Submitted {
    /// A flow without an input.
    pub(super) fn of(flow: Request, namespace: Option<Name>) -> Self {
        Self {
            namespace,
            agent: None,
            flow: Some(flow),
            input: None,
            input_hash: None,
            name: None,
            priority: None,
            retry: None,
            timeout_ms: None,
            key: None,
            request_id: None,
            new: false,
        }
    }

    /// The same in this namespace, unless it names one.
    pub(super) fn within(self, namespace: Option<Name>) -> Self {
        Self { namespace: self.namespace.or(namespace), ..self }
    }

    /// The command, checked as far as it can be before it is on the log.
    pub(in crate::http) fn prepare(
        self,
        principal: &Principal,
        header: Option<GivenKey>,
        agents: &Agents,
        settings: &Settings,
    ) -> Result<Submit, Error> {
        let namespace = principal.namespace(self.namespace.clone())?;
        let given = self.key.as_deref().map(|text| text.parse::<GivenKey>()).transpose();
        let given = given.map_err(|error| Error::new(Code::Usage, format!("`key`: {error}")))?;
        let key = match (header, given, self.request_id, self.new) {
            (None, None, None, false) => None,
            (Some(key), None, None, false) | (None, Some(key), None, false) => Some(IdempotencyKey::Given(key)),
            (None, None, Some(id), false) => Some(IdempotencyKey::RequestId(id)),
            // A key that no other submit has.
            (None, None, None, true) => Some(IdempotencyKey::RequestId(RequestId::new(time::now_ms(), rand::random()))),
            _ => return Err(Error::new(Code::Usage, "give one of Idempotency-Key, `key`, `request_id` and `new`")),
        };
        let request = self.request(agents)?;
        let prepared = flow::prepare(
            &request,
            &namespace,
            key,
            principal.caller.trace_id(rand::random()),
            (agents, settings.retry()),
        )?;
        Ok(Submit::new(namespace, prepared, Until::Accepted))
    }

    /// The same with the input that it names by hash.
    pub(super) async fn with_input(mut self, house: &State, who: &Who) -> Result<Self, Error> {
        if let Some(hash) = self.input_hash.take() {
            if self.input.is_some() {
                return Err(Error::new(Code::Usage, "give `input` or `input_hash`"));
            }
            self.input = Some(content::uploaded(house, who, hash).await?);
        }
        Ok(self)
    }

    fn request(self, agents: &Agents) -> Result<Request, Error> {
        if self.input_hash.is_some() {
            return Err(Error::new(
                Code::Usage,
                "a bulk submit does not allow `input_hash`: give `input` in each line",
            ));
        }
        let is_plain =
            self.name.is_none() && self.priority.is_none() && self.retry.is_none() && self.timeout_ms.is_none();
        match (self.flow, self.agent) {
            (Some(flow), None) if is_plain => flow::check(flow, self.input, agents),
            (Some(_), None) => {
                Err(Error::new(Code::Usage, "these fields cannot be used with `flow`: set them in the flow")
                    .hint("remove name, priority, retry and timeout_ms"))
            }
            (None, Some(agent)) => {
                let mut request = Request::single(agent, self.input);
                request.name = self.name.unwrap_or(request.name);
                for step in &mut request.steps {
                    step.priority = self.priority.unwrap_or_default();
                    step.retry = self.retry.unwrap_or_default();
                    step.timeout_ms = self.timeout_ms;
                }
                flow::check(request, None, agents)
            }
            (Some(_), Some(_)) | (None, None) => Err(Error::new(Code::Usage, "give `agent` or `flow`")),
        }
    }
}

/// Which tasks, and how many.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    /// Namespace.
    #[param(value_type = Option<String>)]
    namespace: Option<Name>,
    /// Only with this status.
    #[param(value_type = Option<String>)]
    status: Option<Status>,
    /// Maximum number of results, from 1 to 500; by default, 50.
    #[param(value_type = Option<u64>)]
    limit: Option<Whole<1, TASKS_MAX>>,
    /// Cursor: `next` of the previous page, or the id of a task; only older tasks are listed.
    cursor: Option<String>,
}

/// Lists the tasks of a namespace, newest first.
#[utoipa::path(get, path = "/tasks", tag = "tasks", params(ListQuery), security(("token" = ["ro"])), responses((status = 200, body = view::Page)))]
pub(super) async fn list(house: State, who: Who, query: Query<ListQuery>) -> Answered {
    let ListQuery { namespace, status, limit, cursor } = query.0;
    let filter = TaskFilter { namespace: Some(who.namespace(namespace)?), status };
    let limit = limit.map_or(50, Whole::count);
    let who = who.0;
    let found = house.desk.readers.read(move |reader| {
        let cursor = cursor.map(|text| match Position::parse(&text) {
            Ok(Whole(key)) => Ok(key),
            Err(_) => id(&text).and_then(|task| Ok(rows(reader, &who, task)?.task.key)),
        });
        let cursor = cursor.transpose()?;
        let page = reader.tasks(&filter, cursor, limit)?;
        let next = page.last().filter(|_| page.len() == limit).map(|last| last.key);
        let mut tasks = Vec::with_capacity(page.len());
        for task in page {
            // The row may have changed since it was listed; what is shown is of one moment.
            tasks.extend(reader.task_at(task.key)?.as_ref().map(view::summary));
        }
        Ok(json!(view::Page { tasks, next }))
    });
    Ok(Said(found.await?))
}

/// Submits a task. It is durable when this answers. If an equal task was submitted before, the answer is that task (200).
#[utoipa::path(
    post, path = "/tasks", tag = "tasks", request_body = Submitted, security(("token" = ["rw"])),
    params(SubmitQuery, ("Idempotency-Key" = Option<String>, Header, description = "same as `key`")),
    responses((status = 201, body = view::Submission), (status = 200, description = "the task already existed; or, with `wait_ms`, the task itself", body = view::Submission)),
)]
pub(super) async fn submit(
    house: State,
    who: Who,
    headers: HeaderMap,
    query: Query<SubmitQuery>,
    Json(body): Json<Submitted>,
) -> Result<Response, Problem> {
    let settings = house.desk.settings();
    let submit =
        body.with_input(&house, &who).await?.prepare(&who, key(&headers)?, &(house.desk.agents)(), &settings)?;
    let answered = house.desk.ask(&who.caller, Command::Submit(submit)).await?;
    let (Some(Whole(wait_ms)), Answer::Accepted { task, .. }) = (query.0.wait_ms, &answered) else {
        return answer(&answered);
    };
    let mut response = answer(&answered)?;
    // The task is accepted; if there is no place to wait, the answer says so.
    let Ok(_place) = house.room.enter() else { return Ok(response) };
    house.waits.wait(&house.desk, &who.caller, *task, Duration::from_millis(wait_ms)).await?;
    let ended = ended(&house, &who.0, *task, query.0.results).await?;
    *response.body_mut() = ended.into_body();
    response.headers_mut().remove(header::CONTENT_LENGTH);
    Ok(response)
}

/// Whether to wait.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct SubmitQuery {
    /// Wait for the end of the task up to this many milliseconds, at most one minute, and answer with the task itself.
    #[param(value_type = Option<u64>)]
    wait_ms: Option<Whole<0, WAIT_MS_MAX>>,
    /// With `wait_ms`: results in the answer.
    #[serde(default)]
    #[param(inline)]
    results: Results,
}

/// The task, and whether it has ended.
async fn ended(house: &State, who: &Principal, task: TaskId, results: Results) -> Result<Response, Error> {
    answer_task(house, who, task, Form { results, ended: true, ..Form::default() }).await
}

/// A task as it is written part by part.
async fn answer_task(house: &State, who: &Principal, task: TaskId, form: Form) -> Result<Response, Error> {
    let (who, mut document) = (who.clone(), Document::task(task, form));
    let read = house.desk.readers.read(move |reader| {
        let rows = rows(reader, &who, task)?;
        document.fill_with(reader, &rows).map(|()| document)
    });
    Documents::one(read.await?).answer(&house.desk).await
}

/// The answer to a submit.
pub(super) fn answer(answer: &Answer) -> Result<Response, Problem> {
    let said = accepted(answer).ok_or_else(unexpected)?;
    let status = if said["merged"] == json!(true) { StatusCode::OK } else { StatusCode::CREATED };
    let at = said["task"].as_str().map(|task| format!("{}/tasks/{task}", super::BASE)).unwrap_or_default();
    Ok((status, [(header::LOCATION, at)], Said(said)).into_response())
}

/// Answer to an accepted submit.
pub(in crate::http) fn accepted(answer: &Answer) -> Option<Value> {
    let Answer::Accepted { task, status, merged, class } = answer else { return None };
    Some(json!(view::Accepted { task: *task, status: *status, merged: *merged, class: *class }))
}

/// The key in the header, if there is one.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<GivenKey>, Error> {
    let refused = |why: String| Error::new(Code::Usage, format!("Idempotency-Key: {why}"));
    let mut all = headers.get_all("idempotency-key").iter();
    let Some(value) = all.next() else { return Ok(None) };
    if all.next().is_some() {
        return Err(refused("the header occurs twice".to_owned()));
    }
    let text = std::str::from_utf8(value.as_bytes()).map_err(|_| refused("the header is not UTF-8".to_owned()))?;
    text.parse().map(Some).map_err(|error: KeyError| refused(error.to_string()))
}

/// Submits many tasks, one JSON object per line. Each line is answered by a line with its number as soon as it is durable.
#[utoipa::path(
    post, path = "/tasks/bulk", tag = "tasks", request_body(content = String, content_type = "application/x-ndjson"),
    security(("token" = ["rw"])), responses((status = 200, content_type = "application/x-ndjson", body = String)),
)]
pub(super) async fn bulk(house: State, who: Who, request: HttpRequest) -> Result<Response, Problem> {
    let expects = request.headers().contains_key(header::EXPECT);
    let mut body = request.into_body();
    // "100 Continue" is sent when the body is asked for, unless the answer has begun. Such a client sends nothing before it, so its first part comes first.
    let first = if expects { json::next(&mut body).await? } else { None };
    let answers = bulk::submit(house.0.clone(), who.0, (first, body));
    let headers = [(header::CONTENT_TYPE, "application/x-ndjson")];
    Ok((headers, Extension(Bounded), Body::from_stream(answers)).into_response())
}

/// Shows a task with its steps. Results up to 64 KiB are in the answer, as far as they have 1 MiB together; a longer one is named by
/// `result_ref`, to be read with `GET /content/{hash}?task=…`. Each result stands once.
#[utoipa::path(
    get, path = "/tasks/{id}", tag = "tasks", security(("token" = ["ro", "agent"])), params(("id" = String, Path), ShowQuery),
    responses((status = 200, body = view::Shown)),
)]
pub(super) async fn show(
    house: State,
    who: Who,
    Path(task): Path<String>,
    query: Query<ShowQuery>,
) -> Result<Response, Problem> {
    let ShowQuery { history, results } = query.0;
    let root = Some(house.desk.root.clone());
    let form = Form { results, history: history.unwrap_or(false), root, ..Form::default() };
    Ok(answer_task(&house, &who, id(&task)?, form).await?)
}

/// What is shown.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct ShowQuery {
    /// Include the attempts of each step.
    history: Option<bool>,
    /// Results in the answer: `none`; `short`, the default; or `full` for all of them, however long.
    #[serde(default)]
    #[param(inline)]
    results: Results,
}

/// How long to wait.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitQuery {
    /// Maximum time to wait in milliseconds, up to one minute; by default, half a minute.
    #[param(value_type = Option<u64>)]
    timeout_ms: Option<Whole<0, WAIT_MS_MAX>>,
    /// Results in the answer: `none`; `short`, the default; or `full` for all of them, however long.
    #[serde(default)]
    #[param(inline)]
    results: Results,
}

/// Waits for the end of a task (long poll). If `ended` is `false`, send the request again.
#[utoipa::path(
    get, path = "/tasks/{id}/wait", tag = "tasks", params(("id" = String, Path), WaitQuery), security(("token" = ["ro", "agent"])),
    responses((status = 200, body = view::Ended)),
)]
pub(super) async fn wait(
    house: State,
    who: Who,
    Path(task): Path<String>,
    query: Query<WaitQuery>,
) -> Result<Response, Problem> {
    let task: TaskId = id(&task)?;
    let first = who.0.clone();
    let is_over = house.desk.readers.read(move |reader| Ok(rows(reader, &first, task)?.task.status.is_terminal()));
    if !is_over.await? {
        let patience = Duration::from_millis(query.0.timeout_ms.map_or(30_000, |Whole(timeout_ms)| timeout_ms));
        let _place = house.room.enter()?;
        house.waits.wait(&house.desk, &who.caller, task, patience).await?;
    }
    Ok(ended(&house, &who.0, task, query.0.results).await?)
}

/// Exports a task with all details and all results, as one document, however long.
#[utoipa::path(
    get, path = "/tasks/{id}/export", tag = "tasks", params(("id" = String, Path)), security(("token" = ["ro"])),
    responses((status = 200, body = view::schema::TaskExport)),
)]
pub(super) async fn export(house: State, who: Who, Path(task): Path<String>) -> Result<Response, Problem> {
    Ok(answer_task(&house, &who, id(&task)?, Form::export()).await?)
}

/// Change of a task, with its reason.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = TaskChange)]
#[serde(deny_unknown_fields)]
pub(super) struct Reason {
    /// Reason, recorded on the log.
    reason: Option<String>,
    /// Let running steps finish (only for cancel).
    #[serde(default)]
    soft: bool,
}

/// Cancels a task.
#[utoipa::path(
    post, path = "/tasks/{id}/cancel", tag = "tasks", params(("id" = String, Path)), request_body = Reason, security(("token" = ["rw"])),
    responses((status = 200, body = view::Changed)),
)]
pub(super) async fn cancel(house: State, who: Who, Path(task): Path<String>, Json(why): Json<Reason>) -> Answered {
    let mode = if why.soft { CancelMode::Soft } else { CancelMode::Hard };
    let reason = why.reason.unwrap_or_else(|| "cancelled over HTTP".to_owned());
    change(&house, &who, &task, |task| Command::Cancel { task, mode, reason }).await
}

/// Retries a failed or cancelled task.
#[utoipa::path(
    post, path = "/tasks/{id}/retry", tag = "tasks", params(("id" = String, Path)), request_body = Reason, security(("token" = ["rw"])),
    responses((status = 200, body = view::Changed)),
)]
pub(super) async fn retry(house: State, who: Who, Path(task): Path<String>, Json(why): Json<Reason>) -> Answered {
    let reason = why.reason.unwrap_or_else(|| "tried again over HTTP".to_owned());
    change(&house, &who, &task, |task| Command::Redrive { task, reason }).await
}

/// Purges a task that has ended.
#[utoipa::path(
    post, path = "/tasks/{id}/purge", tag = "tasks", params(("id" = String, Path)), request_body = Reason, security(("token" = ["admin"])),
    responses((status = 200, body = view::Purged)),
)]
pub(super) async fn purge(house: State, who: Who, Path(task): Path<String>, Json(_none): Json<Reason>) -> Answered {
    let purge = |task| Command::Life(LifeCommand::Purge { scope: Scope::Task(task) });
    change(&house, &who, &task, purge).await
}

/// Gives a command about a task that the caller may see.
async fn change(house: &State, who: &Who, task: &str, command: impl FnOnce(TaskId) -> Command) -> Answered {
    let (task, looker): (TaskId, _) = (id(task)?, who.0.clone());
    house.desk.readers.read(move |reader| rows(reader, &looker, task).map(drop)).await?;
    let answer = house.desk.ask(&who.caller, command(task)).await?;
    if let Answer::Swept { count, .. } = answer {
        return Ok(Said(json!(view::Purged { task, purged: count })));
    }
    let Answer::Done { status } = answer else { return Err(unexpected().into()) };
    Ok(Said(json!(view::Changed { task, status })))
}

/// The rows of a task that the caller may see.
pub(super) fn rows(reader: &mut dyn Reader, who: &Principal, task: TaskId) -> Result<TaskRows, Error> {
    let missing = || Error::new(Code::NoTask, format!("there is no task {task} in this root"));
    let rows = reader.task(task)?.ok_or_else(missing)?;
    who.check_task(&rows)?;
    Ok(rows)
}
