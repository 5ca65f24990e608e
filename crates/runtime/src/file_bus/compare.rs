//! The rare cross-check of folders with rows (R15).
//!
//! What to do next is found by the rows and their indexes; folders are looked at when the system says that one has changed. If both agree,
//! this finds nothing. It reads everything again, from the rows and from the disk, once a day, and reports what differs. It changes
//! nothing: an operator should learn of a fault before anything is done about it.

use super::{FileBus, Stop, meta::META};
use relaymesh_core::{id::MessageId, name::Name};
use relaymesh_store::{Blobs, Reader};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// How often.
pub(super) const INTERVAL_MS: u64 = 24 * 60 * 60 * 1_000;
/// How many of each kind are named.
const NAMED_MAX: usize = 10;

/// Messages in the folders of agents.
type Places = BTreeSet<(Name, MessageId)>;

impl<R: Reader, B: Blobs> FileBus<R, B> {
    /// Compares the deliveries that the rows know with the files of the agents' folders.
    pub(super) fn compare(&mut self) -> Result<(), Stop> {
        let mut rows = Places::new();
        for delivery in self.held()? {
            rows.insert((delivery.draft.to.clone(), delivery.draft.id));
        }
        let mut files = Places::new();
        let processing = self.places.processing.again()?;
        let mut agents = Vec::new();
        processing.each(|name| {
            agents.extend(name.to_str().and_then(|text| text.parse::<Name>().ok()));
            Ok(())
        })?;
        for agent in agents {
            processing.open(agent.as_str())?.each(|name| {
                let message = name.to_str().and_then(|text| text.strip_suffix(META)?.parse::<MessageId>().ok());
                files.extend(message.map(|message| (agent.clone(), message)));
                Ok(())
            })?;
        }
        let (is_problem, about) = told(&rows, &files);
        self.tell(is_problem, "bus_compared", about);
        Ok(())
    }
}

/// What an operator is told: how many there are, and which are only on one side.
fn told(rows: &Places, files: &Places) -> (bool, Value) {
    let only = |some: &Places, others: &Places| -> Vec<String> {
        let named = |(agent, message): &(Name, MessageId)| format!("processing/{agent}/{message}{META}");
        some.difference(others).take(NAMED_MAX).map(named).collect()
    };
    let (missing, unknown) = (only(rows, files), only(files, rows));
    let is_problem = !missing.is_empty() || !unknown.is_empty();
    (is_problem, json!({ "deliveries": rows.len(), "files": files.len(), "missing": missing, "unknown": unknown }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r15_what_is_only_in_the_rows_or_only_in_a_folder_is_named() {
        let place = |agent: &str, byte: u8| (agent.parse::<Name>().unwrap(), MessageId::from_bytes([byte; 16]));
        let rows = Places::from([place("ann", 1), place("ben", 2)]);
        let (is_problem, about) = told(&rows, &rows);
        assert!(!is_problem && about["deliveries"] == 2 && about["files"] == 2, "{about}");
        let files = Places::from([place("ann", 1), place("ben", 1)]);
        let (is_problem, about) = told(&rows, &files);
        let named = |byte: u8| format!("processing/ben/{}{META}", MessageId::from_bytes([byte; 16]));
        assert!(is_problem, "{about}");
        assert_eq!((&about["missing"], &about["unknown"]), (&json!([named(2)]), &json!([named(1)])));
    }
}
