//! Whether the daemon lives, whether it can work, and if not, why.

use super::{Answered, State};
use crate::http::json::Said;
use axum::{
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde_json::json;

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
    let why = match house.desk.glance().await {
        None => vec!["the driver does not answer"],
        Some(status) => {
            let held = [
                (status.alert.is_some(), "an alert was raised; `relaymesh status` shows it"),
                (status.settings_problem.is_some(), "the newest settings were not taken up"),
            ];
            // Neither keeps it from working: they are said, and it is ready all the same.
            let notes: Vec<&str> = held.into_iter().filter(|(holds, _)| *holds).map(|(_, why)| why).collect();
            return match house.desk.readers.read(|reader| Ok(reader.head()?.pos)).await {
                Ok(pos) => Said(json!({ "ready": true, "pos": pos, "notes": notes })).into_response(),
                Err(error) => {
                    let body =
                        json!({ "ready": false, "why": ["the store cannot be read"], "code": error.code.as_str() });
                    (StatusCode::SERVICE_UNAVAILABLE, Said(body)).into_response()
                }
            };
        }
    };
    (StatusCode::SERVICE_UNAVAILABLE, Said(json!({ "ready": false, "why": why }))).into_response()
}

/// How the daemon is.
#[utoipa::path(get, path = "/status", tag = "health", security(("token" = ["ro"])), responses((status = 200, body = Value)))]
pub(super) async fn status(house: State) -> Answered {
    let stopping = || crate::error::Error::new(crate::error::Code::Busy, "the driver does not answer");
    let status = house.desk.glance().await.ok_or_else(stopping)?;
    Ok(Said(json!(status)))
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "health", security(()), responses((status = 200, body = Value)))]
pub(super) async fn openapi() -> Said {
    Said(super::document())
}
