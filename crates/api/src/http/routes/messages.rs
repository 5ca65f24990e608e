//! Messages: send, take, answer; an inbox, a conversation.

use super::{Answered, INBOX_MAX, State, Who, id, unexpected};
use crate::{
    error::{Code, Error},
    http::{
        json::{self, Json, Query, Said},
        principal::Principal,
        problem::Problem,
        query::Whole,
        stream::Documents,
    },
    time,
    view::{Results, message},
};
use axum::{
    extract::Path,
    response::{IntoResponse as _, Response},
};
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

/// A message to send.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewMessage)]
#[serde(deny_unknown_fields)]
pub(super) struct Sent {
    /// Namespace.
    #[schema(value_type = Option<String>)]
    namespace: Option<Name>,
    /// Recipient.
    #[schema(value_type = String)]
    to: Name,
    /// Sender; by default, the name of the token.
    #[schema(value_type = Option<String>)]
    from: Option<Name>,
    /// Content.
    content: Value,
    /// Thread; by default, a new one.
    #[schema(value_type = Option<String>)]
    thread: Option<ThreadId>,
    /// Id of the message: sending it again with the same id does nothing.
    #[schema(value_type = Option<String>)]
    id: Option<MessageId>,
    /// Id of the message of the thread that it replies to.
    #[schema(value_type = Option<String>)]
    reply_to: Option<MessageId>,
    /// Priority: `high`, `normal` or `low`.
    #[schema(value_type = Option<String>)]
    priority: Option<Priority>,
    /// Lifetime in milliseconds; then the message expires.
    #[serde(default, alias = "ttl", deserialize_with = "json::duration")]
    ttl_ms: Option<u64>,
    /// Maximum number of deliveries.
    max_deliveries: Option<u32>,
}

/// Sends a message.
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
    /// Namespace.
    #[param(value_type = Option<String>)]
    namespace: Option<Name>,
    /// Maximum number of messages of each priority, from 1 to 200; by default, 50.
    #[param(value_type = Option<u64>)]
    limit: Option<Whole<1, INBOX_MAX>>,
}

/// Lists the waiting messages of an agent, highest priority first.
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
    let limit = query.limit.map_or(50, Whole::count);
    let found =
        house.desk.readers.read(move |reader| message::inbox(reader, &namespace, &agent, limit, Results::Short));
    Ok(Said(json!(message::Inbox { messages: found.await? })))
}

/// Request for the next message.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = TakeRequest)]
#[serde(deny_unknown_fields)]
pub(super) struct Take {
    /// Namespace.
    #[schema(value_type = Option<String>)]
    namespace: Option<Name>,
    /// Lease duration, in milliseconds; then the message is delivered again.
    #[serde(default, alias = "lease", deserialize_with = "json::duration")]
    lease_ms: Option<u64>,
    /// Thread of `message`.
    #[schema(value_type = Option<String>)]
    thread: Option<ThreadId>,
    /// Take only this message of `thread`.
    #[schema(value_type = Option<String>)]
    message: Option<MessageId>,
}

/// Takes the next message of an agent, if there is one. Send `held` back to acknowledge, reply or fail.
#[utoipa::path(
    post, path = "/inboxes/{agent}/take", tag = "messages", params(("agent" = String, Path)), request_body = Take,
    security(("token" = ["rw", "agent"])), responses((status = 200, body = message::Taken)),
)]
pub(super) async fn take(
    house: State,
    who: Who,
    Path(agent): Path<String>,
    Json(take): Json<Take>,
) -> Result<Response, Problem> {
    let (agent, namespace): (Name, _) = (id(&agent)?, who.namespace(take.namespace)?);
    who.check_agent(&agent)?;
    let worker = WorkerId::new(time::now_ms(), rand::random());
    let lease_ms = take.lease_ms.unwrap_or(LEASE_MS);
    if lease_ms > LEASE_MS_MAX {
        let what = format!("`lease_ms` is {lease_ms}; the maximum is {LEASE_MS_MAX}");
        return Err(Error::new(Code::Usage, what).into());
    }
    let only = match (take.thread, take.message) {
        (None, None) => None,
        (Some(thread), Some(message)) => Some((thread, message)),
        _ => return Err(Error::new(Code::Usage, "`thread` and `message` must be given together").into()),
    };
    let command = MessageCommand::Take { namespace, agent, worker, lease_ms, only };
    let answer = house.desk.ask(&who.caller, Command::Message(command)).await?;
    let Answer::Taken(taken) = answer else { return Err(unexpected().into()) };
    let Some(delivery) = taken else { return Ok(Said(json!(message::Taken { message: None })).into_response()) };
    // However long its content is: it is for the one who works on it.
    Ok(Documents::within("{\"message\":", vec![message::delivery(&delivery)], "}").answer(&house.desk).await?)
}

