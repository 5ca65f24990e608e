//! The writer: makes, opens and closes a store, and commits batches.
//!
//! What a failure means depends on when it comes (D2, D32):
//!
//! ```text
//!                before COMMIT                    at COMMIT
//! no room        undo, head unchanged → Full      undo, head unchanged → Full
//! a row          undo → Conflict                  –
//! I/O            Poisoned                         Poisoned
//! damage         undo → Damaged                   Poisoned
//! anything else  undo → Io                        Poisoned
//! ```
//!
//! An undo that fails, or after which the head is not the old one, is poison as well: then nobody knows what is there.

use crate::{
    FileBlobs, Options, Root, SqliteReader, check,
    checkpoint::{self, Checkpointer},
    commit::{self, Failure},
    connect, failure,
    failure::Kind,
    flush::Flusher,
    head, life,
    lock::Lock,
    modes,
    poison::Poison,
    schema,
    sidecar::{Mark, Sidecar},
    space::{self, Space},
};
use relaymesh_core::{hash::Hash, id::NodeId};
use relaymesh_store::{Batch, Error, Head, Store};
use rusqlite::Connection;
use std::{path::Path, time::SystemTime};

/// The epoch of a new store's chain.
const FIRST_EPOCH: u32 = 1;

/// The writer of a root. Fields are dropped in this order: threads, connection, sidecar, lock.
#[derive(Debug)]
pub struct SqliteStore {
    pub(crate) checkpointer: Checkpointer,
    pub(crate) connection: Connection,
    flusher: Flusher,
    sidecar: Sidecar,
    head: Head,
    space: Space,
    pub(crate) blobs: FileBlobs,
    wal: checkpoint::Wal,
    pub(crate) poison: Poison,
    root: Root,
    /// Failures on purpose.
    #[cfg(any(test, feature = "faults"))]
    pub faults: crate::faults::Faults,
    _lock: Lock,
}

impl SqliteStore {
    /// Makes a new store for `node` in the folder `root` and opens it. `Conflict` when there is one already.
    pub fn create(root: &Path, node: NodeId, options: &Options) -> Result<Self, Error> {
        let root = Root::new(root);
        modes::make_folder(&root)?;
        let lock = Lock::take(&root)?;
        refuse_existing(&root)?;
        let head = Head::new(node, FIRST_EPOCH);
        Sidecar::create(&root, mark(&head, head.chain.head))?;
        make_database(&root, &head)?;
        Self::open_locked(root, lock, options)
    }

    /// Opens the store in the folder `root`. Takes the lock, and checks all that the crate's head says.
    pub fn open(root: &Path, options: &Options) -> Result<Self, Error> {
        let root = Root::new(root);
        modes::enforce(&root)?;
        let lock = Lock::take(&root)?;
        Self::open_locked(root, lock, options)
    }

    /// Where the log stands.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Where the store lies.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// `Poisoned`, if a write or a sync was seen to fail: from then on nobody knows what is durable (D2).
    pub fn check_poison(&self) -> Result<(), Error> {
        self.poison.check()
    }

    /// `tell` hears why, as soon as anybody sees a write or a sync fail: also one beside the writer, which may have nothing to commit.
    pub fn when_poisoned(&self, tell: impl Fn(&str) + Send + 'static) {
        self.poison.when_set(tell);
    }

    /// Takes no more writes, because `cause` leaves unknown what is durable. Gives the error that says so.
    pub fn set_poison(&self, cause: impl std::fmt::Display) -> Error {
        self.poison.set(cause)
    }

    /// Ends the threads and leaves one whole file behind. `Poisoned` when a sync or a write failed on the way: what was
    /// acknowledged was durable before, but the disk cannot be trusted, and nobody should learn that from the next start.
    pub fn close(mut self) -> Result<(), Error> {
        self.flusher.stop();
        self.finish()
    }

    /// The last checkpoint. A failed one is poison, so it is tried once.
    fn finish(&mut self) -> Result<(), Error> {
        self.checkpointer.stop();
        self.poison.check()?;
        checkpoint::survive(checkpoint::run(&self.connection, checkpoint::Mode::Truncate), &self.poison).map(drop)
    }

    fn open_locked(root: Root, lock: Lock, options: &Options) -> Result<Self, Error> {
        let Some(sidecar) = Sidecar::open(&root)? else {
            check::is_there(&root)?;
            return Err(check::no_sidecar(&root));
        };
        check::database_is_there(&root, sidecar.newest())?;
        let mut connection = connect::writer(&root, options)?;
        let head = head::load(&connection)?;
        check::remembers(&connection, &head, sidecar.newest())?;
        schema::migrate(&mut connection, schema::MIGRATIONS, now_ms())?;
        check::start(&connection, &head, options.verify_ops_at_open)?;
        Self::start(root, lock, sidecar, connection, head, options)
    }

