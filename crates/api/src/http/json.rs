//! Bodies: read within their limits, parsed strictly, once.

use super::{
    door,
    guard::{self, House},
    problem::Problem,
};
use crate::error::{Code, Error};
use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts, Request},
    http::{header, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::BytesMut;
use http_body_util::BodyExt as _;
use relaymesh_core::{canonical, task::request};
use serde::{Deserializer, de::DeserializeOwned};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// How long the next part of a body may take to come.
const PART_PATIENCE: Duration = Duration::from_secs(20);
/// How long a whole body may take that is not streamed, so that a client cannot hold it open with a byte now and then.
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

/// A body that is not parsed yet.
pub(super) struct Raw {
    pub(super) bytes: BytesMut,
    /// Whether it is YAML; otherwise it is JSON.
    pub(super) is_yaml: bool,
}

impl FromRequest<Arc<House>> for Raw {
    type Rejection = Problem;

    async fn from_request(request: Request, house: &Arc<House>) -> Result<Self, Problem> {
        let max = relaymesh_runtime::settings::size(house.desk.settings().http_body_max_bytes);
        let media = door::media(guard::text(request.headers(), &header::CONTENT_TYPE));
        let is_yaml = media.is_some_and(|media| media.ends_with("yaml"));
        let bytes = tokio::time::timeout(WHOLE_PATIENCE, whole(request.into_body(), max));
        let bytes = bytes.await.unwrap_or_else(|_| Err(too_slow()))?;
        Ok(Self { bytes, is_yaml })
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
    Error::new(Code::TooSlow, "the body did not arrive in time")
}

/// The value in these bytes. What two readers could understand differently is refused: a key that stands twice, a number that others would round.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    let read = || canonical::parse(bytes).map_err(|error| Error::new(Code::BadInput, error.to_string()));
    T::deserialize(read()?).or_else(|error| {
        // Looking for the place costs time, so only a wrong body is read again for it.
        let message = match serde_path_to_error::deserialize::<_, T>(read()?) {
            Err(error) if error.path().iter().next().is_some() => format!("`{}`: {}", error.path(), error.inner()),
            Err(_) | Ok(_) => error.to_string(),
        };
        Err(Error::new(Code::BadInput, message.chars().take(400).collect::<String>()))
    })
}

/// Milliseconds in a body, as a number or as flows write them: `30s`, `10m`, `2h`. No longer than a number that every program keeps.
pub(super) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let found = request::duration(deserializer)?;
    match found.filter(|ms| *ms > canonical::MAX_SAFE_INTEGER) {
        Some(ms) => Err(serde::de::Error::custom(format!("{ms} ms is too long"))),
        None => Ok(found),
    }
}

/// What stands behind the `?` of a URL.
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let found = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        let found = found.map_err(|error| {
            let said: String = error.body_text().chars().filter(|c| !c.is_control()).take(300).collect();
            Error::new(Code::Usage, in_query(&said))
        })?;
        Ok(Self(found.0))
    }
}

/// What is wrong with a query string, without the words of the library that reads it.
fn in_query(said: &str) -> String {
    let said = said.strip_prefix("Failed to deserialize query string: ").unwrap_or(said);
    let plain = [
        ("invalid digit found in string", "must be a whole number"),
        ("number too large to fit in target type", "the number is too large"),
        ("provided string was not `true` or `false`", "must be true or false"),
        ("unknown field", "unknown parameter"),
    ];
    let said = plain.iter().fold(said.to_owned(), |said, (theirs, ours)| said.replace(theirs, ours));
    format!("query string: {said}")
}

/// An answer of JSON.
pub(super) struct Said(pub(super) Value);

impl IntoResponse for Said {
    fn into_response(self) -> Response {
        ([(axum::http::header::CONTENT_TYPE, "application/json")], self.0.to_string()).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only the errors count")]
    struct Asked {
        limit: Option<u64>,
        history: Option<bool>,
    }

    #[test]
    fn a_wrong_query_is_told_without_the_words_of_the_library() {
        let told = |query: &str| {
            let uri = format!("/x?{query}").parse().unwrap();
            in_query(&axum::extract::Query::<Asked>::try_from_uri(&uri).unwrap_err().body_text())
        };
        assert_eq!(told("limit=ten"), "query string: limit: must be a whole number");
        assert_eq!(told("limit=99999999999999999999"), "query string: limit: the number is too large");
        assert_eq!(told("history=yes"), "query string: history: must be true or false");
        assert_eq!(told("limits=1"), "query string: limits: unknown parameter `limits`, expected `limit` or `history`");
    }
}
