//! The manifest of a backup.

use crate::{ERROR_BYTES_MAX, say};
use relaymesh_cli::fuzzing;

/// What is accepted is accepted again when it is written out; what is refused is refused in few words.
pub fn target(data: &[u8]) {
    match fuzzing::backup(data) {
        Ok(text) => assert_eq!(fuzzing::backup(text.as_bytes()).as_ref(), Ok(&text)),
        Err(said) => {
            say(&said.text);
            assert!(said.json.len() <= 2 * ERROR_BYTES_MAX, "{}", said.json);
        }
    }
}

/// A manifest that is accepted.
pub fn seeds() -> Vec<Vec<u8>> {
    let hash = "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9";
    let text = format!(
        r#"{{"format":1,"version":"0.1.0","made_at":"2026-11-17T00:00:00.000Z","node":"nod_01ARZ3NDEKTSV4RRFFQ69G5FAV","origin_epoch":1,
"pos":6,"state_hash":"00","tasks":2,"blobs":1,"blob_bytes":20002,"has_key":false,"files":{{"relaymesh.db":{{"bytes":1,"sha256":"{hash}"}}}}}}"#
    );
    vec![text.into_bytes()]
}
