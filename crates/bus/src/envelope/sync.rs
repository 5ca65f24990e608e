//! The carriers: what two nodes say to each other when they exchange envelopes, both ways (F19).
//!
//! A carrier is not signed and decides nothing. Each envelope in it is, and is opened by itself; one that is refused
//! does not stop the others.

use super::{ENVELOPE_BYTES_MAX, Envelope, Error, Expected, open};
use relaymesh_core::{hlc::Hlc, id::NodeId};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// The most envelopes in one carrier.
pub const ENVELOPES_MAX: usize = 1_024;
/// The most peers that one carrier tells of.
pub const PEERS_MAX: usize = 1_024;
/// The longest address, in bytes.
pub const URL_BYTES_MAX: usize = 2_048;

/// The bytes of an envelope that was not opened. Hexadecimal where there is only text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed(pub Vec<u8>);

/// What one node tells of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PeerInfo {
    /// Which.
    pub node_id: NodeId,
    /// Where it is reached.
    pub node_url: String,
    /// When it was last heard of.
    pub last_seen: Hlc,
}

/// What a node sends to begin an exchange.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PeerSyncRequest {
    /// Who asks.
    pub sender_node_id: NodeId,
    /// Where it is reached.
    pub sender_node_url: String,
    /// Whom it knows.
    pub known_peers: Vec<PeerInfo>,
    /// When.
    pub timestamp: Hlc,
    /// What it has for us.
    #[serde(default)]
    pub replication: Vec<Sealed>,
}

/// What the other one answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PeerSyncResponse {
    /// Who answers.
    pub sender_node_id: NodeId,
    /// Where it is reached.
    pub sender_node_url: String,
    /// Whom it knows.
    pub known_peers: Vec<PeerInfo>,
    /// Those of them that the request did not tell of.
    pub new_peers: Vec<PeerInfo>,
    /// When.
    pub timestamp: Hlc,
    /// What it has for us.
    #[serde(default)]
    pub replication: Vec<Sealed>,
}

/// Why a carrier is refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a carrier has {found} {what}, {max} are allowed")]
pub struct TooMuch {
    /// Of what.
    pub what: &'static str,
    /// How many there are.
    pub found: usize,
    /// How many there may be.
    pub max: usize,
}

impl PeerSyncRequest {
    /// Whether it is within bounds.
    pub fn check(&self) -> Result<(), TooMuch> {
        within(&self.sender_node_url, &[&self.known_peers], &self.replication)
    }

    /// Each envelope, opened by itself and in order.
    pub fn open(&self, expected: Expected) -> impl Iterator<Item = Result<Envelope, Error>> {
        self.replication.iter().map(move |sealed| open(&sealed.0, expected))
    }
}

impl PeerSyncResponse {
    /// Whether it is within bounds.
    pub fn check(&self) -> Result<(), TooMuch> {
        within(&self.sender_node_url, &[&self.known_peers, &self.new_peers], &self.replication)
    }

    /// Each envelope, opened by itself and in order.
    pub fn open(&self, expected: Expected) -> impl Iterator<Item = Result<Envelope, Error>> {
        self.replication.iter().map(move |sealed| open(&sealed.0, expected))
    }
}

fn within(url: &str, peers: &[&Vec<PeerInfo>], envelopes: &[Sealed]) -> Result<(), TooMuch> {
    let longest = peers.iter().flat_map(|peers| peers.iter()).map(|peer| peer.node_url.len()).max().unwrap_or_default();
    let rules = [
        ("bytes in an address", url.len().max(longest), URL_BYTES_MAX),
        ("peers", peers.iter().map(|peers| peers.len()).max().unwrap_or_default(), PEERS_MAX),
        ("envelopes", envelopes.len(), ENVELOPES_MAX),
        (
            "bytes in an envelope",
            envelopes.iter().map(|sealed| sealed.0.len()).max().unwrap_or_default(),
            ENVELOPE_BYTES_MAX,
        ),
    ];
    let broken = rules.into_iter().find(|(_, found, max)| found > max);
    broken.map_or(Ok(()), |(what, found, max)| Err(TooMuch { what, found, max }))
}

impl Serialize for Sealed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(&Hex(&self.0))
        } else {
            serializer.serialize_bytes(&self.0)
        }
    }
}

struct Hex<'a>(&'a [u8]);

impl std::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        relaymesh_core::hex::encode(self.0, f)
    }
}

impl<'de> Deserialize<'de> for Sealed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return <&[u8]>::deserialize(deserializer).map(|bytes| Self(bytes.to_vec()));
        }
        let text = String::deserialize(deserializer)?;
        let pair =
            |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| relaymesh_core::hex::decode("", pair).ok());
        let bytes: Option<Vec<[u8; 1]>> = text.as_bytes().chunks(2).map(pair).collect();
        let bytes = bytes.ok_or_else(|| D::Error::custom("an envelope is hexadecimal digits in lower case"))?;
        Ok(Self(bytes.concat()))
    }
}
