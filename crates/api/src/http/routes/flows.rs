//! Flows: a graph of steps, checked or submitted by its definition.

use super::{Answered, State, Who};
use crate::{
    error::{Code, Error},
    flow,
    http::{
        json::{self, Query, Raw, Said},
        problem::Problem,
        routes::tasks,
    },
    view::{Accepted, schema::CheckedFlow},
};
use axum::{http::HeaderMap, response::Response};
use relaymesh_core::{name::Name, task::request::Request};
use relaymesh_runtime::driver::Command;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

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

/// Where a flow goes that comes without anything around it.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowQuery {
    /// Namespace, unless the body names one.
    #[param(value_type = Option<String>)]
    namespace: Option<Name>,
}

/// A body with a flow in it, or the flow alone.
enum Given<T> {
    Whole(T),
    Bare(Box<Request>),
}

/// YAML is a flow alone. JSON is one if it has steps and no `flow`.
fn given<T: DeserializeOwned>(raw: &Raw) -> Result<Given<T>, Error> {
    if raw.is_yaml {
        let text = std::str::from_utf8(&raw.bytes);
        let text = text.map_err(|error| Error::new(Code::BadInput, format!("the body is not UTF-8: {error}")))?;
        return Ok(Given::Bare(Box::new(flow::yaml::parse(text)?)));
    }
    let value: Value = json::parse(&raw.bytes)?;
    if value.get("steps").is_some() && value.get("flow").is_none() {
        return Ok(Given::Bare(Box::new(json::parse(&raw.bytes)?)));
    }
    Ok(Given::Whole(json::parse(&raw.bytes)?))
}

/// Checks a flow without submitting it: agents, references, dependencies, input. Every mistake is told. The body may be the flow alone, in JSON
/// or YAML.
#[utoipa::path(
    post, path = "/flows/check", tag = "flows", params(FlowQuery), security(("token" = ["ro"])), responses((status = 200, body = CheckedFlow)),
    request_body(content((Checked = "application/json"), (String = "application/yaml"))),
)]
pub(super) async fn check(house: State, who: Who, Query(query): Query<FlowQuery>, raw: Raw) -> Answered {
    let body = match given::<Checked>(&raw)? {
        Given::Whole(body) => body,
        Given::Bare(flow) => Checked { namespace: None, flow: *flow, input: None },
    };
    let namespace = who.namespace(body.namespace.or(query.namespace))?;
    let agents = (house.desk.agents)();
    Error::all(flow::mistakes(&body.flow, &agents, &namespace))?;
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

/// Submits a flow by its definition: the flow alone, in JSON or YAML, or the body of `POST /tasks` with `flow`, which has room for an input.
#[utoipa::path(
    post, path = "/flows", tag = "flows", security(("token" = ["rw"])),
    params(FlowQuery, ("Idempotency-Key" = Option<String>, Header, description = "same as `key`")),
    request_body(content((tasks::Submitted = "application/json"), (String = "application/yaml"))),
    responses((status = 201, body = Accepted), (status = 200, description = "it already existed", body = Accepted)),
)]
pub(super) async fn submit(
    house: State,
    who: Who,
    headers: HeaderMap,
    Query(query): Query<FlowQuery>,
    raw: Raw,
) -> Result<Response, Problem> {
    let settings = house.desk.settings();
    let body = match given::<tasks::Submitted>(&raw)? {
        Given::Whole(body) => body.within(query.namespace),
        Given::Bare(flow) => tasks::Submitted::of(*flow, query.namespace),
    };
    let submit =
        body.with_input(&house, &who).await?.prepare(&who, tasks::key(&headers)?, &(house.desk.agents)(), &settings)?;
    tasks::answer(&house.desk.ask(&who.caller, Command::Submit(submit)).await?)
}
