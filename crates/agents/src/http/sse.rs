//! Server-sent events, out of bytes that come in any pieces.
//!
//! An event ends with an empty line. One that has no such end was cut off, and is not given out: half of a sentence must not look like a whole one.

use std::mem;

/// The longest event. A model's last event may repeat everything that it said.
pub const EVENT_BYTES_MAX: usize = 32 << 20;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// What it is called; most are not.
    pub name: String,
    /// Its lines.
    pub data: String,
}

/// An event was longer than any that makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the answer is longer than {EVENT_BYTES_MAX} bytes")]
pub struct TooLong;

/// Takes in bytes, gives out events.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    is_begun: bool,
}

impl Parser {
    /// The events that end in these bytes.
    pub fn take_in(&mut self, bytes: &[u8]) -> Result<Vec<Message>, TooLong> {
        let mut events = Vec::new();
        let mut rest = bytes;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend(&rest[..end])?;
            let is_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if is_return {
                self.after_return = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            events.extend(self.end_line());
        }
        self.extend(rest)?;
        Ok(events)
    }

    fn extend(&mut self, piece: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + self.data.len() + piece.len() > EVENT_BYTES_MAX {
            return Err(TooLong);
        }
        self.line.extend_from_slice(piece);
        Ok(())
    }

    fn end_line(&mut self) -> Option<Message> {
        let mut line = mem::take(&mut self.line);
        if !mem::replace(&mut self.is_begun, true) && line.starts_with("\u{feff}".as_bytes()) {
            line.drain(..3);
        }
        if line.is_empty() {
            let (name, data) = (mem::take(&mut self.name), mem::take(&mut self.data));
            let data = String::from_utf8_lossy(&data).into_owned();
            return mem::take(&mut self.has_data).then_some(Message { name, data });
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => {
                if mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            // Comments keep a connection awake; ids and times to wait are for those who would connect again.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut parser = Parser::default();
        let taken = pieces.iter().flat_map(|piece| parser.take_in(piece).unwrap());
        taken.map(|event| (event.name, event.data)).collect()
    }

    #[test]
    fn events_have_names_and_lines_and_end_with_an_empty_line() {
        let cases: [(&str, &[(&str, &str)]); 11] = [
            ("data: a\n\n", &[("", "a")]),
            ("event: x\ndata: a\ndata: b\n\ndata:c\n\n", &[("x", "a\nb"), ("", "c")]),
            ("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &[("", "a"), ("", "b"), ("", "c")]),
            (": awake\n\n:\n\ndata: a\n\n", &[("", "a")]),
            ("data\n\n", &[("", "")]),
            ("data:  two\n\n", &[("", " two")]),
            ("event: lonely\n\ndata: a\n\n", &[("", "a")]),
            ("\u{feff}data: a\n\n", &[("", "a")]),
            ("id: 1\nretry: 5\nother: x\ndata: a\n\n", &[("", "a")]),
            ("data: cut off", &[]),
            ("data: cut off\n", &[]),
        ];
        for (text, expected) in cases {
            let expected: Vec<_> = expected.iter().map(|(name, data)| (name.to_string(), data.to_string())).collect();
            assert_eq!(events(&[text.as_bytes()]), expected, "{text:?}");
            let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(events(&single), expected, "{text:?} byte by byte");
        }
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let mut parser = Parser::default();
        let megabyte = vec![b'x'; 1 << 20];
        let taken = (0..40).map(|_| parser.take_in(&megabyte)).find(Result::is_err);
        assert_eq!(taken, Some(Err(TooLong)));
    }
}
