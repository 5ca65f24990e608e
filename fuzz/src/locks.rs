//! Keys of locks: globs that anybody may write, compared with all that are held.

use crate::{say, survives_json, survives_postcard};
use relaymesh_core::lock::{Key, RepositoryName, key::KEY_BYTES_MAX, overlap};

/// The first line is a key, the second another one; each is also read as the name of a repository.
pub fn target(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let keys: Vec<Key> = text.split('\n').take(2).filter_map(key).collect();
    if let [one, other] = &keys[..] {
        for folded in [false, true] {
            assert_eq!(overlap(one, other, folded), overlap(other, one, folded), "{one} and {other}");
        }
        let strictly = overlap(one, other, false);
        assert!(!strictly || overlap(one, other, true), "{one} and {other} overlap, but not in lower case");
        assert!(strictly || one != other);
    }
    for line in text.split('\n').take(2) {
        match line.parse::<RepositoryName>() {
            Ok(name) => {
                assert_eq!(name.as_str(), line);
                survives_json(&name);
                survives_postcard(&name);
            }
            Err(error) => say(&error),
        }
    }
    // On the log there is one spelling of each key, and the others are refused.
    match postcard::from_bytes::<Key>(data) {
        Ok(key) => survives_postcard(&key),
        Err(error) => say(&error),
    }
}

fn key(text: &str) -> Option<Key> {
    let key: Key = match text.parse() {
        Ok(key) => key,
        Err(error) => {
            say(&error);
            return None;
        }
    };
    assert!((1..=KEY_BYTES_MAX.min(text.len())).contains(&key.as_str().len()), "{text} became {key}");
    assert_eq!(key.as_str().parse().as_ref(), Ok(&key), "one spelling");
    assert!(key.parts().all(|part| !matches!(part, "" | "." | "..")));
    assert!(overlap(&key, &key, false) && overlap(&key, &key, true), "{key} does not overlap itself");
    survives_json(&key);
    survives_postcard(&key);
    Some(key)
}

/// Keys that overlap, keys that do not, and one with another spelling.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "src/**/*.rs\nsrc/lib.rs",
        "a*/?b\n*b/a?",
        "./README\nreadme",
        "**/**/x/**\n*/*/*",
        "\u{212a}/É\nk/é",
        "*a*a*a*a*a*a*a*a\n*b*b*b*b*b*b*b*b",
    ];
    let texts = texts.into_iter().map(|text| text.as_bytes().to_vec());
    let stored: Option<Key> = "src/**".parse().ok();
    texts.chain(stored.map(|key| postcard::to_stdvec(&key).expect("a key encodes"))).collect()
}
