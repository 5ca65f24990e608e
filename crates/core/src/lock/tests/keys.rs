//! There is one spelling for each key, and what is no key is refused by name.

use crate::lock::{Key, KeyError, RepositoryName, key::PARTS_MAX};
use proptest::prelude::*;

fn key(text: &str) -> Result<Key, KeyError> {
    text.parse()
}

#[test]
fn a_key_has_one_spelling() {
    for (text, expected) in [
        ("a", "a"),
        ("file:src/lib.rs", "file:src/lib.rs"),
        ("./src/./lib.rs", "src/lib.rs"),
        ("src/.", "src"),
        ("a/**/**/b", "a/**/b"),
        ("**/./**", "**"),
        ("...", "..."),
        ("é/?/*.rs", "é/?/*.rs"),
        ("a]}b", "a]}b"),
    ] {
        assert_eq!(key(text).unwrap().as_str(), expected);
    }
}

#[test]
fn what_is_no_key_is_refused_by_name() {
    let owned = str::to_owned;
    assert_eq!(key(""), Err(KeyError::Empty));
    assert_eq!(key("./."), Err(KeyError::Empty));
    for text in ["/a", "a/", "a//b", "/"] {
        assert_eq!(key(text), Err(KeyError::EmptyPart { key: owned(text) }));
    }
    for text in ["..", "a/../b", "../a"] {
        assert_eq!(key(text), Err(KeyError::Up { key: owned(text) }));
    }
    for part in ["a**", "**a", "***", "a**b"] {
        assert_eq!(key(&format!("x/{part}")), Err(KeyError::DeepBeside { part: owned(part) }));
    }
    for (text, found) in [("a\\b", '\\'), ("[ab]", '['), ("{a,b}", '{'), ("a\nb", '\n'), ("a\0", '\0')] {
        assert_eq!(key(text), Err(KeyError::Unsupported { found }));
    }
    assert!(matches!(key(&"a/".repeat(300)), Err(KeyError::TooLong { bytes: 600, max: 512, .. })));
    assert!(matches!(key(&"a".repeat(256)), Err(KeyError::TooLong { bytes: 256, max: 255, .. })));
    let deep = vec!["a"; PARTS_MAX + 1].join("/");
    assert_eq!(key(&deep), Err(KeyError::TooDeep { parts: PARTS_MAX + 1 }));
    assert!(key(&deep[2..]).is_ok());
}

#[test]
fn another_spelling_on_the_log_is_damage() {
    for text in ["./a", "a/**/**", "a/", "["] {
        let bytes = postcard::to_allocvec(text).unwrap();
        assert!(postcard::from_bytes::<Key>(&bytes).is_err(), "{text}");
    }
}

#[test]
fn a_repository_may_be_called_almost_anything() {
    for text in ["", "app", "git@github.com:acme/app.git", "C:\\work", &"x".repeat(256)] {
        assert_eq!(text.parse::<RepositoryName>().unwrap().as_str(), text);
    }
    assert!(matches!("x".repeat(257).parse::<RepositoryName>(), Err(KeyError::TooLong { bytes: 257, max: 256, .. })));
    assert_eq!("a\tb".parse::<RepositoryName>(), Err(KeyError::Unsupported { found: '\t' }));
}

proptest! {
    #[test]
    fn parsing_never_panics_and_what_comes_out_stays_as_it_is(text in "([ab*?./]|\\*\\*|\\PC){0,40}") {
        if let Ok(key) = key(&text) {
            prop_assert_eq!(key.as_str().parse::<Key>(), Ok(key.clone()));
            let bytes = postcard::to_allocvec(&key).unwrap();
            prop_assert_eq!(postcard::from_bytes::<Key>(&bytes).unwrap(), key);
        }
    }
}
