//! The key that a caller gives a submit, so that a second one is the same (R6): its own word for what it wants done once.
//!
//! Any visible text of up to 255 characters: callers use order numbers, e-mail addresses, URLs. The IETF draft of the header
//! `Idempotency-Key` writes it as a structured string, in quotes; other clients write it bare. Both are one key, everywhere a key
//! can be given, so a key is kept without quotes and cannot begin with one.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, str::FromStr, sync::Arc};

/// The longest key, in characters.
pub const KEY_CHARS_MAX: usize = 255;

/// A key of the caller's own. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GivenKey(Arc<str>);

/// Why a text is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is nothing in it.
    #[error("an idempotency key cannot be empty")]
    Empty,
    /// It is too long.
    #[error("an idempotency key has at most {KEY_CHARS_MAX} characters, not {found}")]
    TooLong {
        /// How many it has.
        found: usize,
    },
    /// A character that nobody sees.
    #[error("an idempotency key cannot contain U+{:04X}: use visible characters and spaces", *.found as u32)]
    Invisible {
        /// The character.
        found: char,
    },
    /// A quote that is not closed, or one within it that has no backslash before it.
    #[error(
        "an idempotency key that begins with a quote must end with one, and contain quotes only as \\\" and backslashes only as \\\\"
    )]
    Quotes,
    /// A quote at the beginning, inside the quotes.
    #[error("an idempotency key cannot begin with a quote inside its quotes")]
    QuoteFirst,
}

impl GivenKey {
    /// The key as text, without quotes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key with exactly this text, as it stands on the log.
    pub fn exact(text: &str) -> Result<Self, KeyError> {
        match text.chars().next() {
            None => return Err(KeyError::Empty),
            Some('"') => return Err(KeyError::QuoteFirst),
            Some(_) => {}
        }
        if let Some(found) = text.chars().find(|c| is_invisible(*c)) {
            return Err(KeyError::Invisible { found });
        }
        match text.chars().count() {
            found if found > KEY_CHARS_MAX => Err(KeyError::TooLong { found }),
            _ => Ok(Self(text.into())),
        }
    }
}

/// Control characters, spaces that look like nothing or like another, and what changes how the text beside it is drawn.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

impl FromStr for GivenKey {
    type Err = KeyError;

    /// With quotes or without; spaces around it do not count.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        let text = text.trim_matches(' ');
        let Some(rest) = text.strip_prefix('"') else { return Self::exact(text) };
        let inner = rest.strip_suffix('"').ok_or(KeyError::Quotes)?;
        let mut key = String::with_capacity(inner.len());
        let mut chars = inner.chars();
        while let Some(c) = chars.next() {
            key.push(match c {
                '"' => return Err(KeyError::Quotes),
                '\\' => chars.next().filter(|c| matches!(c, '"' | '\\')).ok_or(KeyError::Quotes)?,
                c => c,
            });
        }
        Self::exact(key.trim_matches(' '))
    }
}

impl From<crate::name::Name> for GivenKey {
    /// Every name is a key.
    fn from(name: crate::name::Name) -> Self {
        Self(name.as_str().into())
    }
}

impl fmt::Display for GivenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for GivenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl Serialize for GivenKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for GivenKey {
    /// As it stands on the log: what is read is written again with the same bytes.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = GivenKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an idempotency key")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<GivenKey, E> {
                GivenKey::exact(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn any_visible_text_is_a_key_and_quotes_around_it_do_not_count() {
        let long = "x".repeat(KEY_CHARS_MAX);
        for key in [
            "order:7",
            "a@b.example",
            "https://x.example/?q=1&r=%20",
            "Bestellung Nr. 7 – für Zoë",
            "钥匙",
            "a\\b",
            "it's",
            &long,
        ] {
            let bare: GivenKey = key.parse().unwrap();
            let quoted = format!("\"{}\"", key.replace('\\', "\\\\"));
            assert_eq!((bare.as_str(), quoted.parse().as_ref()), (key, Ok(&bare)), "{quoted}");
        }
        assert_eq!(r#""say \"hi\"""#.parse::<GivenKey>().unwrap().as_str(), r#"say "hi""#);
        assert_eq!("  order-7 ".parse::<GivenKey>().unwrap().as_str(), "order-7");
    }

    #[test]
    fn what_is_no_key_is_told_why() {
        for (text, why) in [
            ("", "cannot be empty"),
            ("\"\"", "cannot be empty"),
            (" ", "cannot be empty"),
            ("\"open", "must end with one"),
            ("\"", "must end with one"),
            ("\"a\"b\"", "must end with one"),
            (r#""a\""#, "must end with one"),
            (r#""a\n""#, "must end with one"),
            (r#""\"a\"""#, "cannot begin with a quote inside"),
            ("a\tb", "U+0009"),
            ("a\u{202e}b", "U+202E"),
            ("a\u{a0}b", "U+00A0"),
            (&"x".repeat(KEY_CHARS_MAX + 1), "at most 255 characters, not 256"),
        ] {
            let error = text.parse::<GivenKey>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_and_read_the_same(text in ".{0,20}|[\"\\\\a ]{0,8}") {
            if let Ok(key) = text.parse::<GivenKey>() {
                prop_assert_eq!(key.as_str().parse(), Ok(key.clone()));
                prop_assert_eq!(GivenKey::exact(key.as_str()), Ok(key));
            }
        }
    }
}
