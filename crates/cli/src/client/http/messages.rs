//! Messages at a daemon elsewhere.

use super::Http;
use crate::{
    client::{Given, Messages},
    error::{Code, Error},
};
use relaymesh_api::view::{
    Reference,
    message::{Conversation, Inbox, Spoken, Taken, Waiting},
};
use relaymesh_core::{canonical, content::Media, id::ThreadId, name::Name};
use relaymesh_runtime::driver::{MessageCommand, Proof};
use relaymesh_store::Content;
use serde_json::{Value, json};

/// The most messages of one priority that a daemon lists at once.
const INBOX_MAX: u32 = 200;

impl Messages for Http<'_> {
    fn message(&self, command: MessageCommand) -> Result<Given, Error> {
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
                self.remote.post(&["messages"], &body).map(Given::Told)
            }
            MessageCommand::Take { namespace, agent, lease_ms, only, .. } => {
                let (thread, message) = only.unzip();
                let body =
                    json!({ "namespace": namespace, "lease_ms": lease_ms, "thread": thread, "message": message });
                let taken: Taken = self.remote.post(&["inboxes", agent.as_str(), "take"], &body)?;
                Ok(Given::Taken(taken.message))
            }
            MessageCommand::Acknowledge { thread, held } => {
                let body = json!({ "held": proof(thread, held) });
                self.remote.post(&["messages", "acknowledge"], &body).map(Given::Told)
            }
            MessageCommand::Reply { thread, held, content, .. } => {
                let body = json!({ "held": proof(thread, held), "content": said(&content)? });
                self.remote.post(&["messages", "reply"], &body).map(Given::Replied)
            }
            MessageCommand::Fail { thread, held, retryable, error } => {
                let body = json!({ "held": proof(thread, held), "final": !retryable, "error": error });
                self.remote.post(&["messages", "fail"], &body).map(Given::Told)
            }
            MessageCommand::Redrive { thread, message, reason } => {
                let body = json!({ "thread": thread, "message": message, "reason": reason });
                self.remote.post(&["messages", "redrive"], &body).map(Given::Told)
            }
            MessageCommand::Return { .. } => {
                Err(Error::new(Code::Internal, "no command of the command line does that"))
            }
        }
    }

    fn thread(&self, thread: ThreadId) -> Result<Vec<Spoken>, Error> {
        let mut found = self.remote.get::<Conversation>(&["threads", &thread.to_string()], &[])?.messages;
        for said in &mut found {
            self.fill(said.thread, &mut said.content, &mut said.content_ref)?;
        }
        Ok(found)
    }

    fn inbox(&self, agent: &Name, limit: u32) -> Result<Vec<Waiting>, Error> {
        let query = [self.namespace(), ("limit", Some(limit.clamp(1, INBOX_MAX).to_string()))];
        let mut found = self.remote.get::<Inbox>(&["inboxes", agent.as_str()], &query)?.messages;
        for waiting in &mut found {
            self.fill(waiting.thread, &mut waiting.content, &mut waiting.content_ref)?;
        }
        Ok(found)
    }
}

impl Http<'_> {
    /// Fetches content that an answer only names.
    fn fill(&self, thread: ThreadId, content: &mut Value, named: &mut Option<Reference>) -> Result<(), Error> {
        if let Some(named) = named.take() {
            let bytes = self.bytes(&named, ("thread", Some(thread.to_string())))?;
            let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
            let read = if named.media_type == Media::Json { serde_json::from_slice(&bytes).ok() } else { None };
            *content = read.unwrap_or_else(text);
        }
        Ok(())
    }
}

/// What a message says that was given as an argument.
fn said(content: &Content) -> Result<Value, Error> {
    let Content::Inline(bytes) = content else {
        return Err(Error::new(Code::Internal, "a message was stowed before it was sent"));
    };
    canonical::parse(bytes).map_err(|error| Error::new(Code::BadInput, error.to_string()))
}
