//! Handing messages to agents that are folders.
//!
//! A program becomes an agent by making `processing/<name>/`. What is for it is put there, under a lease that outlives the daemon: the files
//! are as durable as the lease, and a program that starts again finds them where they were. The rename is no fence (D7): the proof
//! in the meta file is, and it is checked in the write that takes the answer.

use super::{
    FileBus, Stop,
    folder::Folder,
    meta::{META, META_BYTES_MAX, PAYLOAD},
};
use crate::driver::{Answer, Command, Delivery, Error, MessageCommand, Proof};
use relaymesh_core::{
    id::{MessageId, ThreadId},
    lanes::Priority,
    message::{Message, State},
    name::Name,
    namespace::DEFAULT,
    op::{HeldMessage, Scope},
};
use relaymesh_store::{Blobs, ContentKey, Reader};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    io,
    sync::PoisonError,
};

/// The lease of what lies in a folder.
const LEASE_MS: u64 = 30 * 24 * 60 * 60 * 1000;
/// Messages in one folder at once. The rest waits in the inbox.
const PLACED_MAX: usize = 64;
/// Folders, at most.
const AGENTS_MAX: usize = 1024;
/// The shortest time until the same inbox is looked at again by itself.
const REST_MS: u64 = 50;
/// The longest time that is waited for a message to fall due.
const TRUSTED_MS: u64 = 60_000;
/// More than a node ever holds at once.
const HELD_MAX: usize = 1 << 20;
/// Later than everything.
const NEVER_MS: u64 = u64::MAX >> 1;

impl<R: Reader, B: Blobs> FileBus<R, B> {
    /// What an earlier life had in the folders, from the rows. A file that is not there is made again: nobody can have seen it go.
    pub(super) fn recover(&mut self) -> Result<(), Stop> {
        self.placed.clear();
        self.held()?.iter().try_for_each(|delivery| self.place(delivery))
    }

    /// The deliveries that the rows say are in the folders.
    pub(super) fn held(&mut self) -> Result<Vec<Delivery>, Stop> {
        let mut all = Vec::new();
        let held = self.means.reader.due_scopes(NEVER_MS, HELD_MAX)?;
        let scopes: BTreeSet<Scope> = held.into_iter().map(|(_, scope)| scope).collect();
        for scope in scopes {
            let rows = self.means.reader.scope(scope)?;
            let Some(rows) = rows.as_ref().and_then(|rows| rows.thread()) else { continue };
            for row in rows.messages.values().filter(|row| row.state == State::Processing) {
                let Some(lease) = row.lease.as_ref().filter(|lease| lease.worker == self.worker) else { continue };
                let held = HeldMessage { message: row.draft.id, epoch: row.epoch, token: lease.token };
                let thread = rows.thread.id;
                let content = ContentKey::new(row.content_pos, 0);
                all.push(Delivery { thread, held, draft: row.draft.clone(), content });
            }
        }
        Ok(all)
    }

