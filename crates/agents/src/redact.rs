//! Taking secrets out of what a process says, as it says it.
//!
//! Output comes in pieces, and a secret may lie across two of them. So the end of a piece is held back as long as it may be the
//! beginning of a secret, and not a byte longer: whoever follows the output sees it at once. Besides the text itself, the forms
//! in which it is often printed are known: within a JSON text, in base64 (whatever stands before it, as a user's name does), in hexadecimal digits,
//! as a part of a URL, and each long line of one that has several.
//! A process that wants to get a secret out can: this is against accidents.

use crate::secret::{HIDDEN, Secret};
use std::collections::BTreeSet;
use zeroize::Zeroizing;

/// Shorter texts would be found by accident.
const PATTERN_BYTES_MIN: usize = 8;

/// Takes secrets out of a stream.
#[derive(Default)]
pub(crate) struct Redactor {
    /// Longest first, so that the whole of a secret goes before a part of it.
    patterns: Vec<Zeroizing<Vec<u8>>>,
    held: Zeroizing<Vec<u8>>,
}

impl Redactor {
    pub(crate) fn new(secrets: &[Secret]) -> Self {
        let forms: BTreeSet<Vec<u8>> = secrets.iter().flat_map(|secret| forms(secret.expose())).collect();
        let mut patterns: Vec<Zeroizing<Vec<u8>>> = forms.into_iter().map(Zeroizing::new).collect();
        patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.len()));
        Self { patterns, held: Zeroizing::default() }
    }

    /// Whether there is anything to take out.
    pub(crate) fn has_secrets(&self) -> bool {
        !self.patterns.is_empty()
    }

    /// What may be written of this piece and of what was held back before.
    pub(crate) fn take_in(&mut self, piece: &[u8]) -> Vec<u8> {
        if self.patterns.is_empty() {
            return piece.to_vec();
        }
        self.held.extend_from_slice(piece);
        let mut clean = Vec::with_capacity(self.held.len());
        let mut at = 0;
        while at < self.held.len() {
            let rest = &self.held[at..];
            // A longer one that may still come goes before a shorter one that is here.
            let next = self.patterns.iter().find(|pattern| {
                let shared = pattern.len().min(rest.len());
                pattern[..shared] == rest[..shared]
            });
            match next {
                None => {
                    clean.push(rest[0]);
                    at += 1;
                }
                Some(pattern) if pattern.len() <= rest.len() => {
                    clean.extend_from_slice(HIDDEN.as_bytes());
                    at += pattern.len();
                }
                Some(_) => break,
            }
        }
        self.held.drain(..at);
        clean
    }

    /// What is left when nothing more comes. The beginning of a secret that was cut short is hidden as well, if it is long.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let mut clean = Vec::new();
        let mut held = std::mem::take(&mut self.held);
        while !held.is_empty() {
            // Nothing longer comes any more: what is here in full counts now, unless all that is left begins a longer one.
            let whole = self.patterns.iter().find(|pattern| held.starts_with(pattern)).map(|pattern| pattern.len());
            let begun =
                held.len() >= PATTERN_BYTES_MIN && self.patterns.iter().any(|pattern| pattern.starts_with(&held));
            let gone = match (whole, begun) {
                (_, true) => held.len(),
                (Some(length), false) => length,
                (None, false) => {
                    clean.push(held[0]);
                    held.drain(..1);
                    continue;
                }
            };
            clean.extend_from_slice(HIDDEN.as_bytes());
            held.drain(..gone);
        }
        clean
    }
}

/// The forms in which a secret is known again.
fn forms(secret: &str) -> Vec<Vec<u8>> {
    let lines = secret.lines().map(str::trim).filter(|line| line.len() >= PATTERN_BYTES_MIN);
    let mut forms: Vec<Vec<u8>> = lines.map(|line| line.as_bytes().to_vec()).collect();
    let in_json = serde_json::Value::from(secret).to_string();
    let hex = |digits: &[u8; 16]| {
        let two = |byte: u8| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]];
        secret.bytes().flat_map(two).collect::<Vec<u8>>()
    };
    forms.extend([
        secret.as_bytes().to_vec(),
        in_json.as_bytes()[1..in_json.len() - 1].to_vec(),
        hex(b"0123456789abcdef"),
        hex(b"0123456789ABCDEF"),
        percent(secret, b"0123456789abcdef"),
        percent(secret, b"0123456789ABCDEF"),
    ]);
    for last_two in [b"+/", b"-_"] {
        forms.push(base64(secret.as_bytes(), last_two));
        // What stands before it decides where a group of three bytes begins, and what stands behind it how the last one ends.
        for skipped in 0..3 {
            let rest = secret.as_bytes().get(skipped..).unwrap_or_default();
            forms.push(base64(&rest[..rest.len() / 3 * 3], last_two));
        }
    }
    forms.retain(|form| form.len() >= PATTERN_BYTES_MIN);
    forms
}

