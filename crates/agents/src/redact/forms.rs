//! The forms in which a secret is known again, besides its escapes.

use std::collections::BTreeSet;

/// Shorter texts would be found by accident.
pub(super) const PATTERN_BYTES_MIN: usize = 8;

/// The secret, its long lines, and what it becomes in base64 and hexadecimal digits: by itself, and as it stands in JSON.
pub(super) fn forms(secret: &str) -> Vec<Vec<u8>> {
    let lines = secret.lines().map(str::trim).filter(|line| line.len() >= PATTERN_BYTES_MIN);
    let mut forms: Vec<Vec<u8>> = lines.map(|line| line.as_bytes().to_vec()).collect();
    forms.push(secret.as_bytes().to_vec());
    let in_json = serde_json::Value::from(secret).to_string();
    let in_json = &in_json[1..in_json.len() - 1];
    let in_ascii = ascii(in_json);
    let in_php = in_ascii.replace('/', "\\/");
    for text in BTreeSet::from([secret, in_json, &in_ascii, &in_php]) {
        forms.extend([hex(text, b"0123456789abcdef"), hex(text, b"0123456789ABCDEF")]);
        for last_two in [b"+/", b"-_"] {
            forms.push(base64(text.as_bytes(), last_two));
            // What stands before it decides where a group of three bytes begins, and what stands behind it how the last one ends.
            for skipped in 0..3 {
                let rest = text.as_bytes().get(skipped..).unwrap_or_default();
                forms.push(base64(&rest[..rest.len() / 3 * 3], last_two));
            }
        }
    }
    forms.retain(|form| form.len() >= PATTERN_BYTES_MIN);
    forms
}

/// JSON in ASCII alone, as Python and PHP write it.
fn ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            text.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}")));
        }
    }
    text
}

fn hex(text: &str, digits: &[u8; 16]) -> Vec<u8> {
    text.bytes().flat_map(|byte| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]).collect()
}

/// Without padding, so that it is found with and without.
pub(super) fn base64(bytes: &[u8], last_two: &[u8; 2]) -> Vec<u8> {
    let digit = |six: u32| match six & 63 {
        low @ 0..26 => b'A' + low as u8,
        low @ 26..52 => b'a' + (low - 26) as u8,
        low @ 52..62 => b'0' + (low - 52) as u8,
        low => last_two[low as usize - 62],
    };
    let group = |three: &[u8]| {
        let bits = three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        [18, 12, 6, 0].map(|shift| digit(bits >> shift)).into_iter().take(three.len() + 1).collect::<Vec<u8>>()
    };
    bytes.chunks(3).flat_map(group).collect()
}