    pub(super) fn serve_all(&mut self) -> Result<(), Stop> {
        let mut agents = BTreeSet::new();
        let processing = self.places.processing.again()?;
        for file in processing.names()?.into_iter().take(AGENTS_MAX) {
            let agent = file.to_str().and_then(|text| text.parse::<Name>().ok());
            let folder = agent.as_ref().map(|agent| processing.open(agent.as_str()));
            match (agent, folder) {
                (Some(agent), Some(Ok(_))) => {
                    agents.insert(agent);
                }
                (_, Some(Err(error))) if error.kind() == io::ErrorKind::NotFound => {}
                (_, Some(Err(error))) => {
                    self.quarantine(
                        &processing,
                        &file,
                        "not_a_folder",
                        &format!("its name is not a valid agent name: {error}"),
                    )?;
                }
                (None, _) | (Some(_), None) => {
                    self.quarantine(&processing, &file, "bad_name", "name the folder like its agent")?;
                }
            }
        }
        self.hears.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&agents);
        let known: BTreeSet<Name> = agents.into_iter().chain(self.placed.keys().cloned()).collect();
        known.iter().try_for_each(|agent| self.serve(agent))
    }

    fn serve(&mut self, agent: &Name) -> Result<(), Stop> {
        let folder = match self.places.processing.open(agent.as_str()) {
            Ok(folder) => Some(folder),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        if folder.is_some() {
            // Before it is looked at, so that nothing is missed.
            let path = self.means.root.join("processing").join(agent.as_str());
            self.ear.listen(&path)?;
        }
        self.check(agent, folder.as_ref())?;
        let Some(folder) = folder else { return Ok(()) };
        self.look_for_strangers(agent, &folder)?;
        if self.runs_here(agent) {
            return Ok(()); // its messages are dealt with by itself
        }
        while self.placed.get(agent).map_or(0, BTreeMap::len) < PLACED_MAX {
            match self.take(agent)? {
                Some(delivery) => self.place(&delivery)?,
                None => return self.look_later(agent),
            }
        }
        Ok(())
    }

    /// What lies in the folder against the rows: what is over leaves it, and what has gone has failed.
    fn check(&mut self, agent: &Name, folder: Option<&Folder>) -> Result<(), Stop> {
        let placed = self.placed.get(agent).cloned().unwrap_or_default();
        for (message, proof) in placed {
            let row = self.row(proof.thread, message)?;
            let holds = |row: &Message| row.state == State::Processing && row.epoch == proof.held.epoch;
            let file = message.to_string();
            if row.as_ref().is_some_and(holds) {
                let is_there = folder.map_or(Ok(false), |folder| folder.has(&format!("{file}{META}")))?;
                if !is_there {
                    let error = format!("its file was removed from processing/{agent} without an answer");
                    let (thread, held) = (proof.thread, proof.held);
                    let fail = MessageCommand::Fail { thread, held, retryable: true, error };
                    self.tell(true, "bus_delivery_lost", json!({ "agent": agent, "message": message }));
                    self.call(fail)?;
                    self.forget(agent, message);
                }
                continue;
            }
            if let Some(folder) = folder {
                let state = row.as_ref().map_or_else(|| "purged".to_owned(), |row| row.state.to_string());
                let is_done = row.is_some_and(|row| row.state == State::Done);
                let why = format!("the delivery has ended; the message is {state}");
                self.clear(folder, &file, (!is_done).then_some(&why))?;
            }
            self.forget(agent, message);
        }
        Ok(())
    }

    fn forget(&mut self, agent: &Name, message: MessageId) {
        if let Some(placed) = self.placed.get_mut(agent) {
            placed.remove(&message);
        }
        self.placed.retain(|_, placed| !placed.is_empty());
    }

    /// Files that no row knows.
    fn look_for_strangers(&mut self, agent: &Name, folder: &Folder) -> Result<(), Stop> {
        let ours: BTreeSet<OsString> =
            self.placed.get(agent).into_iter().flat_map(BTreeMap::keys).fold(BTreeSet::new(), |mut ours, message| {
                ours.extend([META, PAYLOAD].map(|end| OsString::from(format!("{message}{end}"))));
                ours
            });
        for file in folder.names()?.into_iter().filter(|file| !ours.contains(file)) {
            let reason = "no delivery to this agent has this name; names that begin with a dot are ignored";
            self.quarantine(folder, &file, "no_row", reason)?;
        }
        Ok(())
    }

    fn take(&mut self, agent: &Name) -> Result<Option<Delivery>, Stop> {
        let namespace = default_namespace()?;
        let (agent, worker) = (agent.clone(), self.worker);
        let take = MessageCommand::Take { namespace, agent, worker, lease_ms: LEASE_MS, only: None };
        match self.call(take)? {
            Some(Answer::Taken(delivery)) => Ok(delivery.map(|delivery| *delivery)),
            Some(_) | None => Ok(None),
        }
    }

    /// Nothing can be taken now; something may fall due.
    fn look_later(&mut self, agent: &Name) -> Result<(), Stop> {
        let (namespace, now_ms) = (default_namespace()?, (self.means.now_ms)());
        for priority in Priority::ALL {
            for (thread, message) in self.means.reader.inbox(&namespace, agent, priority, NEVER_MS, 1)? {
                let due_ms = self.row(thread, message)?.map_or(0, |row| row.due_ms);
                // This clock is not the driver's, and may have been set: it is trusted for a minute.
                self.look_at(due_ms.clamp(now_ms + REST_MS, now_ms + TRUSTED_MS));
            }
        }
        Ok(())
    }

    /// Puts a delivery into its agent's folder, the payload first. What is there already stays.
    fn place(&mut self, delivery: &Delivery) -> Result<(), Stop> {
        let Delivery { thread, held, draft, content } = delivery;
        let (proof, message) = (Proof { thread: *thread, held: *held }, draft.id.to_string());
        let bytes = self.means.reader.bytes(*content)?;
        let bytes = bytes.filter(|bytes| draft.content.check(bytes).is_ok());
        let Some(bytes) = bytes else {
            let error = "its content is missing or damaged".to_owned();
            self.tell(true, "bus_delivery_lost", json!({ "agent": draft.to, "message": draft.id, "error": error }));
            let fail = MessageCommand::Fail { thread: *thread, held: *held, retryable: false, error };
            return self.call(fail).map(drop);
        };
        let folder = match self.places.processing.open(draft.to.as_str()) {
            Ok(folder) => folder,
            // Recovered: the folder went while nobody looked. The next check fails the delivery.
            Err(_) => {
                self.placed.entry(draft.to.clone()).or_default().insert(draft.id, proof);
                return Ok(());
            }
        };
        let context = draft.context((self.means.settings)().traced_per_mille());
        let meta = json!({
            "id": draft.id, "thread": thread, "held": proof.to_string(), "from": draft.from, "to": draft.to,
            "priority": draft.priority, "about": draft.reply_to, "asks": draft.asks.map(|asks| asks.step.task),
            "traceparent": context.to_string(),
        });
        let same =
            |found: Vec<u8>| serde_json::from_slice::<Value>(&found).is_ok_and(|found| found["held"] == meta["held"]);
        let there = folder.read(&format!("{message}{META}"), META_BYTES_MAX);
        if !there.is_ok_and(|(_, found)| same(found)) {
            for (end, bytes) in [(PAYLOAD, bytes), (META, format!("{meta:#}\n").into_bytes())] {
                let file = format!("{message}{end}");
                if folder.has(&file)? {
                    self.quarantine(&folder, &OsString::from(&file), "no_row", "it belongs to another delivery")?;
                }
                folder.write(&file, &bytes)?;
            }
            folder.sync()?;
            self.filed(draft.id, &folder, &message);
        }
        self.placed.entry(draft.to.clone()).or_default().insert(draft.id, proof);
        Ok(())
    }

    fn row(&mut self, thread: ThreadId, message: MessageId) -> Result<Option<Message>, Stop> {
        let rows = self.means.reader.scope(Scope::Thread(thread))?;
        Ok(rows.as_ref().and_then(|rows| rows.thread()?.messages.get(&message).cloned()))
    }

    /// `None`: refused.
    fn call(&mut self, command: MessageCommand) -> Result<Option<Answer>, Stop> {
        match self.means.handle.call(self.means.caller.clone(), Command::Message(command)) {
            Ok(answer) => Ok(Some(answer)),
            Err(Error::Stopped | Error::Indeterminate(_)) => Err(Stop::Driver),
            Err(error @ (Error::Busy { .. } | Error::DiskFull(_) | Error::Store(_))) => {
                Err(Stop::Trouble(error.to_string()))
            }
            Err(_) => Ok(None),
        }
    }
}

fn default_namespace() -> Result<Name, Stop> {
    DEFAULT.parse().map_err(|error: relaymesh_core::name::ParseError| Stop::Trouble(error.to_string()))
}
