//! Tokens: create, rotate, revoke; and the exchange of a one-time code.

use super::{Answered, Came, State, Who, id};
use crate::{
    error::{Code, Error},
    http::{
        desk::blocking,
        json::{self, Json, Said},
        principal::Principal,
    },
    view::{schema::TokenList, token},
};
use axum::extract::Path;
use relaymesh_core::{canonical, name::Name};
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

/// Lists tokens with their scope, namespaces and expiry. The tokens themselves are not stored.
#[utoipa::path(get, path = "/tokens", tag = "tokens", security(("token" = ["admin"])), responses((status = 200, body = TokenList)))]
pub(super) async fn list(house: State, who: Who) -> Answered {
    everywhere(&who)?;
    let house = house.0;
    let now_ms = house.keys.now_ms();
    let tokens = blocking(move || house.keys.named()).await?;
    Ok(Said(json!({ "tokens": token::to_json(&tokens, now_ms) })))
}

/// A token to create.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewToken)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    /// Name of the token: the author of every write made with it.
    #[schema(value_type = String)]
    name: Name,
    /// Scope: `ro`, `rw`, `admin` or `agent`.
    #[schema(value_type = String)]
    scope: Scope,
    /// Namespaces in which it is valid; by default, all.
    #[schema(value_type = Option<Vec<String>>)]
    namespaces: Option<Vec<Name>>,
    /// Agent; only with the scope `agent`.
    #[schema(value_type = Option<String>)]
    agent: Option<Name>,
    /// Lifetime in milliseconds; by default, unlimited.
    #[serde(default, alias = "ttl", deserialize_with = "json::duration")]
    ttl_ms: Option<u64>,
}

/// Creates a token; the answer is the only place where it is shown.
#[utoipa::path(post, path = "/tokens", tag = "tokens", request_body = Create, security(("token" = ["admin"])), responses((status = 200, body = Made)))]
pub(super) async fn create(house: State, who: Who, Json(body): Json<Create>) -> Answered {
    everywhere(&who)?;
    let grant = Grant { scope: body.scope, namespaces: body.namespaces, agent: body.agent };
    token::check(&body.name, &grant)?;
    let (now_ms, name, keys) = (house.0.keys.now_ms(), body.name, Arc::clone(&house.0));
    let until_ms = body.ttl_ms.map(|ttl_ms| now_ms.saturating_add(ttl_ms).min(canonical::MAX_SAFE_INTEGER));
    let (made_name, scope) = (name.clone(), grant.scope);
    let made =
        blocking(move || keys.keys.change(|tokens| tokens.create(made_name, grant, until_ms, rand::random(), now_ms)));
    let Some(token) = made.await? else {
        return Err(Error::new(Code::Refused, format!("a token `{name}` already exists")).into());
    };
    let about = [("name", name.as_str()), ("scope", scope.as_str())];
    house.desk.note(&who.caller, "token.create", None, &about).await?;
    Ok(Said(json!(Made { name, token, until_ms })))
}

/// A new token, which is shown only once.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CreatedToken)]
pub(super) struct Made {
    /// Name.
    #[schema(value_type = String)]
    name: Name,
    /// The token.
    token: String,
    /// Expiry, in milliseconds since 1970, if any.
    until_ms: Option<u64>,
}

/// Answer to a revocation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RevokedToken)]
pub(super) struct Revoked {
    /// Name.
    #[schema(value_type = String)]
    name: Name,
    /// Always `true`.
    revoked: bool,
}

/// A session: a token for twelve hours.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Session)]
pub(super) struct Begun {
    /// The token.
    token: String,
    /// Expiry, in milliseconds since 1970.
    until_ms: u64,
}

/// Rotation of a token.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = TokenRotation)]
#[serde(deny_unknown_fields)]
pub(super) struct Rotate {
    /// Time for which the old token stays valid, in milliseconds; by default, one day.
    #[serde(default, alias = "overlap", deserialize_with = "json::duration")]
    overlap_ms: Option<u64>,
}

/// Replaces a token; the old one stays valid for a while.
#[utoipa::path(
    post, path = "/tokens/{name}/rotate", tag = "tokens", params(("name" = String, Path)), request_body = Rotate, security(("token" = ["admin"])),
    responses((status = 200, body = Made)),
)]
pub(super) async fn rotate(house: State, who: Who, Path(name): Path<String>, Json(body): Json<Rotate>) -> Answered {
    everywhere(&who)?;
    let (name, keys): (Name, _) = (id(&name)?, Arc::clone(&house.0));
    // As a time, it is no longer than a number that every program keeps.
    let overlap_ms = body.overlap_ms.unwrap_or(OVERLAP_MS).min(canonical::MAX_SAFE_INTEGER / 2);
    let of = name.clone();
    let made =
        blocking(move || keys.keys.change(|tokens| tokens.rotate(&of, rand::random(), overlap_ms, keys.keys.now_ms())));
    let token = made.await?.ok_or_else(|| missing(&name))?;
    house.desk.note(&who.caller, "token.rotate", None, &[("name", name.as_str())]).await?;
    Ok(Said(json!(Made { name, token, until_ms: None })))
}

/// An empty body.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = EmptyRequest)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// Revokes a token at once.
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
#[schema(as = SessionRequest)]
#[serde(deny_unknown_fields)]
pub(super) struct OneTime {
    /// The code; valid once, for one minute.
    code: String,
}

/// Exchanges a one-time code for a token that is valid for twelve hours and stored nowhere.
#[utoipa::path(post, path = "/session", tag = "tokens", request_body = OneTime, security(()), responses((status = 200, body = Begun)))]
pub(super) async fn exchange(house: State, came: Came, Json(body): Json<OneTime>) -> Answered {
    let keys = Arc::clone(&house.0);
    let begun = blocking(move || Ok(keys.keys.begin(&body.code))).await?;
    let refused = || Error::new(Code::NoToken, "the code is not valid").hint("get another with `relaymesh open`");
    let (token, until_ms) = begun.ok_or_else(refused)?;
    let name = |text: &str| text.parse::<Name>().map_err(|error| Error::new(Code::Internal, error.to_string()));
    let caller = Caller { author: name("console")?, source: name("http")?, via: Some(came.0), asked_in: None };
    house.desk.note(&caller, "session.begin", None, &[]).await?;
    Ok(Said(json!(Begun { token, until_ms })))
}

/// Managing tokens needs a token for all namespaces, since it could create one.
fn everywhere(who: &Principal) -> Result<(), Error> {
    who.check_everywhere("managing tokens")
}

fn missing(name: &Name) -> Error {
    Error::new(Code::NoToken, format!("there is no token `{name}`"))
}
