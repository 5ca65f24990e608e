//! Giving a command about messages, here or to a daemon elsewhere.

use crate::{
    args::Context,
    error::{Code, Error},
    link::{self, Missing},
    remote::Remote,
    root,
};
use relaymesh_api::view::message::{self, Asking, Delivered, Replied, Taken, Told};
use relaymesh_runtime::driver::{Answer, Command, MessageCommand, Proof};
use relaymesh_store::Content;
use serde_json::{Value, json};

/// What came of it.
pub(super) enum Given {
    Told(Told),
    Taken(Option<Delivered>),
    Replied(Replied),
}

/// Gives the command; it is durable when this returns.
pub(super) fn give(context: &Context, command: MessageCommand) -> Result<Given, Error> {
    if let Some(remote) = &context.remote {
        return there(remote, command);
    }
    match link::once(context, Missing::Make, Command::Message(command))? {
        Answer::Message { thread, message, state } => Ok(Given::Told(Told { thread, message, state })),
        Answer::Taken(None) => Ok(Given::Taken(None)),
        Answer::Taken(Some(delivery)) => {
            message::delivered(&mut root::read(&context.root)?, &delivery).map(|found| Given::Taken(Some(found)))
        }
        Answer::Replied { thread, message, completed } => {
            let asked = completed.map(|(step, completed)| Asking { step, completed });
            Ok(Given::Replied(Replied { thread, message, asked }))
        }
        other @ (Answer::Accepted { .. }
        | Answer::Ended { .. }
        | Answer::Claimed(_)
        | Answer::Locked { .. }
        | Answer::Released
        | Answer::Swept { .. }
        | Answer::Compacted { .. }
        | Answer::Namespace { .. }
        | Answer::Noted { .. }
        | Answer::Done { .. }) => Err(link::unexpected(&other)),
    }
}

fn there(remote: &Remote, command: MessageCommand) -> Result<Given, Error> {
    let proof = |thread, held| Proof { thread, held }.to_string();
    match command {
        MessageCommand::Send(letter) => {
            let mut body = json!({
                "namespace": letter.namespace, "to": letter.to, "from": letter.from, "content": said(&letter.content)?,
                "thread": letter.thread, "id": letter.message, "reply_to": letter.reply_to, "priority": letter.priority,
                "max_deliveries": letter.max_deliveries,
            });
            if let Some(ttl_ms) = letter.ttl_ms {
                body["ttl_ms"] = json!(ttl_ms);
            }
            remote.post(&["messages"], &body).map(Given::Told)
        }
        MessageCommand::Take { namespace, agent, lease_ms, only, .. } => {
            let (thread, message) = only.unzip();
            let body = json!({ "namespace": namespace, "lease_ms": lease_ms, "thread": thread, "message": message });
            let taken: Taken = remote.post(&["inboxes", agent.as_str(), "take"], &body)?;
            Ok(Given::Taken(taken.message))
        }
        MessageCommand::Acknowledge { thread, held } => {
            let body = json!({ "held": proof(thread, held) });
            remote.post(&["messages", "acknowledge"], &body).map(Given::Told)
        }
        MessageCommand::Reply { thread, held, content, .. } => {
            let body = json!({ "held": proof(thread, held), "content": said(&content)? });
            remote.post(&["messages", "reply"], &body).map(Given::Replied)
        }
        MessageCommand::Fail { thread, held, retryable, error } => {
            let body = json!({ "held": proof(thread, held), "final": !retryable, "error": error });
            remote.post(&["messages", "fail"], &body).map(Given::Told)
        }
        MessageCommand::Redrive { thread, message, reason } => {
            let body = json!({ "thread": thread, "message": message, "reason": reason });
            remote.post(&["messages", "redrive"], &body).map(Given::Told)
        }
        MessageCommand::Return { .. } => Err(Error::new(Code::Internal, "no command of the command line does that")),
    }
}

/// What a message says that was given as an argument.
fn said(content: &Content) -> Result<Value, Error> {
    let Content::Inline(bytes) = content else {
        return Err(Error::new(Code::Internal, "a message was stowed before it was sent"));
    };
    serde_json::from_slice(bytes).map_err(|error| Error::new(Code::BadInput, error.to_string()))
}
