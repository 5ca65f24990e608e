//! Locks: who holds what, and until when.

use super::{Answered, State, Who, unexpected};
use crate::{
    error::{Code, Error},
    http::json::{Json, Query, Said},
    view::lock,
};
use relaymesh_core::{
    id::LeaseToken,
    lock::{Case, Key, Mode, RepositoryName},
    name::Name,
    op::HeldLock,
};
use relaymesh_runtime::driver::{Answer, Command, LockCommand};
use serde::Deserialize;
use serde_json::json;
use utoipa::{IntoParams, ToSchema};

/// For how long, if nobody says (V1).
const EDIT_TTL_MS: u64 = 30_000;

/// Of which namespace.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    /// Of this one.
    #[param(value_type = Option<String>)]
    namespace: Option<Name>,
}

/// Every lock of a namespace.
#[utoipa::path(get, path = "/locks", tag = "locks", params(ListQuery), security(("token" = ["ro", "agent"])), responses((status = 200, body = lock::All)))]
pub(super) async fn list(house: State, who: Who, Query(query): Query<ListQuery>) -> Answered {
    let namespace = who.namespace(query.namespace)?;
    let found = house.desk.readers.read(move |reader| {
        let mut found = Vec::new();
        lock::each(reader, &namespace, |repository, held| found.push(lock::shown(repository, held)))?;
        Ok(found)
    });
    Ok(Said(json!(lock::All { locks: found.await? })))
}

/// A lock to be taken.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Acquire {
    /// The team or project it belongs to.
    #[schema(value_type = Option<String>)]
    namespace: Option<Name>,
    /// In which repository.
    repository: Option<String>,
    /// A key, or a path glob with `*`, `?` and `**`.
    key: String,
    /// Beside others that are shared, too.
    #[serde(default)]
    shared: bool,
    /// Take upper and lower case for one.
    #[serde(default)]
    fold_case: bool,
    /// For whom; without one, for the name of the token.
    #[schema(value_type = Option<String>)]
    holder: Option<Name>,
    /// The token of a lock that is held, to renew it or to change its mode.
    #[schema(value_type = Option<String>)]
    token: Option<LeaseToken>,
    /// For how long.
    ttl_ms: Option<u64>,
    /// What for, for people.
    purpose: Option<String>,
}

/// Takes a lock. `held` is shown when it is renewed or given back.
#[utoipa::path(post, path = "/locks", tag = "locks", request_body = Acquire, security(("token" = ["rw", "agent"])), responses((status = 200, body = lock::Held)))]
pub(super) async fn acquire(house: State, who: Who, Json(asked): Json<Acquire>) -> Answered {
    let holder = asked.holder.unwrap_or_else(|| who.grant.agent.clone().unwrap_or_else(|| who.caller.author.clone()));
    who.check_agent(&holder)?;
    let command = LockCommand::Acquire {
        namespace: who.namespace(asked.namespace)?,
        repository: repository(asked.repository.as_deref())?,
        key: asked.key.parse::<Key>().map_err(usage)?,
        mode: if asked.shared { Mode::Shared } else { Mode::Exclusive },
        case: if asked.fold_case { Case::Folded } else { Case::Sensitive },
        holder,
        token: asked.token,
        ttl_ms: asked.ttl_ms.unwrap_or(EDIT_TTL_MS),
        purpose: asked.purpose.unwrap_or_default(),
    };
    told(house.desk.ask(&who.caller, Command::Lock(command)).await?)
}

/// A lock that is held.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Held {
    /// The team or project it belongs to.
    #[schema(value_type = Option<String>)]
    namespace: Option<Name>,
    /// In which repository.
    repository: Option<String>,
    /// `TOKEN:FENCE`, as it was given.
    held: String,
    /// For how long from now (renew alone).
    ttl_ms: Option<u64>,
}

/// Keeps a lock longer.
#[utoipa::path(post, path = "/locks/renew", tag = "locks", request_body = Held, security(("token" = ["rw", "agent"])), responses((status = 200, body = lock::Held)))]
pub(super) async fn renew(house: State, who: Who, Json(asked): Json<Held>) -> Answered {
    let command = LockCommand::Renew {
        namespace: who.namespace(asked.namespace)?,
        repository: repository(asked.repository.as_deref())?,
        held: held(&asked.held)?,
        ttl_ms: asked.ttl_ms.unwrap_or(EDIT_TTL_MS),
    };
    told(house.desk.ask(&who.caller, Command::Lock(command)).await?)
}

/// Gives a lock back.
#[utoipa::path(post, path = "/locks/release", tag = "locks", request_body = Held, security(("token" = ["rw", "agent"])), responses((status = 200, body = lock::Released)))]
pub(super) async fn release(house: State, who: Who, Json(asked): Json<Held>) -> Answered {
    let command = LockCommand::Release {
        namespace: who.namespace(asked.namespace)?,
        repository: repository(asked.repository.as_deref())?,
        held: held(&asked.held)?,
    };
    told(house.desk.ask(&who.caller, Command::Lock(command)).await?)
}

fn repository(named: Option<&str>) -> Result<RepositoryName, Error> {
    named.unwrap_or_default().parse().map_err(usage)
}

fn held(text: &str) -> Result<HeldLock, Error> {
    lock::held(text).map_err(usage)
}

fn usage(error: impl std::fmt::Display) -> Error {
    Error::new(Code::Usage, error.to_string().chars().filter(|c| !c.is_control()).take(200).collect::<String>())
}

fn told(answer: Answer) -> Answered {
    if let Answer::Locked { held, deadline_ms } = answer {
        return Ok(Said(json!(lock::Held::new(held, deadline_ms))));
    }
    if answer == Answer::Released {
        Ok(Said(json!(lock::Released { released: true })))
    } else {
        Err(unexpected().into())
    }
}
