//! What an entry says about a process: its program, what it is given, and what it may do.

use super::{KEY_VARIABLE, entry::Entry, result_bytes_max};
use crate::{
    agent::{Process, Protocol},
    confine, env,
    tool::{Setup, Tool},
};
use relaymesh_core::name::Name;
use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

/// What a tool may say in all.
const TOOL_OUTPUT_BYTES: u64 = 64 << 20;

/// The time between SIGTERM and SIGKILL, unless the entry says otherwise.
const GRACE_MS: u64 = 5_000;

/// The process that this entry describes; paths are relative to `root`.
pub(super) fn read(entry: &mut Entry, root: &Path) -> Result<Process, String> {
    let protocol = protocol(entry)?;
    let mut process = Process {
        command: entry.command.take().unwrap_or_default(),
        env: entry.env.take().unwrap_or_default(),
        set: entry.set.take().unwrap_or_default(),
        folder: entry.folder.take().map(|path| existing(&path, root)).transpose()?,
        grace_ms: entry.grace_ms.unwrap_or(GRACE_MS),
        output_bytes_max: result_bytes_max(entry.output_bytes_max),
        confine: entry.confine.unwrap_or_default(),
        writable: entry.writable.take().unwrap_or_default(),
        opens_root: false,
        limits: entry.limits.unwrap_or_default(),
        protocol,
    };
    if let Protocol::Tool(setup) = &process.protocol {
        if process.command.is_empty() && setup.tool != Tool::Generic {
            process.command.push(setup.tool.program().to_owned());
        }
        // What it says while it works is longer than its result.
        process.output_bytes_max = process.output_bytes_max.max(TOOL_OUTPUT_BYTES);
    }
    if process.command.first().is_none_or(String::is_empty) {
        return Err(match process.protocol {
            Protocol::Tool(_) => "`command` does not name a program".to_owned(),
            Protocol::Plain { .. } => "the agent needs a `command`, a `tool` or a `url`".to_owned(),
        });
    }
    check_passed_on(&process, &entry.secrets)?;
    process.limits.check()?;
    open(&mut process, root)?;
    for word in &mut process.command {
        if let Some(path) = beside(word, root) {
            *word = path.display().to_string();
        }
    }
    Ok(process)
}

fn protocol(entry: &mut Entry) -> Result<Protocol, String> {
    let generic = match (entry.tool, entry.cli.take()) {
        (None, None) => return Ok(Protocol::Plain { is_text: entry.result.is_some() }),
        (Some(Tool::Generic), generic) => Some(generic.unwrap_or_default()),
        (None, Some(generic)) => Some(generic),
        (Some(_), None) => None,
        (Some(_), Some(_)) => {
            return Err("`cli` describes the output of an unknown tool, but this `tool` is known: remove one of them"
                .to_owned());
        }
    };
    generic.as_ref().map_or(Ok(()), |generic| generic.check())?;
    Ok(Protocol::Tool(Setup {
        tool: entry.tool.unwrap_or(Tool::Generic),
        model: entry.model.take(),
        args: entry.args.take().unwrap_or_default(),
        generic,
    }))
}

fn existing(path: &Path, root: &Path) -> Result<PathBuf, String> {
    let full = std::path::absolute(root.join(path)).map_err(|error| format!("`folder`: {error}"))?;
    if full.is_dir() { Ok(full) } else { Err(format!("`folder`: the folder {} does not exist", full.display())) }
}

/// Whether the words and variables can be given to a process, and may be.
fn check_passed_on(process: &Process, secrets: &BTreeMap<String, Name>) -> Result<(), String> {
    let bad = |name: &str| name.is_empty() || name.contains(['=', '\0']);
    let names = process.env.iter().chain(process.set.keys()).chain(secrets.keys());
    if let Some(name) = names.into_iter().find(|name| bad(name)) {
        return Err(format!("`{name}` is not a valid variable name"));
    }
    if let Some(name) = process.set.keys().find(|name| secrets.contains_key(*name)) {
        return Err(format!("`{name}` is in both `set` and `secrets`"));
    }
    if process.env.iter().any(|name| name == KEY_VARIABLE) {
        return Err(format!("`{KEY_VARIABLE}` decrypts all secrets and cannot be passed on"));
    }
    let of_tool = process.tool().into_iter().flat_map(|setup| setup.args.iter().chain(&setup.model));
    if process.command.iter().chain(of_tool).chain(process.set.values()).any(|word| word.contains('\0')) {
        return Err(super::ZERO_BYTE.to_owned());
    }
    if let Some(name) = process.env.iter().find(|name| env::is_banned(name)) {
        return Err(format!(
            "`{name}` changes which programs run or which servers they use, so it is not passed on from the daemon; to use it, give it a value in `set`"
        ));
    }
    Ok(())
}

/// Makes the words of `writable` full paths, and looks whether the root is in one of them.
fn open(process: &mut Process, root: &Path) -> Result<(), String> {
    let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    let root_at = real(root).map_err(|error| error.to_string())?;
    let mut paths = Vec::new();
    for word in &process.writable {
        let path = confine::expand(word, &process.set, root)?;
        process.opens_root |= real(&path).is_ok_and(|path| root_at.starts_with(path));
        paths.push(path.into_os_string().into_string().map_err(|_| format!("`{word}` in `writable` is not UTF-8"))?);
    }
    process.writable = paths;
    Ok(())
}

/// The file beside `agents.toml` that this word names. An agent works in a folder of its own, so the name alone would not do.
fn beside(word: &str, root: &Path) -> Option<PathBuf> {
    let path = Path::new(word);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let found = std::path::absolute(root).ok()?.join(path);
    (plain && !word.is_empty() && found.is_file()).then_some(found)
}
