//! What a process says: from a pipe into a file, as much as is allowed, and no more of it in memory than a buffer.

use std::{io, path::Path};
use tokio::io::{AsyncRead, AsyncReadExt as _};

const BUFFER_BYTES: usize = 16 << 10;
/// The longest last line that is remembered.
const LINE_BYTES_MAX: usize = 512;

/// What was copied.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    /// Whether there was more than is allowed.
    pub(crate) is_over: bool,
    /// The last line that says something.
    pub(crate) last_line: String,
}

/// Copies until the other end is closed. What is over the limit is read and dropped, unless `stop_over` says to stop there.
pub(crate) async fn copy(
    mut from: impl AsyncRead + Unpin,
    path: &Path,
    bytes_max: u64,
    stop_over: bool,
) -> io::Result<Copied> {
    let mut copied = Copied::default();
    let mut file = None;
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut room = bytes_max;
    let mut line = Line::default();
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            copied.last_line = line.last();
            return Ok(copied);
        }
        let kept = &buffer[..count.min(usize::try_from(room).unwrap_or(usize::MAX))];
        // Most agents say little or nothing: a file is made when there is something to put in it.
        let file: &mut std::fs::File = match &mut file {
            Some(file) => file,
            none => none.insert(create(path)?),
        };
        io::Write::write_all(file, kept)?;
        room -= kept.len() as u64;
        line.take_in(kept);
        if kept.len() < count {
            copied.is_over = true;
            if stop_over {
                copied.last_line = line.last();
                return Ok(copied);
            }
        }
    }
}

/// A file for its owner alone.
pub(crate) fn create(path: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    std::fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path)
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

    async fn copied(text: &[u8], bytes_max: u64, stop_over: bool) -> (Copied, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let copied = copy(text, &path, bytes_max, stop_over).await.unwrap();
        (copied, std::fs::read(&path).unwrap_or_default())
    }

    #[tokio::test]
    async fn what_is_over_the_limit_is_not_kept() {
        for stop_over in [false, true] {
            let (copied, file) = copied(&[b'x'; 100], 64, stop_over).await;
            assert!(copied.is_over);
            assert_eq!(file.len(), 64);
        }
        let (copied, file) = copied(&[b'x'; 64], 64, true).await;
        assert!(!copied.is_over);
        assert_eq!(file.len(), 64);
    }

    #[tokio::test]
    async fn the_last_line_that_says_something_is_remembered() {
        for (text, last) in [("", ""), ("a\nb\n", "b"), ("a\n  b \n\n \n", "b"), ("a\nhalf", "half"), ("\n", "")] {
            assert_eq!(copied(text.as_bytes(), 1000, false).await.0.last_line, last, "{text:?}");
        }
        let long = "y".repeat(2000);
        assert_eq!(copied(long.as_bytes(), 10_000, false).await.0.last_line.len(), LINE_BYTES_MAX);
    }
}
