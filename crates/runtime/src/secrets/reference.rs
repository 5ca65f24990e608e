//! `{"$secret": "name"}`: a secret within an input.
//!
//! Whoever may submit a task could otherwise have any secret printed by any agent, and so could an agent whose result is the next one's
//! input. So an agent is given no secret but those that its entry in `agents.toml` names.

use super::{Error, Secret, Vault};
use relaymesh_agents::{Given, Terms, config::FILE as AGENTS_FILE};
use relaymesh_core::name::Name;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The key of a reference.
pub const KEY: &str = "$secret";

/// What an attempt of this agent is given: its input, its variables, and what must be taken out of its output. `Err`: for people; another
/// attempt would find the same.
pub fn given(input: Vec<u8>, terms: &Terms, vault: &Vault) -> Result<Given, String> {
    let has_references = contains(&input, b"\"$secret\"");
    if terms.secrets.is_empty() && !has_references {
        return Ok(input.into());
    }
    let known = vault.read().map_err(|error| error.to_string())?;
    let mut used =
        Used { known, allowed: terms.secrets.values().chain(&terms.input_secrets).collect(), names: BTreeSet::new() };
    let env = terms.secrets.iter().map(|(variable, name)| Ok((variable.clone(), used.secret(name)?)));
    let env = env.collect::<Result<Vec<_>, String>>()?;
    let stdin = if has_references { used.resolved(&input)? } else { None };
    let secrets = used.names.iter().filter_map(|name| used.known.get(name).cloned()).collect();
    Ok(Given { input, stdin, env, secrets })
}

struct Used<'a> {
    known: BTreeMap<Name, Secret>,
    allowed: BTreeSet<&'a Name>,
    names: BTreeSet<Name>,
}

impl Used<'_> {
    fn secret(&mut self, name: &Name) -> Result<Secret, String> {
        if !self.allowed.contains(name) {
            return Err(format!(
                "the input refers to the secret `{name}`, which `input_secrets` of this agent in {AGENTS_FILE} does not allow"
            ));
        }
        let secret = self.known.get(name).cloned();
        self.names.insert(name.clone());
        secret.ok_or_else(|| format!("{}; set it with `relaymesh secret set {name}`", Error::Missing(name.clone())))
    }

    /// The input with secrets in the place of their references; `None` when there are no references after all.
    fn resolved(&mut self, input: &[u8]) -> Result<Option<Secret>, String> {
        let Ok(mut value) = serde_json::from_slice::<Value>(input) else { return Ok(None) };
        let found = self.replace(&mut value)?;
        Ok(found.then(|| Secret::new(value.to_string())))
    }

    fn replace(&mut self, value: &mut Value) -> Result<bool, String> {
        let mut found = false;
        match value {
            Value::Array(values) => {
                for value in values {
                    found |= self.replace(value)?;
                }
            }
            Value::Object(object) if object.contains_key(KEY) => {
                let name = object.get(KEY).and_then(Value::as_str).filter(|_| object.len() == 1);
                let name = name.and_then(|name| name.parse::<Name>().ok());
                let name = name.ok_or_else(|| {
                    "a reference to a secret must be {\"$secret\": \"name\"} without other keys".to_owned()
                })?;
                *value = Value::from(self.secret(&name)?.expose());
                found = true;
            }
            Value::Object(object) => {
                for value in object.values_mut() {
                    found |= self.replace(value)?;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        Ok(found)
    }
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|window| window == wanted)
}
