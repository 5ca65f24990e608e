//! Messages: send, take, answer; an inbox, a conversation.

use super::{Answered, State, Who, id, unexpected};
use crate::{
    error::{Code, Error},
    http::{
        json::{Json, Query, Said},
        principal::Principal,
    },
    time,
    view::message,
};
use axum::extract::Path;
use relaymesh_core::{
    content::Media,
    id::{MessageId, ThreadId, WorkerId},
    lanes::Priority,
    message::ThreadRows,
    name::Name,
    op::Scope,
    task::LEASE_MS_MAX,
};
use relaymesh_runtime::driver::{Answer, Command, Letter, MessageCommand, Proof};
use relaymesh_store::{Content, Reader};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

/// How long a delivery lasts if nobody says.
const LEASE_MS: u64 = 120_000;
/// Messages of one lane in one answer.
const PAGE_MAX: usize = 200;

/// A message to be sent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Sent {
    /// The team or project it belongs to.
    #[schema(value_type = Option<String>)]
    namespace: Option<Name>,
    /// Who is to hear it.
    #[schema(value_type = String)]
    to: Name,
    /// Who says it; without one, the name of the token.
    #[schema(value_type = Option<String>)]
    from: Option<Name>,
    /// What to say.
    content: Value,
    /// In which thread; without one, a new one.
    #[schema(value_type = Option<String>)]
    thread: Option<ThreadId>,
    /// Its own id: a second send with it is the same message.
    #[schema(value_type = Option<String>)]
    id: Option<MessageId>,
    /// The message of the thread that it is about.
    #[schema(value_type = Option<String>)]
    reply_to: Option<MessageId>,
    /// `high`, `normal` or `low`.
    #[schema(value_type = Option<String>)]
    priority: Option<Priority>,
    /// After this time it is too old.
    ttl_ms: Option<u64>,
    /// How often it may be delivered.
    max_deliveries: Option<u32>,
}

/// Says something to an agent.
#[utoipa::path(post, path = "/messages", tag = "messages", request_body = Sent, security(("token" = ["rw", "agent"])), responses((status = 200, body = message::Told)))]
pub(super) async fn send(house: State, who: Who, Json(sent): Json<Sent>) -> Answered {
    let own = who.grant.agent.clone().unwrap_or_else(|| who.caller.author.clone());
    let from = sent.from.unwrap_or(own);
    who.check_agent(&from)?;
    let letter = Letter {
        namespace: who.namespace(sent.namespace)?,
        thread: sent.thread,
        message: sent.id,
        from,
        to: sent.to,
        priority: sent.priority.unwrap_or_default(),
        reply_to: sent.reply_to,
        asks: None,
        media: Media::Json,
        content: Content::Inline(sent.content.to_string().into_bytes()),
        trace_id: who.caller.trace_id(rand::random()),
        ttl_ms: sent.ttl_ms,
        max_deliveries: sent.max_deliveries.unwrap_or(5),
    };
    if let Some(thread) = letter.thread {
        // A thread that is there must be one that the caller may see; a new one may have any id.
        let who = who.0.clone();
        house.desk.readers.read(move |reader| seen(reader, &who, thread).map(drop)).await?;
    }
    told(house.desk.ask(&who.caller, Command::Message(MessageCommand::Send(Box::new(letter)))).await?)
}

/// Whose inbox.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct InboxQuery {
    /// Of this namespace.
    #[param(value_type = Option<String>)]
    namespace: Option<Name>,
    /// At most so many of each lane, up to 200.
    limit: Option<usize>,
}

/// What waits for an agent, urgent first.
#[utoipa::path(
    get, path = "/inboxes/{agent}", tag = "messages", params(("agent" = String, Path), InboxQuery), security(("token" = ["ro", "agent"])),
    responses((status = 200, body = message::Inbox)),
)]
pub(super) async fn inbox(
    house: State,
    who: Who,
    Path(agent): Path<String>,
    Query(query): Query<InboxQuery>,
) -> Answered {
    let (agent, namespace): (Name, _) = (id(&agent)?, who.namespace(query.namespace)?);
    who.check_agent(&agent)?;
    let limit = query.limit.unwrap_or(50).clamp(1, PAGE_MAX);
    let found = house.desk.readers.read(move |reader| message::inbox(reader, &namespace, &agent, limit));
    Ok(Said(json!(message::Inbox { messages: found.await? })))
}

