//! The beginning of an attempt: its folder, its input, its environment, its process.

use crate::{
    config::ENVIRONMENT,
    confine::{SandboxBuilder, configuration},
    end::End,
    folder::Folders,
    output,
    pool::{Given, Launch},
    program::Programs,
    ran::Ran,
    secret::Secret,
    spawn::{Program, Started, Starter},
    tool::{Run, Setup, Wanted},
    tree,
};
use rustix::process::Pid;
use std::{
    ffi::OsString,
    fs::File,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

/// What a long input is called.
const INPUT: &str = "input";

/// What a pipe holds on every system, however few pages are left for pipes (`PIPE_BUF`).
const PIPE_BYTES: usize = 4096;

/// What the file with what its result must be like is called.
const SCHEMA: &str = "schema.json";

/// What the file with a tool's conversation is called.
const SESSION: &str = "session";

/// A process that was started, and what is taken out of everything that it says.
pub(crate) struct Begun {
    pub(crate) started: Started,
    pub(crate) secrets: Vec<Secret>,
    /// The run of the agent tool that it is, if it is one.
    pub(crate) run: Option<Run>,
    /// What runs, for people.
    pub(crate) ran: Ran,
}

/// What a thread that makes attempts keeps from one to the next.
pub(crate) struct Kit {
    pub(crate) starter: Starter,
    pub(crate) folders: Folders,
    pub(crate) programs: Programs,
}

impl Kit {
    /// Of the calling thread.
    pub(crate) fn new() -> Self {
        Self { starter: Starter::new(), folders: Folders::default(), programs: Programs::default() }
    }
}

/// Makes the folder and starts the process; `born` is told its id.
pub(crate) fn start(
    launch: &mut Launch,
    Kit { starter, folders, programs }: &mut Kit,
    sandboxes: &SandboxBuilder,
    born: &(dyn Fn(Pid) + Sync),
) -> Result<Begun, End> {
    let failed = |what: &str, retryable: bool| {
        let what = format!("cannot {what}");
        move |error: io::Error| End::Failed { error: format!("{what}: {error}"), retryable }
    };
    let none = Box::new(|| Err("the request was made before".to_owned()));
    let given = std::mem::replace(&mut launch.input, none)();
    let Given { mut input, mut stdin, env, secrets } =
        given.map_err(|error| End::Failed { error, retryable: false })?;
    folders.make(&launch.process, &launch.folder).map_err(failed("prepare the attempt's folder", true))?;
    let process = Arc::clone(&launch.process);
    let mut words = process.command[1..].to_vec();
    let mut run = None;
    if let Some(setup) = process.tool() {
        run = Some(begin(setup, launch, &mut words, &mut input, &mut stdin)?);
    }
    let mut shown = words.clone();
    if process.tool().is_some_and(Setup::is_prompted_by_argument) {
        if stdin.is_some() {
            let error =
                "the input refers to secrets, but this agent gets its prompt as an argument, which other users can see";
            return Err(End::Failed { error: error.to_owned(), retryable: false });
        }
        words.push(String::from_utf8_lossy(&std::mem::take(&mut input)).into_owned());
        shown.push("<prompt>".to_owned());
    }
    let stdin = match stdin {
        None if input.len() <= PIPE_BYTES => filled(&input),
        None => kept(&launch.files.with_added_extension(INPUT), &input),
        Some(secret) if secret.expose().len() <= PIPE_BYTES => filled(secret.expose().as_bytes()),
        Some(secret) => piped(secret),
    };
    let stdin = stdin.map_err(failed("give it its input", true))?;
    drop(input);
    let name = &process.command[0];
    let also: Vec<PathBuf> = launch.workdir.iter().chain(&launch.opened).cloned().collect();
    let sandbox = sandboxes.build(&process, &launch.folder, &also).map_err(|error| {
        let retryable = error.kind() != io::ErrorKind::NotFound;
        failed("confine it", retryable)(error)
    })?;
    let absent = || io::Error::new(io::ErrorKind::NotFound, "not found in PATH");
    // Looked for here, it is a few calls of `stat`; left to the child, it is as many failed calls of `exec` while we wait.
    let file = if name.contains('/') { Some(name.into()) } else { programs.find(name, Instant::now()) };
    let started = file.ok_or_else(absent).and_then(|file| {
        let program = to_run(launch, file.clone(), (&words, sandbox.is_some()), &env, stdin);
        let folder = program.folder.to_owned();
        let started = starter.start(program, sandbox, born)?;
        let ran = Ran::new(&started, file, shown, folder);
        Ok(Begun { started, secrets, run, ran })
    });
    started.map_err(|error| {
        // What is not there, may not be run or is no program will be no other the next time.
        let is_no_program = error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error());
        let retryable =
            !is_no_program && !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied);
        failed(&format!("start `{name}`"), retryable)(error)
    })
}

