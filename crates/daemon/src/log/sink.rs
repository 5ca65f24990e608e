//! Where lines end up: stderr. If that is a file, it is put aside when it is long, and there are only so many.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Where a daemon without a terminal writes, in the root.
pub(crate) const FILE: &str = "daemon.log";

/// A file longer than this is put aside.
const BYTES_MAX: u64 = 10 << 20;
/// How many there are, the one being written included.
const FILES_MAX: u32 = 3;
/// How often it is said that something was left out.
const DROPPED_EVERY: Duration = Duration::from_secs(1);

pub(super) struct Sink {
    file: Option<PathBuf>,
    bytes: u64,
    bytes_max: u64,
    said_dropped: Instant,
}

impl Sink {
    /// `file` is what stderr is, if it is one.
    pub(super) fn new(file: Option<PathBuf>) -> Self {
        let bytes = file.as_ref().and_then(|file| fs::metadata(file).ok()).map_or(0, |found| found.len());
        Self { file, bytes, bytes_max: BYTES_MAX, said_dropped: Instant::now() }
    }

    /// Writes one line. A log that cannot be written must not stop the work.
    pub(super) fn write(&mut self, line: &str) {
        let length = line.len() as u64 + 1;
        if let Some(file) = self.file.as_ref().filter(|_| self.bytes > 0 && self.bytes + length > self.bytes_max) {
            if put_aside(file).and_then(|()| begin(file)).is_ok() {
                self.bytes = 0;
            } else {
                // Not with every line.
                self.bytes = self.bytes_max / 2;
            }
        }
        self.bytes += length;
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    /// Whether it is time again to say that something was left out.
    pub(super) fn is_second_over(&mut self) -> bool {
        let is_over = self.said_dropped.elapsed() >= DROPPED_EVERY;
        if is_over {
            self.said_dropped = Instant::now();
        }
        is_over
    }
}

/// `daemon.log` becomes `daemon.log.1`, that one `daemon.log.2`, and what was that is gone.
fn put_aside(file: &Path) -> io::Result<()> {
    let numbered = |number: u32| PathBuf::from(format!("{}.{number}", file.display()));
    for number in (1..FILES_MAX - 1).rev() {
        match fs::rename(numbered(number), numbered(number + 1)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    fs::rename(file, numbered(1))
}

/// stderr goes to a new file from now on: what a panic says, too.
fn begin(file: &Path) -> io::Result<()> {
    let new = OpenOptions::new().create(true).append(true).mode(0o600).open(file)?;
    Ok(rustix::stdio::dup2_stderr(new)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_files_are_kept_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        for round in 0..5 {
            fs::write(&file, round.to_string()).unwrap();
            put_aside(&file).unwrap();
        }
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!((read("daemon.log.1"), read("daemon.log.2")), ("4".to_owned(), "3".to_owned()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
