//! Changing `agents.toml` as a person would: comments and order stay, and a file that would not load is never written.

use crate::{
    agents,
    args::Context,
    error::{Code, Error, Place},
    root,
};
use relaymesh_agents::{Agents, config::FILE};
use relaymesh_core::name::Name;
use rustix::fs::{FlockOperation, flock};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};
use toml_edit::{DocumentMut, Item, Table};

/// The table with all entries.
const TABLE: &str = "agents";

/// The file, while nobody else changes it by a command.
pub(super) struct Sheet {
    path: PathBuf,
    folder: PathBuf,
    document: DocumentMut,
    _alone: File,
}

impl Sheet {
    /// The same; makes the root if there is none, as every command does that adds something.
    pub(super) fn open_or_create(context: &Context) -> Result<Self, Error> {
        if root::there(&context.root).is_err() {
            root::open_or_create(&context.root, &Default::default())?.close()?;
        }
        Self::open(context)
    }

    /// The file of this root, which must load as it is.
    pub(super) fn open(context: &Context) -> Result<Self, Error> {
        root::there(&context.root)?;
        let folder = context.root.clone();
        let alone =
            File::open(&folder).and_then(|file| Ok(flock(&file, FlockOperation::LockExclusive).map(|()| file)?));
        let alone = alone.map_err(|error| failed(&folder, &error))?;
        agents::read(&folder)?;
        let named = folder.join(FILE);
        // If the file is a symbolic link, the link is kept.
        let path = fs::canonicalize(&named).unwrap_or(named);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failed(&path, &error)),
        };
        let document = text.parse::<DocumentMut>();
        let document = document.map_err(|error| Error::new(Code::BadAgents, error.message().to_owned()))?;
        Ok(Self { path, folder, document, _alone: alone })
    }

    /// Whether there is an entry of this name.
    pub(super) fn has(&self, name: &Name) -> bool {
        self.document.get(TABLE).and_then(Item::as_table_like).is_some_and(|all| all.contains_key(name.as_str()))
    }

    /// Puts an entry there, in the place of the one that is.
    pub(super) fn put(&mut self, name: &Name, entry: Table) -> Result<(), Error> {
        let all = self.document.entry(TABLE).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let all = all.as_table_like_mut();
        let all = all.ok_or_else(|| Error::new(Code::BadAgents, format!("`{TABLE}` in {FILE} is not a table")))?;
        all.insert(name.as_str(), Item::Table(entry));
        Ok(())
    }

    /// Takes an entry away; `false` if there is none.
    pub(super) fn take(&mut self, name: &Name) -> bool {
        let all = self.document.get_mut(TABLE).and_then(Item::as_table_like_mut);
        all.is_some_and(|all| all.remove(name.as_str()).is_some())
    }

    /// Writes it, if it loads: all of it is there afterwards, or what was there before.
    pub(super) fn write(self) -> Result<Agents, Error> {
        let text = self.document.to_string();
        let agents = Agents::parse(&text, &self.folder).map_err(|error| {
            let line = |line: usize| text.lines().nth(line - 1).unwrap_or_default().chars().take(160).collect();
            let place = error.place.map(|(at, column)| Place {
                file: format!("{FILE} (after the change)"),
                line: at,
                column,
                text: line(at),
            });
            Error::new(Code::BadAgents, error.message).at(place).hint("nothing was written")
        })?;
        replace(&self.path, text.as_bytes()).map_err(|error| failed(&self.path, &error))?;
        Ok(agents)
    }
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mode = fs::metadata(path).map_or(0o600, |found| found.permissions().mode() & 0o777);
    let new = path.with_added_extension("new");
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(mode).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::new(Code::StoreIo, format!("cannot change {}: {error}", path.display()))
}
