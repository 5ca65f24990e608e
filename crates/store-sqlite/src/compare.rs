//! The rare cross-check of `blobs/` with the log (R15), beside live work.
//!
//! A root may have millions of blobs. So neither side is ever held in memory, and no read transaction is open for longer than a page: one
//! that is keeps the write-ahead log from starting again. What changes meanwhile is asked about once more before it is reported.

use crate::{SqliteReader, blobs, failure};
use relaymesh_core::hash::Hash;
use relaymesh_store::Error;
use rusqlite::Connection;
use std::fs;

/// Names that are read together.
const PAGE: i64 = 1_000;

/// Names in `blobs`, compared with what the log names. What the files hold is not looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlobsCompared {
    /// How many the log names.
    pub named: u64,
    /// How many files nothing names: uploads that are not used yet, or what a crash left.
    pub unnamed: u64,
    /// How many the log names and are not there.
    pub missing: u64,
    /// The first of them.
    pub examples: Vec<Hash>,
}

impl SqliteReader {
    /// Compares both, and names at most so many that are missing.
    pub fn compare_blobs(&mut self, examples_max: usize) -> Result<BlobsCompared, Error> {
        let folder = self.root.blobs();
        let mut compared = BlobsCompared::default();
        let mut page = self.at_one_moment(|connection| named_after(connection, None))?;
        while let Some(last) = page.last().copied() {
            for hash in &page {
                compared.named += 1;
                if !folder.join(hash.to_string()).exists() && self.at_one_moment(|c| is_named(c, hash))? {
                    compared.missing += 1;
                    if compared.examples.len() < examples_max {
                        compared.examples.push(*hash);
                    }
                }
            }
            page = self.at_one_moment(|connection| named_after(connection, Some(last)))?;
        }
        let failed = |error| failure::io("cannot read", &folder, &error);
        let files = match fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(compared),
            files => files.map_err(failed)?,
        };
        for file in files {
            let name = file.map_err(failed)?.file_name().to_string_lossy().into_owned();
            let hash = name.parse::<Hash>().ok();
            let is_known = hash.map(|hash| self.at_one_moment(|c| is_named(c, &hash))).transpose()?.unwrap_or(false);
            if !is_known && !name.starts_with(blobs::NEW_PREFIX) {
                compared.unnamed += 1;
            }
        }
        Ok(compared)
    }
}

fn named_after(connection: &Connection, after: Option<Hash>) -> Result<Vec<Hash>, Error> {
    let ask = || {
        let sql = "SELECT DISTINCT blob_hash FROM content INDEXED BY idx_content_blob \
                   WHERE blob_hash IS NOT NULL AND blob_hash > ?1 ORDER BY blob_hash LIMIT ?2";
        let mut statement = connection.prepare_cached(sql)?;
        let after = after.map_or(Vec::new(), |hash| hash.0.to_vec());
        let rows = statement.query_map((after, PAGE), |row| Ok(Hash(row.get(0)?)))?;
        rows.collect::<rusqlite::Result<_>>()
    };
    ask().map_err(|error| failure::sqlite("cannot read which blobs are named", &error))
}

fn is_named(connection: &Connection, hash: &Hash) -> Result<bool, Error> {
    let ask = || {
        let sql = "SELECT EXISTS (SELECT 1 FROM content INDEXED BY idx_content_blob WHERE blob_hash = ?1)";
        connection.prepare_cached(sql)?.query_row([&hash.0[..]], |row| row.get(0))
    };
    ask().map_err(|error| failure::sqlite("cannot read whether a blob is named", &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::World;
    use relaymesh_store::{
        Blobs as _, Content, ContentKey, ContentPut, Heartbeat, Store as _, contract::author::WORKERS,
    };

    #[test]
    fn r15_a_blob_that_is_missing_and_a_file_that_nothing_names_are_counted() {
        let mut world = World::new();
        let here = world.store().blobs().put(&[7; 9_000]).unwrap();
        let gone = world.store().blobs().put(&[8; 9_000]).unwrap();
        world.store().blobs().put(&[9; 9_000]).unwrap();
        let removed = gone.hash;
        world.finish_one();
        let mut batch = world.author.take();
        let put =
            |index, blob| ContentPut { key: ContentKey::new(batch.head.pos, index), content: Content::Blob(blob) };
        batch.content = vec![put(7, here), put(8, gone)];
        batch.heartbeats.push(Heartbeat { worker: WORKERS[0], at_ms: 1 });
        world.store().commit(&batch).unwrap();
        std::fs::remove_file(world.root().blobs().join(removed.to_string())).unwrap();
        let compared = world.reader().compare_blobs(1).unwrap();
        assert_eq!(compared, BlobsCompared { named: 2, unnamed: 1, missing: 1, examples: vec![removed] });
    }
}
