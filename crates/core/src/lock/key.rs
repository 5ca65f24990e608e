//! What is locked: a key or a path glob, in one spelling.
//!
//! A key is text in parts, separated by `/`. In a part `?` is any one character and `*` any run of them; a part `**` is
//! any run of whole parts, also none. A key without these is a plain one and means itself. There is one spelling for
//! each key, because a key that can be written in two ways can be locked twice: `.` parts and doubled `**` go, empty
//! parts, `..` and backslashes are refused.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, str::FromStr, sync::Arc};

/// The longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 512;
/// The longest part of a key, in bytes: no file system allows more.
pub const PART_BYTES_MAX: usize = 255;
/// The most parts of a key.
pub const PARTS_MAX: usize = 64;
/// The longest name of a repository, in bytes.
pub const REPOSITORY_BYTES_MAX: usize = 256;

/// A key or a path glob. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

/// What people call a repository: up to 256 bytes without control characters. The empty name is the one of whoever
/// names none. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepositoryName(Arc<str>);

/// Why a text is not a key, or not the name of a repository. The caller has to write another one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Nothing is left of it.
    #[error("the key is empty")]
    Empty,
    /// Too many bytes.
    #[error("{what} has {bytes} bytes; the maximum is {max}")]
    TooLong {
        /// What is too long.
        what: &'static str,
        /// How many bytes it has.
        bytes: usize,
        /// How many it may have.
        max: usize,
    },
    /// Too many parts.
    #[error("the key has {parts} parts; the maximum is {PARTS_MAX}")]
    TooDeep {
        /// How many it has.
        parts: usize,
    },
    /// A slash at the start, at the end, or after another one.
    #[error("`{key}` has an empty part: remove slashes at its start and end, and double slashes")]
    EmptyPart {
        /// The key.
        key: String,
    },
    /// It leads up.
    #[error("`{key}` has a part `..`, which a key cannot have")]
    Up {
        /// The key.
        key: String,
    },
    /// `**` beside something else.
    #[error("`{part}` is not a valid part of a key: `**` must be a whole part, between slashes")]
    DeepBeside {
        /// The part.
        part: String,
    },
    /// A character that means something elsewhere and nothing here.
    #[error(
        "{found:?} is not possible in a key: globs have `*`, `?` and `**`, so write `?` in its place; paths have `/`"
    )]
    Unsupported {
        /// The character.
        found: char,
    },
    /// On the log it is written differently.
    #[error("`{key}` is not in canonical form, which is `{expected}`")]
    Spelling {
        /// What was found.
        key: String,
        /// How it is written.
        expected: String,
    },
}

impl Key {
    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it can match more than itself.
    pub fn is_glob(&self) -> bool {
        self.0.contains(['*', '?'])
    }

    /// Its parts.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        fits("the key", text, KEY_BYTES_MAX)?;
        let forbidden = |c: char| c.is_control() || matches!(c, '\\' | '[' | '{');
        if let Some(found) = text.chars().find(|c| forbidden(*c)) {
            return Err(KeyError::Unsupported { found });
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in text.split('/') {
            match part {
                "" if text.is_empty() => return Err(KeyError::Empty),
                "" => return Err(KeyError::EmptyPart { key: text.to_owned() }),
                ".." => return Err(KeyError::Up { key: text.to_owned() }),
                "." => {}
                "**" if parts.last() == Some(&"**") => {}
                "**" => parts.push(part),
                _ if part.contains("**") => return Err(KeyError::DeepBeside { part: part.to_owned() }),
                _ => {
                    fits("a part of the key", part, PART_BYTES_MAX)?;
                    parts.push(part);
                }
            }
        }
        match parts.len() {
            0 => Err(KeyError::Empty),
            1..=PARTS_MAX => Ok(Self(parts.join("/").into())),
            parts => Err(KeyError::TooDeep { parts }),
        }
    }
}

impl RepositoryName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RepositoryName {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        fits("the repository's name", text, REPOSITORY_BYTES_MAX)?;
        match text.chars().find(|c| c.is_control()) {
            Some(found) => Err(KeyError::Unsupported { found }),
            None => Ok(Self(text.into())),
        }
    }
}

fn fits(what: &'static str, text: &str, max: usize) -> Result<(), KeyError> {
    let bytes = text.len();
    if bytes > max { Err(KeyError::TooLong { what, bytes, max }) } else { Ok(()) }
}

macro_rules! as_text {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        /// Only its one spelling: bytes from a peer are checked like words from a caller, and not mended.
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                let parsed: Self = text.parse().map_err(serde::de::Error::custom)?;
                if *parsed.0 != *text {
                    let expected = parsed.0.to_string();
                    return Err(serde::de::Error::custom(KeyError::Spelling { key: text, expected }));
                }
                Ok(parsed)
            }
        }
    };
}

as_text!(Key);
as_text!(RepositoryName);
