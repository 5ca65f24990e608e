//! The settings file.

use crate::{ERROR_BYTES_MAX, say};
use relaymesh_cli::fuzzing;

/// What is accepted is accepted again when it is written out; what is refused is refused in few words.
pub fn target(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match fuzzing::settings(text) {
        Ok(values) => assert_eq!(fuzzing::settings(&values).as_ref(), Ok(&values), "{text}"),
        Err(said) => {
            say(&said.text);
            assert!(said.json.len() <= 2 * ERROR_BYTES_MAX, "{}", said.json);
        }
    }
}

/// Files that are accepted.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "{}",
        "{\"$schema\": \"x.json\", \"queue_capacity\": 500, \"lease_timeout_ms\": 30000}",
        "{\"http_addr\": \"[::1]:8443\", \"http_hosts\": \"a.example,b.example\", \"http_tls_cert\": \"cert.pem\"}",
        "{\n  \"pause_worker_when_local_not_alive\": false,\n  \"thread_pool_max\": 16\n}\n",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}