/// Begins a run of an agent tool: its words, and the prompt that becomes of its input.
fn begin(
    setup: &Setup,
    launch: &Launch,
    words: &mut Vec<String>,
    input: &mut Vec<u8>,
    stdin: &mut Option<Secret>,
) -> Result<Run, End> {
    let failed = |what: &'static str| {
        move |error: io::Error| End::Failed { error: format!("cannot {what}: {error}"), retryable: true }
    };
    let session = launch.folder.with_added_extension(SESSION);
    let mut run = Run::new(setup, session, &launch.tag).map_err(failed("store the conversation's id"))?;
    if let Some(schema) = launch.result_schema.clone() {
        run.want(Wanted { schema, file: launch.files.with_added_extension(SCHEMA) });
    }
    if let Some(Wanted { schema, file }) = run.schema_file() {
        kept(file, schema.as_bytes()).map_err(failed("store its result schema"))?;
    }
    words.extend(run.words(setup));
    *stdin = stdin.take().map(|secret| Secret::new(run.prompt(secret.expose())));
    *input = run.prompt(&String::from_utf8_lossy(input)).into_bytes();
    // Of the input as it was submitted: secrets stand in it as references.
    let model = setup.used_model(|| std::fs::read_to_string(configuration(&launch.process)?).ok());
    run.asked(&String::from_utf8_lossy(input), setup, model);
    Ok(run)
}

/// A pipe with these few bytes in it: nothing is made on a disk, and nobody need write while the other reads.
fn filled(input: &[u8]) -> io::Result<File> {
    let (reads, mut writes) = io::pipe()?;
    io::Write::write_all(&mut writes, input)?;
    Ok(File::from(OwnedFd::from(reads)))
}

/// A file with the input in it, from its beginning.
fn kept(path: &Path, input: &[u8]) -> io::Result<File> {
    let mut file = output::create(path)?;
    io::Write::write_all(&mut file, input)?;
    io::Seek::rewind(&mut file)?;
    Ok(file)
}

/// A pipe that gives the text. It is written by a thread of its own, for whoever reads it may take its time.
fn piped(text: Secret) -> io::Result<File> {
    let (reads, mut writes) = io::pipe()?;
    // Whoever does not read all of its input has what it wanted.
    let write = move || drop(io::Write::write_all(&mut writes, text.expose().as_bytes()));
    std::thread::Builder::new().name("input".to_owned()).spawn(write)?;
    Ok(File::from(OwnedFd::from(reads)))
}

fn to_run<'a>(
    launch: &'a Launch,
    file: PathBuf,
    (arguments, is_confined): (&'a [String], bool),
    secret: &[(String, Secret)],
    stdin: File,
) -> Program<'a> {
    let process = &launch.process;
    let mut environment: Vec<(OsString, OsString)> = Vec::new();
    let mut set = |name: OsString, value: OsString| {
        environment.retain(|(known, _)| *known != name);
        environment.push((name, value));
    };
    for name in ENVIRONMENT.iter().copied().chain(process.env.iter().map(String::as_str)) {
        if let Some(value) = std::env::var_os(name) {
            set(name.into(), value);
        }
    }
    if is_confined {
        // Everybody's folder for such files is outside.
        set("TMPDIR".into(), launch.folder.clone().into());
    }
    for (name, value) in process.set.iter().chain(launch.env.iter().map(|(name, value)| (name, value))) {
        set(name.into(), value.into());
    }
    for (name, value) in secret {
        set(name.into(), value.expose().into());
    }
    set(tree::VARIABLE.into(), (&launch.tag).into());
    Program { file, arguments, environment, folder: launch.workdir.as_deref().unwrap_or(&launch.folder), stdin }
}
