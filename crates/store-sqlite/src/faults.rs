//! Faults on demand: a SQLite without `unsafe` cannot be given a disk that fails, so the statements fail instead.

/// Which statement fails next, and with which of SQLite's codes.
#[derive(Debug, Default)]
pub struct Faults(Vec<(&'static str, i32)>);

impl Faults {
    /// The next `statement` (`BEGIN IMMEDIATE`, `WRITE`, `COMMIT`, `ROLLBACK`) fails with this extended code.
    pub fn arm(&mut self, statement: &'static str, code: i32) {
        self.0.push((statement, code));
    }

    /// Fails if it was armed for this statement.
    pub fn meet(&mut self, statement: &'static str) -> rusqlite::Result<()> {
        let Some(at) = self.0.iter().position(|(armed, _)| *armed == statement) else { return Ok(()) };
        let (_, code) = self.0.remove(at);
        Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), Some(format!("injected at {statement}"))))
    }
}
