//! Answers about messages.

use super::{
    super::{Verdict, ensure},
    said, wrote,
};
use crate::{call::Call, ledger::Ledger};
use relaymesh_core::{
    content::{CONTENT_BYTES_MAX, INLINE_BYTES_MAX},
    id::{MessageId, ThreadId},
    message::{DELIVERIES_MAX, Message, Refusal, State},
    name::Name,
    op::{HeldMessage, Kind, Scope},
};
use relaymesh_runtime::driver::{Answer, Command, Delivery, Letter, MessageCommand};
use relaymesh_store::{Content, ContentKey};

/// What no caller of a single node is ever told here, as a pattern.
macro_rules! not_for_callers {
    () => {
        Refusal::ThreadFull { .. }
            | Refusal::NotRecipient { .. }
            | Refusal::NotDue { .. }
            | Refusal::TooOld { .. }
            | Refusal::NotTooOld { .. }
            | Refusal::Held { .. }
            | Refusal::BackDated { .. }
            | Refusal::LeaseRuns { .. }
            | Refusal::NotOwner { .. }
            | Refusal::NotAtRest { .. }
            | Refusal::OtherNamespace { .. }
    };
}

pub(super) fn done(call: &Call, command: &MessageCommand, answer: &Answer, ledger: &Ledger) -> Verdict {
    match (command, answer) {
        (MessageCommand::Send(letter), Answer::Message { thread, message, state }) => {
            let row = row(ledger, *thread, *message)?;
            let named = letter.thread.is_none_or(|id| id == *thread) && letter.message.is_none_or(|id| id == *message);
            ensure(named && says(row, letter), || format!("but the durable message is {row:?}"))?;
            was(ledger, *thread, *message, *state)?;
            // Whoever names the message may find that it was sent before.
            if letter.message.is_some() { Ok(()) } else { wrote(call, &[Kind::SendMessage], ledger) }
        }
        (MessageCommand::Take { namespace, agent, .. }, Answer::Taken(taken)) => match taken {
            Some(delivery) => handed_out(call, command, delivery, ledger),
            None => nothing_waited(call, (namespace, agent), None, ledger),
        },
        (MessageCommand::Acknowledge { thread, held }, Answer::Message { thread: of, message, state }) => {
            said(call, &[Kind::AcknowledgeMessage], ledger)?;
            let row = row(ledger, *thread, held.message)?;
            let same = (of, *message, *state) == (thread, held.message, State::Done) && row.state == State::Done;
            ensure(same, || format!("but the durable message is {row:?}"))
        }
        (MessageCommand::Reply { thread, held, .. }, Answer::Replied { thread: of, message, completed }) => {
            let first = said(call, &[Kind::ReplyMessage], ledger)?;
            let (question, asked) = (row(ledger, *thread, held.message)?, row(ledger, *of, *message)?);
            let same = of == thread && question.answered_by == Some(*message) && asked.draft.asks.is_none();
            ensure(same, || format!("but the durable question is {question:?}"))?;
            let asks = question.draft.asks.map(|asks| asks.step);
            let told = completed.map(|(step, _)| step);
            ensure(asks == told, || format!("but what asked is {asks:?}"))?;
            let (told, found) = (completed.is_some_and(|(_, done)| done), ledger.completed_by.get(&first));
            ensure(told == found.is_some(), || format!("but the completion is {found:?}"))
        }
        (
            MessageCommand::Fail { thread, held: HeldMessage { message, .. }, .. }
            | MessageCommand::Return { thread, held: HeldMessage { message, .. }, .. }
            | MessageCommand::Redrive { thread, message, .. },
            Answer::Message { thread: of, message: named, state },
        ) => {
            said(call, &[Kind::FailMessage, Kind::ReturnMessage, Kind::RedriveMessage], ledger)?;
            ensure((of, named) == (thread, message), || "but that is another message".to_owned())?;
            was(ledger, *thread, *message, *state)
        }
        _ => Err("which is no answer to this command".to_owned()),
    }
}

