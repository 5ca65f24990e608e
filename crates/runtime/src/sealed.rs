//! Small JSON files of the root that decide something, with a checksum.
//!
//! A disk that flips a bit, or a person who edits the wrong line, must not open another namespace. So such a file says the SHA-256 of what
//! it says, and one that does not match is refused and never guessed at. Files from before had no checksum; they are read as they are, and
//! get one when they are written next.

use relaymesh_core::hash::Hash;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::io;

/// The field of the checksum.
const SUM: &str = "sum";

/// The bytes of a file that says this.
pub(crate) fn encode<T: Serialize>(what: &T) -> io::Result<Vec<u8>> {
    let mut fields = fields(what)?;
    fields.insert(SUM.to_owned(), Value::String(sum(what)?));
    let mut bytes = serde_json::to_vec_pretty(&fields)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// What a file says, and whether it has a checksum.
pub(crate) fn decode<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> io::Result<(T, bool)> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(damaged("it is empty".to_owned()));
    }
    // The words of the parser could quote what the file says.
    let unreadable =
        |error: serde_json::Error| damaged(format!("it is not JSON of the expected form (line {})", error.line()));
    let mut found: Map<String, Value> = serde_json::from_slice(bytes).map_err(unreadable)?;
    let said = found.remove(SUM);
    let names: Vec<String> = found.keys().cloned().collect();
    let what: T = serde_json::from_value(Value::Object(found)).map_err(unreadable)?;
    match said {
        Some(said) if said == Value::String(sum(&what)?) => Ok((what, true)),
        Some(_) => Err(damaged("its checksum does not match: it was changed or damaged".to_owned())),
        None => {
            // The name of the checksum may be what was damaged.
            let known = fields(&what)?;
            match names.iter().all(|name| known.contains_key(name)) {
                true => Ok((what, false)),
                false => Err(damaged("it has a field that is not known: it was changed or damaged".to_owned())),
            }
        }
    }
}

fn fields<T: Serialize>(what: &T) -> io::Result<Map<String, Value>> {
    let Value::Object(fields) = serde_json::to_value(what)? else {
        return Err(damaged("it is not an object".to_owned()));
    };
    Ok(fields)
}

/// Over what was understood, not over the bytes: spaces do not count.
fn sum<T: Serialize>(what: &T) -> io::Result<String> {
    Ok(Hash::sha256(&serde_json::to_vec(what)?).to_string())
}

fn damaged(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
