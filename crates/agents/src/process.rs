//! The beginning of an attempt: its folder, its input, its environment, its process.

use crate::{
    config::{ENVIRONMENT, Script},
    judge::End,
    output,
    pool::{Given, Launch},
    secret::Secret,
    spawn::{Program, Started, Starter},
    tree,
};
use std::{
    ffi::OsString,
    fs::{self, DirBuilder, File},
    io,
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

/// Names of the files in an attempt's folder.
const INPUT: &str = "input";
const WORK: &str = "work";

/// A process that was started, and what is taken out of everything that it says.
pub(crate) struct Begun {
    pub(crate) started: Started,
    pub(crate) secrets: Vec<Secret>,
}

/// Makes the folder and starts the process.
pub(crate) fn start(launch: &mut Launch, starter: &Starter) -> Result<Begun, End> {
    let failed = |what: &str, retryable: bool| {
        let what = format!("cannot {what}");
        move |error: io::Error| End::Failed { error: format!("{what}: {error}"), retryable }
    };
    let none = Box::new(|| Err("it was asked for before".to_owned()));
    let given = std::mem::replace(&mut launch.input, none)();
    let Given { input, stdin, env, secrets } = given.map_err(|error| End::Failed { error, retryable: false })?;
    let kept = prepare(&launch.folder, &input).map_err(failed("prepare the attempt's folder", true))?;
    drop(input);
    let stdin = match stdin {
        None => kept,
        // The file has the references; what they stand for goes by a pipe.
        Some(text) => piped(text).map_err(failed("give it its input", true))?,
    };
    let name = &launch.script.command[0];
    let work = launch.folder.join(WORK);
    let program = to_run(&launch.script, launch, &env, &work, stdin);
    let started = program.and_then(|program| starter.start(program)).map(|started| Begun { started, secrets });
    started.map_err(|error| {
        // What is not there, may not be run or is no program will be no other the next time.
        let is_no_program = error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error());
        let retryable =
            !is_no_program && !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied);
        failed(&format!("start `{name}`"), retryable)(error)
    })
}

/// The folder with the input in it. Gives what the process reads.
fn prepare(folder: &Path, input: &[u8]) -> io::Result<File> {
    let mut one = DirBuilder::new();
    one.mode(0o700);
    // Each level in one call: asked to make all of them, the standard library tries the deepest first.
    let made = folder.parent().map_or(Ok(()), |parent| one.create(parent)).or_else(there).and_then(|()| {
        one.create(folder).or_else(there)?;
        one.create(folder.join(WORK)).or_else(there)
    });
    match made {
        Err(error) if error.kind() == io::ErrorKind::NotFound => one.recursive(true).create(folder.join(WORK))?,
        made => made?,
    }
    let path = folder.join(INPUT);
    io::Write::write_all(&mut output::create(&path)?, input)?;
    File::open(path)
}

/// A pipe that gives the text. It is written by a thread of its own, for whoever reads it may take its time.
fn piped(text: Secret) -> io::Result<File> {
    let (reads, mut writes) = io::pipe()?;
    // Whoever does not read all of its input has what it wanted.
    let write = move || drop(io::Write::write_all(&mut writes, text.expose().as_bytes()));
    std::thread::Builder::new().name("input".to_owned()).spawn(write)?;
    Ok(File::from(OwnedFd::from(reads)))
}

fn there(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) }
}

fn to_run<'a>(
    script: &'a Script,
    launch: &Launch,
    secret: &[(String, Secret)],
    folder: &'a Path,
    stdin: File,
) -> io::Result<Program<'a>> {
    let mut environment: Vec<(OsString, OsString)> = Vec::new();
    let mut set = |name: OsString, value: OsString| {
        environment.retain(|(known, _)| *known != name);
        environment.push((name, value));
    };
    for name in ENVIRONMENT.iter().copied().chain(script.env.iter().map(String::as_str)) {
        if let Some(value) = std::env::var_os(name) {
            set(name.into(), value);
        }
    }
    for (name, value) in script.set.iter().chain(launch.env.iter().map(|(name, value)| (name, value))) {
        set(name.into(), value.into());
    }
    for (name, value) in secret {
        set(name.into(), value.expose().into());
    }
    set(tree::VARIABLE.into(), (&launch.tag).into());
    // Looked for here, it is a few calls of `stat`; left to the child, it is as many failed calls of `exec` while we wait.
    let name = &script.command[0];
    let absent = || io::Error::new(io::ErrorKind::NotFound, "it is in no folder of PATH");
    let file = if name.contains('/') { name.into() } else { program(name).ok_or_else(absent)? };
    Ok(Program { file, arguments: &script.command[1..], environment, folder, stdin })
}

/// The file that would be run for a program of this name: on PATH, unless the name has a folder. `None`: there is none that runs.
pub fn program(name: &str) -> Option<PathBuf> {
    let runs = |file: &PathBuf| {
        fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(name.into()).filter(runs);
    }
    // Without a PATH, where the C library looks.
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let candidates = std::env::split_paths(&path).map(|folder| folder.join(name));
    candidates.filter(|file| file.is_absolute()).find(runs)
}
