//! Reading settings: strictly, from four places, all or nothing.

use super::{
    mesh,
    table::{Setting, Settings, TABLE, Value},
};
use relaymesh_core::canonical;
use serde::{Deserialize, Serialize};
use std::{io, path::PathBuf};

/// The file's name in the root.
pub const FILE: &str = "relaymesh-settings.json";

/// What the variable of every setting begins with.
pub const VARIABLE_PREFIX: &str = "RELAYMESH_";

/// The longest file that is read.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// A key that editors put there, to know what may stand in the file.
const SCHEMA: &str = "$schema";

/// Where a value comes from; the later one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Source {
    /// Nobody said anything.
    Default,
    /// The file in the root.
    File,
    /// A variable of the daemon's environment.
    Environment,
    /// An argument of the daemon.
    Flag,
}

impl Source {
    /// In one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File => "file",
            Self::Environment => "environment",
            Self::Flag => "flag",
        }
    }
}

/// Why settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What is wrong.
    pub message: String,
    /// Where it was found.
    pub layer: Source,
    /// Line and column in the file, both from 1.
    pub place: Option<(usize, usize)>,
    /// A name that no setting has.
    pub unknown: Option<String>,
}

/// Where settings are looked for.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    /// The folder of the file.
    pub root: PathBuf,
    /// The environment. What is not the variable of a setting is left alone.
    pub variables: Vec<(String, String)>,
    /// Arguments: names and values.
    pub flags: Vec<(String, String)>,
}

/// Settings, with where each comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loaded {
    /// The values.
    pub settings: Settings,
    /// Where each comes from, in the order of [`TABLE`].
    pub sources: Vec<Source>,
}

impl Default for Loaded {
    fn default() -> Self {
        Self { settings: Settings::default(), sources: vec![Source::Default; TABLE.len()] }
    }
}

impl Loaded {
    /// Names of the settings whose values differ from those of `before`.
    pub fn changed_fields(&self, before: &Settings) -> Vec<&'static str> {
        let both = self.settings.values().into_iter().zip(before.values());
        TABLE.iter().zip(both).filter(|(_, (now, then))| now != then).map(|(setting, _)| setting.name).collect()
    }

    fn set(&mut self, index: usize, value: Value, source: Source) {
        self.settings.set(TABLE[index].name, value);
        self.sources[index] = source;
    }

    fn source(&self, name: &str) -> Source {
        let index = TABLE.iter().position(|setting| setting.name == name);
        index.map_or(Source::Default, |index| self.sources[index])
    }
}

impl Layers {
    /// All settings, or why there are none.
    pub fn load(&self) -> Result<Loaded, Error> {
        let path = self.root.join(FILE);
        let unreadable = |error: io::Error| wrong(Source::File, format!("cannot read {}: {error}", path.display()));
        let text = match std::fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(unreadable(error)),
            Ok(found) if found.len() > FILE_BYTES_MAX => {
                let message = format!("{} is longer than {FILE_BYTES_MAX} bytes", path.display());
                return Err(wrong(Source::File, message));
            }
            Ok(_) => Some(std::fs::read_to_string(&path).map_err(unreadable)?),
        };
        self.over(text.as_deref())
    }

    /// The same with the file's text, if there is one.
    pub fn over(&self, text: Option<&str>) -> Result<Loaded, Error> {
        if let Some(variable) = mesh::asked(&self.variables) {
            let message =
                format!("{variable} is set, but this version of relaymesh runs on one machine only. Unset it");
            return Err(wrong(Source::Environment, message));
        }
        let mut loaded = Loaded::default();
        let mut places = Vec::new();
        if let Some(text) = text {
            places = file(text, &mut loaded)?;
        }
        for (index, setting) in TABLE.iter().enumerate() {
            let variable = setting.variable();
            let Some((_, given)) = self.variables.iter().rfind(|(name, _)| *name == variable) else { continue };
            let value = word(setting, given).map_err(|why| wrong(Source::Environment, format!("{variable}: {why}")))?;
            loaded.set(index, value, Source::Environment);
        }
        for (name, given) in &self.flags {
            let index = known(name, Source::Flag)?;
            let value = word(&TABLE[index], given).map_err(|why| wrong(Source::Flag, format!("{name}: {why}")))?;
            loaded.set(index, value, Source::Flag);
        }
        together(&loaded).map_err(|(name, message)| {
            let source = loaded.source(name);
            let place = places.iter().find(|(key, _)| key == name).map(|(_, place)| *place);
            Error { place: place.filter(|_| source == Source::File), ..wrong(source, message) }
        })?;
        Ok(loaded)
    }
}

/// What must hold between two settings: the name of the one to look at, and what is wrong.
fn together(loaded: &Loaded) -> Result<(), (&'static str, String)> {
    let Settings { base_backoff_ms, max_backoff_ms, lease_heartbeat_ms, lease_timeout_ms, .. } = loaded.settings;
    let Settings { thread_pool_core, thread_pool_max, suspect_recover_min_ms, dead_recover_min_ms, .. } =
        loaded.settings;
    let rules = [
        (
            "base_backoff_ms",
            base_backoff_ms,
            base_backoff_ms <= max_backoff_ms,
            "must not be above `max_backoff_ms`",
            max_backoff_ms,
        ),
        (
            "lease_heartbeat_ms",
            lease_heartbeat_ms,
            lease_heartbeat_ms.saturating_mul(2) < lease_timeout_ms,
            "must be less than half of `lease_timeout_ms`",
            lease_timeout_ms,
        ),
        (
            "thread_pool_core",
            thread_pool_core,
            thread_pool_core <= thread_pool_max,
            "must not be above `thread_pool_max`",
            thread_pool_max,
        ),
        (
            "suspect_recover_min_ms",
            suspect_recover_min_ms,
            suspect_recover_min_ms <= dead_recover_min_ms,
            "must not be above `dead_recover_min_ms`",
            dead_recover_min_ms,
        ),
    ];
    match rules.into_iter().find(|(_, _, holds, _, _)| !holds) {
        None => Ok(()),
        Some((name, value, _, rule, other)) => {
            Err((name, format!("`{name}` is {value}, but it {rule}, which is {other}")))
        }
    }
}

