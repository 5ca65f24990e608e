//! `relaymesh agent test`

use crate::{
    agents,
    args::{Context, Key},
    bell::LOOK,
    client::Submission,
    commands::task::logs::Tail,
    error::{Code, Error},
    exit::Exit,
    flow::{self, Flow},
    follow::on_interrupt,
    link::{self, Link, Missing},
    output, root, session, time,
    view::View,
};
use relaymesh_agents::{Agents, RAN, Ran, quoted};
use relaymesh_api::view::Results;
use relaymesh_core::{
    id::TaskId,
    name::Name,
    op::CancelMode,
    task::{Status, request::Request},
};
use relaymesh_runtime::{
    agents::said,
    builtin::Builtin,
    driver::{Answer, Command},
    world::Alert,
};
use relaymesh_store::Reader as _;
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

const EXAMPLES: &str = "\
Examples:
  relaymesh agent test upper
  relaymesh agent test upper --input '\"hello\"'
  relaymesh agent test codex --timeout 5m     a tool must be installed and logged in

A test is a normal task: it appears in `relaymesh task list`, and a model charges for it. Without
`--input`, a tool is asked for one word. Ctrl-C cancels the task.";

/// What a tool is asked that nobody gave an input.
const PROMPT: &str = "Answer with the single word: pong";

/// Run a test task and show its process, command line, exit code, output and result
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the agent
    name: Name,
    /// Input: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Time limit
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = time::duration)]
    timeout: u64,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    if !Builtin::knows(&args.name) {
        root::there(&context.root)?;
    }
    let agents = agents::read(&context.root)?;
    let is_tool = agents.get(&args.name).is_some_and(|agent| agent.tool().is_some());
    let given = args.input.as_deref().map(flow::input).transpose()?;
    let input = given.unwrap_or_else(|| if is_tool { json!(PROMPT) } else { json!({ "ping": "pong" }) });
    let mut request = Request::single(args.name.clone(), Some(input));
    request.name = "agent-test".parse().expect("a literal name");
    for step in &mut request.steps {
        step.retry.max_attempts = Some(1);
        step.timeout_ms = Some(args.timeout);
    }
    agents::check(&request, &agents).map_err(|(_, error)| error)?;
    let submission = Key::anew().submission(Flow::new(request), context)?;
    let (task, is_interrupted) = follow(&submission, &agents, Duration::from_millis(args.timeout), context)?;
    let mut reader = root::read(&context.root)?;
    let rows = reader.task(task)?.ok_or_else(|| Error::new(Code::NoTask, format!("there is no task {task}")))?;
    let view = View::load(&mut reader, rows, Results::Full)?;
    show(&view, context);
    Ok(if is_interrupted { Exit::Interrupted } else { Exit::of(view.rows.task.status) })
}

/// What a test waits for.
enum News {
    /// The task has ended.
    Ended(Result<Answer, Error>),
    /// Ctrl-C.
    Interrupted,
}

/// Submits it and waits until it has ended, asks somebody, or takes too long. `true`: Ctrl-C.
fn follow(
    submission: &Submission,
    agents: &Agents,
    patience: Duration,
    context: &Context,
) -> Result<(TaskId, bool), Error> {
    let warn = |alert: Alert| output::note(&session::warning(&alert));
    let (tell, told) = mpsc::channel();
    let interrupts = tell.clone();
    on_interrupt(move || interrupts.send(News::Interrupted).is_ok());
    let link = Link::open(context, Missing::Make, (Some(agents), None), warn)?;
    let result = accepted(&link, submission, agents).and_then(|task| {
        let rows = root::read(&context.root)?.task(task)?;
        let asks = rows.is_some_and(|rows| rows.steps.iter().any(|step| step.status == Status::Waiting));
        if asks {
            return Ok((task, false));
        }
        output::note(&format!("running {task}; what it writes to stderr follows"));
        link.send(Command::Wait { task }, move |answer| drop(tell.send(News::Ended(answer))));
        Ok((task, watch(&link, task, &told, patience, context)?))
    });
    link.finish(result)
}

