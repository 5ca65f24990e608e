//! Taking secrets out of what a process says, as it says it.
//!
//! Output comes in pieces, and a secret may lie across two of them. So the end of a piece is held back as long as it may be the
//! beginning of a secret, and not a byte longer: a reader of the output sees it at once. A secret is found however it is escaped
//! (`escape.rs`: JSON of any language, percent-encoding, HTML, a shell, and these in each other), in base64 and in hexadecimal digits
//! (`forms.rs`), and each long line of one that has several is found alone.
//!
//! It must not make a long output slow: most bytes begin neither an escape nor a secret, and a table says so at once.
//! A process that wants to get a secret out can: this is against accidents.

mod escape;
mod forms;

#[cfg(test)]
mod tests;

use crate::{
    end::{End, Ended},
    secret::{HIDDEN, Secret},
};
use escape::{Readings, is_special, readings};
use forms::{PATTERN_BYTES_MIN, forms};
use relaymesh_core::content::Media;
use serde_json::Value;
use std::collections::BTreeSet;
use zeroize::Zeroizing;

/// Takes secrets out of a stream.
#[derive(Default)]
pub(crate) struct Redactor {
    /// Longest first, so that the whole of a secret goes before a part of it.
    patterns: Vec<Zeroizing<Vec<u8>>>,
    /// The patterns that begin with each byte, in the same order. Empty if there are no patterns.
    beginning: Vec<Vec<usize>>,
    held: Zeroizing<Vec<u8>>,
}

/// Whether a secret stands at some place.
enum Verdict {
    No,
    /// It does, up to here.
    Whole(usize),
    /// The text ends before that is known. So many bytes of a pattern were found.
    Begun(usize),
}

impl Redactor {
    pub(crate) fn new(secrets: &[Secret]) -> Self {
        let forms: BTreeSet<Vec<u8>> = secrets.iter().flat_map(|secret| forms(secret.expose())).collect();
        let mut patterns: Vec<Zeroizing<Vec<u8>>> = forms.into_iter().map(Zeroizing::new).collect();
        patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.len()));
        let mut beginning = vec![Vec::new(); if patterns.is_empty() { 0 } else { 256 }];
        for (index, pattern) in patterns.iter().enumerate() {
            beginning[usize::from(pattern[0])].push(index);
        }
        Self { patterns, beginning, held: Zeroizing::default() }
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
            let plain = self.held[at..].iter().take_while(|byte| !self.may_begin(**byte)).count();
            clean.extend_from_slice(&self.held[at..at + plain]);
            at += plain;
            if at == self.held.len() {
                break;
            }
            // A longer one that may still come goes before a shorter one that is here.
            match self.first(at, |verdict| !matches!(verdict, Verdict::No)) {
                Verdict::No => {
                    clean.push(self.held[at]);
                    at += 1;
                }
                Verdict::Whole(end) => {
                    clean.extend_from_slice(HIDDEN.as_bytes());
                    at = end;
                }
                Verdict::Begun(_) => break,
            }
        }
        self.held.drain(..at);
        clean
    }

    /// What is left when nothing more comes. The beginning of a secret that was cut short is hidden as well, if it is long.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let mut clean = Vec::new();
        let mut at = 0;
        while at < self.held.len() {
            // Nothing longer comes any more: what is here in full counts now, unless all that is left begins a longer one.
            let is_begun =
                |verdict: &Verdict| matches!(verdict, Verdict::Begun(length) if *length >= PATTERN_BYTES_MIN);
            let gone = match self.first(at, is_begun) {
                Verdict::Begun(_) => Some(self.held.len()),
                Verdict::No | Verdict::Whole(_) => match self.first(at, |verdict| matches!(verdict, Verdict::Whole(_)))
                {
                    Verdict::Whole(end) => Some(end),
                    Verdict::No | Verdict::Begun(_) => None,
                },
            };
            match gone {
                Some(end) => {
                    clean.extend_from_slice(HIDDEN.as_bytes());
                    at = end;
                }
                None => {
                    clean.push(self.held[at]);
                    at += 1;
                }
            }
        }
        self.held = Zeroizing::default();
        clean
    }

    /// What may be written of a text that is here in full.
    fn whole(&mut self, text: &[u8]) -> Vec<u8> {
        let mut clean = self.take_in(text);
        clean.extend(self.finish());
        clean
    }

    /// Whether a secret may begin with this byte, escaped or not.
    fn may_begin(&self, byte: u8) -> bool {
        is_special(byte) || !self.beginning[usize::from(byte)].is_empty()
    }

    /// The verdict on the first pattern, by length, whose verdict is like this.
    fn first(&self, at: usize, is_wanted: impl Fn(&Verdict) -> bool) -> Verdict {
        let text = &self.held[..];
        let verdicts = |all: &[usize]| {
            let mut verdicts = all.iter().map(|index| matched(&self.patterns[*index], text, at));
            verdicts.find(&is_wanted).unwrap_or(Verdict::No)
        };
        if !is_special(text[at]) {
            return verdicts(&self.beginning[usize::from(text[at])]);
        }
        let mut found = Readings::default();
        readings(text, at, &mut found);
        let mut all: Vec<usize> =
            found.all.iter().flat_map(|reading| &self.beginning[usize::from(reading.bytes()[0])]).copied().collect();
        all.sort_unstable();
        all.dedup();
        let verdict = verdicts(&all);
        let is_open = matches!(verdict, Verdict::No) && found.is_cut && is_wanted(&Verdict::Begun(0));
        if is_open { Verdict::Begun(0) } else { verdict }
    }
}

