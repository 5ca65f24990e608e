//! Canonical bytes of values with large integers: RFC 8785, and `#` with the digits for an integer that it would round.

use super::{Error, encode, is_safe};
use serde_json::{Number, Value};

/// The bytes. They are for hashing only: no JSON parser reads them.
pub(super) fn to_vec(value: &Value) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    write(value, &mut out)?;
    Ok(out)
}

fn write(value: &Value, out: &mut Vec<u8>) -> Result<(), Error> {
    match value {
        Value::Number(number) if is_tagged(number) => {
            out.push(b'#');
            out.extend_from_slice(number.to_string().as_bytes());
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => out.append(&mut encode(value)?),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                out.extend((index > 0).then_some(b','));
                write(item, out)?;
            }
            out.push(b']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push(b'{');
            for (index, (key, item)) in entries.into_iter().enumerate() {
                out.extend((index > 0).then_some(b','));
                out.append(&mut encode(key)?);
                out.push(b':');
                write(item, out)?;
            }
            out.push(b'}');
        }
    }
    Ok(())
}

/// A double beyond the bound keeps the plain digits of the RFC: they are its own, because integers there have the tag.
fn is_tagged(number: &Number) -> bool {
    !number.is_f64() && !is_safe(number)
}
