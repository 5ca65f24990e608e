//! Tokens with names, as far as they may be shown.

use crate::error::{Code, Error};
use relaymesh_core::name::Name;
use relaymesh_runtime::token::{AGENT_PREFIX, Grant, Kept, Named, Scope, Tokens};
use serde_json::{Value, json};

/// Every token: what it may do, where, and until when.
pub fn to_json(tokens: &Tokens, now_ms: u64) -> Vec<Value> {
    let shown = tokens.tokens.iter().map(|(name, token)| {
        let Named { grant, made_ms, until_ms, pair } = token;
        let is_good = |until_ms: Option<u64>| until_ms.is_none_or(|until_ms| now_ms < until_ms);
        let previous = pair.previous.filter(|kept: &Kept| is_good(kept.until_ms));
        json!({
            "name": name, "scope": grant.scope, "namespaces": grant.namespaces, "agent": grant.agent, "made_ms": made_ms,
            "until_ms": until_ms, "good": is_good(*until_ms), "rotated_ms": pair.current.map(|kept| kept.made_ms),
            "previous_until_ms": previous.and_then(|kept| kept.until_ms),
        })
    });
    shown.collect()
}

/// Whether such a token makes sense, and may have this name.
pub fn check(name: &Name, grant: &Grant) -> Result<(), Error> {
    if name.as_str().starts_with(AGENT_PREFIX) {
        let message = format!("a name that begins with `{AGENT_PREFIX}` is for the token of an agent that registers");
        return Err(Error::new(Code::Usage, message).hint("choose another name"));
    }
    match (grant.scope, &grant.agent) {
        (Scope::Agent, None) => Err(Error::new(Code::Usage, "a token with the scope `agent` needs an agent")),
        (Scope::Ro | Scope::Rw | Scope::Admin, Some(_)) => {
            Err(Error::new(Code::Usage, "only a token with the scope `agent` can have an agent"))
        }
        (Scope::Agent, Some(_)) | (Scope::Ro | Scope::Rw | Scope::Admin, None) => match &grant.namespaces {
            Some(none) if none.is_empty() => Err(Error::new(Code::Usage, "a token needs at least one namespace")),
            Some(_) | None => Ok(()),
        },
    }
}