/// Whether this pattern stands at this place of the text, escaped or not.
fn matched(pattern: &[u8], text: &[u8], at: usize) -> Verdict {
    // Almost always it is not escaped, or it is not there.
    let same = pattern.iter().zip(&text[at..]).take_while(|(want, have)| want == have && !is_special(**have)).count();
    match text.get(at + same) {
        _ if same == pattern.len() => return Verdict::Whole(at + same),
        None => return Verdict::Begun(same),
        Some(byte) if !is_special(*byte) => return Verdict::No,
        Some(_) => {}
    }
    let mut waiting = vec![(same, at + same)];
    let mut seen = BTreeSet::new();
    let mut found = Readings::default();
    let (mut whole, mut begun) = (None, None);
    while let Some((index, place)) = waiting.pop() {
        match (pattern.get(index), text.get(place)) {
            (None, _) => whole = whole.max(Some(place)),
            (Some(_), None) => begun = begun.max(Some(index)),
            (Some(want), Some(byte)) if !is_special(*byte) => {
                if want == byte {
                    waiting.push((index + 1, place + 1));
                }
            }
            (Some(_), Some(_)) => {
                readings(text, place, &mut found);
                if found.is_cut {
                    begun = begun.max(Some(index));
                }
                for reading in &found.all {
                    let next = (index + reading.bytes().len(), reading.next);
                    if pattern[index..].starts_with(reading.bytes()) && seen.insert(next) {
                        waiting.push(next);
                    }
                }
            }
        }
    }
    match (whole, begun) {
        (Some(end), _) => Verdict::Whole(end),
        (None, Some(length)) => Verdict::Begun(length),
        (None, None) => Verdict::No,
    }
}

/// A text without secrets.
pub(crate) fn clean(text: &str, secrets: &[Secret]) -> String {
    String::from_utf8_lossy(&Redactor::new(secrets).whole(text.as_bytes())).into_owned()
}

/// The end of an attempt, looked at once more before it is kept: a result is put together from several pieces, and only when it is whole and
/// read as JSON is it certain what its texts are.
pub(crate) fn clean_ended(ended: Ended, secrets: &[Secret]) -> Ended {
    let mut redactor = Redactor::new(secrets);
    if !redactor.has_secrets() {
        return ended;
    }
    let Ended { end, mut inference } = ended;
    let mut shown = |text: &str| String::from_utf8_lossy(&redactor.whole(text.as_bytes())).into_owned();
    let end = match end {
        End::Failed { error, retryable } => End::Failed { error: shown(&error), retryable },
        End::Limited { reason, until_ms } => End::Limited { reason: shown(&reason), until_ms },
        End::Done { media, result } => End::Done { media, result: clean_result(media, &result, &mut redactor) },
    };
    if let Some(inference) = &mut inference {
        clean_value(&mut inference.output, &mut redactor);
    }
    Ended { end, inference }
}

fn clean_result(media: Media, result: &[u8], redactor: &mut Redactor) -> Vec<u8> {
    let cleaned = redactor.whole(result);
    if media == Media::Json
        && let Ok(mut value) = serde_json::from_slice::<Value>(&cleaned)
    {
        // Bytes that have no secret stay as they are: nobody is to find another spelling of his numbers.
        if clean_value(&mut value, redactor) {
            return value.to_string().into_bytes();
        }
    }
    cleaned
}

/// Takes secrets out of every text of a document; `true` if there was one.
fn clean_value(value: &mut Value, redactor: &mut Redactor) -> bool {
    let mut was_there = false;
    let mut cleaned = |text: &str| {
        let clean = redactor.whole(text.as_bytes());
        let is_other = clean != text.as_bytes();
        was_there |= is_other;
        is_other.then(|| String::from_utf8_lossy(&clean).into_owned())
    };
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => {
                if let Some(clean) = cleaned(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => waiting.extend(items),
            Value::Object(fields) => {
                let renamed: Vec<(String, String)> =
                    fields.keys().filter_map(|name| Some((name.clone(), cleaned(name)?))).collect();
                for (name, clean) in renamed {
                    if let Some(value) = fields.remove(&name) {
                        fields.insert(clean, value);
                    }
                }
                waiting.extend(fields.values_mut());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    was_there
}
