//! Messages: send, take, acknowledge, reply, fail, give back.
//!
//! A reply to a message that asks for a step completes that step, in the same batch (R38). If the step's lease is not
//! the one that asked any more, the reply stands as a message, and the completion is refused and journalled (D7).

use super::{
    caller::Caller,
    command::{Answer, Delivery, Letter, MessageCommand},
    engine::Engine,
    error::Error,
};
use crate::world::{Hold, Outcome, World};
use relaymesh_core::{
    backoff::Backoff,
    content::Media,
    id::{LeaseToken, MessageId, StepId, ThreadId, WorkerId},
    kernel::Effect,
    lanes::Priority,
    message::{self, Draft, Refusal, State},
    name::Name,
    op::{ExpireReason, HeldMessage, Scope, Subject},
    task::{Status, fail::shortened},
};
use relaymesh_store::{Content, ContentKey, ContentPut, Reader};

/// Time between deliveries that failed.
const BACKOFF: Backoff = Backoff { base_ms: 1_000, max_ms: 60_000 };

impl<R: Reader, W: World> Engine<R, W> {
    pub(super) fn message(&mut self, caller: &Caller, command: MessageCommand) -> Result<Answer, Error> {
        match command {
            MessageCommand::Send(letter) => {
                self.fits(&letter.content)?;
                self.send(caller, *letter)
            }
            MessageCommand::Take { namespace, agent, worker, lease_ms, only } => {
                self.take(caller, &namespace, &agent, (worker, lease_ms), only)
            }
            MessageCommand::Acknowledge { thread, held } => {
                let body = message::Body::AcknowledgeMessage { held };
                self.once(caller, thread, body, |engine| engine.message_rests(thread, held.message))
            }
            MessageCommand::Reply { thread, held, media, content } => self.reply(caller, thread, held, media, content),
            MessageCommand::Fail { thread, held, retryable, error } => {
                let jitter_ms = self.delivery_jitter_ms(thread, held.message)?;
                let body = message::Body::FailMessage { held, retryable, jitter_ms, error: shortened(&error) };
                self.once(caller, thread, body, |engine| engine.message_rests(thread, held.message))
            }
            MessageCommand::Return { thread, held, reason } => {
                self.about_message(caller, thread, message::Body::ReturnMessage { held, reason: shortened(&reason) })?;
                self.message_rests(thread, held.message)
            }
            MessageCommand::Redrive { thread, message, reason } => {
                self.about_message(
                    caller,
                    thread,
                    message::Body::RedriveMessage { message, reason: shortened(&reason) },
                )?;
                self.message_rests(thread, message)
            }
        }
    }

    /// Sending the same message again is the same message: whoever did not hear the answer asks again.
    pub(super) fn send(&mut self, caller: &Caller, letter: Letter) -> Result<Answer, Error> {
        let Letter { namespace, thread, message, from, to, priority, reply_to, asks, media, content, .. } = letter;
        let now_ms = self.world.now().wall_ms;
        let thread = thread.unwrap_or_else(|| ThreadId::new(now_ms, self.world.random()));
        let id = message.unwrap_or_else(|| MessageId::new(now_ms, self.world.random()));
        let draft = Draft {
            id,
            from,
            to,
            priority,
            reply_to,
            asks,
            content: content.named(media),
            trace_id: letter.trace_id,
            ttl_ms: letter.ttl_ms,
            max_deliveries: letter.max_deliveries,
            backoff: BACKOFF,
        };
        let there = self.thread(Scope::Thread(thread))?.and_then(|rows| rows.messages.get(&id));
        let is_same = |there: &message::Message| Draft { trace_id: draft.trace_id, ..there.draft.clone() } == draft;
        if let Some(there) = there.filter(|there| is_same(there)) {
            return Ok(Answer::Message { thread, message: id, state: there.state });
        }
        self.check_namespace(&namespace)?;
        if let Some(hold) = asks {
            self.check_asking(hold)?;
        }
        self.write_about(Subject::Thread(thread, message::Body::SendMessage { draft }), namespace, caller)?;
        self.put_last(content);
        Ok(Answer::Message { thread, message: id, state: State::Queued })
    }

    /// Only whoever holds the step may have its answer complete it.
    fn check_asking(&mut self, hold: Hold) -> Result<(), Error> {
        let Hold { step: StepId { task, index }, epoch, token } = hold;
        self.live.load(task, &mut self.reader).map_err(Error::Store)?;
        let (step, _) = self.step(task, index).ok_or(relaymesh_core::task::Refusal::NoTask)?;
        let is_held = step.epoch == epoch && step.lease.as_ref().is_some_and(|lease| lease.token == token);
        if step.status != Status::Running || !is_held {
            let (name, found) = (step.spec.name.clone(), step.status);
            return Err(relaymesh_core::task::Refusal::Fenced { name, found, epoch: step.epoch, given: epoch }.into());
        }
        Ok(())
    }

