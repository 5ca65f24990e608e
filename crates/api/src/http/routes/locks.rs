//! Locks: who holds what, and until when.

use super::{Answered, State, Who, unexpected};
use crate::{
    error::{Code, Error},
    http::json::{self, Json, Query, Said},
    view::lock,
};
use relaymesh_core::{
    id::LeaseToken,
    lock::{Case, Key, Mode, RepositoryName, Work},
    name::Name,
    op::HeldLock,
};
use relaymesh_runtime::driver::{Answer, Command, LockCommand};
use serde::Deserialize;
use serde_json::json;
use utoipa::{IntoParams, ToSchema};

/// Locks in one answer.
const PAGE_MAX: usize = 5_000;

/// Of which namespace.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    /// Namespace.
    #[param(value_type = Option<String>)]
    namespace: Option<Name>,
}

/// Lists the locks of a namespace; at most 5000.
#[utoipa::path(get, path = "/locks", tag = "locks", params(ListQuery), security(("token" = ["ro", "agent"])), responses((status = 200, body = lock::All)))]
pub(super) async fn list(house: State, who: Who, Query(query): Query<ListQuery>) -> Answered {
    let namespace = who.namespace(query.namespace)?;
    let found = house.desk.readers.read(move |reader| {
        let (mut locks, mut total) = (Vec::new(), 0);
        lock::each(reader, &namespace, |repository, held| {
            total += 1;
            if locks.len() < PAGE_MAX {
                locks.push(lock::shown(repository, held));
            }
        })?;
        Ok(lock::All { locks, total })
    });
    Ok(Said(json!(found.await?)))
}

/// Request for a lock.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = LockRequest)]
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
    /// Duration of the lock, in milliseconds; excludes `for`.
    #[serde(default, alias = "ttl", deserialize_with = "json::duration")]
    ttl_ms: Option<u64>,
    /// What the lock is for: 30 seconds for `edit` (the default), 5 minutes for `long`.
    r#for: Option<LockFor>,
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
        ttl_ms: ttl_ms(asked.ttl_ms, asked.r#for)?,
        purpose: asked.purpose.unwrap_or_default(),
    };
    told(house.desk.ask(&who.caller, Command::Lock(command)).await?)
}

/// A held lock, to renew or to release.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = LockProof)]
#[serde(deny_unknown_fields)]
pub(super) struct Held {
    /// Namespace.
    #[schema(value_type = Option<String>)]
    namespace: Option<Name>,
    /// Repository.
    repository: Option<String>,
    /// `TOKEN:FENCE` from the answer to the acquire.
    held: String,
    /// Duration from now, in milliseconds (only for renew); excludes `for`.
    #[serde(default, alias = "ttl", deserialize_with = "json::duration")]
    ttl_ms: Option<u64>,
    /// What the lock is for (only for renew): 30 seconds for `edit` (the default), 5 minutes for `long`.
    r#for: Option<LockFor>,
}

/// Extends a lock.
#[utoipa::path(post, path = "/locks/renew", tag = "locks", request_body = Held, security(("token" = ["rw", "agent"])), responses((status = 200, body = lock::Held)))]
pub(super) async fn renew(house: State, who: Who, Json(asked): Json<Held>) -> Answered {
    let command = LockCommand::Renew {
        namespace: who.namespace(asked.namespace)?,
        repository: repository(asked.repository.as_deref())?,
        held: held(&asked.held)?,
        ttl_ms: ttl_ms(asked.ttl_ms, asked.r#for)?,
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

/// What a lock is for; decides how long it lasts.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum LockFor {
    /// An edit: 30 seconds.
    Edit,
    /// Long work: 5 minutes.
    Long,
}

/// How long a lock lasts (V1).
fn ttl_ms(said: Option<u64>, work: Option<LockFor>) -> Result<u64, Error> {
    match (said, work) {
        (Some(_), Some(_)) => Err(Error::new(Code::Usage, "give `ttl_ms` or `for`, not both")),
        (Some(ttl_ms), None) => Ok(ttl_ms),
        (None, Some(LockFor::Long)) => Ok(Work::Long.ttl_ms()),
        (None, Some(LockFor::Edit) | None) => Ok(Work::Edit.ttl_ms()),
    }
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
