//! Bodies: read within their limits, parsed strictly, once.

use super::{guard::House, problem::Problem};
use crate::error::{Code, Error};
use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts, Request},
    http::request::Parts,
    response::{IntoResponse, Response},
};
use bytes::BytesMut;
use http_body_util::BodyExt as _;
use relaymesh_core::canonical;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// How long the next part of a body may take to come.
const PART_PATIENCE: Duration = Duration::from_secs(20);
/// How long a whole body may take that is not streamed: whoever sends a byte now and then is no better than who sends none.
const WHOLE_PATIENCE: Duration = Duration::from_secs(60);

/// A body of JSON.
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<House>> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, house: &Arc<House>) -> Result<Self, Problem> {
        let max = relaymesh_runtime::settings::size(house.desk.settings().http_body_max_bytes);
        let bytes = tokio::time::timeout(WHOLE_PATIENCE, whole(request.into_body(), max));
        let bytes = bytes.await.unwrap_or_else(|_| Err(too_slow()))?;
        Ok(Self(parse(if bytes.is_empty() { b"{}" } else { &bytes })?))
    }
}

/// The whole body, if it is no longer than it may be.
pub(super) async fn whole(mut body: Body, max: usize) -> Result<BytesMut, Error> {
    let mut bytes = BytesMut::new();
    while let Some(part) = next(&mut body).await? {
        if bytes.len() + part.len() > max {
            return Err(too_long(max));
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}

/// The next part of the body; `None` at its end.
pub(super) async fn next(body: &mut Body) -> Result<Option<bytes::Bytes>, Error> {
    loop {
        let frame = tokio::time::timeout(PART_PATIENCE, body.frame()).await.map_err(|_| too_slow())?;
        let Some(frame) = frame else { return Ok(None) };
        let frame = frame.map_err(|error| Error::new(Code::BadInput, format!("the body cannot be read: {error}")))?;
        if let Ok(part) = frame.into_data() {
            return Ok(Some(part));
        }
    }
}

pub(super) fn too_long(max: usize) -> Error {
    Error::new(Code::TooLong, format!("the body is longer than {max} bytes")).hint("`http_body_max_bytes` is the limit")
}

fn too_slow() -> Error {
    Error::new(Code::TooSlow, "the body did not come in time")
}

/// The value in these bytes. What two readers could understand differently is refused: a key that stands twice, a number that others would round.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    let value: Value = canonical::parse(bytes).map_err(|error| Error::new(Code::BadInput, error.to_string()))?;
    T::deserialize(value).map_err(|error| {
        let message: String = error.to_string().chars().take(400).collect();
        Error::new(Code::BadInput, message)
    })
}

/// What stands behind the `?` of a URL.
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let found = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        let found = found.map_err(|error| {
            let said: String = error.body_text().chars().filter(|c| !c.is_control()).take(300).collect();
            Error::new(Code::Usage, said)
        })?;
        Ok(Self(found.0))
    }
}

/// An answer of JSON.
pub(super) struct Said(pub(super) Value);

impl IntoResponse for Said {
    fn into_response(self) -> Response {
        ([(axum::http::header::CONTENT_TYPE, "application/json")], self.0.to_string()).into_response()
    }
}
