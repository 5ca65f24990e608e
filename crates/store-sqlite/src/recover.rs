//! Recovery: going on with a store that has forgotten something.
//!
//! What the store still has is accepted as it is, and a new origin epoch begins: the lost ops may be known to others
//! (a client that got an answer, a peer that got a copy), and a second op with the same origin, epoch and sequence would
//! make two histories out of one. The write-ahead log is kept beside the database before the first write, because what
//! lies behind a flipped bit is still in there.
//!
//! A new sender epoch begins as well (D17): how far the node had counted its envelopes may be among what was lost. It is the time
//! in milliseconds, so that two lives of one copy differ, as their origin epochs do.

use crate::{
    Options, Root, SqliteStore, check, connect, failure, head,
    lock::Lock,
    modes, schema,
    sidecar::Sidecar,
    store::{mark, now_ms},
    traffic,
};
use relaymesh_core::op::Chain;
use relaymesh_store::{Error, Head};
use std::{
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

/// What a recovery found and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// Where the log ends.
    pub store_pos: u64,
    /// What had been acknowledged; `None` when the sidecar could not be read either.
    pub acknowledged_pos: Option<u64>,
    /// The ops that are lost for certain.
    pub lost: Option<RangeInclusive<u64>>,
    /// The epoch that begins now.
    pub origin_epoch: u32,
    /// Where the old write-ahead log was kept, if there was one.
    pub kept_wal: Option<PathBuf>,
}

impl SqliteStore {
    /// Accepts the store in the folder `root` as it is, begins a new origin epoch, and opens it.
    ///
    /// Damage that the start check finds in what is left is not accepted: then the store stays as it was. Without a
    /// readable sidecar only the database's own epoch is known, and the new one follows that.
    pub fn recover(root: &Path, options: &Options) -> Result<(Self, Recovery), Error> {
        Self::begin_again(root, 0, options)
    }

    /// Makes a store of its own out of a copy ([`crate::SqliteReader::copy_to`]): the same, with an origin epoch of at least
    /// `epoch_min`. The original may go on and begin epochs of its own, and a copy may be used twice: the caller gives a number that neither
    /// comes to by counting.
    pub fn adopt(root: &Path, epoch_min: u32, options: &Options) -> Result<(Self, Recovery), Error> {
        Self::begin_again(root, epoch_min, options)
    }

    fn begin_again(root: &Path, epoch_min: u32, options: &Options) -> Result<(Self, Recovery), Error> {
        let root = Root::new(root);
        modes::enforce(&root)?;
        let lock = Lock::take(&root)?;
        let sidecar = Sidecar::open(&root)?;
        let known = sidecar.as_ref().map(Sidecar::newest);
        let mut connection = connect::writer(&root, options)?;
        let old = head::load(&connection)?;
        schema::migrate(&mut connection, schema::MIGRATIONS, now_ms())?;
        check::start(&connection, &old, options.verify_ops_at_open)?;
        let newest = check::newest_hash(&connection, &old)?;

        let last = known.map_or(0, |known| known.origin_epoch).max(old.chain.origin_epoch);
        let next = last.checked_add(1).ok_or_else(|| failure::damaged("there is no origin epoch left"))?;
        let epoch = next.max(epoch_min);
        let kept_wal = keep_wal(&root, epoch)?;
        let head = begin_epoch(&old, epoch);
        // Before the head: a crash between the two costs an epoch, the other way round it would cost the promise.
        traffic::begin_epoch(&connection, now_ms())?;
        head::update(&connection, &head).map_err(|error| failure::sqlite("cannot begin the new epoch", &error))?;
        let sidecar = match sidecar {
            Some(mut sidecar) => {
                let path = root.head();
                let rewritten = sidecar.rewrite(mark(&head, newest));
                rewritten.map_err(|error| failure::io("cannot write the sidecar", &path, &error))?;
                sidecar
            }
            None => Sidecar::create(&root, mark(&head, newest))?,
        };
        let acknowledged_pos = known.map(|known| known.pos);
        let lost = acknowledged_pos.filter(|pos| *pos > old.pos).map(|pos| old.pos + 1..=pos);
        let recovery = Recovery { store_pos: old.pos, acknowledged_pos, lost, origin_epoch: epoch, kept_wal };
        let store = Self::start(root, lock, sidecar, connection, head, options)?;
        Ok((store, recovery))
    }
}

/// The same place in a new chain. Its time goes on from the old one's, so that no op is dated before one that is there.
fn begin_epoch(old: &Head, epoch: u32) -> Head {
    let chain = Chain { hlc: old.chain.hlc, ..Chain::new(old.chain.origin, epoch) };
    Head { pos: old.pos, chain, state: old.state }
}

fn keep_wal(root: &Root, epoch: u32) -> Result<Option<PathBuf>, Error> {
    let (from, to) = (root.wal(), root.folder().join(format!("wal.before-epoch-{epoch}")));
    if std::fs::metadata(&from).map_or(0, |found| found.len()) == 0 {
        return Ok(None);
    }
    std::fs::copy(&from, &to).map_err(|error| failure::io("cannot keep a copy as", &to, &error))?;
    Ok(Some(to))
}
