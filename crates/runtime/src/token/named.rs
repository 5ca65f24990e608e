//! Tokens with names: `tokens.json`.

use super::{pair::Pair, spell};
use crate::sealed;
use relaymesh_core::{hash::Hash, name::Name};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap, fmt, fs::OpenOptions, io, os::unix::fs::OpenOptionsExt as _, path::Path, str::FromStr,
};

/// The file, in the root.
pub const NAMED_FILE: &str = "tokens.json";

/// The first token in the clear: in the root, which only its owner may enter.
pub const FIRST_FILE: &str = "http-token";

/// What the first token is called.
pub const FIRST_NAME: &str = "first";

/// What the names of tokens begin with that agents got when they registered. No other token gets such a name.
pub const AGENT_PREFIX: &str = "agent.";

/// What these tokens begin with.
const PREFIX: &str = "rmt_";

/// Held while the file is read and written again: the daemon and commands both do.
const LOCK_FILE: &str = "tokens.lock";

/// What a token may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// To do what an agent does: take its messages and answer them, and see its own task.
    Agent,
    /// To look.
    Ro,
    /// To look, to submit and to change what is there.
    Rw,
    /// Everything: settings, tokens, and forgetting for good.
    Admin,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Scope; 4] = [Self::Agent, Self::Ro, Self::Rw, Self::Admin];

    /// In one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Ro => "ro",
            Self::Rw => "rw",
            Self::Admin => "admin",
        }
    }

    /// Whether it suffices where one of `wanted` is. An agent does what is meant for agents and nothing else.
    pub fn suffices(self, wanted: &[Scope]) -> bool {
        wanted.iter().any(|wanted| match (self, wanted) {
            (Self::Agent, Self::Agent) => true,
            (Self::Agent, _) | (_, Self::Agent) => false,
            (have, wanted) => have >= *wanted,
        })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == text);
        found.ok_or_else(|| "a scope must be ro, rw, admin or agent".to_owned())
    }
}

/// What a token may do, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Purpose.
    pub scope: Scope,
    /// Only in these namespaces; in all of them if nobody has said.
    pub namespaces: Option<Vec<Name>>,
    /// The agent that it stands for, if it was given to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Name>,
}

impl Grant {
    /// Whether it is good in this namespace.
    pub fn admits(&self, namespace: &Name) -> bool {
        self.namespaces.as_ref().is_none_or(|all| all.contains(namespace))
    }
}

/// A token with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// What it may do.
    #[serde(flatten)]
    pub grant: Grant,
    /// When the name was made.
    pub made_ms: u64,
    /// Until when any token of this name is good; for ever if nobody has said.
    pub until_ms: Option<u64>,
    /// The token, and the one before it.
    pub pair: Pair,
}

/// Whose token it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The token's name: the author of what is done with it.
    pub name: Name,
    /// What it may do.
    pub grant: Grant,
}

/// All tokens with names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// The namespaces, by name.
    pub tokens: BTreeMap<Name, Named>,
}

impl Tokens {
    /// Those of this root; `None` when there never were any.
    pub fn read(root: &Path) -> io::Result<Option<Self>> {
        Ok(Self::found(root)?.map(|(tokens, _)| tokens))
    }

    /// The same, and whether their file has its checksum.
    fn found(root: &Path) -> io::Result<Option<(Self, bool)>> {
        super::read(root, NAMED_FILE)?.map(|bytes| sealed::decode(&bytes)).transpose()
    }

    /// Gives a file of an older version its checksum. Without a file nothing is done.
    pub fn seal(root: &Path) -> io::Result<()> {
        match Self::found(root)? {
            Some((_, false)) => Self::change(root, |_| ()),
            Some((_, true)) | None => Ok(()),
        }
    }

    /// Reads them, has them changed, and writes them, while nobody else does. They are durable when this returns.
    pub fn change<T>(root: &Path, change: impl FnOnce(&mut Self) -> T) -> io::Result<T> {
        let lock =
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(root.join(LOCK_FILE))?;
        flock(&lock, FlockOperation::LockExclusive)?;
        let (mut tokens, is_sealed) = Self::found(root)?.unwrap_or_default();
        let before = tokens.clone();
        let changed = change(&mut tokens);
        if tokens != before || !is_sealed {
            super::put(root, NAMED_FILE, &sealed::encode(&tokens)?)?;
        }
        Ok(changed)
    }