/// Who takes, and for how long.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Take {
    /// Of this namespace.
    #[schema(value_type = Option<String>)]
    namespace: Option<Name>,
    /// Without a word for longer than this, it is delivered again.
    lease_ms: Option<u64>,
    /// Only the `message` of this thread.
    #[schema(value_type = Option<String>)]
    thread: Option<ThreadId>,
    /// Only this message of the `thread`.
    #[schema(value_type = Option<String>)]
    message: Option<MessageId>,
}

/// Takes the next message for an agent, if there is one. `held` is shown when it is dealt with.
#[utoipa::path(
    post, path = "/inboxes/{agent}/take", tag = "messages", params(("agent" = String, Path)), request_body = Take,
    security(("token" = ["rw", "agent"])), responses((status = 200, body = message::Taken)),
)]
pub(super) async fn take(house: State, who: Who, Path(agent): Path<String>, Json(take): Json<Take>) -> Answered {
    let (agent, namespace): (Name, _) = (id(&agent)?, who.namespace(take.namespace)?);
    who.check_agent(&agent)?;
    let worker = WorkerId::new(time::now_ms(), rand::random());
    let lease_ms = take.lease_ms.unwrap_or(LEASE_MS);
    if lease_ms > LEASE_MS_MAX {
        let what = format!("`lease_ms` is {lease_ms}; a message is held for {LEASE_MS_MAX} ms at most");
        return Err(Error::new(Code::Usage, what).into());
    }
    let only = match (take.thread, take.message) {
        (None, None) => None,
        (Some(thread), Some(message)) => Some((thread, message)),
        _ => return Err(Error::new(Code::Usage, "`thread` and `message` go together").into()),
    };
    let command = MessageCommand::Take { namespace, agent, worker, lease_ms, only };
    let answer = house.desk.ask(&who.caller, Command::Message(command)).await?;
    let Answer::Taken(taken) = answer else { return Err(unexpected().into()) };
    let Some(delivery) = taken else { return Ok(Said(json!(message::Taken { message: None }))) };
    let shown = house.desk.readers.read(move |reader| message::delivered(reader, &delivery));
    Ok(Said(json!(message::Taken { message: Some(shown.await?) })))
}

/// The delivery that is dealt with.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HeldOnly {
    /// What `take` gave.
    held: String,
}

/// A message is dealt with.
#[utoipa::path(post, path = "/messages/acknowledge", tag = "messages", request_body = HeldOnly, security(("token" = ["rw", "agent"])), responses((status = 200, body = message::Told)))]
pub(super) async fn acknowledge(house: State, who: Who, Json(body): Json<HeldOnly>) -> Answered {
    let Proof { thread, held } = proof(&house, &who, &body.held).await?;
    told(house.desk.ask(&who.caller, Command::Message(MessageCommand::Acknowledge { thread, held })).await?)
}

/// An answer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    /// What `take` gave.
    held: String,
    /// What to say.
    content: Value,
}

/// A message is dealt with, and this is the answer.
#[utoipa::path(post, path = "/messages/reply", tag = "messages", request_body = Reply, security(("token" = ["rw", "agent"])), responses((status = 200, body = message::Replied)))]
pub(super) async fn reply(house: State, who: Who, Json(body): Json<Reply>) -> Answered {
    let Proof { thread, held } = proof(&house, &who, &body.held).await?;
    let content = Content::Inline(body.content.to_string().into_bytes());
    let command = MessageCommand::Reply { thread, held, media: Media::Json, content };
    told(house.desk.ask(&who.caller, Command::Message(command)).await?)
}

/// Why it failed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Fail {
    /// What `take` gave.
    held: String,
    /// Why, for people.
    error: String,
    /// Another delivery would not help.
    #[serde(default)]
    r#final: bool,
}

