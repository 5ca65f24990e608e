//! Whether the daemon lives, whether it can work, and if not, why.

use super::{Answered, State, Who};
use crate::{
    error::{Code, Error},
    health::{Health, Reason},
    http::{json::Said, problem::Problem},
    metrics::Form,
};
use axum::{
    http::{
        HeaderMap, StatusCode,
        header::{ACCEPT, CONTENT_TYPE},
    },
    response::{IntoResponse as _, Response},
};
use serde_json::{Value, json};

/// Whether the process lives. Needs no token.
#[utoipa::path(get, path = "/health", tag = "health", security(()), responses((status = 200, body = Value)))]
pub(super) async fn live() -> Said {
    Said(json!({ "status": "live" }))
}

/// Whether it takes work, and if not, why. Needs no token.
#[utoipa::path(
    get, path = "/ready", tag = "health", security(()),
    responses((status = 200, body = Value), (status = 503, description = "it does not, and why", body = Value)),
)]
pub(super) async fn ready(house: State) -> Response {
    let not_ready =
        |why: Value| (StatusCode::SERVICE_UNAVAILABLE, Said(json!({ "ready": false, "why": why }))).into_response();
    let Some(status) = house.desk.glance().await else {
        return not_ready(json!([{ "trouble": "silent", "detail": "the driver does not answer" }]));
    };
    let Health { is_ready, reasons } = status.health();
    let why = |Reason { trouble, detail }: Reason| json!({ "trouble": trouble, "stops": trouble.stops_with().is_some(), "detail": detail });
    let why: Vec<Value> = reasons.into_iter().map(why).collect();
    if !is_ready {
        return not_ready(why.into());
    }
    match house.desk.readers.read(|reader| Ok(reader.head()?.pos)).await {
        Ok(pos) => Said(json!({ "ready": true, "pos": pos, "why": why })).into_response(),
        Err(error) => not_ready(json!([{ "trouble": "unreadable", "stops": true, "detail": error.message }])),
    }
}

/// What operators watch over time, in Prometheus' form, or in that of OpenMetrics where it is asked for.
#[utoipa::path(
    get, path = "/metrics", tag = "health", security(("token" = ["ro"])),
    responses((status = 200, body = String, content_type = "text/plain")),
)]
pub(super) async fn metrics(house: State, who: Who, headers: HeaderMap) -> Result<Response, Problem> {
    super::tokens::everywhere(&who)?;
    let asked = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let form = if asked.contains("application/openmetrics-text") { Form::OpenMetrics } else { Form::Prometheus };
    let text = house.desk.metrics(form).await.unwrap_or_else(|| Err(silent()))?;
    Ok(([(CONTENT_TYPE, form.content_type())], text).into_response())
}

fn silent() -> Error {
    Error::new(Code::Busy, "the driver does not answer")
}

/// How the daemon is.
#[utoipa::path(get, path = "/status", tag = "health", security(("token" = ["ro"])), responses((status = 200, body = Value)))]
pub(super) async fn status(house: State) -> Answered {
    let status = house.desk.glance().await.ok_or_else(silent)?;
    Ok(Said(json!(status)))
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "health", security(()), responses((status = 200, body = Value)))]
pub(super) async fn openapi() -> Said {
    Said(super::document())
}