/// The delivery is durable as told, and nothing more urgent waited.
fn handed_out(call: &Call, command: &MessageCommand, delivery: &Delivery, ledger: &Ledger) -> Verdict {
    let MessageCommand::Take { namespace, agent, worker, .. } = command else { return Ok(()) };
    wrote(call, &[Kind::DeliverMessage], ledger)?;
    let (thread, held) = (delivery.thread, delivery.held);
    let row = row(ledger, thread, held.message)?;
    let found = ledger.past.delivery(held.token);
    let same = found.is_some_and(|found| {
        (found.thread, found.message, found.epoch, found.worker) == (thread, held.message, held.epoch, *worker)
    });
    ensure(same, || format!("but the durable delivery is {found:?}"))?;
    let is_it = delivery.draft == row.draft && row.draft.to == *agent;
    let there = delivery.content == ContentKey::new(row.content_pos, 0);
    ensure(is_it && there, || format!("but the durable message is {row:?}"))?;
    nothing_waited(call, (namespace, agent), Some(row), ledger)
}

/// No message waited for the agent all the time that the call took; none that is more urgent than the one that it got.
fn nothing_waited(call: &Call, inbox: (&Name, &Name), got: Option<&Message>, ledger: &Ledger) -> Verdict {
    let is_in = |thread: &ThreadId, row: &Message| {
        let namespace = ledger.threads.get(thread).map(|rows| &rows.thread.namespace);
        (namespace, &row.draft.to) == (Some(inbox.0), inbox.1)
    };
    let waited = ledger.messages().find(|(thread, row)| {
        let past = ledger.past.message(*thread, row.draft.id);
        let before = past.and_then(|past| past.queued).is_some_and(|since| since <= call.sent);
        let urgent = got.is_none_or(|got| row.draft.priority < got.draft.priority);
        // A message that lives for a while may have been too old for a moment: of those nothing is said.
        is_in(thread, row) && before && urgent && row.due_ms <= call.wall_ms && row.expires_ms == 0
    });
    ensure(waited.is_none(), || format!("but this one waited: {waited:?}"))
}

pub(super) fn refused(call: &Call, command: &MessageCommand, refusal: &Refusal, ledger: &Ledger) -> Verdict {
    if let MessageCommand::Send(letter) = command {
        return not_sent(call, letter, refusal, ledger);
    }
    let Some((thread, message, held)) = subject(command) else { return Err("but it names no message".to_owned()) };
    let past = ledger.past.message(thread, message);
    let was = |found: &State| past.is_some_and(|past| past.states.contains(found));
    let row = ledger.ever_message(thread, message);
    let was_purged = ledger.purged.contains_key(&Scope::Thread(thread));
    let agrees = match refusal {
        Refusal::NoThread => was_purged || !ledger.past.was_there(Scope::Thread(thread), call.sent),
        Refusal::NoMessage { message: named } => was_purged && *named == message,
        Refusal::NotPossible { message: named, found, .. } => *named == message && held.is_none() && was(found),
        Refusal::Fenced { message: named, found, epoch, given } => {
            let in_force = |row: &Message| {
                row.lease.as_ref().map(|lease| (row.epoch, lease.token)) == held.map(|held| (held.epoch, held.token))
            };
            let shown = held.is_some_and(|held| held.epoch == *given);
            // Of a thread that was purged and began again, the rows are those of another life.
            let stale = was_purged || row.is_some_and(|row| !in_force(row) && row.epoch >= *epoch);
            *named == message && shown && stale && was(found)
        }
        // None of these is for a recipient on a single node that shows what it was given.
        Refusal::MessageExists { .. } | Refusal::Deliveries { .. } | Refusal::NoTtl | not_for_callers!() => false,
    };
    ensure(agrees, || format!("but the rows say {row:?}"))
}

