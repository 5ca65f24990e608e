//! Locks: who holds what, and until when.

use super::{Answered, State, Who, unexpected};
use crate::{
    error::{Code, Error},
    http::json::{self, Json, Query, Said},
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
    /// Namespace.
    #[param(value_type = Option<String>)]
    namespace: Option<Name>,
}

/// Lists the locks of a namespace.
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

/// Request for a lock.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Acquire {
    /// Namespace.
    #[schema(value_type = Option<String>)]
    namespace: Option<Name>,
    /// Repository.
    repository: Option<String>,
    /// Key, or path glob with `*`, `?` and `**`.
    key: String,
    /// Shared mode: does not conflict with other shared locks.
    #[serde(default)]
    shared: bool,
    /// Match case-insensitively.
    #[serde(default)]
    fold_case: bool,
    /// Holder; by default, the name of the token.
    #[schema(value_type = Option<String>)]
    holder: Option<Name>,
    /// Token of a held lock, to renew it or to change its mode.
    #[schema(value_type = Option<String>)]
    token: Option<LeaseToken>,
    /// Duration of the lock, in milliseconds.
    #[serde(default, alias = "ttl", deserialize_with = "json::duration")]
    #[schema(value_type = Option<json::Millis>)]
    ttl_ms: Option<u64>,
    /// Purpose, shown in lists.
    purpose: Option<String>,
}

/// Acquires a lock. Send `held` back to renew or release it.
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

/// A held lock.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Held {
    /// Namespace.
    #[schema(value_type = Option<String>)]
    namespace: Option<Name>,
    /// Repository.
    repository: Option<String>,
    /// `TOKEN:FENCE` from the answer to the acquire.
    held: String,
    /// Duration from now, in milliseconds (only for renew).
    #[serde(default, alias = "ttl", deserialize_with = "json::duration")]
    #[schema(value_type = Option<json::Millis>)]
    ttl_ms: Option<u64>,
}

/// Extends a lock.
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

/// Releases a lock.
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
