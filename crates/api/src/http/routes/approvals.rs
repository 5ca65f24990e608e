//! What steps ask of people, and what people say.

use super::{Answered, State, Who, id, tasks::rows, unexpected};
use crate::{
    http::json::{Json, Query, Said},
    lookup,
    view::{
        Results, Room,
        asked::{self, Asked},
    },
};
use axum::extract::Path;
use relaymesh_core::{hash::Hash, id::TaskId, name::Name};
use relaymesh_runtime::driver::{Answer, Command};
use serde::Deserialize;
use serde_json::json;
use utoipa::{IntoParams, ToSchema};

/// Of which namespace.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    /// Namespace.
    #[param(value_type = Option<String>)]
    namespace: Option<Name>,
}

/// Requests in one answer.
const PAGE_MAX: usize = 500;

/// Lists the steps that wait for an approval, most urgent first; at most 500. Inputs up to 64 KiB are in the answer, as far as they have 1 MiB
/// together.
#[utoipa::path(get, path = "/approvals", tag = "approvals", params(ListQuery), security(("token" = ["ro"])), responses((status = 200, body = asked::All)))]
pub(super) async fn list(house: State, who: Who, Query(query): Query<ListQuery>) -> Answered {
    let namespace = who.namespace(query.namespace)?;
    let found = house.desk.readers.read(move |reader| asked::all(reader, &namespace, PAGE_MAX, Results::Short));
    let (found, total) = found.await?;
    Ok(Said(json!(asked::All { approvals: found.into_iter().map(Asked::shown).collect(), total })))
}

/// Shows a request for approval with its details.
#[utoipa::path(
    get, path = "/approvals/{task}/{step}", tag = "approvals", params(("task" = String, Path), ("step" = String, Path)),
    security(("token" = ["ro"])), responses((status = 200, body = asked::Shown)),
)]
pub(super) async fn show(house: State, who: Who, Path((task, step)): Path<(String, String)>) -> Answered {
    let (task, who) = (id(&task)?, who.0);
    let found = house.desk.readers.read(move |reader| {
        let rows = rows(reader, &who, task)?;
        let index = lookup::step(&rows, &step)?.0;
        Ok(json!(Asked::load(reader, &rows, index, &mut Room::new(Results::Short))?.filled(reader, &rows)?.shown()))
    });
    Ok(Said(found.await?))
}

/// A decision on a request for approval.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ApprovalDecision)]
#[serde(deny_unknown_fields)]
pub(super) struct Decision {
    /// `ask` of the request: the decision applies only to exactly this request.
    #[schema(value_type = String)]
    ask: Hash,
    /// `true` to approve, `false` to deny.
    approve: bool,
    /// Reason of a denial, recorded on the log.
    reason: Option<String>,
}

/// Approves or denies a step. The first decision counts.
#[utoipa::path(
    post, path = "/approvals/{task}/{step}", tag = "approvals", params(("task" = String, Path), ("step" = String, Path)),
    request_body = Decision, security(("token" = ["rw"])), responses((status = 200, body = asked::Decided)),
)]
pub(super) async fn decide(
    house: State,
    who: Who,
    Path((task, step)): Path<(String, String)>,
    Json(decision): Json<Decision>,
) -> Answered {
    let (task, looker): (TaskId, _) = (id(&task)?, who.0.clone());
    let found = house.desk.readers.read(move |reader| {
        let rows = rows(reader, &looker, task)?;
        let index = lookup::step(&rows, &step)?.0;
        Asked::load(reader, &rows, index, &mut Room::new(Results::None)).map(|asked| asked.step)
    });
    let step = found.await?;
    let ask = decision.ask;
    let command = if decision.approve {
        Command::Approve { step, ask }
    } else {
        Command::Deny { step, ask, reason: decision.reason.unwrap_or_else(|| "denied over HTTP".to_owned()) }
    };
    let Answer::Done { status } = house.desk.ask(&who.caller, command).await? else { return Err(unexpected().into()) };
    Ok(Said(json!(asked::Decided { task, status, approved: decision.approve })))
}