    /// The last step of every way to open: the files are in order, the threads start.
    pub(crate) fn start(
        root: Root,
        lock: Lock,
        mut sidecar: Sidecar,
        connection: Connection,
        head: Head,
        options: &Options,
    ) -> Result<Self, Error> {
        modes::enforce(&root)?;
        // SQLite syncs the folder when it has made the write-ahead log, and does not look at what that said.
        modes::sync_folder(&root)?;
        let newest = mark(&head, check::newest_hash(&connection, &head)?);
        if sidecar.newest() != newest {
            let path = root.head();
            sidecar.write(newest).map_err(|error| failure::io("cannot write the sidecar", &path, &error))?;
            sidecar.file().sync_data().map_err(|error| failure::io("cannot sync the sidecar", &path, &error))?;
        }
        let wal = checkpoint::Wal::new(&connection, options)?;
        let poison = Poison::default();
        let blobs = FileBlobs::open(&root, options.min_free_disk_bytes, &poison)?;
        let thread = |error: std::io::Error| failure::io("cannot start a thread for", root.folder(), &error);
        let flusher = Flusher::start(sidecar.file(), poison.clone()).map_err(thread)?;
        let beside = connect::checkpointer(&root, options)?;
        let checkpointer = Checkpointer::start(beside, poison.clone()).map_err(thread)?;
        Ok(Self {
            checkpointer,
            connection,
            flusher,
            sidecar,
            head,
            space: Space::new(options.min_free_disk_bytes),
            blobs,
            wal,
            poison,
            root,
            #[cfg(any(test, feature = "faults"))]
            faults: crate::faults::Faults::default(),
            _lock: lock,
        })
    }

    /// Runs one of the three statements that make a transaction.
    fn run(&mut self, sql: &'static str) -> rusqlite::Result<()> {
        #[cfg(any(test, feature = "faults"))]
        self.faults.meet(sql)?;
        self.connection.prepare_cached(sql)?.execute([]).map(drop)
    }

    fn write(&mut self, batch: &Batch) -> Result<Vec<Hash>, Failure> {
        #[cfg(any(test, feature = "faults"))]
        self.faults.meet("WRITE")?;
        commit::write(&self.connection, batch)
    }

    /// The batch did not get as far as COMMIT.
    fn undo(&mut self, failure: Failure) -> Error {
        let error = match failure {
            Failure::Conflict(detail) => return self.rolled_back(Error::Conflict { detail }),
            Failure::Sqlite(error) => error,
        };
        match failure::kind(&error) {
            Kind::Io => self.poison.set(format!("a write to the database failed: {error}")),
            Kind::Full => self.rolled_back(full(&error)),
            Kind::Constraint => self.rolled_back(commit::conflict(&error)),
            Kind::Damaged | Kind::Busy | Kind::Other => {
                let said = failure::sqlite("the batch cannot be written", &error);
                self.rolled_back(said)
            }
        }
    }

    /// COMMIT did not say yes.
    fn unsettled(&mut self, error: &rusqlite::Error) -> Error {
        match failure::kind(error) {
            Kind::Full => self.rolled_back(full(error)),
            Kind::Busy => self.rolled_back(failure::sqlite("another process is writing", error)),
            Kind::Io | Kind::Damaged | Kind::Constraint | Kind::Other => {
                self.poison.set(format!("the commit failed: {error}"))
            }
        }
    }

    /// Gives `error` if the transaction is undone and the head is the old one; otherwise it is poison.
    fn rolled_back(&mut self, error: Error) -> Error {
        // SQLite undoes some transactions by itself; a second ROLLBACK would only complain.
        if !self.connection.is_autocommit()
            && let Err(failed) = self.run("ROLLBACK")
        {
            return self.poison.set(format!("{error}; and the rollback failed: {failed}"));
        }
        match head::load(&self.connection) {
            Ok(head) if head == self.head && self.connection.is_autocommit() => error,
            Ok(head) => self.poison.set(format!("{error}; and the head went from {} to {}", self.head.pos, head.pos)),
            Err(failed) => self.poison.set(format!("{error}; and then {failed}")),
        }
    }

    /// Removes blobs that nothing names any more. One that cannot be removed stays, and the scrub will find it.
    fn let_go(&self, loose: &[Hash]) {
        for hash in loose {
            if let Ok(false) = life::is_named(&self.connection, hash) {
                self.blobs.remove(hash);
            }
        }
    }

