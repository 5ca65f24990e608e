//! What came to nothing: look, try again, forget.

use super::{Answered, State, Who};
use crate::{
    error::{Code, Error},
    http::{
        json::{Json, Query, Said},
        problem,
    },
    view::dead::{self, Dead, Selection, What},
};
use relaymesh_core::{name::Name, op::Scope};
use relaymesh_runtime::driver::{Answer, Command, LifeCommand, MessageCommand};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tokio::sync::oneshot;
use utoipa::{IntoParams, ToSchema};

/// Dead letters in one answer, and in one redrive or purge.
const PAGE_MAX: usize = 1_000;

/// Which of them.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    /// Of this namespace.
    #[param(value_type = Option<String>)]
    namespace: Option<Name>,
    /// Only where this agent failed, or where a message was for it.
    #[param(value_type = Option<String>)]
    agent: Option<Name>,
    /// Only tasks of the flow with this name.
    #[param(value_type = Option<String>)]
    flow: Option<Name>,
    /// Only what died at this time or later, in milliseconds since 1970.
    since_ms: Option<u64>,
    /// Only what died before this time.
    before_ms: Option<u64>,
}

/// Tasks and messages that came to nothing, in the order in which they were submitted or sent; at most 1000.
#[utoipa::path(get, path = "/dead", tag = "dead letters", params(ListQuery), security(("token" = ["ro"])), responses((status = 200, body = Value)))]
pub(super) async fn list(house: State, who: Who, Query(query): Query<ListQuery>) -> Answered {
    let namespace = who.namespace(query.namespace)?;
    let selection =
        Selection { agent: query.agent, flow: query.flow, since_ms: query.since_ms, before_ms: query.before_ms };
    let found = house.desk.readers.read(move |reader| selection.find(reader, &namespace, &mut |_| {})).await?;
    let shown: Vec<Value> = found.iter().take(PAGE_MAX).map(Dead::to_json).collect();
    Ok(Said(json!({ "dead": shown, "total": found.len() })))
}

/// Which of them: by id, by what they have in common, or all.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Chosen {
    /// Of this namespace.
    #[schema(value_type = Option<String>)]
    namespace: Option<Name>,
    /// Tasks, messages, or threads for their messages.
    #[serde(default)]
    ids: Vec<String>,
    /// Only where this agent failed.
    #[schema(value_type = Option<String>)]
    agent: Option<Name>,
    /// Only tasks of the flow with this name.
    #[schema(value_type = Option<String>)]
    flow: Option<Name>,
    /// Only what died at this time or later.
    since_ms: Option<u64>,
    /// Only what died before this time.
    before_ms: Option<u64>,
    /// Everything of this namespace.
    #[serde(default)]
    all: bool,
    /// Why; it stands on the log.
    reason: Option<String>,
}

/// Tries again what came to nothing. One that cannot be tried again stops none of the others.
#[utoipa::path(post, path = "/dead/redrive", tag = "dead letters", request_body = Chosen, security(("token" = ["rw"])), responses((status = 200, body = Value)))]
pub(super) async fn redrive(house: State, who: Who, Json(chosen): Json<Chosen>) -> Answered {
    let reason = chosen.reason.clone().unwrap_or_else(|| "tried again over HTTP".to_owned());
    let found = find(&house, &who, chosen).await?;
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

/// Forgets what came to nothing, for good. A message goes with its whole thread.
#[utoipa::path(post, path = "/dead/purge", tag = "dead letters", request_body = Chosen, security(("token" = ["admin"])), responses((status = 200, body = Value)))]
pub(super) async fn purge(house: State, who: Who, Json(chosen): Json<Chosen>) -> Answered {
    let found = find(&house, &who, chosen).await?;
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

async fn find(house: &State, who: &Who, chosen: Chosen) -> Result<Vec<What>, Error> {
    let namespace = who.namespace(chosen.namespace)?;
    let Chosen { ids, agent, flow, since_ms, before_ms, all, .. } = chosen;
    let selection = Selection { agent, flow, since_ms, before_ms };
    if ids.is_empty() && !all && selection == Selection::default() {
        let error = Error::new(Code::Usage, "nothing is chosen");
        return Err(error.hint("give ids, agent, flow, since_ms or before_ms, or all"));
    }
    if ids.len() > PAGE_MAX {
        return Err(Error::new(Code::TooLong, format!("{} ids; at most {PAGE_MAX} are possible", ids.len())));
    }
    let found = house.desk.readers.read(move |reader| {
        let found = match &ids[..] {
            [] => selection.find(reader, &namespace, &mut |_| {})?,
            ids => dead::named(reader, ids, &mut |_| {})?,
        };
        // What is named must be of the namespace that is meant, or it is not there.
        match found.iter().find(|dead| dead.namespace != namespace) {
            Some(dead) => {
                Err(Error::new(Code::NoTask, format!("there is no {} in namespace `{namespace}`", dead.what.id())))
            }
            None => Ok(found),
        }
    });
    Ok(found.await?.into_iter().map(|dead| dead.what).take(PAGE_MAX).collect())
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
            Ok(_) => done.push(what.to_json()),
            Err(error) => {
                let mut value = what.to_json();
                value["error"] = problem::to_json(&error);
                failed.push(value);
            }
        }
    }
    Ok(Said(json!({ "done": done, "failed": failed })))
}
