//! 128 bits as 32 hexadecimal digits for people and programs that read text, because no JSON number holds them. For
//! `#[serde(with = "crate::hex128")]`.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

pub(crate) fn serialize<S: Serializer>(bits: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        serializer.collect_str(&format_args!("{bits:032x}"))
    } else {
        bits.serialize(serializer)
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
    if !deserializer.is_human_readable() {
        return u128::deserialize(deserializer);
    }
    let text = String::deserialize(deserializer)?;
    let is_id = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    let parsed = u128::from_str_radix(&text, 16).ok().filter(|_| is_id);
    parsed.ok_or_else(|| D::Error::custom("a trace id, or a state hash, is 32 hexadecimal digits"))
}