    /// The batch is durable: remember it in the sidecar, and see to the write-ahead log.
    fn acknowledge(&mut self, batch: &Batch) -> Result<(), Error> {
        if self.head != batch.head {
            let hash = batch.ops.last().map_or(self.sidecar.newest().hash, |op| op.hash);
            self.head.clone_from(&batch.head);
            self.sidecar
                .write(mark(&self.head, hash))
                .map_err(|error| self.poison.set(format!("cannot write the sidecar: {error}")))?;
            self.flusher.wake();
        }
        let grown = self.wal.tend(&self.connection, &self.checkpointer, &self.poison)?;
        self.space.wrote(grown);
        Ok(())
    }
}

impl Store for SqliteStore {
    type Reader = SqliteReader;
    type Blobs = FileBlobs;

    fn reader(&self) -> Result<SqliteReader, Error> {
        SqliteReader::open(self.root.folder())
    }

    fn blobs(&self) -> FileBlobs {
        self.blobs.clone()
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), Error> {
        self.poison.check()?;
        batch.continues(&self.head)?;
        self.space.check(&self.root)?;
        if let Err(error) = self.run("BEGIN IMMEDIATE") {
            return Err(self.undo(Failure::Sqlite(error)));
        }
        let loose = match self.write(batch) {
            Ok(loose) => loose,
            Err(failure) => return Err(self.undo(failure)),
        };
        if let Err(error) = self.run("COMMIT") {
            return Err(self.unsettled(&error));
        }
        self.acknowledge(batch)?;
        self.let_go(&loose);
        Ok(())
    }

    fn shrink(&mut self) -> Result<(), Error> {
        self.poison.check()?;
        space::check_for_shrinking(&self.root, &self.connection, self.space.min_free_bytes())?;
        self.checkpointer.wait_until_idle();
        if let Err(error) = vacuum(&self.connection) {
            return Err(match failure::kind(&error) {
                Kind::Io => self.poison.set(format!("shrinking the database failed: {error}")),
                Kind::Full | Kind::Damaged | Kind::Busy | Kind::Constraint | Kind::Other => {
                    failure::sqlite("cannot shrink the database", &error)
                }
            });
        }
        // A reader that looks at an old state keeps the log open; then a later checkpoint shortens the files.
        checkpoint::survive(checkpoint::run(&self.connection, checkpoint::Mode::Truncate), &self.poison).map(drop)
    }
}

impl Drop for SqliteStore {
    /// Leaves one whole file behind, unless it is unknown what is in it. Nothing depends on it.
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

/// Writes the database anew: into a temporary file, which would be in memory like other temporary things, and back.
fn vacuum(connection: &Connection) -> rusqlite::Result<()> {
    let kept: i64 = connection.query_row("PRAGMA temp_store", [], |row| row.get(0))?;
    connection.execute_batch("PRAGMA temp_store = FILE")?;
    let vacuumed = connection.execute_batch("VACUUM");
    connection.execute_batch(&format!("PRAGMA temp_store = {kept}")).and(vacuumed)
}

/// What the sidecar says about `head`, whose newest op has this hash.
pub(crate) fn mark(head: &Head, hash: Hash) -> Mark {
    let chain = &head.chain;
    Mark { origin: chain.origin, origin_epoch: chain.origin_epoch, pos: head.pos, seq: chain.seq, hash }
}

/// The wall clock: for people who ask when a migration ran.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn full(error: &rusqlite::Error) -> Error {
    Error::Full {
        detail: format!("the database cannot grow: {error}. Nothing was changed; free some space and try again"),
    }
}

fn refuse_existing(root: &Root) -> Result<(), Error> {
    let path = root.database();
    if path.try_exists().map_err(|error| failure::io("cannot look at", &path, &error))? {
        return Err(Error::Conflict { detail: format!("{} already contains a store", root.folder().display()) });
    }
    match Sidecar::open(root)? {
        Some(sidecar) => check::database_is_there(root, sidecar.newest()),
        None => Ok(()),
    }
}

/// Makes the database under another name, and gives it its own once it is whole.
fn make_database(root: &Root, head: &Head) -> Result<(), Error> {
    let path = root.database_new();
    drop(modes::new_file(&path)?);
    let what = format!("cannot make {}", path.display());
    let failed = |error| failure::sqlite(&what, &error);
    let mut connection = Connection::open(&path).map_err(failed)?;
    let id = crate::pragma::APPLICATION_ID;
    connection
        .execute_batch(&format!("PRAGMA page_size = 4096; PRAGMA synchronous = FULL; PRAGMA application_id = {id};"))
        .map_err(failed)?;
    schema::migrate(&mut connection, schema::MIGRATIONS, now_ms())?;
    head::insert(&connection, head).map_err(failed)?;
    // Under its own name it must be what readers want: killed before the first writer, it is a store all the same.
    crate::pragma::apply(&connection, &[crate::pragma::wal()])?;
    connection.close().map_err(|(_, error)| failed(error))?;
    std::fs::rename(&path, root.database()).map_err(|error| failure::io("cannot name", &path, &error))?;
    modes::sync_folder(root)
}
