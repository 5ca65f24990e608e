//! Failed tasks and messages: list, show, retry, purge.

use super::{Answered, State, Who, id, unexpected};
use crate::{
    error::{Code, Error},
    http::{
        json::{Json, Query, Said},
        problem::{self, Problem},
        query::{Position, Whole},
        stream::Documents,
    },
    view::dead::{self, Dead, Selection, What},
};
use axum::{extract::Path, response::Response};
use relaymesh_core::{
    id::{MessageId, TaskId, ThreadId},
    name::Name,
    op::Scope,
};
use relaymesh_runtime::driver::{Answer, Command, LifeCommand, MessageCommand};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeSet;
use tokio::sync::oneshot;
use utoipa::{IntoParams, ToSchema};

/// Dead letters in one answer, and in one redrive or purge.
const PAGE_MAX: usize = 1_000;
/// Ids in one address.
const NAMED_MAX: usize = 200;

/// Which of them.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    /// Namespace.
    #[param(value_type = Option<String>)]
    namespace: Option<Name>,
    /// Only tasks in which this agent failed, and messages to it.
    #[param(value_type = Option<String>)]
    agent: Option<Name>,
    /// Only tasks of this flow.
    #[param(value_type = Option<String>)]
    flow: Option<Name>,
    /// Only failures at or after this time, in milliseconds since 1970.
    #[param(value_type = Option<u64>)]
    since_ms: Option<Position>,
    /// Only failures before this time, in milliseconds since 1970.
    #[param(value_type = Option<u64>)]
    before_ms: Option<Position>,
    /// Ids of tasks, messages, or threads (for all their failed messages), separated by commas; at most 200.
    ids: Option<String>,
}

/// Lists failed tasks and messages, oldest submit first; at most 1000.
#[utoipa::path(get, path = "/dead", tag = "dead letters", params(ListQuery), security(("token" = ["ro"])), responses((status = 200, body = dead::All)))]
pub(super) async fn list(house: State, who: Who, Query(query): Query<ListQuery>) -> Answered {
    let ListQuery { namespace, agent, flow, since_ms, before_ms, ids } = query;
    let [since_ms, before_ms] = [since_ms, before_ms].map(|at| at.map(|Whole(at_ms)| at_ms));
    let ids: Vec<String> = ids.iter().flat_map(|ids| ids.split(',')).map(str::to_owned).collect();
    if ids.len() > NAMED_MAX {
        return Err(too_many(ids.len(), NAMED_MAX).into());
    }
    let (found, total) = find(&house, &who, namespace, ids, Selection { agent, flow, since_ms, before_ms }).await?;
    Ok(Said(json!(dead::All { dead: found.into_iter().take(PAGE_MAX).map(Dead::shown).collect(), total })))
}

/// Shows a failed task or message with all details. For a thread, shows all its failed messages.
#[utoipa::path(
    get, path = "/dead/{id}", tag = "dead letters", params(("id" = String, Path, description = "a task, a message or a thread")),
    security(("token" = ["ro"])), responses((status = 200, body = dead::Documents)),
)]
pub(super) async fn show(house: State, who: Who, Path(named): Path<String>) -> Result<Response, Problem> {
    let (found, _) = find(&house, &who, None, vec![named], Selection::default()).await?;
    let documents = found.into_iter().map(|dead| dead.what.document()).collect();
    Ok(Documents::within("{\"documents\":[", documents, "]}").answer(&house.desk).await?)
}

/// Selection: by ids, by filters, or all.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = DeadLetterSelection)]
#[serde(deny_unknown_fields)]
pub(super) struct Chosen {
    /// Namespace.
    #[schema(value_type = Option<String>)]
    namespace: Option<Name>,
    /// Ids of tasks, messages, or threads (for all their failed messages).
    #[serde(default)]
    ids: Vec<String>,
    /// Only tasks in which this agent failed.
    #[schema(value_type = Option<String>)]
    agent: Option<Name>,
    /// Only tasks of this flow.
    #[schema(value_type = Option<String>)]
    flow: Option<Name>,
    /// Only failures at or after this time, in milliseconds since 1970.
    since_ms: Option<u64>,
    /// Only failures before this time, in milliseconds since 1970.
    before_ms: Option<u64>,
    /// Select all of the namespace.
    #[serde(default)]
    all: bool,
    /// Reason, recorded on the log.
    reason: Option<String>,
}

/// Retries failed tasks and messages. If one cannot be retried, the others still are.
#[utoipa::path(post, path = "/dead/redrive", tag = "dead letters", request_body = Chosen, security(("token" = ["rw"])), responses((status = 200, body = dead::Outcome)))]
pub(super) async fn redrive(house: State, who: Who, Json(chosen): Json<Chosen>) -> Answered {
    let reason = chosen.reason.clone().unwrap_or_else(|| "tried again over HTTP".to_owned());
    let found = chosen.find(&house, &who).await?;
    let commands = found.into_iter().map(|what| {
        let reason = reason.clone();
        let command = match what {
            What::Task(task) => Command::Redrive { task, reason },
            What::Message(thread, message) => Command::Message(MessageCommand::Redrive { thread, message, reason }),
        };
        (what, command)
    });
    all(&house, &who, commands.collect()).await
}

