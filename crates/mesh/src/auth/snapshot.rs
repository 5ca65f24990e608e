//! The snapshot: `version`, `exportedAt`, `checksum`, `payload`, as the contract's source has it.

use super::Error;
use relaymesh_bus::envelope::Id;
use relaymesh_core::{canonical, hash::Hash, hlc::Hlc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt};
use zeroize::Zeroizing;

/// What `version` says.
pub const VERSION: u64 = 1;
/// The longest snapshot as JSON, in bytes.
pub const SNAPSHOT_BYTES_MAX: usize = 1024 * 1024;
/// The most providers in one.
pub const PROVIDERS_MAX: usize = 1_024;

/// What must not be shown. It is wiped from memory when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

/// The credentials for one provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Entry {
    /// A key.
    ApiKey {
        /// It.
        key: Secret,
    },
    /// What came of a login.
    Oauth {
        /// What is shown to the provider.
        access_token: Secret,
        /// What another one is had for.
        refresh_token: Secret,
        /// Until when the first one holds, in milliseconds since 1970.
        expires: u64,
        /// Whose login it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        account_id: Option<String>,
    },
}

/// The credentials of a node as of a time.
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// When they were so. A later one takes the place of an earlier one.
    pub exported_at: Hlc,
    /// By the name of the provider.
    pub provider_auth: BTreeMap<Id, Entry>,
}

impl Secret {
    /// Takes a text for one.
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The text, for whoever needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl Snapshot {
    /// The names of providers: all that diagnostics may tell.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.provider_auth.keys().map(Id::as_str)
    }

    /// The canonical JSON of the snapshot, with its checksum.
    pub fn to_json(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let found = self.provider_auth.len();
        if found > PROVIDERS_MAX {
            return Err(Error::Providers { found });
        }
        let provider_auth =
            serde_json::to_value(&self.provider_auth).map_err(|_| damaged("credentials have no JSON"))?;
        let mut whole = json!({
            "version": VERSION,
            "exportedAt": self.exported_at.to_string(),
            "payload": { "providerAuth": provider_auth },
        });
        whole["checksum"] = Value::String(checksum(&whole)?);
        let bytes = canonical_bytes(&whole)?;
        if bytes.len() > SNAPSHOT_BYTES_MAX { Err(Error::Size { bytes: bytes.len() }) } else { Ok(bytes) }
    }

    /// Reads a snapshot. Fields that are not known are left out, but count for the checksum.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > SNAPSHOT_BYTES_MAX {
            return Err(Error::Size { bytes: bytes.len() });
        }
        // What the decoder would say may quote what it found.
        let mut whole = canonical::parse(bytes).map_err(|_| damaged("it is no JSON that can be relied on"))?;
        let fields = whole.as_object_mut().ok_or(damaged("it is no object"))?;
        if fields.get("version").and_then(Value::as_u64) != Some(VERSION) {
            return Err(Error::Version);
        }
        let said = fields.remove("checksum");
        if said.as_ref().and_then(Value::as_str) != Some(&*checksum(&whole)?) {
            return Err(Error::Checksum);
        }
        let exported_at = whole.get("exportedAt").and_then(Value::as_str).and_then(|text| text.parse().ok());
        let exported_at = exported_at.ok_or(damaged("exportedAt is no stamp"))?;
        let provider_auth = whole.pointer_mut("/payload/providerAuth").map(Value::take);
        let provider_auth = provider_auth.ok_or(damaged("it has no payload.providerAuth"))?;
        let found = provider_auth.as_object().map_or(0, serde_json::Map::len);
        if found > PROVIDERS_MAX {
            return Err(Error::Providers { found });
        }
        let provider_auth = serde_json::from_value(provider_auth)
            .map_err(|_| damaged("an entry of payload.providerAuth is neither api_key nor oauth"))?;
        Ok(Self { exported_at, provider_auth })
    }
}

/// SHA-256 of the canonical JSON of everything else.
fn checksum(rest: &Value) -> Result<String, Error> {
    canonical_bytes(rest).map(|bytes| Hash::sha256(&bytes).to_string())
}

fn canonical_bytes(value: &Value) -> Result<Zeroizing<Vec<u8>>, Error> {
    canonical::to_vec(value).map(Zeroizing::new).map_err(|_| damaged("a number in it would be rounded"))
}

const fn damaged(what: &'static str) -> Error {
    Error::Damaged { what }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let providers: Vec<&str> = self.providers().collect();
        f.debug_struct("Snapshot").field("exported_at", &self.exported_at).field("providers", &providers).finish()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.reveal())
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}