    /// Makes the first token of a root that never had any, for whoever may enter the root. `true` when it did.
    ///
    /// The token in the clear is durable before its hash is: a process that is killed in between leaves a file that opens nothing, and the
    /// next start makes both anew. The other way round nobody could ever know the token.
    pub fn make_first(root: &Path, random: [u8; 32], now_ms: u64) -> io::Result<bool> {
        let Ok(name) = FIRST_NAME.parse::<Name>() else { return Ok(false) };
        if root.join(NAMED_FILE).exists() {
            return Ok(false);
        }
        super::put(root, FIRST_FILE, format!("{}\n", spell(PREFIX, random)).as_bytes())?;
        let made = Self::change(root, |tokens| {
            let grant = Grant { scope: Scope::Rw, namespaces: None, agent: None };
            tokens.tokens.is_empty().then(|| tokens.create(name, grant, None, random, now_ms)).flatten()
        })?;
        if made.is_none() {
            // Somebody else has made tokens meanwhile: this one opens nothing.
            std::fs::remove_file(root.join(FIRST_FILE))?;
        }
        Ok(made.is_some())
    }

    /// A new token with this name; `None` when the name is taken.
    pub fn create(
        &mut self,
        name: Name,
        grant: Grant,
        until_ms: Option<u64>,
        random: [u8; 32],
        now_ms: u64,
    ) -> Option<String> {
        let taken = self.tokens.get(&name).is_some_and(|known| known.until_ms.is_none_or(|until| now_ms < until));
        if taken {
            return None;
        }
        let mut pair = Pair::default();
        let token = pair.rotate_as(PREFIX, random, 0, now_ms);
        self.tokens.insert(name, Named { grant, made_ms: now_ms, until_ms, pair });
        Some(token)
    }

    /// A token for an agent that registers, good for `ttl_ms`, in the place of the one that it had. The first agent of this name gets the
    /// plain name; another that would have the same one gets its hash behind it. No other token is touched; `None` when it would have to.
    pub fn register(
        &mut self,
        agent: &Name,
        namespace: &Name,
        ttl_ms: u64,
        random: [u8; 32],
        now_ms: u64,
    ) -> Option<(Name, String)> {
        let grant =
            Grant { scope: Scope::Agent, namespaces: Some(vec![namespace.clone()]), agent: Some(agent.clone()) };
        let is_its_own = |name: &Name, known: &Named| {
            name.as_str().starts_with(AGENT_PREFIX)
                && known.grant == grant
                && known.until_ms == Some(known.made_ms.saturating_add(ttl_ms))
        };
        self.tokens.retain(|name, known| !is_its_own(name, known));
        let hash = Hash::sha256(format!("{namespace}/{agent}").as_bytes()).to_string();
        let names = [format!("{AGENT_PREFIX}{agent}"), format!("{AGENT_PREFIX}{:.40}.{hash:.16}", agent.as_str())];
        let until_ms = Some(now_ms.saturating_add(ttl_ms));
        names.iter().filter_map(|name| name.parse::<Name>().ok()).find_map(|name| {
            let token = self.create(name.clone(), grant.clone(), until_ms, random, now_ms)?;
            Some((name, token))
        })
    }

    /// Another token in the place of the one with this name, which stays good for `overlap_ms`; `None` when there is none.
    pub fn rotate(&mut self, name: &Name, random: [u8; 32], overlap_ms: u64, now_ms: u64) -> Option<String> {
        Some(self.tokens.get_mut(name)?.pair.rotate_as(PREFIX, random, overlap_ms, now_ms))
    }

    /// Makes the token useless; `false` when there is none of this name.
    pub fn revoke(&mut self, name: &Name) -> bool {
        self.tokens.remove(name).is_some()
    }

    /// Whose token it is, if it is good. Every token is looked at, whichever it is like.
    pub fn find(&self, token: &str, now_ms: u64) -> Option<Found> {
        let hash = Hash::sha256(token.as_bytes());
        let mut found = None;
        for (name, known) in &self.tokens {
            let is_good = known.pair.has(&hash, now_ms) & known.until_ms.is_none_or(|until_ms| now_ms < until_ms);
            if is_good {
                found = Some((name, known));
            }
        }
        found.map(|(name, known)| Found { name: name.clone(), grant: known.grant.clone() })
    }
}
