//! A thread, a clock and somebody who says things in it.

use crate::{
    backoff::Backoff,
    content::{ContentRef, Media},
    hlc::{Hlc, HlcClock},
    id::{LeaseToken, MessageId, NodeId, OpId, StepId, TaskId, ThreadId, WorkerId},
    lanes::Priority,
    message::{Body, Draft, Effect, Message, Refusal, State, ThreadRows, apply, validate},
    name::Name,
    op::{About, ExpireReason, Header, HeldMessage, Hold, Scope, WriteClass},
};

pub(super) const LEASE_MS: u64 = 10_000;

pub(super) fn here() -> NodeId {
    NodeId::new(0, 1)
}

pub(super) fn elsewhere() -> NodeId {
    NodeId::new(0, 2)
}

pub(super) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

pub(super) fn id(number: u128) -> MessageId {
    MessageId::new(0, number)
}

pub(super) fn content(text: &str) -> ContentRef {
    ContentRef::of(Media::Text, text.as_bytes())
}

/// From ann to bob, at most twice.
pub(super) fn draft(number: u128) -> Draft {
    Draft {
        id: id(number),
        from: name("ann"),
        to: name("bob"),
        priority: Priority::Normal,
        reply_to: None,
        asks: None,
        content: content("hello"),
        trace_id: 7,
        ttl_ms: None,
        max_deliveries: 2,
        backoff: Backoff { base_ms: 100, max_ms: 1000 },
    }
}

/// Somebody's step waits for the answer.
pub(super) fn asking(number: u128) -> Draft {
    let step = StepId { task: TaskId::new(0, 5), index: 3 };
    let asks = Hold { step, epoch: 2, token: LeaseToken::new(0, 77) };
    Draft { asks: Some(asks), ..draft(number) }
}

pub(super) fn mortal(number: u128) -> Draft {
    Draft { ttl_ms: Some(60_000), ..draft(number) }
}

#[derive(Clone)]
pub(super) struct World {
    pub(super) rows: Option<ThreadRows>,
    /// What the last op that took effect asked to be done.
    pub(super) effects: Vec<Effect>,
    pub(super) now_ms: u64,
    clock: HlcClock,
    seq: u64,
}

impl World {
    pub(super) fn empty() -> Self {
        Self { rows: None, effects: Vec::new(), now_ms: 1_000_000, clock: HlcClock::new(here()), seq: 0 }
    }

    /// A world in which this was sent.
    pub(super) fn new(draft: Draft) -> Self {
        let mut world = Self::empty();
        world.send(draft).unwrap();
        world
    }

    pub(super) fn say(&mut self, body: Body) -> Result<(), Refusal> {
        self.say_as(|_| {}, body)
    }

    pub(super) fn say_as(&mut self, change: impl Fn(&mut Header), body: Body) -> Result<(), Refusal> {
        self.now_ms += 1;
        self.seq += 1;
        let mut header = Header {
            op_id: OpId::new(self.now_ms, u128::from(self.seq)),
            origin: here(),
            origin_epoch: 1,
            seq: self.seq,
            hlc: self.clock.tick(self.now_ms).unwrap(),
            author: name("alice"),
            source: name("test"),
            namespace: name("default"),
            scope: Scope::Thread(ThreadId::new(0, 1)),
            write_class: WriteClass::Strong,
            causal_deps: Vec::new(),
            via: None,
        };
        change(&mut header);
        let Scope::Thread(id) = header.scope else { panic!("{} is something else", header.scope) };
        let op = About { pos: self.seq, header: &header, id, body: &body };
        let before = self.rows.clone();
        let mut effects = Vec::new();
        let outcome = apply(&mut self.rows, &op, &mut effects);
        match &outcome {
            Ok(()) => {
                check(before.as_ref(), self.rows.as_ref().unwrap(), &effects, &op);
                self.effects = effects;
            }
            Err(refusal) => {
                assert_eq!(self.rows, before, "refused ({refusal}) and changed all the same");
                assert_eq!(effects, [], "refused ({refusal}) and had effects all the same");
            }
        }
        outcome
    }

    pub(super) fn wait(&mut self, ms: u64) {
        self.now_ms += ms;
    }

    pub(super) fn message(&self, number: u128) -> &Message {
        &self.rows.as_ref().unwrap().messages[&id(number)]
    }

    pub(super) fn state(&self, number: u128) -> State {
        self.message(number).state
    }

    pub(super) fn send(&mut self, draft: Draft) -> Result<(), Refusal> {
        self.say(Body::SendMessage { draft })
    }

    pub(super) fn deliver_body(&self, number: u128, recipient: &str, worker: u128, token: u128) -> Body {
        let nothing = Hlc { wall_ms: 0, logical: 0, node: here() };
        Body::DeliverMessage {
            message: id(number),
            recipient: name(recipient),
            owner: here(),
            worker: WorkerId::new(0, worker),
            token: LeaseToken::new(0, token),
            lease_ms: LEASE_MS,
            seen: self.rows.as_ref().map_or(nothing, |rows| rows.thread.head),
        }
    }

    pub(super) fn deliver(&mut self, number: u128) -> Result<HeldMessage, Refusal> {
        let recipient = self.rows.as_ref().and_then(|rows| rows.messages.get(&id(number))).map(|m| m.draft.to.clone());
        let recipient = recipient.unwrap_or(name("bob"));
        let token = u128::from(self.seq) + 1000;
        self.say(self.deliver_body(number, recipient.as_str(), 1, token))?;
        Ok(HeldMessage { message: id(number), epoch: self.message(number).epoch, token: LeaseToken::new(0, token) })
    }