/// As a part of a URL.
fn percent(secret: &str, digits: &[u8; 16]) -> Vec<u8> {
    let one = |byte: u8| match byte {
        b'-' | b'_' | b'.' | b'~' => vec![byte],
        _ if byte.is_ascii_alphanumeric() => vec![byte],
        _ => vec![b'%', digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]],
    };
    secret.bytes().flat_map(one).collect()
}

/// Without padding, so that it is found with and without.
fn base64(bytes: &[u8], last_two: &[u8; 2]) -> Vec<u8> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(texts: &[&str]) -> Vec<Secret> {
        texts.iter().map(|text| Secret::new((*text).to_owned())).collect()
    }

    /// What comes out when the text comes in pieces of this length.
    fn in_pieces(secrets: &[Secret], text: &str, length: usize) -> String {
        let mut redactor = Redactor::new(secrets);
        let mut out = Vec::new();
        for piece in text.as_bytes().chunks(length) {
            out.extend(redactor.take_in(piece));
        }
        out.extend(redactor.finish());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_secret_is_found_wherever_the_pieces_end() {
        let known = secrets(&["s3cr3t-value", "s3cr3t-value-longer", "aaaaaaab"]);
        let cases = [
            ("a s3cr3t-value b", "a *** b"),
            ("s3cr3t-value-longer", "***"),
            ("s3cr3t-value-long", "***"),
            ("s3cr3t-value-", "***"),
            ("s3cr3t-", "s3cr3t-"),
            ("s3cr3t-v!", "s3cr3t-v!"),
            ("s3cs3cr3t-values3cr3t-value.", "s3c******."),
            ("aaaaaaaaaaab", "aaaa***"),
            ("aaaaaaaaa", "aaaaaaaaa"),
            ("", ""),
        ];
        for (text, clean) in cases {
            for length in 1..=text.len().max(1) {
                assert_eq!(in_pieces(&known, text, length), clean, "{text} in pieces of {length}");
            }
        }
    }

    #[test]
    fn the_forms_of_a_secret_are_found_too() {
        let text = "pass\"word\nwith lines ÿ>?";
        let known = secrets(&[text]);
        for form in [
            "pass\\\"word\\nwith lines ÿ>?",
            "cGFzcyJ3b3JkCndpdGggbGluZXMgw78+Pw==",
            "cGFzcyJ3b3JkCndpdGggbGluZXMgw78-Pw",
            "7061737322776f72640a77697468206c696e657320c3bf3e3f",
            "7061737322776F72640A77697468206C696E657320C3BF3E3F",
            "with lines ÿ>?",
            text,
        ] {
            let clean = in_pieces(&known, &format!("<{form}>"), 5);
            assert!(clean.starts_with("<***"), "{form}: {clean}");
            assert!(clean.trim_end_matches(['>', '=']).len() == "<***".len(), "{form}: {clean}");
        }
    }

    #[test]
    fn a_secret_is_found_behind_a_name_in_base64_and_in_a_url() {
        let text = "s3cr3t+value/ÿ";
        let known = secrets(&[text]);
        for before in ["", "u", "us", "user:"] {
            let printed = String::from_utf8(base64(format!("{before}{text}, and more").as_bytes(), b"+/")).unwrap();
            let clean = in_pieces(&known, &printed, 7);
            // The letters at its edges have bits of what stands beside it.
            assert!(clean.contains("***") && clean.len() + 12 < printed.len(), "{before}: {printed} {clean}");
        }
        for form in ["s3cr3t%2Bvalue%2F%C3%BF", "s3cr3t%2bvalue%2f%c3%bf"] {
            assert_eq!(in_pieces(&known, &format!("?key={form}&b"), 3), "?key=***&b");
        }
    }

    #[test]
    fn nothing_is_held_back_that_cannot_be_a_secret() {
        let mut redactor = Redactor::new(&secrets(&["s3cr3t-value"]));
        assert_eq!(redactor.take_in(b"working s3c"), b"working ");
        assert_eq!(redactor.take_in(b"ond step\n"), b"s3cond step\n");
        assert_eq!(Redactor::new(&[]).take_in(b"as it is"), b"as it is");
    }
}
