//! Whether the daemon lives, whether it can work, and if not, why.

use super::{Answered, State, Who};
use crate::{
    error::{Code, Error, Explained},
    health::{Health, Reason},
    http::{
        guard,
        json::Said,
        problem::{self, Problem},
        unread::Bounded,
    },
    local::Status,
    metrics::Form,
};
use axum::{
    Extension,
    extract::Path,
    http::{
        HeaderMap, StatusCode,
        header::{ACCEPT, CONTENT_TYPE},
    },
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use relaymesh_runtime::token::Scope;
use serde::Serialize;
use serde_json::json;
use std::sync::OnceLock;
use utoipa::ToSchema;

/// Whether the process is alive.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Liveness)]
pub(super) struct Live {
    /// `live`.
    status: String,
}

/// Whether the daemon can work, and what is in its way.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Readiness)]
pub(super) struct Ready {
    /// Whether the daemon is ready.
    ready: bool,
    /// Position of the newest durable op; only with a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pos: Option<u64>,
    /// Current problems, worst first; only with a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Vec<Trouble>>,
}

/// A problem of the daemon.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReadinessProblem)]
pub(super) struct Trouble {
    /// Kind of the problem.
    trouble: String,
    /// Whether it stops all work.
    stops: bool,
    /// Details.
    detail: String,
}

impl From<Reason> for Trouble {
    fn from(Reason { trouble, detail }: Reason) -> Self {
        Self { trouble: trouble.as_str().to_owned(), stops: trouble.stops_with().is_some(), detail }
    }
}

/// Tells that the process is alive. Needs no token.
#[utoipa::path(get, path = "/health", tag = "health", security(()), responses((status = 200, body = Live)))]
pub(super) async fn live() -> Said {
    Said(json!(Live { status: "live".to_owned() }))
}

/// Tells whether the daemon is ready. Needs no token. With one that may read all namespaces, it also tells the position of the log and
/// all problems.
#[utoipa::path(
    get, path = "/ready", tag = "health", security(()),
    responses((status = 200, body = Ready), (status = 503, description = "not ready", body = Ready)),
)]
pub(super) async fn ready(house: State, headers: HeaderMap) -> Response {
    let who = guard::known(&house, &headers).await;
    let is_told = who.is_some_and(|who| who.grant.namespaces.is_none() && who.grant.scope.suffices(&[Scope::Ro]));
    let told = |why: Vec<Trouble>| is_told.then_some(why);
    let not_ready = |why: Vec<Trouble>| {
        let said = Ready { ready: false, pos: None, why: told(why) };
        (StatusCode::SERVICE_UNAVAILABLE, Said(json!(said))).into_response()
    };
    let stops = |trouble: &str, detail: String| vec![Trouble { trouble: trouble.to_owned(), stops: true, detail }];
    let Some(status) = house.desk.glance().await else {
        return not_ready(stops("silent", "the driver does not answer".to_owned()));
    };
    let Health { is_ready, reasons } = status.health();
    let why: Vec<Trouble> = reasons.into_iter().map(Trouble::from).collect();
    if !is_ready {
        return not_ready(why);
    }
    match house.desk.readers.read(|reader| Ok(reader.head()?.pos)).await {
        Ok(pos) => Said(json!(Ready { ready: true, pos: is_told.then_some(pos), why: told(why) })).into_response(),
        Err(error) => not_ready(stops("unreadable", error.message)),
    }
}

/// Returns the metrics of the daemon in the Prometheus format, or in OpenMetrics if requested.
#[utoipa::path(
    get, path = "/metrics", tag = "health", security(("token" = ["ro"])),
    responses((status = 200, body = String, content_type = "text/plain")),
)]
pub(super) async fn metrics(house: State, who: Who, headers: HeaderMap) -> Result<Response, Problem> {
    who.check_everywhere("reading metrics")?;
    let asked = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let form = if asked.contains("application/openmetrics-text") { Form::OpenMetrics } else { Form::Prometheus };
    let text = house.desk.metrics(form).await.unwrap_or_else(|| Err(silent()))?;
    Ok(([(CONTENT_TYPE, form.content_type())], text).into_response())
}

fn silent() -> Error {
    Error::new(Code::Busy, "the driver does not answer")
}

/// Shows the state of the daemon. Needs a token for all namespaces; `/ready` needs none.
#[utoipa::path(get, path = "/status", tag = "health", security(("token" = ["ro"])), responses((status = 200, body = Status)))]
pub(super) async fn status(house: State, who: Who) -> Answered {
    who.check_everywhere("reading the state of the daemon")?;
    let status = house.desk.glance().await.ok_or_else(silent)?;
    Ok(Said(json!(status)))
}

/// Explains an error code: the page of the `type` of a problem.
#[utoipa::path(
    get, path = "/errors/{code}", tag = "health", params(("code" = String, Path, description = "code or number of the error")), security(()),
    responses((status = 200, body = Explanation)),
)]
pub(super) async fn explain(Path(code): Path<String>) -> Answered {
    let shown: String = code.chars().filter(|c| !c.is_control()).take(64).collect();
    let unknown = || Error::new(Code::NoRoute, format!("there is no error code `{shown}`"));
    let Explained { code, means, changed, advice } = Code::meant(&code).ok_or_else(unknown)?.explained();
    let (status, number) = (problem::status(code).as_u16(), code.number().to_owned());
    Ok(Said(json!(Explanation { code: code.as_str().to_owned(), number, status, means, changed, advice })))
}

/// What an error code means.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ErrorExplanation)]
pub(super) struct Explanation {
    /// The code.
    code: String,
    /// Its number.
    number: String,
    /// HTTP status of answers with this code.
    status: u16,
    /// What it means.
    means: String,
    /// What the request changed.
    changed: String,
    /// What to do.
    advice: String,
}

/// Returns this document.
#[utoipa::path(get, path = "/openapi.json", tag = "health", security(()), responses((status = 200, body = Value)))]
pub(super) async fn openapi() -> Response {
    // It needs no token, so it is made once, and everybody who asks for it reads the same bytes.
    static DOCUMENT: OnceLock<Bytes> = OnceLock::new();
    let document = DOCUMENT.get_or_init(|| super::document().to_string().into());
    ([(CONTENT_TYPE, "application/json")], Extension(Bounded), document.clone()).into_response()
}
