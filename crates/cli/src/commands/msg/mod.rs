//! `relaymesh msg`

mod inbox;
mod thread;
mod wait;

use crate::{
    args::Context,
    client::Given,
    error::{Code, Error},
    exit::Exit,
    flow, output, time,
};
use clap::Subcommand;
use relaymesh_api::view::message::{Asking, Delivered, Replied, Told};
use relaymesh_core::{
    content::Media,
    id::{MessageId, ThreadId, WorkerId},
    lanes::Priority,
    name::Name,
    task::LEASE_MS_MAX,
};
use relaymesh_runtime::driver::{Letter, MessageCommand, Proof};
use relaymesh_store::Content;
use serde_json::{Value, json};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  relaymesh msg send --to echo --input '\"hello\"' --wait  send, wait for the reply and print it
  relaymesh msg send --to reviewer --input '{\"diff\": \"…\"}'
  relaymesh msg inbox --agent reviewer                   list waiting messages
  relaymesh msg take --agent reviewer                    print the next message and its HELD
  relaymesh msg reply HELD --input '\"looks good\"'
  relaymesh msg ack HELD
  relaymesh msg thread THREAD                            show the whole thread";

const LEASE_MS: u64 = 120_000;

/// Send messages to agents, take them, reply to them
///
/// The daemon runs an agent for each message to it and sends the result as the reply. Messages to `inbox` agents,
/// people and programs wait until they are taken. Delivery is at least once: a message that was
/// taken is delivered again when its lease ends, until it is acknowledged or replied to, expires, or reaches its
/// maximum of deliveries.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    /// Send a message, and print THREAD and MESSAGE
    #[command(after_help = EXAMPLES)]
    Send(Box<SendArgs>),
    /// List the messages that wait in an inbox
    #[command(after_help = EXAMPLES)]
    Inbox(inbox::Args),
    /// Show the messages of a thread
    #[command(after_help = EXAMPLES)]
    Thread(thread::Args),
    /// Take the next message for an agent
    #[command(after_help = EXAMPLES)]
    Take {
        /// Agent whose inbox to take from
        #[arg(long, value_name = "NAME")]
        agent: Name,
        /// Lease duration; then the message is delivered again
        #[arg(long, value_name = "MS", default_value_t = LEASE_MS, value_parser = clap::value_parser!(u64).range(..=LEASE_MS_MAX))]
        lease_ms: u64,
    },
    /// Acknowledge a message
    #[command(after_help = EXAMPLES)]
    Ack {
        /// The HELD that `take` printed
        #[arg(value_name = "HELD")]
        held: Proof,
    },
    /// Reply to a message, which acknowledges it
    #[command(after_help = EXAMPLES)]
    Reply {
        /// The HELD that `take` printed
        #[arg(value_name = "HELD")]
        held: Proof,
        /// Content of the reply: JSON, @FILE, or - for stdin
        #[arg(long, value_name = "JSON")]
        input: String,
    },
    /// Report that a message could not be handled
    #[command(after_help = EXAMPLES)]
    Fail {
        /// The HELD that `take` printed
        #[arg(value_name = "HELD")]
        held: Proof,
        /// Do not deliver it again
        #[arg(long)]
        r#final: bool,
        /// Error message
        #[arg(long, value_name = "TEXT")]
        error: String,
    },
    /// Deliver a failed message again
    #[command(after_help = EXAMPLES)]
    Retry {
        /// Thread of the message
        thread: ThreadId,
        /// Id of the message
        message: MessageId,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct SendArgs {
    /// Recipient
    #[arg(long, value_name = "NAME")]
    to: Name,
    /// Sender [default: your login name]
    #[arg(long, value_name = "NAME")]
    from: Option<Name>,
    /// Content: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    input: String,
    /// Thread [default: a new one]
    #[arg(long, value_name = "ID")]
    thread: Option<ThreadId>,
    /// Id of the message: sending it again with the same id does nothing
    #[arg(long, value_name = "ID", requires = "thread")]
    id: Option<MessageId>,
    /// Message of the thread to reply to
    #[arg(long, value_name = "ID", requires = "thread")]
    reply_to: Option<MessageId>,
    /// Priority: high, normal or low
    #[arg(long, default_value = "normal")]
    priority: Priority,
    /// Time after which the message expires
    #[arg(long, value_name = "MS")]
    ttl_ms: Option<u64>,
    /// Maximum number of deliveries
    #[arg(long, value_name = "N", default_value_t = 5)]
    max_deliveries: u32,
    /// Wait for the reply, and print it
    #[arg(long)]
    wait: bool,
    /// Stop waiting after this many seconds
    #[arg(long, value_name = "S", requires = "wait")]
    timeout_s: Option<u64>,
}

pub(crate) fn run(command: Command, context: &Context) -> Result<Exit, Error> {
    let command = match command {
        Command::Inbox(args) => return inbox::run(&args, context),
        Command::Thread(args) => return thread::run(&args, context),
        Command::Send(send) if send.wait => return send_and_wait(*send, context),
        other @ (Command::Send(_)
        | Command::Take { .. }
        | Command::Ack { .. }
        | Command::Reply { .. }
        | Command::Fail { .. }
        | Command::Retry { .. }) => self::command(other, context)?,
    };
    match context.client().message(command)? {
        Given::Told(told) if context.json => output::value(&json!(told)),
        Given::Told(Told { thread, message, state }) => {
            output::line(&format!("{thread} {message}"));
            output::note(&format!("the message is {state}"));
        }
        Given::Taken(None) if context.json => output::value(&Value::Null),
        Given::Taken(None) => output::note("no message is waiting"),
        Given::Taken(Some(delivered)) => show(&delivered, context),
        Given::Replied(replied) if context.json => output::value(&json!(replied)),
        Given::Replied(Replied { thread, message, asked }) => {
            output::line(&format!("{thread} {message}"));
            match asked {
                Some(Asking { step, completed: true }) => output::note(&format!("the reply completed step {step}")),
                Some(Asking { step, completed: false }) => {
                    output::note(&format!("step {step} no longer waits for this reply"));
                }
                None => {}
            }
        }
    }
    Ok(Exit::Done)
}

fn send_and_wait(send: SendArgs, context: &Context) -> Result<Exit, Error> {
    let patience = send.timeout_s.map(Duration::from_secs);
    let from = send.from.clone().unwrap_or_else(|| context.caller.author.clone());
    let letter = self::command(Command::Send(Box::new(send)), context)?;
    let client = context.client();
    let Given::Told(Told { thread, message, .. }) = client.message(letter)? else {
        return Err(Error::new(Code::Internal, "unexpected answer from the driver"));
    };
    wait::run(context, &*client, (thread, message), &from, patience)
}

fn command(command: Command, context: &Context) -> Result<MessageCommand, Error> {
    let content =
        |argument: &str| Ok::<Content, Error>(Content::Inline(flow::input(argument)?.to_string().into_bytes()));
    Ok(match command {
        Command::Send(send) => MessageCommand::Send(Box::new(Letter {
            namespace: context.namespace.clone(),
            thread: send.thread,
            message: send.id,
            from: send.from.unwrap_or_else(|| context.caller.author.clone()),
            to: send.to,
            priority: send.priority,
            reply_to: send.reply_to,
            asks: None,
            media: Media::Json,
            content: content(&send.input)?,
            trace_id: context.caller.trace_id(rand::random()),
            ttl_ms: send.ttl_ms,
            max_deliveries: send.max_deliveries,
        })),
        Command::Inbox(_) | Command::Thread(_) => {
            return Err(Error::new(Code::Internal, "a command that only looks was about to be sent"));
        }
        Command::Take { agent, lease_ms } => {
            let worker = WorkerId::new(time::now_ms(), rand::random());
            MessageCommand::Take { namespace: context.namespace.clone(), agent, worker, lease_ms, only: None }
        }
        Command::Ack { held: Proof { thread, held } } => MessageCommand::Acknowledge { thread, held },
        Command::Reply { held: Proof { thread, held }, input } => {
            MessageCommand::Reply { thread, held, media: Media::Json, content: content(&input)? }
        }
        Command::Fail { held: Proof { thread, held }, r#final, error } => {
            MessageCommand::Fail { thread, held, retryable: !r#final, error }
        }
        Command::Retry { thread, message } => {
            MessageCommand::Redrive { thread, message, reason: "asked for".to_owned() }
        }
    })
}

fn show(delivered: &Delivered, context: &Context) {
    if context.json {
        output::value(&json!(delivered));
        return;
    }
    output::line(&delivered.held);
    match (delivered.media, delivered.content.as_str()) {
        (Media::Text, Some(text)) => output::line(&output::clean(text)),
        (Media::Text | Media::Json, _) => output::line(&delivered.content.to_string()),
    }
    output::note(&format!(
        "from {}; acknowledge it with `relaymesh msg ack`, or answer with `relaymesh msg reply`",
        delivered.from
    ));
}
