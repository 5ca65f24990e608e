//! Agents: who there is, and how one that connects by itself is let in (R22).

use super::{Answered, Came, State, Who, unexpected};
use crate::{
    error::{Code, Error},
    http::{
        desk::blocking,
        json::{Json, Said},
    },
    view::agent,
};
use relaymesh_core::{name::Name, namespace::DEFAULT};
use relaymesh_runtime::driver::Caller;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use utoipa::ToSchema;

/// How long the token of an agent is good; it registers again before that.
const TOKEN_MS: u64 = 24 * 3_600_000;

/// Lists all agents. A token for some namespaces sees no commands, addresses and reasons of holds.
#[utoipa::path(get, path = "/agents", tag = "agents", security(("token" = ["ro"])), responses((status = 200, body = agent::All)))]
pub(super) async fn list(house: State, who: Who) -> Answered {
    let (agents, root) = ((house.desk.agents)(), house.desk.root.clone());
    let mut found = blocking(move || Ok(agent::list(&agents, &root))).await?;
    if who.grant.namespaces.is_some() {
        found.iter_mut().for_each(agent::Shown::narrow);
    }
    Ok(Said(json!(agent::All { agents: found })))
}

/// Registration of an agent.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AgentRegistration)]
#[serde(deny_unknown_fields)]
pub(super) struct Register {
    /// Name of the agent, whose messages it receives.
    #[schema(value_type = String)]
    agent: Name,
    /// The registration token, from `relaymesh agent token create`.
    registration_token: String,
    /// Namespace; by default, `default`.
    #[schema(value_type = Option<String>)]
    namespace: Option<Name>,
}

/// Answer to a registration.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RegisteredAgent)]
pub(super) struct Registered {
    /// Name.
    #[schema(value_type = String)]
    agent: Name,
    /// Namespace.
    #[schema(value_type = String)]
    namespace: Name,
    /// The token.
    token: String,
    /// Expiry, in milliseconds since 1970.
    until_ms: u64,
}

/// Registers an agent with the registration token. The answer has a token, valid for a day, for taking and answering its messages.
/// Registering again in the same namespace replaces that token and no other one.
#[utoipa::path(post, path = "/agents/register", tag = "agents", request_body = Register, security(()), responses((status = 200, body = Registered)))]
pub(super) async fn register(house: State, came: Came, Json(body): Json<Register>) -> Answered {
    // The hints of the code are about another door.
    let refused = || Error {
        over_http: vec![
            "`registration_token` is the token of `relaymesh agent token create`, run on the daemon's machine"
                .to_owned(),
            "one that was replaced with `relaymesh agent token rotate` is valid for a while only".to_owned(),
        ],
        ..Error::new(Code::NotAuthenticated, "the registration token is not valid")
    };
    let (house, agent) = (house.0, body.agent);
    let (shown, keys) = (body.registration_token, Arc::clone(&house));
    let is_good = blocking(move || keys.keys.may_register(&shown)).await?;
    if !is_good {
        return Err(refused().into());
    }
    let default = || DEFAULT.parse().map_err(|_| unexpected());
    let namespace = body.namespace.map_or_else(default, Ok)?;
    let (keys, now_ms) = (Arc::clone(&house), house.keys.now_ms());
    let (whose, place) = (agent.clone(), namespace.clone());
    let made =
        blocking(move || keys.keys.change(|tokens| tokens.register(&whose, &place, TOKEN_MS, rand::random(), now_ms)));
    let taken = || {
        let message = format!("other tokens have the names that a token of agent `{agent}` can have");
        Error::new(Code::Refused, message).hint("`relaymesh token list` shows them")
    };
    let (name, token) = made.await?.ok_or_else(taken)?;
    let until_ms = now_ms + TOKEN_MS;
    let source: Name = "http".parse().map_err(|_| unexpected())?;
    let caller = Caller { author: name, source, via: Some(came.0), asked_in: None };
    house.desk.note(&caller, "agent.register", Some(&namespace), &[("agent", agent.as_str())]).await?;
    Ok(Said(json!(Registered { agent, namespace, token, until_ms })))
}
