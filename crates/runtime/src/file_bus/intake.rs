//! Taking in what programs put there.

use super::{
    FileBus, Stop,
    folder::{Folder, Odd, Unsynced},
    meta::{self, Id, META, META_BYTES_MAX, Order, PAYLOAD, RECEIPT, What},
};
use crate::driver::{Answer, Caller, Command, Error, Letter, MessageCommand, Proof, Submit, Until};
use relaymesh_core::{
    canonical,
    content::{ContentRef, Media},
    lanes::Priority,
    message::{Message, State},
    name::Name,
    op::Scope,
    task::{key::GivenKey, request::Request, spec::IdempotencyKey},
};
use relaymesh_store::{Blobs, Content, Reader};
use serde_json::{Value, json};
use std::{ffi::OsString, fs::File, io};

/// What looks unfinished may be in the making for so long.
const GRACE_MS: u64 = 2_000;
/// The driver cannot take more now.
const BUSY_MS: u64 = 1_000;

/// Why an order is not carried out.
enum No {
    /// For good: code and reason.
    Refused(&'static str, String),
    /// Perhaps later.
    NotNow,
    Stopped,
    /// A sync failed.
    Unsynced(String),
}

impl No {
    fn refused(code: &'static str, reason: impl ToString) -> Self {
        Self::Refused(code, reason.to_string())
    }
}

impl From<io::Error> for No {
    fn from(error: io::Error) -> Self {
        match Unsynced::is_in(&error) {
            true => Self::Unsynced(error.to_string()),
            false => Self::NotNow,
        }
    }
}

impl From<relaymesh_store::Error> for No {
    fn from(_: relaymesh_store::Error) -> Self {
        Self::NotNow
    }
}

/// Something that was read, and is not yet durable.
struct Read {
    order: Order,
    meta: File,
    payload: Option<(File, Vec<u8>)>,
}

impl<R: Reader, B: Blobs> FileBus<R, B> {
    pub(super) fn take_in_all(&mut self) -> Result<(), Stop> {
        // What an earlier life began comes first, then the lanes in their order.
        let meta = self.places.meta.again()?;
        for file in meta.names()? {
            self.take_in(&meta, None, &file)?;
        }
        for lane in 0..self.places.lanes.len() {
            let (priority, folder) = (self.places.lanes[lane].0, self.places.lanes[lane].1.again()?);
            for file in folder.names()? {
                self.take_in(&folder, Some(priority), &file)?;
            }
        }
        self.look_for_orphans()
    }

    fn take_in(&mut self, from: &Folder, lane: Option<Priority>, file: &OsString) -> Result<(), Stop> {
        let text = file.to_str().unwrap_or_default();
        if let (None, Some(id)) = (lane, Id::of(text, RECEIPT)) {
            return self.finish(&id);
        }
        let Some(id) = Id::of(text, META) else {
            return self.quarantine(from, file, "bad_name", "the name of a meta file must be <id>.meta.json, where the id has 1 to 60 characters of a-z A-Z 0-9 _ - and does not begin with -; names that begin with a dot are ignored");
        };
        if lane.is_none() && !self.places.payload.has(&id.file(PAYLOAD))? && self.places.meta.has(&id.file(RECEIPT))? {
            return self.finish(&id);
        }
        let accepted = self.read(from, lane, &id).and_then(|read| self.accept(from, &id, read));
        match accepted {
            Ok(receipt) => {
                let receipt = format!("{receipt:#}\n");
                match self.places.meta.write(&id.file(RECEIPT), receipt.as_bytes()) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
                    Ok(()) | Err(_) => {}
                }
                self.places.meta.sync()?;
                self.finish(&id)
            }
            Err(No::Refused(code, reason)) => {
                let is_in = self.places.meta.has(&id.file(META))?;
                let meta = self.places.meta.again()?;
                self.refuse(if is_in { &meta } else { from }, &id, code, &reason)
            }
            Err(No::NotNow) => {
                self.look_at((self.means.now_ms)() + BUSY_MS);
                Ok(())
            }
            Err(No::Stopped) => Err(Stop::Driver),
            Err(No::Unsynced(error)) => Err(Stop::Unsynced(error)),
        }
    }

