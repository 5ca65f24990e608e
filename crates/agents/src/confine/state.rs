//! Where agent tools keep what they know, and what `~` means to an agent.

use crate::{agent::Process, tool::Tool};
use std::{
    collections::BTreeMap,
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

/// A place in which a tool keeps something.
enum Place {
    /// A folder: in the variable if that is set, else under the home folder.
    Folder(Option<&'static str>, &'static str),
    /// A file under the home folder, and what is in it at first; unless the variable is set, for then it is in that folder.
    File(&'static str, &'static str, &'static str),
}

/// Where each tool keeps its conversations, its keys and its settings. Without them it does not even start.
fn places(tool: Tool) -> &'static [Place] {
    match tool {
        Tool::Codex => &[Place::Folder(Some("CODEX_HOME"), ".codex")],
        Tool::Claude => &[
            Place::Folder(Some("CLAUDE_CONFIG_DIR"), ".claude"),
            Place::File("CLAUDE_CONFIG_DIR", ".claude.json", "{}\n"),
        ],
        Tool::Gemini => &[Place::Folder(None, ".gemini")],
        Tool::Opencode => &[
            Place::Folder(None, ".local/share/opencode"),
            Place::Folder(None, ".config/opencode"),
            Place::Folder(None, ".cache/opencode"),
            Place::Folder(None, ".local/state/opencode"),
        ],
        Tool::Aider => &[Place::Folder(None, ".aider")],
        // Nobody knows; its entry says so with `writable`.
        Tool::Generic => &[],
    }
}

/// A variable as this agent has it.
fn variable(process: &Process, name: &str) -> Option<PathBuf> {
    let passed = || process.env.iter().any(|known| known == name).then(|| std::env::var_os(name)).flatten();
    process.set.get(name).map(PathBuf::from).or_else(|| passed().map(PathBuf::from)).filter(|path| path.is_absolute())
}

/// The home folder of an agent with these variables.
fn home(set: &BTreeMap<String, String>) -> Option<PathBuf> {
    let usual = || std::env::var_os("HOME").map(PathBuf::from);
    set.get("HOME").map(PathBuf::from).or_else(usual).filter(|home| home.is_absolute())
}

/// The file with the configuration of the agent's tool, if it has one that says which model it uses.
pub(crate) fn configuration(process: &Process) -> Option<PathBuf> {
    if process.tool()?.tool != Tool::Codex {
        return None;
    }
    let folder = variable(process, "CODEX_HOME").or_else(|| Some(home(&process.set)?.join(".codex")))?;
    Some(folder.join("config.toml"))
}

/// The path that this word of `writable` means: `~` is the agent's home folder, and what is relative is beside `agents.toml`.
pub(crate) fn expand(word: &str, set: &BTreeMap<String, String>, beside: &Path) -> Result<PathBuf, String> {
    let missing = || format!("`{word}` in `writable` needs the variable HOME");
    let path = match word.strip_prefix('~') {
        Some("") => home(set).ok_or_else(missing)?,
        Some(rest) if rest.starts_with('/') => home(set).ok_or_else(missing)?.join(&rest[1..]),
        Some(_) => return Err(format!("`{word}` in `writable`: the home folders of other users are not supported")),
        None => std::path::absolute(beside).map_err(|error| error.to_string())?.join(word),
    };
    if word.is_empty() || word.contains('\0') {
        return Err("`writable` has an entry that is not a path".to_owned());
    }
    Ok(path)
}

/// The places of the agent's tool, made if they are not there: the tool would make them itself, and cannot from inside its sandbox.
pub(crate) fn own_folders(process: &Process) -> Vec<PathBuf> {
    let Some((setup, home)) = process.tool().zip(home(&process.set)) else { return Vec::new() };
    let folder = |path: PathBuf| made(&path).is_ok().then_some(path);
    let place = |place: &Place| match place {
        Place::Folder(name, usual) => folder(name.and_then(|name| variable(process, name)).unwrap_or(home.join(usual))),
        Place::File(name, ..) if variable(process, name).is_some() => None,
        Place::File(_, usual, first) => {
            let file = home.join(usual);
            (file.exists() || std::fs::write(&file, first).is_ok()).then_some(file)
        }
    };
    places(setup.tool).iter().filter_map(place).collect()
}

fn made(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(extra: &str) -> Process {
        let agents = crate::Agents::parse(&format!("[agents.a]\n{extra}\n"), Path::new("/nowhere")).unwrap();
        agents.get(&"a".parse().unwrap()).unwrap().process().unwrap().clone()
    }

    #[test]
    fn a_tool_has_its_own_places_where_it_is_told_to_keep_them() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let with =
            |tool: &str, more: &str| process(&format!("tool = \"{tool}\"\nset = {{ HOME = {:?}{more} }}", home.path()));
        assert_eq!(own_folders(&with("codex", "")), [at(".codex")]);
        assert_eq!(own_folders(&with("claude", "")), [at(".claude"), at(".claude.json")]);
        assert_eq!(std::fs::read_to_string(at(".claude.json")).unwrap(), "{}\n");
        let elsewhere = format!(", CLAUDE_CONFIG_DIR = {:?}", at("c"));
        assert_eq!(own_folders(&with("claude", &elsewhere)), [at("c")]);
        assert_eq!(own_folders(&with("opencode", "")).len(), 4);
        assert!(at(".config/opencode").is_dir());
        assert_eq!(own_folders(&process("command = [\"sh\"]")), Vec::<PathBuf>::new());
    }

    #[test]
    fn words_of_writable_become_paths() {
        let process = process("command = [\"sh\"]\nset = { HOME = \"/home/x\" }");
        let path =
            |word: &str| expand(word, &process.set, Path::new("/root/of")).map(|path| path.display().to_string());
        assert_eq!(path("~").unwrap(), "/home/x");
        assert_eq!(path("~/.cache").unwrap(), "/home/x/.cache");
        assert_eq!(path("out").unwrap(), "/root/of/out");
        assert_eq!(path("/srv").unwrap(), "/srv");
        assert!(path("~bob").is_err() && path("").is_err());
    }
}
