//! One link: who gives what to whom, from when until when, and by what right. The field names are those of UCAN.
//!
//! It is written once, as canonical JSON behind the signature, and kept as those bytes. Nothing is ever checked against an
//! encoding of our own of what was read: a verifier that does that signs off its own guess of what was meant.

use super::{
    ATT_MAX, DELEGATION_BYTES_MAX,
    caveat::{self, Caveats},
    error::Error,
    resource::{Action, Resource},
};
use relaymesh_bus::sign::{Domain, PublicKey, Signature, Signer};
use relaymesh_core::hex::hex_bytes;
use relaymesh_core::{canonical, hash::Hash};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

hex_bytes! {
    /// What makes two delegations of the same thing two: drawn at random by whoever issues.
    Nonce, "the nonce of a delegation", 16;
}

/// What a link says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delegation {
    /// Who gives.
    pub iss: PublicKey,
    /// Who gets.
    pub aud: PublicKey,
    /// What: each thing once, in order.
    pub att: Vec<Att>,
    /// The first millisecond in which it holds, since the Unix epoch.
    pub nbf: u64,
    /// The first millisecond in which it does not hold any more. None: as long as what it comes from.
    pub exp: Option<u64>,
    /// Content ids of what gives `iss` the right: none for the owner's key, else one.
    pub prf: Vec<Hash>,
    /// How often `aud` may hand it on in a row. UCAN has no such field.
    pub depth: u8,
    /// What makes it one of its own.
    pub nnc: Nonce,
}

/// One thing that may be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Att {
    /// To what.
    pub resource: Resource,
    /// What.
    pub action: Action,
    /// But only so.
    #[serde(default)]
    pub caveats: Caveats,
}

const FIELDS: [&str; 8] = ["iss", "aud", "att", "nbf", "exp", "prf", "depth", "nnc"];
const ATT_FIELDS: [&str; 3] = ["resource", "action", "caveats"];
const SIGNATURE_BYTES: usize = 64;

/// A link as it travels and lies: `signature ‖ canonical JSON`. Its name is BLAKE3 of all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    bytes: Vec<u8>,
    delegation: Delegation,
    cid: Hash,
}

impl Link {
    /// Signs a delegation, with its grants put in order. What could not be read again is refused. Whether `signer` may give
    /// this is for whoever receives the chain to say; that it is `iss` is checked here.
    pub fn issue(signer: &Signer, delegation: &Delegation) -> Result<Self, Error> {
        if signer.public_key() != delegation.iss {
            return Err(Error::Damaged { detail: "the issuer is another key than the one that signs".to_owned() });
        }
        let damaged = |detail: String| Error::Damaged { detail };
        let mut delegation = delegation.clone();
        delegation.att.sort_by_cached_key(order);
        let value = serde_json::to_value(&delegation).map_err(|error| damaged(error.to_string()))?;
        let text = canonical::to_vec(&value).map_err(|error| damaged(error.to_string()))?;
        let signature = signer.sign(Domain::Delegation, &text);
        Self::decode(&[&signature.0[..], &text].concat())
    }

    /// Reads a link. Its signature is not looked at yet.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > DELEGATION_BYTES_MAX {
            return Err(Error::DelegationSize { bytes: bytes.len() });
        }
        let text = bytes.get(SIGNATURE_BYTES..).unwrap_or_default();
        let value = canonical::parse(text).map_err(unreadable)?;
        if canonical::to_vec(&value).as_deref() != Ok(text) {
            return Err(Error::NotCanonical);
        }
        known(&value)?;
        let delegation = Delegation::deserialize(&value).map_err(|error| damaged(&error))?;
        // A list that is a set, or a field that may be left out, could be written in two ways.
        if serde_json::to_value(&delegation).ok().as_ref() != Some(&value) {
            return Err(Error::NotCanonical);
        }
        check(&delegation)?;
        Ok(Self { bytes: bytes.to_vec(), delegation, cid: Hash::blake3(&[bytes]) })
    }

    /// What it says.
    pub fn delegation(&self) -> &Delegation {
        &self.delegation
    }

    /// Its name, by which it is cited and revoked.
    pub fn cid(&self) -> Hash {
        self.cid
    }

    /// The bytes, as they were signed.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether `iss` signed it.
    pub(super) fn verify(&self) -> Result<(), relaymesh_bus::sign::Refusal> {
        let (signature, text) = self.bytes.split_at(SIGNATURE_BYTES);
        let signature = signature.try_into().map(Signature).map_err(|_| relaymesh_bus::sign::Refusal::Signature)?;
        self.delegation.iss.verify(Domain::Delegation, text, &signature)
    }
}

fn unreadable(error: canonical::Error) -> Error {
    match error {
        canonical::Error::DuplicateKey { key, .. } => Error::DuplicateField { field: key },
        canonical::Error::Integer { .. }
        | canonical::Error::Depth { .. }
        | canonical::Error::Syntax { .. }
        | canonical::Error::Encode { .. } => damaged(&error),
    }
}

fn damaged(error: &dyn std::fmt::Display) -> Error {
    Error::Damaged { detail: error.to_string().chars().take(200).collect() }
}

/// No field and no caveat that this program does not know.
fn known(value: &Value) -> Result<(), Error> {
    let cut = |text: &str| text.chars().take(40).collect::<String>();
    let unknown = |map: &Map<String, Value>, names: &[&str]| map.keys().find(|key| !names.contains(&&***key)).cloned();
    let Value::Object(fields) = value else {
        return Err(Error::Damaged { detail: "it is not an object".to_owned() });
    };
    if let Some(field) = unknown(fields, &FIELDS) {
        return Err(Error::UnknownField { field: cut(&field) });
    }
    let atts = fields.get("att").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    for att in atts {
        if let Some(field) = unknown(att, &ATT_FIELDS) {
            return Err(Error::UnknownField { field: cut(&field) });
        }
        let caveats = att.get("caveats").and_then(Value::as_object);
        if let Some(caveat) = caveats.and_then(|caveats| unknown(caveats, &caveat::NAMES)) {
            return Err(Error::UnknownCaveat { caveat: cut(&caveat) });
        }
    }
    Ok(())
}

/// What grants are ordered by.
fn order(att: &Att) -> String {
    serde_json::to_string(att).unwrap_or_default()
}

/// Whether it can be meant at all, by itself.
fn check(delegation: &Delegation) -> Result<(), Error> {
    let Delegation { att, nbf, exp, .. } = delegation;
    for one in att {
        if !one.resource.has(one.action) {
            return Err(Error::NoSuchDeed { resource: one.resource, action: one.action });
        }
        one.caveats.check()?;
    }
    let in_order = att.is_sorted_by(|one, next| order(one) < order(next));
    if !(1..=ATT_MAX).contains(&att.len()) || !in_order {
        return Err(Error::Grants { grants: att.len(), max: ATT_MAX });
    }
    match exp {
        Some(exp) if exp <= nbf => Err(Error::Window { nbf: *nbf, exp: *exp }),
        Some(_) | None => Ok(()),
    }
}