/// Purges failed tasks and messages. A message is purged with its whole thread.
#[utoipa::path(post, path = "/dead/purge", tag = "dead letters", request_body = Chosen, security(("token" = ["admin"])), responses((status = 200, body = dead::Outcome)))]
pub(super) async fn purge(house: State, who: Who, Json(chosen): Json<Chosen>) -> Answered {
    let found = chosen.find(&house, &who).await?;
    let mut seen = BTreeSet::new();
    let commands = found.into_iter().filter_map(|what| {
        let scope = match what {
            What::Task(task) => Scope::Task(task),
            What::Message(thread, _) => Scope::Thread(thread),
        };
        seen.insert(scope).then_some((what, Command::Life(LifeCommand::Purge { scope })))
    });
    all(&house, &who, commands.collect()).await
}

impl Chosen {
    async fn find(self, house: &State, who: &Who) -> Result<Vec<What>, Error> {
        let Self { namespace, ids, agent, flow, since_ms, before_ms, all, .. } = self;
        let selection = Selection { agent, flow, since_ms, before_ms };
        if ids.is_empty() && !all && selection == Selection::default() {
            let error = Error::new(Code::Usage, "nothing is selected");
            return Err(error.hint("give ids, agent, flow, since_ms or before_ms, or all"));
        }
        if ids.len() > PAGE_MAX {
            return Err(too_many(ids.len(), PAGE_MAX));
        }
        let (found, _) = find(house, who, namespace, ids, selection).await?;
        Ok(found.into_iter().map(|dead| dead.what).take(PAGE_MAX).collect())
    }
}

/// What is meant, in the order in which it was submitted or sent, and how many there are: without ids, the first thousand. What has an id is looked for in every namespace that the token is for, unless
/// one is named; and what is not there, or not for the token, is not found.
async fn find(
    house: &State,
    who: &Who,
    namespace: Option<Name>,
    ids: Vec<String>,
    selection: Selection,
) -> Result<(Vec<Dead>, usize), Error> {
    if ids.is_empty() {
        let namespace = who.namespace(namespace)?;
        return house.desk.readers.read(move |reader| selection.first(reader, &namespace, PAGE_MAX, &mut |_| {})).await;
    }
    if let Some(namespace) = &namespace {
        who.check(namespace)?;
    }
    let who = who.0.clone();
    let found = house.desk.readers.read(move |reader| {
        // Only whole ids: a part of one could tell what there is elsewhere.
        let is_whole = |text: &&String| {
            text.parse::<TaskId>().is_ok() || text.parse::<MessageId>().is_ok() || text.parse::<ThreadId>().is_ok()
        };
        if let Some(part) = ids.iter().find(|text| !is_whole(text)) {
            return Err(id::<TaskId>(part).err().unwrap_or_else(unexpected));
        }
        let mut found = dead::named(reader, &ids, &mut |_| {}).map_err(|error| match &who.grant.namespaces {
            // How something stands that the token is not for is nobody's business.
            Some(_) => Error::new(Code::NoTask, "some of it does not exist"),
            None => error,
        })?;
        found.sort_by_key(|dead| dead.pos);
        let is_there = |dead: &Dead| {
            who.grant.admits(&dead.namespace) && namespace.as_ref().is_none_or(|namespace| *namespace == dead.namespace)
        };
        match found.iter().find(|dead| !is_there(dead)) {
            Some(dead) => Err(Error::new(Code::NoTask, format!("there is no {} in this root", dead.what.id()))),
            None => {
                let total = found.len();
                Ok((found, total))
            }
        }
    });
    found.await
}

fn too_many(found: usize, max: usize) -> Error {
    Error::new(Code::Usage, format!("{found} ids are too many; the maximum is {max}"))
}

/// Gives all commands without waiting in between, and tells what became of each.
async fn all(house: &State, who: &Who, commands: Vec<(What, Command)>) -> Answered {
    let mut waiting = Vec::with_capacity(commands.len());
    for (what, command) in commands {
        let (reply, answer) = oneshot::channel::<Result<Answer, Error>>();
        house.desk.send(&who.caller, command, move |result| drop(reply.send(result))).await?;
        waiting.push((what, answer));
    }
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for (what, answer) in waiting {
        match answer.await.unwrap_or_else(|_| Err(Error::new(Code::Stopping, "the node is stopping"))) {
            Ok(_) => done.push(what.ids()),
            Err(error) => failed.push(dead::Failed { ids: what.ids(), error: problem::to_json(&error) }),
        }
    }
    Ok(Said(json!(dead::Outcome { done, failed })))
}
