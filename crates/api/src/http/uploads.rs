//! What was uploaded and is named by nothing yet.
//!
//! An upload is a blob like any other, durable when it is answered. A submit may name it by its hash, and then the log does. Until then it is kept for
//! an hour, and only whoever uploaded it may name it: whoever knows a hash does not know by that what it stands for. After that it is removed,
//! unless something names the same bytes.

use super::desk::{Desk, blocking};
use crate::{
    error::{Code, Error},
    time,
};
use relaymesh_core::{hash::Hash, name::Name};
use relaymesh_runtime::clock::{Source as _, System};
use relaymesh_store::Blob;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// How long an upload is kept that nothing names.
const KEPT_MS: u64 = 3_600_000;
/// How many there may be at once, of everybody.
const UPLOADS_MAX: usize = 256;
/// How often one looks whether their time is over.
const LOOK: Duration = Duration::from_secs(60);

/// Uploads that nothing names yet, by who made them.
#[derive(Default)]
pub(super) struct Uploads(Mutex<BTreeMap<(Hash, Name), Kept>>);

struct Kept {
    /// Keeps it from being removed.
    blob: Blob,
    /// By the boot-time clock: one that is set makes nobody's upload old.
    until_boot_ms: u64,
}

impl Uploads {
    /// Whether there is room for one more.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.kept().len() < UPLOADS_MAX {
            return Ok(());
        }
        Err(Error::new(Code::Busy, format!("{UPLOADS_MAX} uploads are not used by a task yet")))
    }

    /// Keeps an upload; says until when.
    pub(super) fn keep(&self, blob: Blob, author: Name) -> u64 {
        let until_boot_ms = System.boot_ms().saturating_add(KEPT_MS);
        self.kept().insert((blob.hash, author), Kept { blob, until_boot_ms });
        time::now_ms().saturating_add(KEPT_MS)
    }

    /// The upload with this hash that this caller made. As long as the value lives, it stays.
    pub(super) fn find(&self, hash: Hash, author: &Name) -> Option<Blob> {
        self.kept().get(&(hash, author.clone())).map(|kept| kept.blob.clone())
    }

    /// Lets go of those whose time is over, and gives their hashes.
    fn expire(&self, boot_ms: u64) -> Vec<Hash> {
        let mut over = Vec::new();
        self.kept().retain(|(hash, _), kept| {
            let is_over = kept.until_boot_ms <= boot_ms;
            if is_over {
                over.push(*hash);
            }
            !is_over
        });
        over
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<(Hash, Name), Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes uploads that nothing named in time, for ever.
pub(super) async fn sweep(uploads: Arc<Uploads>, desk: Arc<Desk>) {
    loop {
        tokio::time::sleep(LOOK).await;
        for hash in uploads.expire(System.boot_ms()) {
            let desk = Arc::clone(&desk);
            // One that cannot be removed stays, and the scrub will find it.
            let _ = blocking(move || (desk.sweep)(&hash)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_is_its_makers_and_ends_with_its_time() {
        let uploads = Uploads::default();
        let (ann, bob): (Name, Name) = ("ann".parse().unwrap(), "bob".parse().unwrap());
        let hash = Hash::sha256(b"bytes");
        let before_ms = System.boot_ms();
        uploads.keep(Blob::new(hash, 5, None), ann.clone());
        let after_ms = System.boot_ms();
        assert!(uploads.find(hash, &ann).is_some() && uploads.find(hash, &bob).is_none());
        assert_eq!(uploads.expire(before_ms + KEPT_MS - 1), []);
        assert_eq!(uploads.expire(after_ms + KEPT_MS), [hash]);
        assert!(uploads.find(hash, &ann).is_none());
        for n in 0..UPLOADS_MAX {
            assert!(uploads.check().is_ok());
            uploads.keep(Blob::new(Hash::sha256(&n.to_le_bytes()), 8, None), ann.clone());
        }
        assert_eq!(uploads.check().unwrap_err().code, Code::Busy);
    }
}
