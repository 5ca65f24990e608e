//! Namespaces: what there is, and making one.

use super::{Answered, State, Who, unexpected};
use crate::{
    http::json::{Json, Said},
    view::namespace,
};
use relaymesh_core::name::Name;
use relaymesh_runtime::driver::{Answer, Command};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

/// Lists the namespaces of the token with the number of objects in each. It counts all of them, so do not poll it often.
#[utoipa::path(get, path = "/namespaces", tag = "namespaces", security(("token" = ["ro"])), responses((status = 200, body = namespace::All)))]
pub(super) async fn list(house: State, who: Who) -> Answered {
    let found = house.desk.readers.read(move |reader| namespace::find(reader, &mut |_| {})).await?;
    let seen = found.into_iter().filter(|(name, _)| who.grant.admits(name));
    let namespaces = seen.map(|(name, listed)| listed.shown(name)).collect();
    Ok(Said(json!(namespace::All { namespaces })))
}

/// A namespace to create.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewNamespace)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    /// Name.
    #[schema(value_type = String)]
    name: Name,
    /// What it is for: one line of at most 500 characters.
    about: Option<String>,
}

/// Creates a namespace. An existing one is not changed.
#[utoipa::path(post, path = "/namespaces", tag = "namespaces", request_body = Create, security(("token" = ["admin"])), responses((status = 200, body = namespace::Created)))]
pub(super) async fn create(house: State, who: Who, Json(body): Json<Create>) -> Answered {
    who.check(&body.name)?;
    let command = Command::CreateNamespace { name: body.name, about: body.about.unwrap_or_default() };
    let answer = house.desk.ask(&who.caller, command).await?;
    let Answer::Namespace { name, is_new } = answer else { return Err(unexpected().into()) };
    Ok(Said(json!(namespace::Created { namespace: name, created: is_new })))
}