type Places = Vec<(String, (usize, usize))>;

/// Takes up the file's text. Says where each key stands.
fn file(text: &str, loaded: &mut Loaded) -> Result<Places, Error> {
    let found = canonical::parse(text.as_bytes())
        .map_err(|error| Error { place: place_of(&error), ..wrong(Source::File, error.to_string()) })?;
    let serde_json::Value::Object(object) = found else {
        let message = "the file must be one JSON object: {\"queue_capacity\": 200}".to_owned();
        return Err(Error { place: Some((1, 1)), ..wrong(Source::File, message) });
    };
    let places = places(text);
    for (name, given) in &object {
        if name == SCHEMA {
            continue;
        }
        let place = places.iter().find(|(key, _)| key == name).map(|(_, place)| *place);
        let index = known(name, Source::File).map_err(|error| Error { place, ..error })?;
        let value = json(&TABLE[index], given);
        let value = value.map_err(|why| Error { place, ..wrong(Source::File, format!("`{name}` {why}")) })?;
        loaded.set(index, value, Source::File);
    }
    Ok(places)
}

fn known(name: &str, source: Source) -> Result<usize, Error> {
    TABLE.iter().position(|setting| setting.name == name).ok_or_else(|| {
        let shown: String = name.chars().take(80).collect();
        Error { unknown: Some(shown.clone()), ..wrong(source, format!("there is no setting `{shown}`")) }
    })
}

/// The value of a setting in JSON. What was found is not repeated: it may be something that was put there by mistake.
fn json(setting: &Setting, given: &serde_json::Value) -> Result<Value, String> {
    let value = match given {
        serde_json::Value::Number(number) => number.as_u64().map(Value::Number),
        serde_json::Value::Bool(flag) => Some(Value::Flag(*flag)),
        serde_json::Value::String(text) => Some(Value::Text(text.clone().into())),
        serde_json::Value::Null | serde_json::Value::Array(_) | serde_json::Value::Object(_) => None,
    };
    value.ok_or_else(|| format!("must be {}", setting.allowed())).and_then(|value| bounded(setting, value))
}

/// The value of a setting in a variable or an argument.
fn word(setting: &Setting, given: &str) -> Result<Value, String> {
    let given = given.trim();
    let value = match &setting.default {
        Value::Number(_) => given.parse().ok().map(Value::Number),
        Value::Flag(_) => given.parse().ok().map(Value::Flag),
        Value::Text(_) => Some(Value::Text(given.to_owned().into())),
    };
    value.ok_or_else(|| format!("must be {}", setting.allowed())).and_then(|value| bounded(setting, value))
}

fn bounded(setting: &Setting, value: Value) -> Result<Value, String> {
    let is_right = match (&value, &setting.default, setting.bound) {
        (Value::Number(number), Value::Number(_), Some((min, max))) if !(min..=max).contains(number) => {
            return Err(format!("is {number}; it must be {}", setting.allowed()));
        }
        (Value::Number(_), Value::Number(_), _) | (Value::Flag(_), Value::Flag(_), _) => true,
        (Value::Text(text), Value::Text(_), _) => setting.fits(text),
        (Value::Number(_) | Value::Flag(_) | Value::Text(_), _, _) => false,
    };
    if is_right { Ok(value) } else { Err(format!("must be {}", setting.allowed())) }
}

fn wrong(source: Source, message: String) -> Error {
    Error { message, layer: source, place: None, unknown: None }
}

fn place_of(error: &canonical::Error) -> Option<(usize, usize)> {
    let said = match error {
        canonical::Error::DuplicateKey { line, column, .. } => return Some((*line, *column)),
        // A path may hold keys of the file, and these may look like anything.
        canonical::Error::Integer { at, .. } | canonical::Error::Depth { at } if at.starts_with('`') => return None,
        canonical::Error::Integer { at, .. } | canonical::Error::Depth { at } => at,
        canonical::Error::Syntax { message } | canonical::Error::Encode { message } => message,
    };
    let after = |word| said.rsplit_once(word)?.1.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    after("line ").zip(after("column "))
}

/// Where each key of the outermost object stands. The text was parsed before, so it is well formed.
fn places(text: &str) -> Places {
    let (mut found, mut depth, mut at) = (Vec::new(), 0usize, 0);
    let bytes = text.as_bytes();
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let end = at + string_length(&bytes[at..]);
                let is_key = text[end..].trim_start().starts_with(':');
                if let (true, 1, Ok(key)) = (is_key, depth, serde_json::from_str(&text[at..end])) {
                    let before = &text[..at];
                    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
                    let line = before.matches('\n').count() + 1;
                    found.push((key, (line, before[line_start..].chars().count() + 1)));
                }
                at = end - 1;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The bytes of the string literal that `text` starts with, both quotes included.
fn string_length(text: &[u8]) -> usize {
    let mut escaped = false;
    let end = text.iter().skip(1).position(|byte| {
        let closes = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        closes
    });
    end.map_or(text.len(), |end| end + 2)
}