fn not_sent(call: &Call, letter: &Letter, refusal: &Refusal, ledger: &Ledger) -> Verdict {
    is_new(call, letter, ledger)?;
    let place = letter.thread.zip(letter.message);
    let there = place.and_then(|(thread, message)| ledger.ever_message(thread, message));
    let was_purged = letter.thread.is_some_and(|thread| ledger.purged.contains_key(&Scope::Thread(thread)));
    let agrees = match refusal {
        Refusal::Deliveries { found } => *found == letter.max_deliveries && !(1..=DELIVERIES_MAX).contains(found),
        Refusal::NoTtl => letter.ttl_ms == Some(0),
        Refusal::MessageExists { message, found } => {
            let past = place.and_then(|(thread, _)| ledger.past.message(thread, *message));
            let is_other = was_purged || there.is_some_and(|row| !says(row, letter));
            is_other && past.is_some_and(|past| past.states.contains(found))
        }
        Refusal::NoMessage { message } => {
            let known = letter.thread.and_then(|thread| ledger.past.message(thread, *message));
            letter.reply_to == Some(*message) && (was_purged || known.is_none_or(|past| past.since > call.sent))
        }
        Refusal::NoThread | Refusal::NotPossible { .. } | Refusal::Fenced { .. } | not_for_callers!() => false,
    };
    ensure(agrees, || format!("but the rows say {there:?}"))
}

/// A letter that was durable before the call was sent cannot be refused: sending it again is the same message.
pub(super) fn is_new(call: &Call, letter: &Letter, ledger: &Ledger) -> Verdict {
    let Some((thread, message)) = letter.thread.zip(letter.message) else { return Ok(()) };
    if ledger.purged.contains_key(&Scope::Thread(thread)) {
        return Ok(()); // it may have been refused in one life of the thread and be there in the next
    }
    let past = ledger.past.message(thread, message);
    let before = past.is_some_and(|past| past.since <= call.sent);
    let same = ledger.message(thread, message).is_some_and(|row| says(row, letter));
    ensure(!(before && same), || "but this very message was sent before".to_owned())
}

pub(super) fn too_long(command: &Command, found: usize) -> Verdict {
    let Command::Message(command) = command else { return Err(format!("but nothing is {found} bytes long")) };
    let content = match command {
        MessageCommand::Send(letter) => Some(&letter.content),
        MessageCommand::Reply { content, .. } => Some(content),
        MessageCommand::Take { .. }
        | MessageCommand::Acknowledge { .. }
        | MessageCommand::Fail { .. }
        | MessageCommand::Return { .. }
        | MessageCommand::Redrive { .. } => None,
    };
    let max = |content: &Content| match content {
        Content::Inline(_) => INLINE_BYTES_MAX,
        Content::Blob(_) => CONTENT_BYTES_MAX,
    };
    let agrees = content.is_some_and(|content| content.len() == found && found > max(content));
    ensure(agrees, || format!("but nothing is {found} bytes long"))
}

/// Whether the message is what the letter says.
fn says(row: &Message, letter: &Letter) -> bool {
    let draft = &row.draft;
    (&draft.from, &draft.to, draft.priority, draft.reply_to)
        == (&letter.from, &letter.to, letter.priority, letter.reply_to)
        && draft.content == letter.content.named(letter.media)
        && (draft.ttl_ms, draft.max_deliveries) == (letter.ttl_ms, letter.max_deliveries)
        && draft.asks == letter.asks
}

/// The message that a command is about, and what it shows.
fn subject(command: &MessageCommand) -> Option<(ThreadId, MessageId, Option<HeldMessage>)> {
    match command {
        MessageCommand::Send(_) | MessageCommand::Take { .. } => None,
        MessageCommand::Acknowledge { thread, held }
        | MessageCommand::Reply { thread, held, .. }
        | MessageCommand::Fail { thread, held, .. }
        | MessageCommand::Return { thread, held, .. } => Some((*thread, held.message, Some(*held))),
        MessageCommand::Redrive { thread, message, .. } => Some((*thread, *message, None)),
    }
}

fn row(ledger: &Ledger, thread: ThreadId, message: MessageId) -> Result<&Message, String> {
    ledger.ever_message(thread, message).ok_or_else(|| format!("but {message} is not durable"))
}

fn was(ledger: &Ledger, thread: ThreadId, message: MessageId, state: State) -> Verdict {
    let past = ledger.past.message(thread, message);
    ensure(past.is_some_and(|past| past.states.contains(&state)), || format!("but it was never {state}"))
}
