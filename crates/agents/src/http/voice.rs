//! Lines for people, while an answer comes: words as they are said, everything else on lines of its own.
//!
//! Whoever follows an attempt is shown whole lines. A model says long paragraphs in one, so they are broken where there is a space.

use crate::{
    output::Tap,
    redact::{Redactor, clean},
    secret::Secret,
    tool::Event,
    watch,
};
use std::path::PathBuf;

/// Where a line is broken, at the next space.
const LINE_CHARS: usize = 100;

pub(super) struct Voice {
    tap: Tap,
    /// Words come in pieces, and a secret may lie across two of them.
    redactor: Redactor,
    secrets: Vec<Secret>,
    column: usize,
}

impl Voice {
    /// Into this file.
    pub(super) fn new(path: PathBuf, secrets: &[Secret]) -> Self {
        let mut tap = Tap::piped_by_nobody(path, Redactor::default(), watch::PROGRESS_BYTES_MAX);
        tap.go_live();
        Self { tap, redactor: Redactor::new(secrets), secrets: secrets.to_vec(), column: 0 }
    }

    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::Text(piece) => {
                let clean = self.redactor.take_in(piece.as_bytes());
                self.say(&clean);
            }
            // Once is enough, at the end.
            Event::Used(_) => {}
            Event::Session(_)
            | Event::Thought(_)
            | Event::Tool { .. }
            | Event::ToolEnded { .. }
            | Event::Trouble(_)
            | Event::Again(_)
            | Event::Unknown(_) => {
                if let Some(line) = event.for_people() {
                    self.note(&line);
                }
            }
        }
    }

    /// A line of its own.
    pub(super) fn note(&mut self, line: &str) {
        self.end_line();
        self.tap.note(&clean(line, &self.secrets));
    }

    /// Nothing more comes.
    pub(super) fn close(&mut self) {
        self.end_line();
    }

    fn end_line(&mut self) {
        let held = self.redactor.finish();
        self.say(&held);
        if self.column > 0 {
            self.say(b"\n");
        }
    }

    fn say(&mut self, words: &[u8]) {
        let words = String::from_utf8_lossy(words);
        let mut broken = String::with_capacity(words.len());
        for c in words.chars() {
            let is_break = c == '\n' || (c == ' ' && self.column >= LINE_CHARS);
            broken.push(if is_break { '\n' } else { c });
            self.column = if is_break { 0 } else { self.column + 1 };
        }
        self.tap.hear(broken.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_broken_into_lines_and_secrets_are_found_across_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("said");
        let secrets = [Secret::new("sk-very-secret".to_owned())];
        let mut voice = Voice::new(path.clone(), &secrets);
        for piece in ["Hello sk-ve", "ry-secret and ", &"word ".repeat(30), "end"] {
            voice.event(&Event::Text(piece.to_owned()));
        }
        voice.event(&Event::Trouble("no sk-very-secret here".to_owned()));
        let said = std::fs::read_to_string(path).unwrap();
        assert!(said.starts_with("Hello *** and word"), "{said}");
        assert!(said.ends_with("end\n! no *** here\n"), "{said}");
        assert!(said.lines().count() == 3 && said.lines().all(|line| line.len() <= LINE_CHARS + 5), "{said}");
    }
}
