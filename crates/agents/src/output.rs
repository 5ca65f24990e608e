//! What a process says: from a pipe into a file, as much as is allowed, and no more of it in memory than a buffer.
//!
//! Of what is over the limit the end is kept too ([`TAIL_BYTES_MAX`]), and between the two it says how much was left out. The head alone is
//! the simple choice, and loses what people look for: a program says last why it failed.

use crate::redact::Redactor;
use std::{
    borrow::Cow,
    collections::VecDeque,
    fs::File,
    io::{self, PipeReader, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

/// The size of the buffer that what is said goes through.
pub(crate) const BUFFER_BYTES: usize = 16 << 10;
/// How much is held back before there is a file for it. As much as a result may have that lies beside the log.
const HELD_BYTES_MAX: usize = 8 << 10;
/// How much of the end is kept of what is over the limit, in memory until it is over.
const TAIL_BYTES_MAX: usize = 64 << 10;
/// The longest last line that is remembered.
const LINE_BYTES_MAX: usize = 512;

/// One of the two ways a process says something, and what came of it so far.
pub(crate) struct Tap {
    pipe: Option<PipeReader>,
    path: PathBuf,
    redactor: Redactor,
    bytes_max: u64,
    room: u64,
    /// The end of what is over the limit.
    tail: VecDeque<u8>,
    /// Bytes over the limit, those in the tail included.
    beyond: u64,
    /// What has no file yet.
    held: Vec<u8>,
    /// Whether somebody may be reading along: nothing is held back then.
    is_live: bool,
    /// Whether the folder of the file may be missing, and is made with it.
    makes_folder: bool,
    /// Bytes that were said, kept or not.
    heard: u64,
    file: Option<File>,
    line: Line,
    is_over: bool,
    error: Option<io::Error>,
}

impl Tap {
    /// Into the file of this name, without what is secret. The file is made when there is something to put in it that is long, or that
    /// somebody may want to read along: most agents say little or nothing, and a file costs more than a process that does nothing.
    pub(crate) fn new(pipe: PipeReader, path: PathBuf, redactor: Redactor, bytes_max: u64) -> Self {
        let line = Line::default();
        Self {
            pipe: Some(pipe),
            path,
            redactor,
            bytes_max,
            room: bytes_max,
            tail: VecDeque::new(),
            beyond: 0,
            held: Vec::new(),
            is_live: false,
            makes_folder: false,
            heard: 0,
            file: None,
            line,
            is_over: false,
            error: None,
        }
    }

    /// From now on everything is in the file as soon as it is said.
    pub(crate) fn go_live(&mut self) {
        self.is_live = true;
        self.put(&[]);
    }

    /// For what comes by no pipe; [`Tap::hear`] takes it in. There is neither a file nor its folder before there is something to keep.
    pub(crate) fn piped_by_nobody(path: PathBuf, redactor: Redactor, bytes_max: u64) -> Self {
        let line = Line::default();
        Self {
            pipe: None,
            path,
            redactor,
            bytes_max,
            room: bytes_max,
            tail: VecDeque::new(),
            beyond: 0,
            heard: 0,
            held: Vec::new(),
            is_live: false,
            makes_folder: true,
            file: None,
            line,
            is_over: false,
            error: None,
        }
    }

    /// Takes in what somebody else has heard; gives what was taken in, without what is secret.
    pub(crate) fn hear(&mut self, said: &[u8]) -> Vec<u8> {
        let clean = self.redactor.take_in(said);
        self.keep(&clean);
        clean
    }

    /// Nothing more comes: gives what was held back.
    pub(crate) fn hear_no_more(&mut self) -> Vec<u8> {
        let clean = self.redactor.finish();
        self.keep(&clean);
        self.end();
        clean
    }

    /// Nothing more is kept: puts the end of what is over the limit behind its head.
    pub(crate) fn end(&mut self) {
        if self.beyond == 0 {
            return;
        }
        let mut tail = std::mem::take(&mut self.tail);
        let mut left_out = std::mem::take(&mut self.beyond) - tail.len() as u64;
        if left_out > 0 {
            // Not in the middle of a character.
            while tail.front().is_some_and(|byte| byte & 0xc0 == 0x80) {
                tail.pop_front();
                left_out += 1;
            }
            let max = self.bytes_max;
            self.put(
                format!("\n[{left_out} bytes left out: the limit is {max} bytes, and this is the end]\n").as_bytes(),
            );
        }
        self.put(tail.make_contiguous());
    }

    /// Keeps nothing of it after all.
    pub(crate) fn forget(&mut self) {
        self.held.clear();
        if self.file.take().is_some() {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Where more may come from; none once the other end is closed.
    pub(crate) fn pipe(&self) -> Option<&PipeReader> {
        self.pipe.as_ref()
    }

    /// Hears no more.
    pub(crate) fn close(&mut self) {
        self.pipe = None;
    }

    /// Whether there was more than is allowed.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// How many bytes were said, kept or not.
    pub(crate) fn said_bytes(&self) -> u64 {
        self.heard
    }

    /// The last line that says something.
    pub(crate) fn last_line(&self) -> String {
        self.line.last()
    }

    /// Takes in once what is there; waits if nothing is. What is over the limit or cannot be kept is dropped, so that whoever says it
    /// can go on.
    /// Gives what was taken in.
    pub(crate) fn take<'a>(&mut self, buffer: &'a mut [u8]) -> Cow<'a, [u8]> {
        let Some(pipe) = &mut self.pipe else { return Cow::Borrowed(&[]) };
        let read = pipe.read(buffer);
        self.heard += read.as_ref().map_or(0, |count| *count as u64);
        let said = match read {
            Ok(0) => {
                self.pipe = None;
                Cow::Owned(self.redactor.finish())
            }
            // First without secrets, then cut: the other way round, a part of one could be left at the end.
            Ok(count) if self.redactor.has_secrets() => Cow::Owned(self.redactor.take_in(&buffer[..count])),
            Ok(count) => Cow::Borrowed(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Cow::Borrowed(&[][..]),
            Err(error) => {
                self.pipe = None;
                self.error.get_or_insert(error);
                Cow::Borrowed(&[][..])
            }
        };
        self.keep(&said);
        said
    }

    /// A line that was not said here, but belongs here for whoever reads it. It has no secrets any more.
    pub(crate) fn note(&mut self, line: &str) {
        self.keep(line.as_bytes());
        self.keep(b"\n");
    }

    fn keep(&mut self, said: &[u8]) {
        if said.is_empty() {
            return;
        }
        let (kept, beyond) = said.split_at(said.len().min(usize::try_from(self.room).unwrap_or(usize::MAX)));
        self.room -= kept.len() as u64;
        self.line.take_in(said);
        if !beyond.is_empty() {
            self.is_over = true;
            self.beyond += beyond.len() as u64;
            self.tail.extend(beyond);
            let max = TAIL_BYTES_MAX.min(usize::try_from(self.bytes_max).unwrap_or(usize::MAX));
            self.tail.drain(..self.tail.len().saturating_sub(max));
        }
        if kept.is_empty() {
            return;
        }
        if self.is_live || self.file.is_some() || self.held.len() + kept.len() > HELD_BYTES_MAX {
            self.put(kept);
        } else {
            self.held.extend_from_slice(kept);
        }
    }

    /// Puts what was held back, and this, into the file. A disk that is full costs the output, not the watch over the process.
    fn put(&mut self, kept: &[u8]) {
        let held = std::mem::take(&mut self.held);
        for bytes in [&held, kept] {
            if self.error.is_none() && !bytes.is_empty() {
                self.error = self.write(bytes).err();
            }
        }
    }

    fn write(&mut self, kept: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none if self.makes_folder => none.insert(create_with_folder(&self.path)?),
            none => none.insert(create(&self.path)?),
        };
        file.write_all(kept)
    }

    /// Everything that was said and kept, or why it could not be kept. What was held back gets no file.
    pub(crate) fn read(&mut self) -> io::Result<Vec<u8>> {
        match (self.error.take(), &mut self.file) {
            (Some(error), _) => Err(error),
            // From the file that was made, whatever has its name by now.
            (None, Some(file)) => {
                let mut bytes = Vec::new();
                file.seek(io::SeekFrom::Start(0))?;
                file.read_to_end(&mut bytes)?;
                Ok(bytes)
            }
            (None, None) => Ok(self.held.clone()),
        }
    }
}

/// The same, with the folder around it if that is not there yet.
fn create_with_folder(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::DirBuilderExt as _;
    match (create(path), path.parent()) {
        (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            create(path)
        }
        (made, _) => made,
    }
}

/// A new file for its owner alone. What has that name already is put away and never written to: an agent may have planted a link there.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let new = || std::fs::OpenOptions::new().create_new(true).read(true).write(true).mode(0o600).open(path);
    match new() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            std::fs::remove_file(path)?;
            new()
        }
        made => made,
    }
}

