//! Waiting for an answer.
//!
//! The durable rows have the state of the message, so this reads them and waits for the next commit. A daemon that went away
//! is started again: nobody else might.

use crate::{
    args::Context,
    client::{About, Client, Given, Rang},
    error::Error,
    exit::Exit,
    output, time,
};
use relaymesh_api::view::message::Spoken;
use relaymesh_core::{
    id::{MessageId, ThreadId, WorkerId},
    message::State,
    name::Name,
};
use relaymesh_runtime::driver::{MessageCommand, Proof};
use serde_json::json;
use std::time::{Duration, Instant};

/// After so long in silence one looks whether there still is a daemon.
const SILENCE: Duration = Duration::from_secs(2);
const LEASE_MS: u64 = 60_000;

/// Waits until the message is answered or has failed, or the time is over.
pub(super) fn run(
    context: &Context,
    client: &dyn Client,
    (thread, message): (ThreadId, MessageId),
    from: &Name,
    patience: Option<Duration>,
) -> Result<Exit, Error> {
    let began = Instant::now();
    let mut bell = client.bell(About::Messages)?;
    loop {
        let all = client.thread(thread)?;
        let Some(asked) = found(&all, message) else { return Ok(Exit::TaskFailed) };
        match asked.state {
            State::Done => return answered(context, client, &all, asked, from),
            State::Failed | State::Dead => return Ok(came_to_nothing(context, asked)),
            State::Queued | State::Processing => {}
        }
        let left = patience.map(|patience| patience.saturating_sub(began.elapsed()));
        if left.is_some_and(|left| left.is_zero()) {
            output::note(&format!("no reply yet; look later with `relaymesh msg thread {thread}`"));
            return Ok(Exit::NotEnded);
        }
        if bell.wait(Some(left.map_or(SILENCE, |left| left.min(SILENCE))))? == Rang::Ended {
            bell = client.bell(About::Messages)?;
        }
    }
}

fn came_to_nothing(context: &Context, asked: &Spoken) -> Exit {
    let Spoken { thread, message, state, dead, error, .. } = asked;
    if context.json {
        output::value(&json!({ "thread": thread, "message": message, "state": state, "dead": dead, "error": error }));
    } else {
        let why = error.as_deref().unwrap_or("it expired");
        output::note(&format!("{message} is {state}: {}", output::clean(why)));
    }
    Exit::TaskFailed
}

/// Prints the reply and acknowledges it, since it was received here.
fn answered(
    context: &Context,
    client: &dyn Client,
    all: &[Spoken],
    asked: &Spoken,
    from: &Name,
) -> Result<Exit, Error> {
    let (thread, message) = (asked.thread, asked.message);
    let Some(answer) = asked.answered_by else {
        output::note(&format!("{message} was acknowledged without a reply"));
        return Ok(Exit::Done);
    };
    let Some(said) = found(all, answer) else { return Ok(Exit::Done) };
    if context.json {
        output::value(&json!({
            "thread": thread, "message": message, "state": State::Done, "answered_by": answer,
            "from": said.from, "content": said.content,
        }));
    } else {
        output::line(&said.content.to_string());
    }
    if said.state == State::Queued && said.to == *from {
        let (namespace, agent) = (context.namespace.clone(), from.clone());
        let (worker, only) = (WorkerId::new(time::now_ms(), rand::random()), Some((thread, answer)));
        let take = MessageCommand::Take { namespace, agent, worker, lease_ms: LEASE_MS, only };
        // Somebody else may have taken it meanwhile: then it is theirs.
        if let Ok(Given::Taken(Some(delivered))) = client.message(take)
            && let Ok(Proof { thread, held }) = delivered.held.parse()
        {
            client.message(MessageCommand::Acknowledge { thread, held })?;
        }
    }
    Ok(Exit::Done)
}

fn found(all: &[Spoken], message: MessageId) -> Option<&Spoken> {
    all.iter().find(|spoken| spoken.message == message)
}