/// A message could not be dealt with.
#[utoipa::path(post, path = "/messages/fail", tag = "messages", request_body = Fail, security(("token" = ["rw", "agent"])), responses((status = 200, body = message::Told)))]
pub(super) async fn fail(house: State, who: Who, Json(body): Json<Fail>) -> Answered {
    let Proof { thread, held } = proof(&house, &who, &body.held).await?;
    let command = MessageCommand::Fail { thread, held, retryable: !body.r#final, error: body.error };
    told(house.desk.ask(&who.caller, Command::Message(command)).await?)
}

/// Which message came to nothing.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Again {
    /// Its thread.
    #[schema(value_type = String)]
    thread: ThreadId,
    /// Which.
    #[schema(value_type = String)]
    message: MessageId,
    /// Why; it stands on the log.
    reason: Option<String>,
}

/// Delivers a message again that came to nothing.
#[utoipa::path(post, path = "/messages/redrive", tag = "messages", request_body = Again, security(("token" = ["rw"])), responses((status = 200, body = message::Told)))]
pub(super) async fn redrive(house: State, who: Who, Json(body): Json<Again>) -> Answered {
    let (thread, message) = (body.thread, body.message);
    let looker = who.0.clone();
    house.desk.readers.read(move |reader| there(reader, &looker, thread).map(drop)).await?;
    let reason = body.reason.unwrap_or_else(|| "asked for over HTTP".to_owned());
    told(house.desk.ask(&who.caller, Command::Message(MessageCommand::Redrive { thread, message, reason })).await?)
}

/// A conversation, oldest first.
#[utoipa::path(
    get, path = "/threads/{thread}", tag = "messages", params(("thread" = String, Path)), security(("token" = ["ro"])),
    responses((status = 200, body = message::Conversation)),
)]
pub(super) async fn thread(house: State, who: Who, Path(thread): Path<String>) -> Answered {
    let (thread, who): (ThreadId, _) = (id(&thread)?, who.0);
    let found = house.desk.readers.read(move |reader| {
        let rows = there(reader, &who, thread)?;
        message::thread(reader, &rows)
    });
    Ok(Said(json!(message::Conversation { thread, messages: found.await? })))
}

/// The delivery that the text proves, of a thread that the caller may see and for whom it may act.
async fn proof(house: &State, who: &Who, text: &str) -> Result<Proof, Error> {
    let proof: Proof = text.parse().map_err(|error| Error::new(Code::Usage, format!("{error}")))?;
    let (looker, thread, message) = (who.0.clone(), proof.thread, proof.held.message);
    let found = house.desk.readers.read(move |reader| {
        let rows = there(reader, &looker, thread)?;
        Ok(rows.messages.get(&message).map(|message| message.draft.to.clone()))
    });
    if let Some(to) = found.await? {
        who.check_agent(&to)?;
    }
    Ok(proof)
}

/// The thread, if it is there; it must be one that the caller may see.
fn seen(reader: &mut dyn Reader, who: &Principal, thread: ThreadId) -> Result<Option<ThreadRows>, Error> {
    let Some(rows) = reader.scope(Scope::Thread(thread))?.and_then(|rows| rows.thread().cloned()) else {
        return Ok(None);
    };
    if who.grant.admits(&rows.thread.namespace) { Ok(Some(rows)) } else { Err(missing(thread)) }
}

fn there(reader: &mut dyn Reader, who: &Principal, thread: ThreadId) -> Result<ThreadRows, Error> {
    seen(reader, who, thread)?.ok_or_else(|| missing(thread))
}

fn missing(thread: ThreadId) -> Error {
    Error::new(Code::NoTask, format!("there is no thread {thread} in this root"))
}

fn told(answer: Answer) -> Answered {
    if let Answer::Message { thread, message, state } = answer {
        return Ok(Said(json!(message::Told { thread, message, state })));
    }
    let Answer::Replied { thread, message, completed } = answer else { return Err(unexpected().into()) };
    let asked = completed.map(|(step, completed)| message::Asking { step, completed });
    Ok(Said(json!(message::Replied { thread, message, asked })))
}
