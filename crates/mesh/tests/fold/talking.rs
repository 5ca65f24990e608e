//! What authors say in a thread, and what holds of messages whatever they say.

use crate::{
    author::{Author, LEASE_MS, START_MS, name, result, thread},
    history::Move,
    reference::{arrive, permutations},
};
use relaymesh_core::{
    backoff::Backoff,
    id::{LeaseToken, MessageId, StepId, TaskId, WorkerId},
    kernel::{Refusal, Rows},
    lanes::Priority,
    message::{self, Draft, Message, State, ThreadRows},
    op::{Body, ExpireReason, HeldMessage, Hold, Op},
};
use relaymesh_mesh::fold::{Fold, NoEffect};
use relaymesh_mesh::rows;

/// What fits the rows as the author sees them, or nonsense when nothing fits.
pub(crate) fn body(author: &Author, now_ms: u64, one: Move) -> Body {
    let rows = author.view.rows(thread()).and_then(rows::Rows::node).and_then(Rows::thread);
    let with = |fits: &dyn Fn(&Message) -> bool| {
        let fitting: Vec<&Message> =
            rows.into_iter().flat_map(|rows| rows.messages.values()).filter(|m| fits(m)).collect();
        fitting.get(one.pick % fitting.len().max(1)).copied()
    };
    let (any, text) = (with(&|_| true), String::new);
    let held = held(with(&|message| message.lease.is_some()).or(any));
    let of = |message: Option<&Message>| message.map_or(MessageId::new(0, 0), |message| message.draft.id);
    let jitter_ms = (one.pick % 5) as u32;
    match one.what {
        25..=38 => Body::Message(message::Body::SendMessage { draft: draft(author, one, any) }),
        39..=58 => deliver(author, with(&|message| message.is_deliverable(now_ms)).or(any)),
        59..=64 => Body::Message(message::Body::AcknowledgeMessage { held }),
        65..=71 => {
            Body::Message(message::Body::ReplyMessage { held, answer: fresh(author, one), content: result("answer") })
        }
        72..=75 => Body::Message(message::Body::FailMessage {
            held,
            retryable: !one.pick.is_multiple_of(3),
            jitter_ms,
            error: text(),
        }),
        76..=77 => Body::Message(message::Body::ReturnMessage { held, reason: text() }),
        78..=81 => {
            let reason =
                if one.pick.is_multiple_of(2) { ExpireReason::OwnerGone } else { ExpireReason::DeadlinePassed };
            Body::Message(message::Body::ExpireDelivery { message: held.message, epoch: held.epoch, reason, jitter_ms })
        }
        82..=84 => {
            let old = with(&|message| message.is_too_old(now_ms) && !message.state.is_terminal());
            Body::Message(message::Body::ExpireMessage { message: of(old.or(any)) })
        }
        85..=89 => {
            let message = of(with(&|m| matches!(m.state, State::Dead | State::Failed)).or(any));
            Body::Message(message::Body::RedriveMessage { message, reason: text() })
        }
        98 => Body::PurgeScope {},
        _ => deliver(author, any),
    }
}

fn held(message: Option<&Message>) -> HeldMessage {
    let nobody = HeldMessage { message: MessageId::new(0, 0), epoch: 1, token: LeaseToken::new(0, 0) };
    message.map_or(nobody, |message| HeldMessage {
        message: message.draft.id,
        epoch: message.epoch,
        token: message.lease.as_ref().map_or(nobody.token, |lease| lease.token),
    })
}

fn number(author: &Author) -> u128 {
    u128::from_be_bytes(author.node.to_bytes())
}

/// Mostly a new id; sometimes one that somebody else may use too.
fn fresh(author: &Author, one: Move) -> MessageId {
    if one.pick.is_multiple_of(9) {
        MessageId::new(0, 7)
    } else {
        MessageId::new(author.chain.next_seq(), number(author))
    }
}

