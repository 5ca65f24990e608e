//! Waiting for an answer.
//!
//! What is durable says how the message stands, whoever deals with it; so this reads, and waits for the next commit. A daemon that went away
//! is started again: nobody else might.

use crate::{
    args::Context,
    bell::Bell,
    error::Error,
    exit::Exit,
    link::{self, Missing},
    output, root, time, view,
};
use relaymesh_core::{
    id::{MessageId, ThreadId, WorkerId},
    message::{Message, State},
    name::Name,
    op::Scope,
};
use relaymesh_runtime::driver::{Answer, Command, MessageCommand};
use relaymesh_store::{ContentKey, Reader};
use serde_json::json;
use std::time::{Duration, Instant};

/// After so long in silence one looks whether there still is a daemon.
const SILENCE: Duration = Duration::from_secs(2);
const LEASE_MS: u64 = 60_000;

/// Until the message is answered, came to nothing, or patience is over.
pub(super) fn run(
    context: &Context,
    (thread, message): (ThreadId, MessageId),
    from: &Name,
    patience: Option<Duration>,
) -> Result<Exit, Error> {
    let began = Instant::now();
    let mut bell = Bell::new(&context.root);
    let mut reader = root::read(&context.root)?;
    loop {
        let Some(row) = found(&mut reader, thread, message)? else { return Ok(Exit::TaskFailed) };
        match row.state {
            State::Done => return answered(context, &mut reader, (thread, message), row.answered_by, from),
            State::Failed | State::Dead => return came_to_nothing(context, thread, &row),
            State::Queued | State::Processing => {}
        }
        let left = patience.map(|patience| patience.saturating_sub(began.elapsed()));
        if left.is_some_and(|left| left.is_zero()) {
            output::note(&format!("no answer yet; `relaymesh msg thread {thread}` shows it when it is there"));
            return Ok(Exit::NotEnded);
        }
        if !bell.wait(Some(left.map_or(SILENCE, |left| left.min(SILENCE)))) && !context.no_daemon {
            crate::daemon::start(context)?;
        }
    }
}

fn came_to_nothing(context: &Context, thread: ThreadId, row: &Message) -> Result<Exit, Error> {
    let (message, state) = (row.draft.id, row.state);
    if context.json {
        output::value(&json!({
            "thread": thread, "message": message, "state": state, "dead": row.dead, "error": row.error,
        }));
    } else {
        let why = row.error.as_deref().unwrap_or("it became too old");
        output::note(&format!("{message} is {state}: {}", output::clean(why)));
    }
    Ok(Exit::TaskFailed)
}

/// Prints the answer, and takes it out of the inbox: whoever waited for it has it.
fn answered(
    context: &Context,
    reader: &mut impl Reader,
    (thread, message): (ThreadId, MessageId),
    answer: Option<MessageId>,
    from: &Name,
) -> Result<Exit, Error> {
    let Some(answer) = answer else {
        output::note(&format!("{message} was dealt with, without an answer"));
        return Ok(Exit::Done);
    };
    let Some(row) = found(reader, thread, answer)? else { return Ok(Exit::Done) };
    let key = ContentKey::new(row.content_pos, 0);
    let content = view::content(reader, key, row.draft.content, || format!("the content of {answer}"))?;
    if context.json {
        output::value(&json!({
            "thread": thread, "message": message, "state": State::Done, "answered_by": answer,
            "from": row.draft.from, "content": content,
        }));
    } else {
        output::line(&content.to_string());
    }
    if row.state == State::Queued && row.draft.to == *from {
        let (namespace, agent) = (context.namespace.clone(), from.clone());
        let (worker, only) = (WorkerId::new(time::now_ms(), rand::random()), Some((thread, answer)));
        let take = MessageCommand::Take { namespace, agent, worker, lease_ms: LEASE_MS, only };
        // Somebody else may have taken it meanwhile: then it is theirs.
        if let Ok(Answer::Taken(Some(delivery))) = link::once(context, Missing::Refuse, Command::Message(take)) {
            let done = MessageCommand::Acknowledge { thread, held: delivery.held };
            link::once(context, Missing::Refuse, Command::Message(done))?;
        }
    }
    Ok(Exit::Done)
}

fn found(reader: &mut impl Reader, thread: ThreadId, message: MessageId) -> Result<Option<Message>, Error> {
    let rows = reader.scope(Scope::Thread(thread))?;
    Ok(rows.as_ref().and_then(|rows| rows.thread()?.messages.get(&message).cloned()))
}