    /// Reads and checks both files.
    fn read(&mut self, from: &Folder, lane: Option<Priority>, id: &Id) -> Result<Read, No> {
        let (meta, bytes) = match from.read(&id.file(META), META_BYTES_MAX) {
            Err(Odd::Missing) => return Err(No::NotNow),
            read => read.map_err(|odd| No::refused(odd.code(), format!("the meta file: {odd}")))?,
        };
        let fresh_ms = self.fresh_ms(&meta);
        let order = meta::parse(&bytes).map_err(|why| self.unfinished(fresh_ms, "bad_meta", why))?;
        if let Some(lane) = lane.filter(|lane| *lane != order.priority) {
            let reason = format!("it is in inbox/{lane}, but its `priority` is {}", order.priority);
            return Err(No::refused("bad_meta", reason));
        }
        if !order.what.has_payload() {
            return Ok(Read { order, meta, payload: None });
        }
        let max = (self.means.settings)().payload_max_bytes;
        let payload = match self.places.payload.read(&id.file(PAYLOAD), max) {
            Err(Odd::Missing) => {
                let reason = format!("payload/{} is missing; write it before the meta file", id.file(PAYLOAD));
                return Err(self.unfinished(fresh_ms, "no_payload", reason));
            }
            read => read.map_err(|odd| No::refused(odd.code(), format!("the payload: {odd}")))?,
        };
        if let Err(error) = canonical::parse(&payload.1) {
            return Err(self.unfinished(fresh_ms, "bad_payload", format!("the payload is not JSON: {error}")));
        }
        Ok(Read { order, meta, payload: Some(payload) })
    }

    /// Whoever did not rename may still be writing: looked at again in a moment.
    fn unfinished(&mut self, fresh_ms: Option<u64>, code: &'static str, reason: String) -> No {
        match fresh_ms {
            Some(left_ms) => {
                self.look_at((self.means.now_ms)() + left_ms);
                No::NotNow
            }
            None => No::Refused(code, reason),
        }
    }

    /// How much of its grace is left.
    fn fresh_ms(&self, file: &File) -> Option<u64> {
        let changed = rustix::fs::fstat(file).ok()?;
        let changed_ms = u64::try_from(changed.st_ctime).ok()?.saturating_mul(1_000);
        (changed_ms + GRACE_MS).checked_sub((self.means.now_ms)()).filter(|left_ms| *left_ms > 0)
    }

    /// The order of D4: payload synced, renamed, folders synced, committed. Gives the receipt.
    fn accept(&mut self, from: &Folder, id: &Id, read: Read) -> Result<Value, No> {
        let Read { order, meta, payload } = read;
        let payload = match payload {
            Some((file, bytes)) => {
                Unsynced::check(&id.file(PAYLOAD), file.sync_all())?;
                bytes
            }
            None => Vec::new(),
        };
        Unsynced::check(&id.file(META), meta.sync_all())?;
        if from.name != self.places.meta.name {
            match from.rename(id.file(META).as_ref(), &self.places.meta, &id.file(META)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(No::NotNow),
                result => result?,
            }
        }
        self.places.payload.sync()?;
        self.places.meta.sync()?;
        from.sync()?;
        let now_ms = (self.means.now_ms)();
        let mut receipt = self.commit(id, order, payload)?;
        receipt["id"] = json!(id.to_string());
        receipt["at_ms"] = json!(now_ms);
        Ok(receipt)
    }

    fn commit(&mut self, id: &Id, order: Order, payload: Vec<u8>) -> Result<Value, No> {
        let Order { namespace, priority, asked_in, what } = order;
        let caller = Caller { asked_in, ..self.means.caller.clone() };
        match what {
            What::Send { from, to, thread, ttl_ms, max_deliveries } => {
                let (own, message) = id.names(&namespace);
                let letter = Letter {
                    namespace,
                    thread: Some(thread.unwrap_or(own)),
                    message: Some(message),
                    from,
                    to,
                    priority,
                    reply_to: None,
                    asks: None,
                    media: Media::Json,
                    content: Content::Inline(payload),
                    trace_id: caller.trace_id(rand::random()),
                    ttl_ms,
                    max_deliveries,
                };
                self.ask(caller, Command::Message(MessageCommand::Send(Box::new(letter))))
            }
            What::Submit { agent, key } => {
                let key = key.or_else(|| id.key().map(GivenKey::from)).map(IdempotencyKey::Given);
                self.submit(key, caller, &namespace, (priority, agent), &payload)
            }
            What::Reply(proof) => {
                let content = ContentRef::of(Media::Json, &payload);
                let Proof { thread, held } = proof;
                let content_of = Content::Inline(payload);
                let reply = MessageCommand::Reply { thread, held, media: Media::Json, content: content_of };
                self.once(proof, Command::Message(reply), |row, answer| {
                    row.state == State::Done && answer.is_some_and(|answer| answer.draft.content == content)
                })
            }
            What::Acknowledge(proof) => {
                let Proof { thread, held } = proof;
                let acknowledge = MessageCommand::Acknowledge { thread, held };
                self.once(proof, Command::Message(acknowledge), |row, answer| {
                    row.state == State::Done && answer.is_none()
                })
            }
            What::Fail { proof, error, retryable } => {
                let Proof { thread, held } = proof;
                let told = relaymesh_core::task::fail::shortened(&error);
                let fail = MessageCommand::Fail { thread, held, retryable, error };
                self.once(proof, Command::Message(fail), |row, _| row.error.as_ref() == Some(&told))
            }
        }
    }