fn draft(author: &Author, one: Move, about: Option<&Message>) -> Draft {
    let step = StepId { task: TaskId::new(0, 0), index: 0 };
    let asks = Hold { step, epoch: 1, token: LeaseToken::new(0, 0) };
    Draft {
        id: fresh(author, one),
        from: name("ann"),
        to: name("bob"),
        priority: Priority::Normal,
        reply_to: about.filter(|_| one.pick.is_multiple_of(2)).map(|message| message.draft.id),
        asks: one.pick.is_multiple_of(3).then_some(asks),
        content: result("hello"),
        trace_id: 1,
        ttl_ms: one.pick.is_multiple_of(4).then_some(500),
        max_deliveries: 2,
        backoff: Backoff { base_ms: 10, max_ms: 40 },
    }
}

fn deliver(author: &Author, message: Option<&Message>) -> Body {
    Body::Message(message::Body::DeliverMessage {
        message: message.map_or(MessageId::new(0, 0), |message| message.draft.id),
        recipient: message.map_or(name("bob"), |message| message.draft.to.clone()),
        owner: author.node,
        worker: WorkerId::new(0, number(author)),
        token: LeaseToken::new(author.chain.next_seq(), number(author)),
        lease_ms: LEASE_MS,
        seen: author.head(thread()),
    })
}

fn rows(fold: &Fold) -> &ThreadRows {
    fold.rows(thread()).and_then(rows::Rows::node).and_then(Rows::thread).expect("something was sent")
}

/// Two authors who both know of a question that a step waits for.
fn two() -> (Author, Author, Op, MessageId) {
    let (mut one, mut other) = (Author::new(1), Author::new(2));
    let ask = Move { who: 0, machine: 7, what: 25, pick: 3, gap_ms: 0 };
    let question = one.say(thread(), START_MS, message::Body::SendMessage { draft: draft(&one, ask, None) });
    other.hear(&question, START_MS);
    let Body::Message(message::Body::SendMessage { draft }) = &question.body else { panic!("not a message") };
    let id = draft.id;
    (one, other, question, id)
}

/// Takes the message and answers it, as far as the author knows.
fn answer(author: &mut Author, id: MessageId, at_ms: u64, text: &str) -> [Op; 2] {
    let take = deliver(author, rows(&author.view).messages.get(&id));
    let taken = author.say(thread(), at_ms, take);
    let held = held(rows(&author.view).messages.get(&id));
    let body = Body::Message(message::Body::ReplyMessage {
        held,
        answer: MessageId::new(at_ms, number(author)),
        content: result(text),
    });
    [taken, author.say(thread(), at_ms + 10, body)]
}

#[test]
fn of_two_concurrent_answers_one_counts_and_completes_the_step_once() {
    let (mut one, mut other, question, id) = two();
    let [early, first] = answer(&mut one, id, START_MS + 5, "counts");
    let [late, second] = answer(&mut other, id, START_MS + 6, "displaced");
    for order in permutations(&[question, early, first, late, second.clone()]) {
        let fold = arrive(order);
        let answered: Vec<_> = rows(&fold).answered().map(|(asks, _, content)| (asks.step.index, content)).collect();
        assert_eq!(answered, [(0, result("counts"))]);
        assert_eq!(rows(&fold).messages.len(), 2, "the displaced answer is nowhere but on the log");
        let why = fold.no_effect(thread(), second.header.op_id);
        let fenced = matches!(
            why,
            Some(NoEffect::Refused(rows::Refusal::Node(Refusal::Thread(message::Refusal::Fenced { .. }))))
        );
        assert!(fenced, "{why:?}");
    }
}

#[test]
fn an_acknowledgement_beats_an_expiry_exactly_when_it_is_older() {
    for (done_ms, expected) in [(LEASE_MS + 7, State::Done), (LEASE_MS + 9, State::Queued)] {
        let (mut one, mut other, question, id) = two();
        let take = deliver(&one, rows(&one.view).messages.get(&id));
        let taken = one.say(thread(), START_MS + 5, take);
        other.hear(&taken, START_MS + 6);
        let reason = ExpireReason::DeadlinePassed;
        let body = Body::Message(message::Body::ExpireDelivery { message: id, epoch: 1, reason, jitter_ms: 0 });
        let expiry = other.say(thread(), START_MS + LEASE_MS + 8, body);
        let held = held(rows(&one.view).messages.get(&id));
        let done = one.say(thread(), START_MS + done_ms, message::Body::AcknowledgeMessage { held });
        for order in permutations(&[question, taken, expiry, done]) {
            assert_eq!(rows(&arrive(order)).messages[&id].state, expected);
        }
    }
}
