//! What happens, as it happens.

use super::{State, Who, audit, id};
use crate::{
    error::{Code, Error},
    http::{
        door,
        events::Wanted,
        json::Query,
        problem::Problem,
        query::{Position, Whole},
        unread::Bounded,
    },
};
use axum::{
    Extension,
    body::Body,
    http::{HeaderMap, header},
    response::{IntoResponse as _, Response},
};
use relaymesh_core::name::Name;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Which events, from where on.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct EventsQuery {
    /// Namespace; by default, all of the token.
    #[param(value_type = Option<String>)]
    namespace: Option<Name>,
    /// Only events of these kinds, separated by commas: ScheduleJob, CompleteJob, SendMessage, …
    kind: Option<String>,
    /// Only ops of this task.
    task: Option<String>,
    /// Start after this position. `Last-Event-ID` takes precedence; without either, only new events are sent. If the log is shorter, the
    /// first event is `Rewound`, and then new events follow.
    #[param(value_type = Option<u64>)]
    after: Option<Position>,
}

/// Streams every durable change as server-sent events. The id of an event is its position on the log.
#[utoipa::path(
    get, path = "/events", tag = "events",
    params(EventsQuery, ("Last-Event-ID" = Option<u64>, Header, description = "id of the last event that was received")),
    security(("token" = ["ro"])), responses((status = 200, content_type = "text/event-stream", body = String)),
)]
pub(super) async fn follow(
    house: State,
    who: Who,
    headers: HeaderMap,
    Query(query): Query<EventsQuery>,
) -> Result<Response, Problem> {
    if let Some(namespace) = &query.namespace {
        who.check(namespace)?;
    }
    let kinds = query.kind.as_deref().unwrap_or_default().split(',').filter(|kind| !kind.is_empty());
    let kinds = kinds.map(audit::kind).collect::<Result<Vec<_>, Error>>()?;
    let task = query.task.as_deref().map(id).transpose()?;
    let last =
        headers.get("last-event-id").map(|value| value.to_str().ok().and_then(|text| Position::parse(text).ok()));
    let last = match last {
        Some(None) => return Err(Error::new(Code::Usage, "`Last-Event-ID` must be the number of an event").into()),
        Some(Some(last)) => Some(last),
        None => query.after,
    };
    let head = house.desk.readers.read(|reader| Ok(reader.head()?.pos)).await?;
    let place = house.room.enter()?;
    let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = door::bearer(token).unwrap_or_default().to_owned();
    let keys = Arc::clone(&house.0);
    let is_good = move || {
        let _taken = &place; // as long as it listens
        keys.keys.find(&token, keys.keys.now_ms()).is_ok_and(|found| found.is_some())
    };
    let wanted = Wanted { namespace: query.namespace, kinds, task };
    let after = last.map_or(head, |Whole(after)| after);
    let events = house.feed.after((after, head), wanted, who.0, (Arc::clone(&house.desk), Box::new(is_good)));
    let headers = [(header::CONTENT_TYPE, "text/event-stream")];
    // As many as there are places, each with the page of the log that it reads.
    Ok((headers, Extension(Bounded), Body::from_stream(events)).into_response())
}
