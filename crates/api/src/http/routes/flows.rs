//! Flows: a graph of steps, checked or submitted by its definition.

use super::{Answered, State, Who};
use crate::{
    flow,
    http::{
        json::{Json, Said},
        problem::Problem,
        routes::tasks,
    },
    view::{Accepted, schema::CheckedFlow},
};
use axum::{http::HeaderMap, response::Response};
use relaymesh_core::{name::Name, task::request::Request};
use relaymesh_runtime::driver::Command;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A flow to check.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = FlowCheck)]
#[serde(deny_unknown_fields)]
pub(super) struct Checked {
    /// Namespace in which to check it.
    #[schema(value_type = Option<String>)]
    namespace: Option<Name>,
    /// The flow, according to docs/reference/flow.schema.json.
    #[schema(value_type = Object)]
    flow: Request,
    /// Input of the flow.
    #[schema(value_type = Option<Value>)]
    input: Option<Value>,
}

/// Checks a flow without submitting it: agents, references, dependencies, input.
#[utoipa::path(post, path = "/flows/check", tag = "flows", request_body = Checked, security(("token" = ["ro"])), responses((status = 200, body = CheckedFlow)))]
pub(super) async fn check(house: State, who: Who, Json(body): Json<Checked>) -> Answered {
    let namespace = who.namespace(body.namespace)?;
    let agents = (house.desk.agents)();
    let has_input = body.input.is_some();
    // Without an input, only the flow is checked.
    if let (false, Some(schema)) = (has_input, &body.flow.input) {
        flow::schema::is_schema(schema)?;
    }
    let schema = if has_input { body.flow.input.clone() } else { None };
    let mut request = flow::check(Request { input: schema, ..body.flow.clone() }, body.input, &agents)?;
    request.input = body.flow.input;
    let prepared = flow::prepare(&request, &namespace, None, 0, (&agents, house.desk.settings().retry()))?;
    Ok(Said(flow::outline(&request, &prepared)))
}

/// Submits a flow by its definition. The same as `POST /tasks` with `flow`.
#[utoipa::path(
    post, path = "/flows", tag = "flows", request_body = tasks::Submitted, security(("token" = ["rw"])),
    responses((status = 201, body = Accepted), (status = 200, description = "it already existed", body = Accepted)),
)]
pub(super) async fn submit(
    house: State,
    who: Who,
    headers: HeaderMap,
    Json(body): Json<tasks::Submitted>,
) -> Result<Response, Problem> {
    let settings = house.desk.settings();
    let submit =
        body.with_input(&house, &who).await?.prepare(&who, tasks::key(&headers)?, &(house.desk.agents)(), &settings)?;
    tasks::answer(&house.desk.ask(&who.caller, Command::Submit(submit)).await?)
}
