//! What programs put on the file bus: names of files, and meta files.

use crate::say;
use relaymesh_cli::fuzzing;

/// A meta file is understood the same way twice, and by no other spelling of the file's name; what is refused is refused in few words.
pub fn target(data: &[u8]) {
    match fuzzing::meta(data) {
        Ok(understood) => assert_eq!(fuzzing::meta(data).as_ref(), Ok(&understood)),
        Err(why) => say(&why),
    }
    let Ok(name) = std::str::from_utf8(data) else { return };
    if let Some(files) = fuzzing::bus_id(name) {
        assert!(!name.contains(['/', '\0', '.']) && !name.starts_with('-'), "{name:?}");
        assert!(files.iter().all(|file| file.starts_with(name) && file.len() < 80), "{files:?}");
    }
}

/// Names and files of every sort.
pub fn seeds() -> Vec<Vec<u8>> {
    let held = "thr_0000000001000000000000000A:msg_0000000001000000000000000B:1:lse_0000000001000000000000000C";
    let texts = [
        "nightly-2026_11".to_owned(),
        r#"{"to":"b","from":"a","priority":"low","ttl_ms":5,"max_deliveries":3,"namespace":"n"}"#.to_owned(),
        r#"{"to":"b","from":"a","thread":"thr_0000000001000000000000000A"}"#.to_owned(),
        r#"{"agent":"echo","priority":"high"}"#.to_owned(),
        format!(r#"{{"reply_to":"{held}"}}"#),
        format!(r#"{{"ack":"{held}"}}"#),
        format!(r#"{{"fail":"{held}","error":"no","final":true}}"#),
    ];
    texts.into_iter().map(String::into_bytes).collect()
}
