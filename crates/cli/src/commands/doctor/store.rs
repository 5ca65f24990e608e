//! The store: whether it can be read, what it is set to, and whether it is as it was written.

use super::report::Report;
use crate::{args::Context, commands::log::verify, error::Code};
use relaymesh_core::id::NodeId;
use relaymesh_store::Reader as _;
use relaymesh_store_sqlite::{Room, SqliteReader};

/// Below this, somebody should know; below the store's own reserve, nothing can be written.
const ROOM_FREE_BYTES: u64 = 1 << 30;
/// How many of the newest ops are checked without `--full`.
const TAIL: u64 = 1_000;

/// Says which node it is, if that can be read.
pub(super) fn check(context: &Context, full: bool, report: &mut Report) -> Option<NodeId> {
    let mut reader = match SqliteReader::open(&context.root) {
        Ok(reader) => reader,
        Err(error) => {
            report.error("store", &error.into());
            return None;
        }
    };
    let node = match reader.head() {
        Ok(head) => {
            let (pos, origin) = (head.pos, head.chain.origin);
            report.ok("store", format!("{pos} ops of {origin}, SQLite {}", SqliteReader::sqlite_version()));
            Some(origin)
        }
        Err(error) => {
            report.error("store", &error.into());
            return None;
        }
    };
    settings(&mut reader, report);
    match reader.remembers(&context.root) {
        Ok(()) => report.ok("memory", "no acknowledged op is missing"),
        Err(error) => report.error("memory", &error.into()),
    }
    chain(&mut reader, context, full, report);
    blobs(&mut reader, report);
    room(&reader, report);
    node
}

fn settings(reader: &mut SqliteReader, report: &mut Report) {
    match reader.settings() {
        Ok(found) => {
            let shown: Vec<String> = found.iter().map(|(name, value)| format!("{name}={value}")).collect();
            report.ok("pragmas", shown.join(" "));
        }
        Err(error) => report.error("pragmas", &error.into()),
    }
}

fn chain(reader: &mut SqliteReader, context: &Context, full: bool, report: &mut Report) {
    if full {
        return match verify::check(context) {
            Ok(checked) => report.ok("chain", format!("all {} ops and all rows are intact", checked.ops)),
            Err(error) => report.error("chain", &error),
        };
    }
    match reader.check_tail(TAIL) {
        Ok(count) => report.ok("chain", format!("the newest {count} ops are intact; --full checks all")),
        Err(error) => report.error("chain", &error.into()),
    }
}

fn blobs(reader: &mut SqliteReader, report: &mut Report) {
    match reader.blob_names() {
        Err(error) => report.error("blobs", &error.into()),
        Ok(names) if !names.missing.is_empty() => report.fail(
            "blobs",
            Code::Damaged,
            format!("{} of {} are missing, such as {}", names.missing.len(), names.named, names.missing[0]),
            "restore the folder `blobs` from a backup",
        ),
        Ok(names) if !names.unnamed.is_empty() => report.warn(
            "blobs",
            format!("{} in use; {} unused, left by a crash", names.named, names.unnamed.len()),
            "run `relaymesh log scrub`: it removes unused blobs and quarantines damaged files",
        ),
        Ok(names) => report.ok("blobs", format!("{} in use; none missing, none unused", names.named)),
    }
}

fn room(reader: &SqliteReader, report: &mut Report) {
    match reader.room() {
        Err(error) => report.error("disk", &error.into()),
        Ok(Room { free, needed }) => {
            let found = format!("{} MiB free; writes stop below {} MiB", free >> 20, needed >> 20);
            match free {
                free if free < needed => report.fail("disk", Code::DiskFull, found, "free some space"),
                free if free < ROOM_FREE_BYTES => report.warn("disk", found, "free some space soon"),
                _ => report.ok("disk", found),
            }
        }
    }
}
