//! `relaymesh token`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    link::{self, Missing},
    output, root, time,
};
use clap::Subcommand;
use relaymesh_api::view::token;
use relaymesh_core::name::Name;
use relaymesh_runtime::{
    driver::Command as DriverCommand,
    root_clock::RootClock,
    token::{Grant, NAMED_FILE, Scope, Tokens},
};
use serde_json::json;
use std::io;

const EXAMPLES: &str = "\
Examples:
  relaymesh token create ci --scope rw --for team-a    create a token and print it once
  relaymesh token create watcher --scope ro --ttl 30d
  relaymesh token list                                 list tokens with their scope and expiry
  relaymesh token rotate ci --overlap 24h              replace it; the old one stays valid for a day
  relaymesh token revoke ci                            revoke it at once

The HTTP API needs a token; the first one is in http-token in the root. Commands on this machine use
the local socket and need no token.
Scopes: ro reads; rw also submits and changes tasks; admin also changes settings and tokens, and
purges; agent acts for one agent.";

/// Manage tokens for the HTTP API
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    /// Create a token and print it once
    #[command(after_help = EXAMPLES)]
    Create {
        /// Name of the token: the author of every write made with it
        name: Name,
        /// Scope: ro, rw, admin or agent
        #[arg(long, value_name = "SCOPE")]
        scope: Scope,
        /// Namespace in which it is valid (repeatable) [default: all]
        #[arg(long = "for", value_name = "NS")]
        namespaces: Vec<Name>,
        /// Agent, for the scope `agent`
        #[arg(long, value_name = "NAME")]
        agent: Option<Name>,
        /// Lifetime [default: unlimited]
        #[arg(long, value_name = "TIME", value_parser = time::duration)]
        ttl: Option<u64>,
    },
    /// List tokens by name; the tokens themselves are not stored
    #[command(after_help = EXAMPLES)]
    List,
    /// Replace a token; the old one stays valid for a while
    #[command(after_help = EXAMPLES)]
    Rotate {
        /// Name of the token
        name: Name,
        /// How long the old token stays valid
        #[arg(long, value_name = "TIME", default_value = "24h", value_parser = time::duration)]
        overlap: u64,
    },
    /// Revoke a token at once
    #[command(after_help = EXAMPLES)]
    Revoke {
        /// Name of the token
        name: Name,
    },
}

pub(crate) fn run(command: Command, context: &Context) -> Result<Exit, Error> {
    root::there(&context.root)?;
    let now_ms = RootClock::glance(&context.root, 0).now_ms();
    match command {
        Command::List => list(context, now_ms)?,
        Command::Create { name, scope, namespaces, agent, ttl } => {
            let namespaces = (!namespaces.is_empty()).then_some(namespaces);
            let grant = Grant { scope, namespaces, agent };
            token::check(&name, &grant)?;
            let until_ms = ttl.map(|ttl| now_ms.saturating_add(ttl));
            let made = change(context, |tokens| tokens.create(name.clone(), grant, until_ms, rand::random(), now_ms))?;
            let taken = || {
                let error = Error::new(Code::Refused, format!("a token `{name}` already exists"));
                error.hint(format!("replace it with `relaymesh token rotate {name}`"))
            };
            let made = made.ok_or_else(taken)?;
            note(context, "token.create", &name, Some(scope))?;
            show(context, &name, &made);
        }
        Command::Rotate { name, overlap } => {
            let made = change(context, |tokens| tokens.rotate(&name, rand::random(), overlap, now_ms))?;
            let made = made.ok_or_else(|| missing(&name))?;
            note(context, "token.rotate", &name, None)?;
            show(context, &name, &made);
        }
        Command::Revoke { name } => {
            if !change(context, |tokens| tokens.revoke(&name))? {
                return Err(missing(&name));
            }
            note(context, "token.revoke", &name, None)?;
            if context.json {
                output::value(&json!({ "name": name, "revoked": true }))
            } else {
                output::line("revoked")
            }
        }
    }
    Ok(Exit::Done)
}

fn change<T>(context: &Context, change: impl FnOnce(&mut Tokens) -> T) -> Result<T, Error> {
    Tokens::change(&context.root, change).map_err(|error| failed(context, &error))
}

/// It stands on the log who did it.
fn note(context: &Context, event: &str, name: &Name, scope: Option<Scope>) -> Result<(), Error> {
    let word = |text: &str| text.parse::<Name>().map_err(|error| Error::new(Code::Internal, error.to_string()));
    let mut about = vec![(word("name")?, name.to_string())];
    if let Some(scope) = scope {
        about.push((word("scope")?, scope.to_string()));
    }
    let command = DriverCommand::Note { event: word(event)?, namespace: context.namespace.clone(), about };
    link::once(context, Missing::Refuse, command).map(drop)
}

fn show(context: &Context, name: &Name, made: &str) {
    if context.json {
        return output::value(&json!({ "name": name, "token": made }));
    }
    output::line(made);
    output::note("note: the token is shown only once; store it like a password");
}

fn list(context: &Context, now_ms: u64) -> Result<(), Error> {
    let tokens = Tokens::read(&context.root).map_err(|error| failed(context, &error))?.unwrap_or_default();
    if context.json {
        output::value(&token::to_json(&tokens, now_ms).into());
        return Ok(());
    }
    let mut rows = vec![["NAME", "SCOPE", "NAMESPACES", "MADE", "GOOD UNTIL", "ROTATED"].map(str::to_owned).to_vec()];
    rows.extend(tokens.tokens.iter().map(|(name, token)| {
        let all = || "all".to_owned();
        let names = |all: &Vec<Name>| all.iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
        let until = match token.until_ms {
            Some(until_ms) if until_ms <= now_ms => "over".to_owned(),
            Some(until_ms) => time::rfc3339(until_ms),
            None => "revoked".to_owned(),
        };
        let previous = token.pair.previous.and_then(|kept| kept.until_ms).filter(|until_ms| now_ms < *until_ms);
        let rotated = previous
            .map_or_else(|| "-".to_owned(), |until_ms| format!("old token valid until {}", time::rfc3339(until_ms)));
        let whose = token.grant.agent.as_ref().map_or_else(String::new, |agent| format!(" ({agent})"));
        let scope = format!("{}{whose}", token.grant.scope);
        let namespaces = token.grant.namespaces.as_ref().map_or_else(all, names);
        vec![name.to_string(), scope, namespaces, time::rfc3339(token.made_ms), until, rotated]
    }));
    output::rows(&rows);
    Ok(())
}

fn missing(name: &Name) -> Error {
    Error::new(Code::NoToken, format!("there is no token `{name}`"))
}

fn failed(context: &Context, error: &io::Error) -> Error {
    Error::new(Code::StoreIo, format!("cannot use {}: {error}", context.root.join(NAMED_FILE).display()))
}
