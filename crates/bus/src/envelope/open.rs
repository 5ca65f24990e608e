//! Opening: bytes from a peer become an envelope, or are refused for a reason.
//!
//! ```text
//!  bounds ─► canonical JSON ─► protocol, major ─► fields fit each other ─► for us ─► from whom it came ─► signature ─► payload
//! ```
//!
//! What is cheap comes first, and what was seen before is not looked at here at all: a nonce that is recorded before the
//! signature holds lets anybody use up an honest sender's nonces (D15). An [`Envelope`] can only be made here, and only an
//! `Envelope` can be admitted.

use super::{
    Error, HEADER_BYTES_MAX, Header, PAYLOAD_BYTES_MAX, PROTOCOL, VERSION,
    header::{Recipient, Version},
};
use crate::sign::{Domain, Fingerprint, PublicKey, Signature};
use relaymesh_core::{canonical, hash::Hash};
use serde::Deserialize;
use serde_json::Value;

/// What whoever receives knows before it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Who we are.
    pub recipient: Fingerprint,
    /// Whose link it came by, if links are authenticated.
    pub carrier: Option<PublicKey>,
}

/// An envelope for us whose signature and payload hold. The bytes are as they came, with what this program does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    header: Header,
    more: Vec<String>,
    bytes: Vec<u8>,
    payload_at: usize,
}

impl Envelope {
    /// What it says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The names of fields that a newer minor version added and this program does not know.
    pub fn unknown_fields(&self) -> &[String] {
        &self.more
    }

    /// What it carries.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[self.payload_at..]
    }

    /// The bytes as they came. Handed on, they still hold.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Opens what a peer sent.
pub fn open(bytes: &[u8], expected: Expected) -> Result<Envelope, Error> {
    let short = || Error::Damaged { detail: "it ends early".to_owned() };
    let (signature, rest) = bytes.split_first_chunk::<64>().ok_or_else(short)?;
    let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| short())?;
    if length > HEADER_BYTES_MAX {
        return Err(Error::HeaderSize { bytes: length });
    }
    let (text, payload) = rest.split_at_checked(length).ok_or_else(short)?;
    if payload.len() > PAYLOAD_BYTES_MAX {
        return Err(Error::PayloadSize { bytes: payload.len() });
    }
    let (header, more) = read(text)?;
    let Recipient::Direct { agent_fp } = header.recipient;
    if agent_fp != expected.recipient {
        return Err(Error::Recipient { found: agent_fp });
    }
    if expected.carrier.is_some_and(|carrier| carrier != header.sender) {
        return Err(Error::Carrier { found: header.sender });
    }
    header.sender.verify(Domain::Envelope, text, &Signature(*signature))?;
    let found = Hash::blake3(&[payload]);
    if found != header.payload_cid {
        return Err(Error::Payload { found });
    }
    Ok(Envelope { header, more, payload_at: bytes.len() - payload.len(), bytes: bytes.to_vec() })
}

/// Reads a header, and the names of what it says beyond what we know.
pub(super) fn read(text: &[u8]) -> Result<(Header, Vec<String>), Error> {
    if text.len() > HEADER_BYTES_MAX {
        return Err(Error::HeaderSize { bytes: text.len() });
    }
    let value = canonical::parse(text).map_err(unreadable)?;
    if canonical::to_vec(&value).as_deref() != Ok(text) {
        return Err(Error::NotCanonical);
    }
    version(&value)?;
    let header = Header::deserialize(&value).map_err(|error| damaged(&error))?;
    let more = unknown(&value, &header)?;
    fits(&header)?;
    Ok((header, more))
}

/// Protocol and version, before anything else is understood: another major version may mean something else by every field.
fn version(value: &Value) -> Result<(), Error> {
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let protocol = text("protocol");
    if protocol != PROTOCOL {
        return Err(Error::Protocol { found: protocol.chars().take(40).collect() });
    }
    let found: Version = text("version").parse()?;
    if found.major == VERSION.major { Ok(()) } else { Err(Error::Major { found }) }
}

/// The fields that were not understood. What was understood must be written in its one way, wherever it stands.
fn unknown(value: &Value, header: &Header) -> Result<Vec<String>, Error> {
    let ours = serde_json::to_value(header).map_err(|error| damaged(&error))?;
    let (Value::Object(fields), Value::Object(ours)) = (value, &ours) else {
        return Err(Error::Damaged { detail: "it is not an object".to_owned() });
    };
    let same = |(field, own): (&String, &Value)| fields.get(field).is_some_and(|theirs| holds(theirs, own));
    if !ours.iter().all(same) {
        return Err(Error::NotCanonical);
    }
    // Only what this program would have left out itself may be in another form: a name of ours with nothing in it.
    let optional = ["committedAt", "precondition"];
    let more = fields.keys().filter(|field| !ours.contains_key(*field));
    match more.clone().find(|field| optional.contains(&field.as_str())) {
        Some(_) => Err(Error::NotCanonical),
        None => Ok(more.cloned().collect()),
    }
}

/// Whether everything of `own` stands in `theirs`, which may say more.
fn holds(theirs: &Value, own: &Value) -> bool {
    match (theirs, own) {
        (Value::Object(theirs), Value::Object(own)) => {
            own.iter().all(|(field, own)| theirs.get(field).is_some_and(|theirs| holds(theirs, own)))
        }
        (theirs, own) => theirs == own,
    }
}

/// Whether the fields fit each other.
fn fits(header: &Header) -> Result<(), Error> {
    for (number, field) in [(header.origin_seq, "originSeq"), (header.sequence, "sequence")] {
        if number == 0 {
            return Err(Error::Zero { field });
        }
    }
    if header.fence_token.epoch != header.lease_epoch {
        return Err(Error::Fence);
    }
    let has_time = header.committed_at.is_some();
    if !header.state.fits_commit(has_time) {
        return Err(Error::CommittedAt { state: header.state, has_time });
    }
    if !header.entity_type.travels_as(header.write_class) {
        return Err(Error::WriteClass { class: header.write_class });
    }
    Ok(())
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