/// Remembers the last line that is not blank.
#[derive(Default)]
struct Line {
    whole: Vec<u8>,
    begun: Vec<u8>,
}

impl Line {
    fn take_in(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_BYTES_MAX.saturating_sub(self.begun.len());
            self.begun.extend(piece.iter().take(room));
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.begun);
                if !line.trim_ascii().is_empty() {
                    self.whole = line;
                }
            }
        }
    }

    fn last(&self) -> String {
        let line = if self.begun.trim_ascii().is_empty() { &self.whole } else { &self.begun };
        String::from_utf8_lossy(line.trim_ascii()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tapped(text: &[u8], path: PathBuf, bytes_max: u64) -> Tap {
        let (pipe, mut says) = io::pipe().unwrap();
        let mut tap = Tap::new(pipe, path, Redactor::default(), bytes_max);
        says.write_all(text).unwrap();
        drop(says);
        let mut buffer = [0; 32];
        while tap.pipe().is_some() {
            tap.take(&mut buffer);
        }
        tap
    }

    #[test]
    fn what_is_over_the_limit_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        for (said, is_over) in [(100, true), (65, true), (64, false)] {
            let mut tap = tapped(&vec![b'x'; said], folder.path().join("out"), 64);
            assert_eq!(tap.is_over(), is_over);
            assert_eq!(tap.read().unwrap().len(), 64);
        }
    }

    #[test]
    fn of_what_is_over_the_limit_the_end_is_kept_and_how_much_is_left_out_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let ended = |text: &str, max: u64| {
            let mut tap = tapped(text.as_bytes(), folder.path().join("err"), max);
            tap.end();
            let kept = String::from_utf8_lossy(&tap.read().unwrap()).into_owned();
            (kept, tap.last_line())
        };
        let noise = "noise\n".repeat(1_000);
        let text = format!("begin\n{noise}reason: no such host\n");
        let (kept, last) = ended(&text, 40);
        let cut = "[5947 bytes left out: the limit is 40 bytes, and this is the end]";
        assert!(kept.starts_with("begin\nnoise") && kept.ends_with("reason: no such host\n"), "{kept}");
        assert_eq!(
            (kept.lines().find(|line| line.starts_with('[')), last.as_str()),
            (Some(cut), "reason: no such host")
        );
        assert_eq!(ended("0123456789", 6).0, "0123456789", "nothing is left out");
        let (kept, _) = ended(&"ä".repeat(100), 20);
        assert!(kept.starts_with("ää") && kept.ends_with("ää"), "{kept}");
        let (kept, _) = ended(&"ä".repeat(100), 21);
        assert!(kept.contains("end]\nää") && kept.ends_with("ää"), "not in the middle of a character: {kept}");
    }

    #[test]
    fn the_last_line_that_says_something_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let last = |text: &str| tapped(text.as_bytes(), folder.path().join("out"), 10_000).last_line();
        for (text, expected) in [("", ""), ("a\nb\n", "b"), ("a\n  b \n\n \n", "b"), ("a\nhalf", "half"), ("\n", "")] {
            assert_eq!(last(text), expected, "{text:?}");
        }
        assert_eq!(last(&"y".repeat(2000)).len(), LINE_BYTES_MAX);
    }

    #[test]
    fn silence_makes_no_file_and_what_cannot_be_kept_is_no_result() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        assert_eq!(tapped(b"", path.clone(), 10).read().unwrap(), b"");
        assert!(!path.exists());
        let mut tap = tapped(b"half a result", folder.path().join("no/such/folder"), 100);
        assert_eq!(tap.last_line(), "half a result");
        assert_eq!(tap.read().unwrap(), b"half a result", "what is short needs no file");
        tap.go_live();
        assert_eq!(tap.read().unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