/// Shows what the agent writes until the task has ended. Nobody waits for a test that is left, so it is cancelled then: it would keep a
/// place, and a model charges for it. `true`: Ctrl-C.
fn watch(
    link: &Link,
    task: TaskId,
    told: &Receiver<News>,
    patience: Duration,
    context: &Context,
) -> Result<bool, Error> {
    let client = context.client();
    let mut tail = Tail::noted(context, task, &*client);
    let until = Instant::now().checked_add(patience.saturating_add(GRACE));
    let (mut is_interrupted, mut is_cancelled) = (false, false);
    let is_over = loop {
        let cancel = match told.recv_timeout(LOOK) {
            Ok(News::Ended(answer)) => break answer.map(drop),
            Ok(News::Interrupted) => {
                is_interrupted = true;
                Some("interrupted")
            }
            Err(RecvTimeoutError::Timeout) => until.filter(|until| *until <= Instant::now()).map(|_| "timed out"),
            Err(RecvTimeoutError::Disconnected) => break Err(link::gone()),
        };
        if let (Some(why), false) = (cancel, is_cancelled) {
            is_cancelled = true;
            output::note(&format!("{why}: cancelling {task}"));
            let cancel = Command::Cancel { task, mode: CancelMode::Hard, reason: format!("the test was {why}") };
            link.send(cancel, drop);
        }
        if !context.json {
            tail.show(&client.task(task, false)?, false)?;
        }
    };
    if !context.json {
        tail.show(&client.task(task, false)?, true)?;
    }
    is_over.map(|()| is_interrupted)
}

/// What an attempt that is ended for want of time may need on top.
const GRACE: Duration = Duration::from_secs(10);

fn accepted(link: &Link, submission: &Submission, agents: &Agents) -> Result<TaskId, Error> {
    let answer = link.submitted(submission, agents)?;
    let Answer::Accepted { task, .. } = answer else { return Err(link::unexpected(&answer)) };
    Ok(task)
}

fn show(view: &View, context: &Context) {
    let (task, step) = (&view.rows.task, &view.rows.steps[0]);
    let files = said(&context.root, task.id, &step.spec.name, step.epoch, RAN);
    let ran = Ran::read(&files);
    let asks =
        (step.status == Status::Waiting).then(|| step.spec.approve.as_ref().map(|ask| ask.text.clone())).flatten();
    let made = ran.as_ref().map(|ran| made(&ran.folder)).unwrap_or_default();
    if context.json {
        output::value(&json!({
            "task": task.id, "status": task.status, "result": view.result(), "error": step.error, "asks": asks,
            "ran": ran, "files": made,
        }));
        return;
    }
    let mut rows = vec![("task", task.id.to_string()), ("status", crate::view::with_symbol(task.status))];
    rows.extend(ran.as_ref().map(facts).into_iter().flatten());
    if !made.is_empty() {
        rows.push(("files", made.join(", ")));
    }
    rows.extend(view.result().map(|result| ("result", output::clean(&words(&result)))));
    rows.extend(step.error.as_ref().map(|error| ("error", output::clean(error))));
    rows.extend(asks.map(|asks| ("asks", output::clean(&asks))));
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    output::line(&output::table(&rows));
    if step.status == Status::Waiting {
        output::note(&format!("approve it with `relaymesh approve {} {}`", task.id, step.spec.name));
    } else {
        output::note(&format!("full output: `relaymesh task logs {}`", task.id));
    }
}

/// What ran, for people.
fn facts(ran: &Ran) -> Vec<(&'static str, String)> {
    let words: Vec<String> = ran.arguments.iter().map(|word| quoted(word)).collect();
    let took = ran.ended_ms.map(|end| time::span(end.saturating_sub(ran.started_ms)));
    vec![
        ("pid", ran.pid.to_string()),
        ("command", output::clean(&format!("{} {}", quoted(&ran.program.display().to_string()), words.join(" ")))),
        ("folder", ran.folder.display().to_string()),
        ("ended", ran.how_it_ended()),
        ("took", took.unwrap_or_else(|| "-".to_owned())),
        ("output", format!("{} bytes on stdout, {} on stderr", ran.stdout_bytes, ran.stderr_bytes)),
    ]
}

/// The files that are in its folder now.
fn made(folder: &Path) -> Vec<String> {
    const SHOWN_MAX: usize = 20;
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.take(SHOWN_MAX).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
