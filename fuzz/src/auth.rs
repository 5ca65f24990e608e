//! Snapshots of auth material: what comes out of an envelope once it is unsealed.

use crate::say;
use relaymesh_core::{hlc::Hlc, id::NodeId};
use relaymesh_mesh::auth::{Entry, Secret, Snapshot};

/// What is read can be written, and reads the same again; what is refused quotes nothing.
pub fn target(data: &[u8]) {
    match Snapshot::from_json(data) {
        Ok(snapshot) => {
            let json = snapshot.to_json().expect("it was within its bounds");
            assert_eq!(Snapshot::from_json(&json).as_ref(), Ok(&snapshot));
        }
        Err(error) => say(&error),
    }
}

/// One of each kind of entry, and none.
pub fn seeds() -> Vec<Vec<u8>> {
    let secret = |text: &str| Secret::new(text.to_owned());
    let oauth = |account_id: Option<&str>| Entry::Oauth {
        access_token: secret("access"),
        refresh_token: secret("refresh"),
        expires: 7,
        account_id: account_id.map(str::to_owned),
    };
    let entries = [("a", Entry::ApiKey { key: secret("key") }), ("b", oauth(None)), ("c", oauth(Some("account")))];
    let snapshot = |count: usize| Snapshot {
        exported_at: Hlc { wall_ms: 1, logical: 0, node: NodeId::new(1, 1) },
        provider_auth: entries[..count]
            .iter()
            .map(|(name, entry)| (name.parse().expect("an id"), entry.clone()))
            .collect(),
    };
    [0, 1, 3].map(|count| snapshot(count).to_json().expect("it is within its bounds").to_vec()).to_vec()
}