    fn submit(
        &mut self,
        key: Option<IdempotencyKey>,
        caller: Caller,
        namespace: &Name,
        (priority, agent): (Priority, Name),
        payload: &[u8],
    ) -> Result<Value, No> {
        if !self.runs_here(&agent) && self.means.agents.get(&agent).is_none() {
            return Err(No::refused("unknown_agent", format!("there is no agent `{agent}`")));
        }
        let input = serde_json::from_slice(payload).map_err(|error| No::refused("bad_payload", error))?;
        let mut request = Request::single(agent, Some(input));
        request.steps.iter_mut().for_each(|step| step.priority = priority);
        let prepared = request.prepare(namespace, key, caller.trace_id(rand::random()));
        let mut prepared = prepared.map_err(|error| No::refused("refused", error))?;
        let otherwise = (self.means.settings)().retry();
        for (spec, step) in prepared.schedule.steps.iter_mut().zip(&request.steps) {
            spec.retry = step.retry.policy(otherwise);
        }
        self.ask(caller, Command::Submit(Submit::new(namespace.clone(), prepared, Until::Accepted)))
    }

    /// The same word about a delivery twice is one: whoever did not see the receipt, a crash for one, says it again.
    fn once(
        &mut self,
        proof: Proof,
        command: Command,
        is_said: impl Fn(&Message, Option<&Message>) -> bool,
    ) -> Result<Value, No> {
        let refused = match self.ask(self.means.caller.clone(), command) {
            Err(No::Refused(code, reason)) => (code, reason),
            other => return other,
        };
        let rows = self.means.reader.scope(Scope::Thread(proof.thread))?;
        let rows = rows.as_ref().and_then(|rows| rows.thread());
        let row = rows.and_then(|rows| rows.messages.get(&proof.held.message));
        let Some(row) = row.filter(|row| row.epoch == proof.held.epoch) else {
            return Err(No::Refused(refused.0, refused.1));
        };
        let answer = row.answered_by.and_then(|answer| rows?.messages.get(&answer));
        if is_said(row, answer) {
            return Ok(
                json!({ "thread": proof.thread, "message": answer.map_or(row.draft.id, |answer| answer.draft.id) }),
            );
        }
        Err(No::Refused(refused.0, refused.1))
    }

    /// Asks the driver. What it answers is durable.
    fn ask(&mut self, caller: Caller, command: Command) -> Result<Value, No> {
        let command = command.stowed(&self.means.blobs)?;
        match self.means.handle.call(caller, command) {
            Ok(Answer::Message { thread, message, .. }) => Ok(json!({ "thread": thread, "message": message })),
            Ok(Answer::Replied { thread, message, completed }) => {
                let step = completed.filter(|(_, is_done)| *is_done).map(|(step, _)| step);
                Ok(json!({ "thread": thread, "message": message, "completed": step }))
            }
            Ok(Answer::Accepted { task, merged, .. }) => Ok(json!({ "task": task, "merged": merged })),
            Ok(other) => Err(No::refused("internal", format!("unexpected answer from the driver: {other:?}"))),
            Err(Error::Stopped | Error::Indeterminate(_)) => Err(No::Stopped),
            Err(Error::Busy { .. } | Error::DiskFull(_) | Error::Store(_)) => Err(No::NotNow),
            Err(error) => Err(No::refused("refused", error)),
        }
    }

    fn has_meta(&self, id: &Id) -> io::Result<bool> {
        let mut folders = self.places.lanes.iter().map(|(_, lane)| lane).chain([&self.places.meta]);
        folders.try_fold(false, |has, folder| Ok(has || folder.has(&id.file(META))?))
    }

    /// Payloads that nobody sent, and whatever else lies in their folder.
    fn look_for_orphans(&mut self) -> Result<(), Stop> {
        let (now_ms, patience_ms) = ((self.means.now_ms)(), (self.means.settings)().bus_orphan_ms);
        let folder = self.places.payload.again()?;
        for file in folder.names()? {
            let Some(id) = file.to_str().and_then(|text| Id::of(text, PAYLOAD)) else {
                let reason = "the name of a payload must be <id>.payload.json; names that begin with a dot are ignored";
                self.quarantine(&folder, &file, "bad_name", reason)?;
                continue;
            };
            let has_meta = self.has_meta(&id)?;
            let Some(found) = folder.stat(&file)?.filter(|_| !has_meta) else { continue };
            let changed_ms = u64::try_from(found.st_ctime).unwrap_or(0).saturating_mul(1_000);
            let orphan_ms = changed_ms.saturating_add(patience_ms);
            if orphan_ms <= now_ms {
                let reason = "its meta file did not arrive in time";
                self.quarantine(&folder, &file, "no_meta", reason)?;
            } else {
                self.look_at(orphan_ms);
            }
        }
        Ok(())
    }
}
