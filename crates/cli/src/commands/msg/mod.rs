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
  relaymesh msg send --to echo --input '\"hello\"' --wait      an agent that runs here answers by itself
  relaymesh msg send --to reviewer --input '{\"diff\": \"…\"}'
  relaymesh msg inbox --agent reviewer                 what waits for it
  relaymesh msg take --agent reviewer              prints the message and HELD, or nothing
  relaymesh msg reply HELD --input '\"looks good\"'
  relaymesh msg ack HELD
  relaymesh msg thread THREAD                          the whole conversation";

const LEASE_MS: u64 = 120_000;

/// Send messages to agents, take them, answer them
///
/// An agent that runs here deals with its messages by itself, as long as the daemon runs, and its result is the answer. What is for
/// anybody else waits in their inbox. Delivery is at least once: whoever takes a message and stays silent loses it to the next, until it is acknowledged,
/// answered, too old, or was delivered too often.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    /// Say something to an agent, and print THREAD and MESSAGE
    #[command(after_help = EXAMPLES)]
    Send(Box<SendArgs>),
    /// Show what waits in an inbox
    #[command(after_help = EXAMPLES)]
    Inbox(inbox::Args),
    /// Show a conversation
    #[command(after_help = EXAMPLES)]
    Thread(thread::Args),
    /// Take the next message for an agent
    #[command(after_help = EXAMPLES)]
    Take {
        /// For whom
        #[arg(long, value_name = "NAME")]
        agent: Name,
        /// For how long without a word
        #[arg(long, value_name = "MS", default_value_t = LEASE_MS, value_parser = clap::value_parser!(u64).range(..=LEASE_MS_MAX))]
        lease_ms: u64,
    },
    /// The message is dealt with
    #[command(after_help = EXAMPLES)]
    Ack {
        /// What `take` printed
        #[arg(value_name = "HELD")]
        held: Proof,
    },
    /// The message is dealt with, and this is the answer
    #[command(after_help = EXAMPLES)]
    Reply {
        /// What `take` printed
        #[arg(value_name = "HELD")]
        held: Proof,
        /// What to say: JSON, @FILE, or - for stdin
        #[arg(long, value_name = "JSON")]
        input: String,
    },
    /// The message could not be dealt with
    #[command(after_help = EXAMPLES)]
    Fail {
        /// What `take` printed
        #[arg(value_name = "HELD")]
        held: Proof,
        /// Another delivery would not help
        #[arg(long)]
        r#final: bool,
        /// Why, for people
        #[arg(long, value_name = "TEXT")]
        error: String,
    },
    /// Deliver a message again that came to nothing
    #[command(after_help = EXAMPLES)]
    Retry {
        /// Its thread
        thread: ThreadId,
        /// Which
        message: MessageId,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct SendArgs {
    /// Who is to hear it
    #[arg(long, value_name = "NAME")]
    to: Name,
    /// Who says it; without one, you
    #[arg(long, value_name = "NAME")]
    from: Option<Name>,
    /// What to say: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    input: String,
    /// In which thread; without one, a new one
    #[arg(long, value_name = "ID")]
    thread: Option<ThreadId>,
    /// Its own id: a second send with it is the same message
    #[arg(long, value_name = "ID", requires = "thread")]
    id: Option<MessageId>,
    /// The message of the thread that it is about
    #[arg(long, value_name = "ID", requires = "thread")]
    reply_to: Option<MessageId>,
    /// Which lane it waits in: high, normal or low
    #[arg(long, default_value = "normal")]
    priority: Priority,
    /// After this time it is too old
    #[arg(long, value_name = "MS")]
    ttl_ms: Option<u64>,
    /// How often it may be delivered
    #[arg(long, value_name = "N", default_value_t = 5)]
    max_deliveries: u32,
    /// Wait for the answer, and print it
    #[arg(long)]
    wait: bool,
    /// Wait at most this long
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
            output::note(&format!("it is {state}"));
        }
        Given::Taken(None) if context.json => output::value(&Value::Null),
        Given::Taken(None) => output::note("nothing waits"),
        Given::Taken(Some(delivered)) => show(&delivered, context),
        Given::Replied(replied) if context.json => output::value(&json!(replied)),
        Given::Replied(Replied { thread, message, asked }) => {
            output::line(&format!("{thread} {message}"));
            match asked {
                Some(Asking { step, completed: true }) => output::note(&format!("it completed {step}")),
                Some(Asking { step, completed: false }) => {
                    output::note(&format!("{step} does not wait for it any more"));
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
        return Err(Error::new(Code::Internal, "the driver answered another question"));
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
    output::note(&format!("from {}; `relaymesh msg ack` or `reply` when it is dealt with", delivered.from));
}
