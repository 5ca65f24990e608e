//! `relaymesh agent token`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output, root, time,
};
use clap::Subcommand;
use relaymesh_runtime::{
    root_clock::RootClock,
    token::{FILE, Kept, Pair},
};
use serde_json::json;
use std::io;

const EXAMPLES: &str = "\
Examples:
  relaymesh agent token create                  create a token and print it once
  relaymesh agent token rotate --overlap 24h    create another; the old one stays valid for a day
  relaymesh agent token show                    show which tokens are valid, and until when
  relaymesh agent token revoke                  revoke all

Agents on other machines use this token to register. Commands on this machine use the local socket
and need no token.";

/// Manage the token with which remote agents register
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    /// Create a token and print it once
    #[command(after_help = EXAMPLES)]
    Create,
    /// Replace a token; the old one stays valid for a while
    #[command(after_help = EXAMPLES)]
    Rotate {
        /// How long the old token stays valid
        #[arg(long, value_name = "TIME", default_value = "24h", value_parser = time::duration)]
        overlap: u64,
    },
    /// Show which tokens are valid; the tokens themselves are not stored
    #[command(after_help = EXAMPLES)]
    Show,
    /// Revoke all tokens, or only the previous one
    #[command(after_help = EXAMPLES)]
    Revoke {
        /// Revoke only the previous token
        #[arg(long)]
        previous: bool,
    },
}

pub(crate) fn run(command: &Command, context: &Context) -> Result<Exit, Error> {
    root::there(&context.root)?;
    let failed = |error: io::Error| {
        Error::new(Code::StoreIo, format!("cannot use {}: {error}", context.root.join(FILE).display()))
    };
    let mut tokens = Pair::read(&context.root).map_err(failed)?;
    let now_ms = RootClock::glance(&context.root, 0).now_ms();
    let made = match command {
        Command::Create if tokens.current.is_some() => {
            let error = Error::new(Code::Refused, "a token already exists");
            return Err(
                error.hint("replace it with `relaymesh agent token rotate`; the old one stays valid for a while")
            );
        }
        Command::Create => Some(tokens.rotate(rand::random(), 0, now_ms)),
        Command::Rotate { overlap } => Some(tokens.rotate(rand::random(), *overlap, now_ms)),
        Command::Show => {
            show(&tokens, now_ms, context);
            return Ok(Exit::Done);
        }
        Command::Revoke { previous } => {
            tokens = Pair { current: tokens.current.filter(|_| *previous), previous: None };
            None
        }
    };
    tokens.write(&context.root).map_err(failed)?;
    match made {
        Some(token) if context.json => output::value(&json!({ "token": token })),
        Some(token) => {
            output::line(&token);
            output::note("note: the token is shown only once; store it like a password");
        }
        None if context.json => output::value(&json!({ "revoked": true })),
        None => output::line("revoked"),
    }
    Ok(Exit::Done)
}

fn show(tokens: &Pair, now_ms: u64, context: &Context) {
    let good = |kept: &Option<Kept>| kept.filter(|kept| kept.until_ms.is_none_or(|until| now_ms < until));
    let shown = [("current", good(&tokens.current)), ("previous", good(&tokens.previous))];
    let shown: Vec<(&str, Kept)> = shown.into_iter().filter_map(|(name, kept)| Some((name, kept?))).collect();
    if context.json {
        let facts = shown.iter().map(|(name, kept)| {
            json!({
                "which": name, "made": time::rfc3339(kept.made_ms), "until": kept.until_ms.map(time::rfc3339),
                "sha256": kept.hash,
            })
        });
        return output::value(&facts.collect());
    }
    if shown.is_empty() {
        return output::line("no token is valid: no agent can register");
    }
    let mut rows = vec![["TOKEN", "CREATED", "VALID UNTIL"].map(str::to_owned).to_vec()];
    rows.extend(shown.iter().map(|(name, kept)| {
        let until = kept.until_ms.map_or_else(|| "revoked".to_owned(), time::rfc3339);
        vec![(*name).to_owned(), time::rfc3339(kept.made_ms), until]
    }));
    output::line(&output::table(&rows));
}