    pub(super) fn take(&mut self, number: u128) -> HeldMessage {
        self.deliver(number).unwrap()
    }

    pub(super) fn acknowledge(&mut self, held: HeldMessage) -> Result<(), Refusal> {
        self.say(Body::AcknowledgeMessage { held })
    }

    pub(super) fn reply(&mut self, held: HeldMessage, answer: u128) -> Result<(), Refusal> {
        self.say(Body::ReplyMessage { held, answer: id(answer), content: content("answer") })
    }

    pub(super) fn fail(&mut self, held: HeldMessage, retryable: bool) -> Result<(), Refusal> {
        self.say(Body::FailMessage { held, retryable, jitter_ms: 7, error: "broken".to_owned() })
    }

    pub(super) fn give_back(&mut self, held: HeldMessage) -> Result<(), Refusal> {
        self.say(Body::ReturnMessage { held, reason: "later".to_owned() })
    }

    pub(super) fn expire_delivery(&mut self, held: HeldMessage, reason: ExpireReason) -> Result<(), Refusal> {
        self.say(Body::ExpireDelivery { message: held.message, epoch: held.epoch, reason, jitter_ms: 7 })
    }

    pub(super) fn expire(&mut self, number: u128) -> Result<(), Refusal> {
        self.say(Body::ExpireMessage { message: id(number) })
    }

    pub(super) fn redrive(&mut self, number: u128) -> Result<(), Refusal> {
        self.say(Body::RedriveMessage { message: id(number), reason: "again".to_owned() })
    }

    /// Delivers it and fails it until it is dead.
    pub(super) fn use_up(&mut self, number: u128) {
        while !self.state(number).is_terminal() {
            self.wait(2000);
            let held = self.take(number);
            self.fail(held, true).unwrap();
        }
    }
}

/// What holds between the rows before an op, the rows after it, and its effects.
fn check(before: Option<&ThreadRows>, after: &ThreadRows, effects: &[Effect], op: &About<'_, ThreadId, Body>) {
    validate(after).unwrap_or_else(|invalid| panic!("{invalid} after {:?}\n{after:#?}", op.body.kind()));
    assert_eq!(after.thread.rev, before.map_or(0, |rows| rows.thread.rev) + 1, "the revision counts the ops");
    assert_eq!(after.thread.head, op.header.hlc, "the head is the newest op that took effect");
    for (id, new) in &after.messages {
        let old = before.and_then(|rows| rows.messages.get(id));
        if let Some(old) = old {
            assert_eq!(new.rev > old.rev, new != old, "{id}: a revision grows exactly with a change");
            assert!((old.epoch..=old.epoch + 1).contains(&new.epoch), "{id}: one op, one delivery");
            assert_eq!((&old.draft, old.sent_ms), (&new.draft, new.sent_ms), "{id}: what was sent stays");
            assert!(old.answered_by.is_none() || old.answered_by == new.answered_by, "{id}: answered twice");
        }
        effects_of_message(*id, old, new, effects, op);
    }
}

/// Whoever follows the effects alone knows what is to be done.
fn effects_of_message(
    message: MessageId,
    old: Option<&Message>,
    new: &Message,
    effects: &[Effect],
    op: &About<'_, ThreadId, Body>,
) {
    let told = |effect: Effect| effects.iter().filter(|other| **other == effect).count();
    let now_ms = op.header.hlc.wall_ms;
    let offered = |m: &Message| m.state == State::Queued && m.due_ms <= now_ms;
    let queued_now = new.state == State::Queued && old.is_none_or(|old| old.state != State::Queued);
    assert_eq!(told(Effect::Offer { message }), usize::from(queued_now && offered(new)), "{message}: offers");
    if queued_now && !offered(new) {
        assert_eq!(told(Effect::Wake { message, at_ms: new.due_ms }), 1, "{message}: nobody looks when it is due");
    }
    if queued_now && new.expires_ms > 0 && old.is_none_or(|old| old.expires_ms != new.expires_ms) {
        assert_eq!(told(Effect::Wake { message, at_ms: new.expires_ms }), 1, "{message}: nobody looks when it is old");
    }
    let handed = old.is_some_and(|old| new.epoch > old.epoch);
    assert_eq!(told(Effect::Hand { message, epoch: new.epoch }), usize::from(handed), "{message}: hands");

    let own_word = matches!(
        op.body,
        Body::AcknowledgeMessage { .. }
            | Body::ReplyMessage { .. }
            | Body::FailMessage { .. }
            | Body::ReturnMessage { .. }
    );
    let stopped = old.is_some_and(|old| old.lease.is_some()) && new.lease.is_none() && !own_word;
    assert_eq!(told(Effect::Stop { message, epoch: new.epoch }), usize::from(stopped), "{message}: stops");
    let ended = new.state.is_terminal() && old.is_some_and(|old| !old.state.is_terminal());
    assert_eq!(told(Effect::End { message, state: new.state }), usize::from(ended), "{message}: ends");

    let answered = new.answered_by.is_some() && old.is_some_and(|old| old.answered_by.is_none());
    let asks = new.draft.asks.filter(|_| answered);
    let answers = |e: &&Effect| matches!(e, Effect::Answered { question, .. } if *question == message);
    let told: Vec<_> = effects.iter().filter(answers).collect();
    match asks {
        None => assert!(told.is_empty(), "{message}: an answer was told that is none"),
        Some(asks) => assert!(
            matches!(told[..], [Effect::Answered { asks: of, message, .. }] if *of == asks && Some(*message) == new.answered_by)
        ),
    }
}
