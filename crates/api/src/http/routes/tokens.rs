//! Tokens: made, rotated and revoked by whoever may; and the exchange of a one-time code.

use super::{Answered, Came, State, Who, id};
use crate::{
    error::{Code, Error},
    http::{
        desk::blocking,
        json::{Json, Said},
        principal::Principal,
    },
    time,
    view::token,
};
use axum::extract::Path;
use relaymesh_core::name::Name;
use relaymesh_runtime::{
    driver::Caller,
    token::{Grant, Scope},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use utoipa::ToSchema;

/// How long the old token stays good if nobody says: a day.
const OVERLAP_MS: u64 = 86_400_000;

/// Every token: what it may do, where, and until when. Not the tokens themselves, which nobody keeps.
#[utoipa::path(get, path = "/tokens", tag = "tokens", security(("token" = ["admin"])), responses((status = 200, body = Value)))]
pub(super) async fn list(house: State, who: Who) -> Answered {
    everywhere(&who)?;
    let house = house.0;
    let tokens = blocking(move || house.keys.named()).await?;
    Ok(Said(json!({ "tokens": token::to_json(&tokens, time::now_ms()) })))
}

/// A token to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    /// What it is called: the author of what is done with it.
    #[schema(value_type = String)]
    name: Name,
    /// `ro`, `rw`, `admin` or `agent`.
    #[schema(value_type = String)]
    scope: Scope,
    /// Only in these namespaces; in all of them without any.
    #[schema(value_type = Option<Vec<String>>)]
    namespaces: Option<Vec<Name>>,
    /// The agent that it is for; with the scope `agent`.
    #[schema(value_type = Option<String>)]
    agent: Option<Name>,
    /// How long it is good; for ever without one.
    ttl_ms: Option<u64>,
}

/// Makes a token and shows it, this once.
#[utoipa::path(post, path = "/tokens", tag = "tokens", request_body = Create, security(("token" = ["admin"])), responses((status = 200, body = Made)))]
pub(super) async fn create(house: State, who: Who, Json(body): Json<Create>) -> Answered {
    everywhere(&who)?;
    let grant = Grant { scope: body.scope, namespaces: body.namespaces, agent: body.agent };
    token::check(&grant)?;
    let (now_ms, name, keys) = (time::now_ms(), body.name, Arc::clone(&house.0));
    let until_ms = body.ttl_ms.map(|ttl_ms| now_ms.saturating_add(ttl_ms));
    let (made_name, scope) = (name.clone(), grant.scope);
    let made =
        blocking(move || keys.keys.change(|tokens| tokens.create(made_name, grant, until_ms, rand::random(), now_ms)));
    let Some(token) = made.await? else {
        return Err(Error::new(Code::Refused, format!("there is a token `{name}` already")).into());
    };
    let about = [("name", name.as_str()), ("scope", scope.as_str())];
    house.desk.note(&who.caller, "token.create", None, &about).await?;
    Ok(Said(json!(Made { name, token, until_ms })))
}

/// A token, shown this once.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TokenMade)]
pub(super) struct Made {
    /// What it is called.
    #[schema(value_type = String)]
    name: Name,
    /// The token.
    token: String,
    /// Until when it is good, if it was made for a time.
    until_ms: Option<u64>,
}

/// A token that is useless now.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TokenRevoked)]
pub(super) struct Revoked {
    /// What it is called.
    #[schema(value_type = String)]
    name: Name,
    /// It is.
    revoked: bool,
}

/// A session.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Session)]
pub(super) struct Begun {
    /// Its token.
    token: String,
    /// Until when that is good.
    until_ms: u64,
}

/// How long the old one stays good.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rotate {
    /// A day without one.
    overlap_ms: Option<u64>,
}

/// Makes another token in the place of this one, which stays good for a while.
#[utoipa::path(
    post, path = "/tokens/{name}/rotate", tag = "tokens", params(("name" = String, Path)), request_body = Rotate, security(("token" = ["admin"])),
    responses((status = 200, body = Made)),
)]
pub(super) async fn rotate(house: State, who: Who, Path(name): Path<String>, Json(body): Json<Rotate>) -> Answered {
    everywhere(&who)?;
    let (name, keys): (Name, _) = (id(&name)?, Arc::clone(&house.0));
    let (of, overlap_ms) = (name.clone(), body.overlap_ms.unwrap_or(OVERLAP_MS));
    let made =
        blocking(move || keys.keys.change(|tokens| tokens.rotate(&of, rand::random(), overlap_ms, time::now_ms())));
    let token = made.await?.ok_or_else(|| missing(&name))?;
    house.desk.note(&who.caller, "token.rotate", None, &[("name", name.as_str())]).await?;
    Ok(Said(json!(Made { name, token, until_ms: None })))
}

/// Nothing to say.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// Makes a token useless, at once.
#[utoipa::path(
    post, path = "/tokens/{name}/revoke", tag = "tokens", params(("name" = String, Path)), request_body = Nothing, security(("token" = ["admin"])),
    responses((status = 200, body = Revoked)),
)]
pub(super) async fn revoke(house: State, who: Who, Path(name): Path<String>, Json(_none): Json<Nothing>) -> Answered {
    everywhere(&who)?;
    let (name, keys): (Name, _) = (id(&name)?, Arc::clone(&house.0));
    let of = name.clone();
    let revoked = blocking(move || keys.keys.change(|tokens| tokens.revoke(&of)));
    if !revoked.await? {
        return Err(missing(&name).into());
    }
    house.desk.note(&who.caller, "token.revoke", None, &[("name", name.as_str())]).await?;
    Ok(Said(json!(Revoked { name, revoked: true })))
}

/// A one-time code from `relaymesh open`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OneTime {
    /// It is good once, for a minute.
    code: String,
}

/// Begins a session with a one-time code: a token that is good for twelve hours and nowhere kept.
#[utoipa::path(post, path = "/session", tag = "tokens", request_body = OneTime, security(()), responses((status = 200, body = Begun)))]
pub(super) async fn exchange(house: State, came: Came, Json(body): Json<OneTime>) -> Answered {
    let keys = Arc::clone(&house.0);
    let begun = blocking(move || Ok(keys.keys.begin(&body.code))).await?;
    let refused = || Error::new(Code::NoToken, "the code is not good").hint("`relaymesh open` gives another");
    let (token, until_ms) = begun.ok_or_else(refused)?;
    let name = |text: &str| text.parse::<Name>().map_err(|error| Error::new(Code::Internal, error.to_string()));
    let caller = Caller { author: name("console")?, source: name("http")?, via: Some(came.0), asked_in: None };
    house.desk.note(&caller, "session.begin", None, &[]).await?;
    Ok(Said(json!(Begun { token, until_ms })))
}

/// Tokens are for all namespaces: whoever is not could make one that is.
pub(super) fn everywhere(who: &Principal) -> Result<(), Error> {
    match &who.grant.namespaces {
        None => Ok(()),
        Some(_) => Err(Error::new(Code::Forbidden, "tokens are for all namespaces, and this one is not")),
    }
}

fn missing(name: &Name) -> Error {
    Error::new(Code::NoToken, format!("there is no token `{name}`"))
}
