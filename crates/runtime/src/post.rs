//! The post: takes messages for agents that run here, has them dealt with, and answers.
//!
//! A delivery is a task of one step. That gives it all that steps have: places and pools, holds, timeouts, secrets, the end of its
//! processes, logs, and a life that goes on after a crash. The task's key is the delivery (message and fence), so however often the same
//! delivery is begun, there is one task, and its result is one answer. The tempting shorter way, to run the agent here, would need all of
//! it a second time.
//!
//! ```text
//!  QUEUED ──take──► PROCESSING ──submit (key: message.fence)──► the task ends ──► reply, or fail: retried, or dead
//!                        └─── after a restart: what this node's post holds is begun again, from the rows
//! ```
//!
//! Whether a message is due the driver alone decides, by its own clock; the post asks, and waits for as long as it is told. Two clocks would
//! differ by a millisecond some day, or by an hour.
//!
//! An answer starts nobody: it waits in the inbox of whoever asked. Otherwise two agents would talk to each other for ever.

#[cfg(test)]
mod tests;

use crate::{
    builtin::{AGENTS, Builtin},
    driver::{Answer, Caller, Command, Delivery, Error, Handle, MessageCommand, Posted, Submit, Until, namespaces},
};
use relaymesh_agents::Agents;
use relaymesh_core::{
    content::Media,
    hash::Hash,
    id::{MessageId, NodeId, TaskId, ThreadId, WorkerId},
    lanes::Priority,
    message::{Message, Refusal, State},
    name::Name,
    op::{HeldMessage, Scope},
    task::{Status, request::Request, spec::IdempotencyKey},
};
use relaymesh_store::{Blobs, ContentKey, Reader};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender},
    time::{Duration, Instant},
};

/// The post's leases outlive every agent: it gives back what it holds itself, also after a restart.
const LEASE_MS: u64 = 30 * 24 * 60 * 60 * 1000;
/// Deliveries under way at once, for each agent and namespace. The rest waits in the inbox.
const UNDER_MAX: usize = 256;
/// How long to leave alone what cannot be done now.
const AGAIN: Duration = Duration::from_secs(1);
/// The shortest time until the same inbox is looked at again by itself.
const REST: Duration = Duration::from_millis(10);
const PAGE: usize = 64;
/// More than a node ever holds at once.
const HELD_MAX: usize = 1 << 20;
/// Later than everything.
const NEVER_MS: u64 = u64::MAX >> 1;

/// What the post is told.
pub enum News {
    /// Something about a message.
    Posted(Posted),
    /// These are the agents now.
    Agents(Agents),
    /// A delivery's task has ended, or could not be begun.
    Ended(Box<Ended>),
    /// To end.
    End,
}

/// How the task of a delivery ended.
pub struct Ended {
    inbox: Inbox,
    delivery: Delivery,
    answer: Result<Answer, Error>,
}

/// An inbox: of an agent, in a namespace.
type Inbox = (Name, Name);

/// What became of a message that was to be taken.
enum Took {
    /// It waits no more.
    It,
    /// It can be taken in so long.
    NotNow(Duration),
}

/// Takes messages for agents that run here.
pub struct Post<R, B> {
    reader: R,
    blobs: B,
    handle: Handle,
    caller: Caller,
    worker: WorkerId,
    agents: Agents,
    news: Sender<News>,
    /// When to look into an inbox again.
    later: BTreeMap<Inbox, Instant>,
    /// Ends that could not be written down, by when they are tried again.
    again: Vec<(Instant, Box<Ended>)>,
    under: BTreeMap<Inbox, usize>,
    tell: Box<dyn FnMut(String) + Send>,
}