/// A delivery to acknowledge.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = MessageAcknowledgement)]
#[serde(deny_unknown_fields)]
pub(super) struct HeldOnly {
    /// `held` from `take`.
    held: String,
}

/// Acknowledges a message.
#[utoipa::path(post, path = "/messages/acknowledge", tag = "messages", request_body = HeldOnly, security(("token" = ["rw", "agent"])), responses((status = 200, body = message::Told)))]
pub(super) async fn acknowledge(house: State, who: Who, Json(body): Json<HeldOnly>) -> Answered {
    let Proof { thread, held } = proof(&house, &who, &body.held).await?;
    told(house.desk.ask(&who.caller, Command::Message(MessageCommand::Acknowledge { thread, held })).await?)
}

/// A reply.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = MessageReply)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    /// `held` from `take`.
    held: String,
    /// Content.
    content: Value,
}

/// Replies to a message, which acknowledges it.
#[utoipa::path(post, path = "/messages/reply", tag = "messages", request_body = Reply, security(("token" = ["rw", "agent"])), responses((status = 200, body = message::Replied)))]
pub(super) async fn reply(house: State, who: Who, Json(body): Json<Reply>) -> Answered {
    let Proof { thread, held } = proof(&house, &who, &body.held).await?;
    let content = Content::Inline(body.content.to_string().into_bytes());
    let command = MessageCommand::Reply { thread, held, media: Media::Json, content };
    told(house.desk.ask(&who.caller, Command::Message(command)).await?)
}

/// Failure of a delivery.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = MessageFailure)]
#[serde(deny_unknown_fields)]
pub(super) struct Fail {
    /// `held` from `take`.
    held: String,
    /// Error message.
    error: String,
    /// Do not deliver it again.
    #[serde(default)]
    r#final: bool,
}

/// Reports that a message could not be handled.
#[utoipa::path(post, path = "/messages/fail", tag = "messages", request_body = Fail, security(("token" = ["rw", "agent"])), responses((status = 200, body = message::Told)))]
pub(super) async fn fail(house: State, who: Who, Json(body): Json<Fail>) -> Answered {
    let Proof { thread, held } = proof(&house, &who, &body.held).await?;
    let command = MessageCommand::Fail { thread, held, retryable: !body.r#final, error: body.error };
    told(house.desk.ask(&who.caller, Command::Message(command)).await?)
}

/// A failed message to deliver again.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = MessageRedrive)]
#[serde(deny_unknown_fields)]
pub(super) struct Again {
    /// Id of the thread.
    #[schema(value_type = String)]
    thread: ThreadId,
    /// Id of the message.
    #[schema(value_type = String)]
    message: MessageId,
    /// Reason, recorded on the log.
    reason: Option<String>,
}

/// Delivers a failed message again.
#[utoipa::path(post, path = "/messages/redrive", tag = "messages", request_body = Again, security(("token" = ["rw"])), responses((status = 200, body = message::Told)))]
pub(super) async fn redrive(house: State, who: Who, Json(body): Json<Again>) -> Answered {
    let (thread, message) = (body.thread, body.message);
    let looker = who.0.clone();
    house.desk.readers.read(move |reader| there(reader, &looker, thread).map(drop)).await?;
    let reason = body.reason.unwrap_or_else(|| "asked for over HTTP".to_owned());
    told(house.desk.ask(&who.caller, Command::Message(MessageCommand::Redrive { thread, message, reason })).await?)
}

/// Lists the messages of a thread, oldest first.
#[utoipa::path(
    get, path = "/threads/{thread}", tag = "messages", params(("thread" = String, Path)), security(("token" = ["ro"])),
    responses((status = 200, body = message::Conversation)),
)]
pub(super) async fn thread(house: State, who: Who, Path(thread): Path<String>) -> Answered {
    let (thread, who): (ThreadId, _) = (id(&thread)?, who.0);
    let found = house.desk.readers.read(move |reader| {
        let rows = there(reader, &who, thread)?;
        message::thread(reader, &rows, Results::Short)
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

pub(super) fn there(reader: &mut dyn Reader, who: &Principal, thread: ThreadId) -> Result<ThreadRows, Error> {
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
