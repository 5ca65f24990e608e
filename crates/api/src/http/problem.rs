//! Errors on the wire: problem+json (RFC 9457), from the same codes as everywhere.

use super::routes::BASE;
use crate::error::{Code, Error, Kind};
use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

/// What has a status of its own; everything else has that of its kind.
const OWN: [(Code, StatusCode); 12] = [
    (Code::NotAuthenticated, StatusCode::UNAUTHORIZED),
    (Code::Forbidden, StatusCode::FORBIDDEN),
    (Code::ForeignPage, StatusCode::FORBIDDEN),
    (Code::WrongHost, StatusCode::MISDIRECTED_REQUEST),
    (Code::WrongMedia, StatusCode::UNSUPPORTED_MEDIA_TYPE),
    (Code::WrongMethod, StatusCode::METHOD_NOT_ALLOWED),
    (Code::TooSlow, StatusCode::REQUEST_TIMEOUT),
    (Code::TooLong, StatusCode::PAYLOAD_TOO_LARGE),
    (Code::TooMany, StatusCode::TOO_MANY_REQUESTS),
    (Code::KeyReused, StatusCode::UNPROCESSABLE_ENTITY),
    (Code::BadFlow, StatusCode::UNPROCESSABLE_ENTITY),
    (Code::UnknownAgent, StatusCode::UNPROCESSABLE_ENTITY),
];

/// The one table from what was found to an HTTP status.
pub fn status(code: Code) -> StatusCode {
    let own = OWN.iter().find(|(known, _)| *known == code).map(|(_, status)| *status);
    own.unwrap_or(match code.kind() {
        Kind::Usage => StatusCode::BAD_REQUEST,
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::Refused => StatusCode::CONFLICT,
        Kind::InUse | Kind::Indeterminate => StatusCode::SERVICE_UNAVAILABLE,
        Kind::DiskFull => StatusCode::INSUFFICIENT_STORAGE,
        Kind::Damaged | Kind::Io => StatusCode::INTERNAL_SERVER_ERROR,
    })
}

/// An error as an answer.
#[derive(Debug)]
pub(super) struct Problem {
    error: Box<Error>,
    more: Box<More>,
}

/// What stands beside it.
#[derive(Debug, Default)]
struct More {
    /// What is there, when something else was expected.
    current: Option<Value>,
    /// When to come again.
    retry_after_s: Option<u64>,
    /// Which methods would do.
    allow: Option<String>,
}

impl Problem {
    /// What it is about.
    pub(super) fn error(&self) -> &Error {
        &self.error
    }

    /// The same, with what is there.
    pub(super) fn with_current(mut self, current: Value) -> Self {
        self.more.current = Some(current);
        self
    }

    /// The same, with the methods that would do.
    pub(super) fn allow(mut self, methods: String) -> Self {
        self.more.allow = Some(methods);
        self
    }

    /// The same, with when to come again.
    pub(super) fn retry_after(mut self, seconds: u64) -> Self {
        self.more.retry_after_s = Some(seconds);
        self
    }
}

impl<E: Into<Error>> From<E> for Problem {
    fn from(error: E) -> Self {
        Self { error: Box::new(error.into()), more: Box::default() }
    }
}

/// The document of a problem.
pub(super) fn to_json(error: &Error) -> Value {
    let status = status(error.code);
    let mut document = json!({
        "type": format!("{BASE}/errors/{}", error.code.as_str()), "title": status.canonical_reason().unwrap_or_default(), "status": status.as_u16(),
        "detail": error.message, "code": error.code.as_str(), "number": error.code.number(), "hints": error.hints_over_http(),
    });
    if let Some(place) = &error.place {
        document["at"] = json!({ "line": place.line, "column": place.column, "text": place.text });
    }
    if !error.more.is_empty() {
        let one = |error: &Error| json!({ "detail": error.message, "code": error.code.as_str(), "number": error.code.number(), "hints": error.hints_over_http() });
        document["more"] = error.more.iter().map(one).collect();
    }
    document
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = status(self.error.code);
        let mut body = to_json(&self.error);
        if let Some(current) = self.more.current {
            body["current"] = current;
        }
        let mut response = (status, body.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        let mut put = |name: HeaderName, value: String| {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        };
        if status == StatusCode::UNAUTHORIZED {
            put(header::WWW_AUTHENTICATE, "Bearer".to_owned());
        }
        if let Some(methods) = self.more.allow {
            put(header::ALLOW, methods);
        }
        let again = (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1);
        if let Some(seconds) = self.more.retry_after_s.or(again) {
            put(header::RETRY_AFTER, seconds.to_string());
        }
        response
    }
}
