//! What is kept: `done/` with receipts, `dead/` with reasons. The same id may come again, so every keep has a place of its own.

use super::{
    FileBus, Stop,
    folder::Folder,
    meta::{Id, META, META_BYTES_MAX, PAYLOAD, REASON, RECEIPT},
};
use crate::driver::Command;
use relaymesh_core::{id::MessageId, utc};
use relaymesh_store::{Blobs, Reader};
use serde::Deserialize;
use serde_json::json;
use std::{
    ffi::{OsStr, OsString},
    io,
};

const DAY_MS: u64 = 86_400_000;
/// What of a receipt is read again.
#[derive(Deserialize)]
struct Receipt {
    message: Option<MessageId>,
}

/// Places for one id in one folder.
const PLACES_MAX: usize = 100_000;

impl<R: Reader, B: Blobs> FileBus<R, B> {
    /// It is in the database, and its receipt is in `meta/`: moves everything to `done/`, the receipt last.
    pub(super) fn finish(&mut self, id: &Id) -> Result<(), Stop> {
        let day = self.places.done.make(&day((self.means.now_ms)()))?;
        let base = free(&day, &id.to_string(), RECEIPT)?;
        for (folder, end) in [(&self.places.payload, PAYLOAD), (&self.places.meta, META)] {
            moved(folder.rename(OsStr::new(&id.file(end)), &day, &format!("{base}{end}")))?;
        }
        day.sync()?;
        moved(self.places.meta.rename(OsStr::new(&id.file(RECEIPT)), &day, &format!("{base}{RECEIPT}")))?;
        day.sync()?;
        self.places.payload.sync()?;
        self.places.meta.sync()?;
        self.filed_by_receipt(&day, &base)
    }

    /// The message that a receipt names has its files there now. What has no payload is a word about a message, and no message.
    fn filed_by_receipt(&mut self, day: &Folder, base: &str) -> Result<(), Stop> {
        let receipt = day.read(&format!("{base}{RECEIPT}"), META_BYTES_MAX).ok();
        let receipt = receipt.and_then(|(_, bytes)| serde_json::from_slice::<Receipt>(&bytes).ok());
        match receipt.and_then(|receipt| receipt.message) {
            Some(message) if day.has(&format!("{base}{PAYLOAD}"))? => self.filed(message, day, base),
            Some(_) | None => {}
        }
        Ok(())
    }

    /// Notes where the files of a message lie now, for people (R17). Nothing waits for it and nothing depends on it.
    pub(super) fn filed(&self, message: MessageId, folder: &Folder, base: &str) {
        let [meta_path, payload_path] = [META, PAYLOAD].map(|end| format!("{}/{base}{end}", folder.name));
        let filed = Command::Filed { message, meta_path, payload_path };
        self.means.handle.send(self.means.caller.clone(), filed, drop);
    }

    /// Not taken in: moves it to `dead/`, with its payload, beside the reason.
    pub(super) fn refuse(&mut self, from: &Folder, id: &Id, code: &str, reason: &str) -> Result<(), Stop> {
        let base = self.reason(&id.to_string(), &id.file(META), from, code, reason)?;
        let dead = &self.places.dead;
        let payload = self.places.payload.rename(OsStr::new(&id.file(PAYLOAD)), dead, &format!("{base}{PAYLOAD}"));
        moved(payload)?;
        moved(from.rename(OsStr::new(&id.file(META)), dead, &format!("{base}{META}")))?;
        self.places.payload.sync()?;
        from.sync()?;
        dead.sync()?;
        self.tell(true, "bus_refused", json!({ "file": id.file(META), "code": code, "reason": reason }));
        Ok(())
    }

    /// Nothing that the bus knows: moves it to `dead/` as it is, beside the reason.
    pub(super) fn quarantine(&mut self, from: &Folder, file: &OsString, code: &str, reason: &str) -> Result<(), Stop> {
        let safe = |text: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            (1..=100).contains(&text.len()) && text.chars().all(plain) && !text.starts_with('.')
        };
        let shown = file.to_string_lossy().into_owned();
        let base = file.to_str().filter(|text| safe(text)).unwrap_or("unknown").to_owned();
        let base = self.reason(&base, &shown, from, code, reason)?;
        if let Err(error) = from.rename(file, &self.places.dead, &base) {
            // Left where it is: its reason is there, and nothing else can be done about it.
            self.tell(true, "bus_stuck", json!({ "file": shown, "folder": from.name, "error": error.to_string() }));
            return Ok(());
        }
        from.sync()?;
        self.places.dead.sync()?;
        self.tell(true, "bus_quarantined", json!({ "file": shown, "folder": from.name, "reason": reason }));
        Ok(())
    }

    /// Writes down why; gives the place in `dead/`.
    fn reason(&self, base: &str, file: &str, from: &Folder, code: &str, reason: &str) -> Result<String, Stop> {
        let at_ms = (self.means.now_ms)();
        let text = json!({ "file": file, "from": from.name, "code": code, "reason": reason, "at_ms": at_ms });
        let base = free(&self.places.dead, base, REASON)?;
        self.places.dead.write(&format!("{base}{REASON}"), format!("{text:#}\n").as_bytes())?;
        Ok(base)
    }

    /// A delivery is over: its files leave the agent's folder.
    pub(super) fn clear(&mut self, from: &Folder, message: &str, dead: Option<&str>) -> Result<(), Stop> {
        let (to, end) = match dead {
            None => (self.places.done.make(&day((self.means.now_ms)()))?, META),
            Some(_) => (self.places.dead.again()?, REASON),
        };
        let base = match dead {
            None => free(&to, message, end)?,
            Some(why) => self.reason(message, &format!("{message}{META}"), from, "delivery_over", why)?,
        };
        for end in [PAYLOAD, META] {
            moved(from.rename(OsStr::new(&format!("{message}{end}")), &to, &format!("{base}{end}")))?;
        }
        from.sync()?;
        to.sync()?;
        if let Ok(id) = message.parse::<MessageId>() {
            self.filed(id, &to, &base);
        }
        Ok(())
    }
}

/// The first place for this id at which nothing is.
fn free(folder: &Folder, id: &str, end: &str) -> io::Result<String> {
    for place in 1..PLACES_MAX {
        let base = if place == 1 { id.to_owned() } else { format!("{id}.{place}") };
        if !folder.has(&format!("{base}{end}"))? && (end != REASON || !folder.has(&base)?) {
            return Ok(base);
        }
    }
    Err(io::Error::other(format!("{} already has {PLACES_MAX} files of `{id}`", folder.name)))
}

/// What is not there any more was moved before the last crash.
fn moved(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// `2026-11-17`, in UTC.
pub(super) fn day(unix_ms: u64) -> String {
    let (year, month, day) = utc::civil(unix_ms / DAY_MS);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_the_names_that_people_give_them() {
        let cases = [(0, "1970-01-01"), (951_782_400_000, "2000-02-29"), (1_794_873_599_999, "2026-11-16")];
        for (unix_ms, name) in cases {
            assert_eq!(day(unix_ms), name);
        }
        assert_eq!(day(1_794_873_600_000), "2026-11-17");
    }
}