    /// The first message of the highest lane that has one; or that one and no other.
    fn take(
        &mut self,
        caller: &Caller,
        namespace: &Name,
        agent: &Name,
        (worker, lease_ms): (WorkerId, u64),
        only: Option<(ThreadId, MessageId)>,
    ) -> Result<Answer, Error> {
        let next = match only {
            Some(named) => Some(named),
            None => self.next_for(namespace, agent)?,
        };
        let Some((thread, message)) = next else { return Ok(Answer::Taken(None)) };
        let scope = Scope::Thread(thread);
        if self.thread(scope)?.is_none_or(|rows| rows.thread.namespace != *namespace) {
            return Err(Error::Message(Refusal::NoThread));
        }
        let token = LeaseToken::from_bytes(self.world.random().to_be_bytes());
        let (owner, recipient, seen) = (self.identity.node, agent.clone(), self.seen(scope)?);
        let body = message::Body::DeliverMessage { message, recipient, owner, worker, token, lease_ms, seen };
        self.about_message(caller, thread, body)?;
        self.taken(thread, message, token)
    }

    fn next_for(&mut self, namespace: &Name, agent: &Name) -> Result<Option<(ThreadId, MessageId)>, Error> {
        let now_ms = self.world.now().wall_ms;
        // Whatever is not visible yet is in one of two batches, so among so many one is free, if none is too old.
        let limit = 1 + self.pipeline.ops_on_their_way();
        for priority in Priority::ALL {
            if let Some(found) = self.next_in(namespace, agent, priority, now_ms, limit)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The first message of a lane that can be delivered.
    fn next_in(
        &mut self,
        namespace: &Name,
        agent: &Name,
        priority: Priority,
        now_ms: u64,
        mut limit: usize,
    ) -> Result<Option<(ThreadId, MessageId)>, Error> {
        loop {
            let page = self.reader.inbox(namespace, agent, priority, now_ms, limit).map_err(Error::Store)?;
            let is_all = page.len() < limit;
            for (thread, message) in page {
                // The store may be behind: somebody may have taken it in a batch that is on its way.
                let live = self.thread(Scope::Thread(thread))?.and_then(|rows| rows.messages.get(&message));
                if live.is_some_and(|message| message.is_deliverable(now_ms)) {
                    return Ok(Some((thread, message)));
                }
            }
            if is_all {
                return Ok(None);
            }
            // What is too old stands there until it is swept: look behind it.
            limit = limit.saturating_mul(4);
        }
    }

    fn taken(&mut self, thread: ThreadId, message: MessageId, token: LeaseToken) -> Result<Answer, Error> {
        let row = self.thread(Scope::Thread(thread))?.and_then(|rows| rows.messages.get(&message));
        let row = row.ok_or(Error::Message(Refusal::NoMessage { message }))?.clone();
        let key = ContentKey::new(row.content_pos, 0);
        let held = HeldMessage { message, epoch: row.epoch, token };
        Ok(Answer::Taken(Some(Box::new(Delivery { thread, held, draft: row.draft, content: key }))))
    }

    fn reply(
        &mut self,
        caller: &Caller,
        thread: ThreadId,
        held: HeldMessage,
        media: Media,
        content: Content,
    ) -> Result<Answer, Error> {
        self.fits(&content)?;
        let now_ms = self.world.now().wall_ms;
        let answer = MessageId::new(now_ms, self.world.random());
        // Read first: once the answer is written nothing may come between it and the step that it completes.
        let asking = self.thread(Scope::Thread(thread))?.and_then(|rows| rows.messages.get(&held.message)?.draft.asks);
        let (mut media, mut content) = (media, content);
        if let Some(asks) = asking {
            self.live.load(asks.step.task, &mut self.reader).map_err(Error::Store)?;
            (media, content) = self.result_as_asked(asks.step, media, content)?;
        }
        let body = message::Body::ReplyMessage { held, answer, content: content.named(media) };
        let word = Subject::Thread(thread, body.clone());
        if let Some(answer) = self.said_before(&word)? {
            return Ok(answer);
        }
        let effects = self.about_message(caller, thread, body)?;
        self.put_last(content.clone());
        let asked = effects.iter().find_map(|effect| match effect {
            Effect::Thread(message::Effect::Answered { asks, .. }) => Some(*asks),
            Effect::Thread(_) | Effect::Task(_) | Effect::Repository(_) => None,
        });
        let completed = match asked {
            None => None,
            Some(hold) => {
                // Fenced when the step was given to somebody else meanwhile: then the answer is a message, and no more.
                let finished = self.finish(caller, hold, Outcome::Done { media, result: content });
                Some((hold.step, finished.is_ok()))
            }
        };
        let answer = Answer::Replied { thread, message: answer, completed };
        self.note_said(word, &answer);
        Ok(answer)
    }

    /// A word that ends a delivery. Said a second time it is answered as the first time.
    fn once(
        &mut self,
        caller: &Caller,
        thread: ThreadId,
        body: message::Body,
        answer: impl FnOnce(&mut Self) -> Result<Answer, Error>,
    ) -> Result<Answer, Error> {
        let word = Subject::Thread(thread, body.clone());
        if let Some(answer) = self.said_before(&word)? {
            return Ok(answer);
        }
        self.about_message(caller, thread, body)?;
        let answer = answer(self)?;
        self.note_said(word, &answer);
        Ok(answer)
    }

    /// The jitter before the next delivery of a message: a share of what it is going to wait.
    fn delivery_jitter_ms(&mut self, thread: ThreadId, message: MessageId) -> Result<u32, Error> {
        let drawn = self.world.random();
        let row = self.thread(Scope::Thread(thread))?.and_then(|rows| rows.messages.get(&message));
        Ok(row.map_or(0, |row| row.draft.backoff.jitter_ms(row.deliveries, drawn)))
    }

    /// Deliveries whose lease is over and messages that are too old. A lease from before this start gets one fresh term,
    /// because its holder may well be alive (D6).
    pub(super) fn expire_messages(&mut self, thread: ThreadId, now_ms: u64) -> Result<(), Error> {
        let now = self.world.now();
        let began = self.timers.began();
        let Some(rows) = self.thread(Scope::Thread(thread))? else { return Ok(()) };
        let mut over = Vec::new();
        let mut again_ms = None;
        for row in rows.messages.values() {
            if row.is_too_old(now_ms) && !row.state.is_terminal() {
                over.push((row.draft.id, None));
            } else if let Some(lease) = row.lease.as_ref().filter(|lease| lease.deadline_ms <= now_ms) {
                // At the deadline itself the lease still holds; one tick later it does not.
                if lease.deadline_ms == now_ms {
                    again_ms = Some(now_ms + 1);
                    continue;
                }
                let fresh_ms = began.mono_ms.saturating_add(lease.deadline_ms.saturating_sub(lease.claimed_ms));
                if lease.claimed_ms < began.wall_ms && now.mono_ms < fresh_ms {
                    let left = now_ms.saturating_add(fresh_ms - now.mono_ms);
                    again_ms = Some(again_ms.map_or(left, |other: u64| other.min(left)));
                } else {
                    over.push((row.draft.id, Some(row.epoch)));
                }
            }
        }
        let caller = self.identity.driver.clone();
        for (message, epoch) in over {
            if self.must_wait(now_ms) {
                break;
            }
            let jitter_ms = self.delivery_jitter_ms(thread, message)?;
            let body = match epoch {
                None => message::Body::ExpireMessage { message },
                Some(epoch) => {
                    message::Body::ExpireDelivery { message, epoch, reason: ExpireReason::DeadlinePassed, jitter_ms }
                }
            };
            self.about_message(&caller, thread, body)?;
        }
        if let Some(again_ms) = again_ms {
            self.look_at_scopes(again_ms);
        }
        Ok(())
    }

    fn about_message(&mut self, caller: &Caller, thread: ThreadId, body: message::Body) -> Result<Vec<Effect>, Error> {
        let namespace = self.thread(Scope::Thread(thread))?.map(|rows| rows.thread.namespace.clone());
        let namespace = namespace.ok_or(Error::Message(Refusal::NoThread))?;
        self.write_about(Subject::Thread(thread, body), namespace, caller)
    }

    fn message_rests(&mut self, thread: ThreadId, message: MessageId) -> Result<Answer, Error> {
        let row = self.thread(Scope::Thread(thread))?.and_then(|rows| rows.messages.get(&message));
        let state = row.ok_or(Error::Message(Refusal::NoMessage { message }))?.state;
        Ok(Answer::Message { thread, message, state })
    }

    /// Content of the op that was just written.
    fn put_last(&mut self, content: Content) {
        let key = ContentKey::new(self.pipeline.tip().pos, 0);
        self.put_content(ContentPut { key, content });
    }
}