impl<R: Reader, B: Blobs> Post<R, B> {
    /// The post of a node. `news` is its own letter box; what goes wrong is told to `tell`.
    pub fn new(
        (reader, blobs): (R, B),
        (handle, caller): (Handle, Caller),
        node: NodeId,
        agents: Agents,
        news: Sender<News>,
        tell: impl FnMut(String) + Send + 'static,
    ) -> Self {
        let mut half = [0; 16];
        half.copy_from_slice(&Hash::sha256(&[b"post", &node.to_bytes()[..]].concat()).0[..16]);
        let worker = WorkerId::from_bytes(half);
        let (later, again, under) = Default::default();
        Self { reader, blobs, handle, caller, worker, agents, news, later, again, under, tell: Box::new(tell) }
    }

    /// Works until it is told to end.
    pub fn run(mut self, received: &Receiver<News>) {
        let listener = self.news.clone();
        self.handle.listen(move |posted| listener.send(News::Posted(posted.clone())).is_ok());
        let begun = self.resume().and_then(|()| self.look_at_all());
        self.told(begun);
        loop {
            let next = self.later.values().chain(self.again.iter().map(|(at, _)| at)).min();
            let news = match next {
                None => received.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => received.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            let done = match news {
                Ok(News::Posted(Posted { namespace, to, .. })) => self.look_in(&(namespace, to)),
                Ok(News::Agents(agents)) => {
                    self.agents = agents;
                    self.look_at_all()
                }
                Ok(News::Ended(ended)) => self.ended(ended),
                Err(RecvTimeoutError::Timeout) => self.take_up_due(),
                Ok(News::End) | Err(RecvTimeoutError::Disconnected) => return,
            };
            self.told(done);
        }
    }

    fn told(&mut self, done: Result<(), relaymesh_store::Error>) {
        if let Err(error) = done {
            (self.tell)(format!("messages cannot be delivered: {error}"));
        }
    }

    /// Whether messages for this agent are taken here.
    fn delivers(&self, agent: &Name) -> bool {
        Builtin::knows(agent) || self.agents.get(agent).is_some_and(|agent| !agent.is_inbox())
    }

    /// Takes up what an earlier life of this node held.
    fn resume(&mut self) -> Result<(), relaymesh_store::Error> {
        let held = self.reader.due_scopes(NEVER_MS, HELD_MAX)?;
        let threads: BTreeSet<Scope> = held.into_iter().map(|(_, scope)| scope).collect();
        for scope in threads {
            let Some(rows) = self.reader.scope(scope)? else { continue };
            let Some(rows) = rows.thread() else { continue };
            for row in rows.messages.values().filter(|row| row.state == State::Processing) {
                let Some(lease) = row.lease.as_ref().filter(|lease| lease.worker == self.worker) else { continue };
                let held = HeldMessage { message: row.draft.id, epoch: row.epoch, token: lease.token };
                let (thread, draft) = (rows.thread.id, row.draft.clone());
                let delivery = Delivery { thread, held, draft, content: ContentKey::new(row.content_pos, 0) };
                self.begin((rows.thread.namespace.clone(), row.draft.to.clone()), delivery);
            }
        }
        Ok(())
    }

    fn look_at_all(&mut self) -> Result<(), relaymesh_store::Error> {
        let builtin = AGENTS.iter().filter_map(|(name, _)| name.parse::<Name>().ok());
        let agents: Vec<Name> = builtin.chain(self.agents.iter().map(|(name, _)| name.clone())).collect();
        for namespace in namespaces::load(&mut self.reader)? {
            for agent in &agents {
                self.look_in(&(namespace.clone(), agent.clone()))?;
            }
        }
        Ok(())
    }

    fn take_up_due(&mut self) -> Result<(), relaymesh_store::Error> {
        let now = Instant::now();
        let (due, later) = std::mem::take(&mut self.again).into_iter().partition(|(at, _)| *at <= now);
        self.again = later;
        let due: Vec<(Instant, Box<Ended>)> = due;
        for (_, ended) in due {
            if matches!(ended.answer, Err(Error::Busy { .. } | Error::DiskFull(_))) {
                let Ended { inbox, delivery, .. } = *ended;
                self.let_go(&inbox);
                self.begin(inbox, delivery);
            } else {
                self.ended(ended)?;
            }
        }
        let due = self.later.iter().filter(|(_, at)| **at <= now).map(|(inbox, _)| inbox.clone());
        due.collect::<Vec<Inbox>>().iter().try_for_each(|inbox| self.look_in(inbox))
    }

    /// Takes what waits in an inbox, as far as there is room, and says when to look again.
    fn look_in(&mut self, inbox: &Inbox) -> Result<(), relaymesh_store::Error> {
        self.later.remove(inbox);
        if !self.delivers(&inbox.1) {
            return Ok(());
        }
        let mut wait: Option<Duration> = None;
        for priority in Priority::ALL {
            for (thread, row) in self.questions(inbox, priority)? {
                if self.under.get(inbox).copied().unwrap_or(0) >= UNDER_MAX {
                    return Ok(()); // looked at again when one of them has ended
                }
                if let Took::NotNow(rest) = self.take(inbox, thread, row.draft.id) {
                    wait = Some(wait.map_or(rest, |other| other.min(rest)));
                    break; // those behind it are due even later
                }
            }
        }
        self.later.extend(wait.map(|wait| (inbox.clone(), Instant::now() + wait)));
        Ok(())
    }

    /// What waits in a lane and is no answer, longest due first.
    fn questions(
        &mut self,
        (namespace, agent): &Inbox,
        priority: Priority,
    ) -> Result<Vec<(ThreadId, Message)>, relaymesh_store::Error> {
        let mut limit = PAGE;
        loop {
            let page = self.reader.inbox(namespace, agent, priority, NEVER_MS, limit)?;
            let is_all = page.len() < limit;
            let mut found = Vec::new();
            for (thread, message) in page {
                let rows = self.reader.scope(Scope::Thread(thread))?;
                let row = rows.as_ref().and_then(|rows| rows.thread()?.messages.get(&message));
                let is_question = |row: &&Message| row.state == State::Queued && row.draft.reply_to.is_none();
                found.extend(row.filter(is_question).map(|row| (thread, row.clone())));
            }
            if is_all || !found.is_empty() {
                return Ok(found);
            }
            limit = limit.saturating_mul(4); // all of them are answers: look behind them
        }
    }

    /// Takes a message and begins its delivery.
    fn take(&mut self, inbox: &Inbox, thread: ThreadId, message: MessageId) -> Took {
        let (namespace, agent) = inbox.clone();
        let only = Some((thread, message));
        let take = MessageCommand::Take { namespace, agent, worker: self.worker, lease_ms: LEASE_MS, only };
        match self.handle.call(self.caller.clone(), Command::Message(take)) {
            Ok(Answer::Taken(Some(delivery))) => {
                self.begin(inbox.clone(), *delivery);
                Took::It
            }
            Err(Error::Message(Refusal::NotDue { due_ms, now_ms, .. })) => {
                Took::NotNow(Duration::from_millis(due_ms.saturating_sub(now_ms)).max(REST))
            }
            // Somebody else took it, or it is too old: nobody waits for it here.
            Err(Error::Message(_)) => Took::It,
            Ok(_) | Err(_) => Took::NotNow(AGAIN),
        }
    }

    /// Makes the delivery a task. One that is there already is the same.
    fn begin(&mut self, inbox: Inbox, delivery: Delivery) {
        *self.under.entry(inbox.clone()).or_default() += 1;
        let news = self.news.clone();
        let submit = match self.submit(&inbox.0, &delivery) {
            Ok(submit) => submit,
            Err(answer) => {
                let ended = Ended { inbox, delivery, answer: Err(answer) };
                return drop(news.send(News::Ended(Box::new(ended))));
            }
        };
        // What a step asks happens within its attempt.
        let asked_in = delivery.draft.asks.map(|_| delivery.draft.context(0));
        self.handle.send(Caller { asked_in, ..self.caller.clone() }, submit, move |answer| {
            let ended = Ended { inbox, delivery, answer };
            drop(news.send(News::Ended(Box::new(ended))));
        });
    }

    fn submit(&mut self, namespace: &Name, delivery: &Delivery) -> Result<Command, Error> {
        let draft = &delivery.draft;
        let damaged = |detail: String| Error::Store(relaymesh_store::Error::Damaged { detail });
        let bytes = self.reader.bytes(delivery.content).map_err(Error::Store)?;
        let bytes = bytes.ok_or_else(|| damaged(format!("the content of {} is missing", draft.id)))?;
        draft.content.check(&bytes).map_err(|why| damaged(why.to_string()))?;
        let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
        let input = match draft.content.media {
            Media::Json => serde_json::from_slice(&bytes).unwrap_or_else(|_| text()),
            Media::Text => text(),
        };
        let mut request = Request::single(draft.to.clone(), Some(input));
        let name = |text: String| text.parse::<Name>().map_err(|error| damaged(error.to_string()));
        request.name = name(draft.id.to_string())?;
        for step in &mut request.steps {
            step.priority = draft.priority;
            // The message itself is retried: its deliveries are counted, and its backoff counts.
            step.retry.max_attempts = Some(1);
            step.timeout_ms = draft.ttl_ms;
        }
        let key = IdempotencyKey::Given(name(format!("{}.{}", draft.id, delivery.held.epoch))?.into());
        let prepared =
            request.prepare(namespace, Some(key), draft.trace_id).map_err(|error| damaged(error.to_string()))?;
        let submit = Submit::new(namespace.clone(), prepared, Until::Ended);
        Command::Submit(submit).stowed(&self.blobs).map_err(Error::Store)
    }

    /// Writes down how a delivery ended.
    fn ended(&mut self, ended: Box<Ended>) -> Result<(), relaymesh_store::Error> {
        let Delivery { thread, held, .. } = ended.delivery;
        let command = match &ended.answer {
            Ok(Answer::Ended { task, status, .. }) => self.outcome(thread, held, *task, *status)?,
            Ok(other) => failed(thread, held, format!("unexpected answer from the driver: {other:?}"), false),
            Err(Error::Stopped | Error::Indeterminate(_)) => return Ok(()), // the next life takes it up
            Err(Error::Busy { .. } | Error::DiskFull(_)) => {
                self.again.push((Instant::now() + AGAIN, ended));
                return Ok(());
            }
            Err(error) => failed(thread, held, error.to_string(), false),
        };
        match self.handle.call(self.caller.clone(), Command::Message(command)) {
            Err(Error::Busy { .. } | Error::DiskFull(_)) => {
                self.again.push((Instant::now() + AGAIN, ended));
                return Ok(());
            }
            Err(Error::Stopped | Error::Indeterminate(_)) => return Ok(()),
            // Refused: it was too old, or was taken away meanwhile. Then nobody waits for this.
            Ok(_) | Err(_) => {}
        }
        self.let_go(&ended.inbox);
        self.look_in(&ended.inbox)
    }

    fn let_go(&mut self, inbox: &Inbox) {
        if let Some(under) = self.under.get_mut(inbox) {
            *under = under.saturating_sub(1);
        }
    }

    fn outcome(
        &mut self,
        thread: ThreadId,
        held: HeldMessage,
        task: TaskId,
        status: Status,
    ) -> Result<MessageCommand, relaymesh_store::Error> {
        let rows = self.reader.task(task)?;
        let Some(step) = rows.as_ref().and_then(|rows| rows.steps.first()) else {
            return Ok(failed(thread, held, format!("{task} is no more"), true));
        };
        if let (Status::Success, Some(result)) = (status, step.result)
            && let Some(content) = self.reader.content(ContentKey::new(step.result_pos, 0))?
        {
            return Ok(MessageCommand::Reply { thread, held, media: result.media, content });
        }
        let error = step.error.clone().unwrap_or_else(|| format!("it ended as {status}"));
        // Refused for good, or stopped by somebody; everything else may go better the next time.
        let retryable = status == Status::DeadLetter;
        Ok(failed(thread, held, format!("{error} ({task})"), retryable))
    }
}

fn failed(thread: ThreadId, held: HeldMessage, error: String, retryable: bool) -> MessageCommand {
    MessageCommand::Fail { thread, held, retryable, error }
}
