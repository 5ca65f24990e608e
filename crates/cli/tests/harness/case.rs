//! A case: a folder with one root in it, and the commands that are run on that root.

use super::process::{Ran, binary, json_lines, run, whole_binary};
use serde_json::Value;
use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// A folder of its own, removed at the end unless it is kept as evidence.
#[derive(Debug)]
pub(crate) struct Case {
    folder: TempDir,
    path: PathBuf,
}

impl Case {
    /// An empty case: there is no root yet. In memory where that can be had: a killed process leaves the same bytes on
    /// every file system, and a thousand roots are not worth as many seconds of waiting for a disk.
    pub(crate) fn new() -> Self {
        let memory = PathBuf::from("/dev/shm");
        Self::under(&if memory.is_dir() { memory } else { std::env::temp_dir() })
    }

    /// An empty case in this folder.
    pub(crate) fn under(parent: &Path) -> Self {
        let made = tempfile::Builder::new().prefix("relaymesh-case-").tempdir_in(parent);
        let folder = made.unwrap_or_else(|error| panic!("no folder in {}: {error}", parent.display()));
        // Points are compared by the text of their paths.
        let path = fs::canonicalize(folder.path()).unwrap_or_else(|error| panic!("no path: {error}"));
        Self { folder, path }
    }

    /// A case whose root is a copy of this one's.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self::new();
        if self.root().exists() {
            copy_folder(&self.root(), &copy.root()).unwrap_or_else(|error| panic!("cannot copy: {error}"));
        }
        copy
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path.join("root")
    }

    /// A file of the root.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Whether the database has its name: before that there is no root.
    pub(crate) fn has_database(&self) -> bool {
        self.file("relaymesh.db").exists()
    }

    /// Where the stdout of a watched run goes, so that its writes have a path.
    pub(crate) fn stdout(&self) -> PathBuf {
        self.path.join("stdout")
    }

    /// What a watched run has said.
    pub(crate) fn said(&self) -> Vec<Value> {
        json_lines(&fs::read_to_string(self.stdout()).unwrap_or_default())
    }

    /// The command line that does this to the root.
    pub(crate) fn arguments(&self, arguments: &[impl AsRef<str>]) -> Vec<String> {
        let root = self.root().display().to_string();
        let own = ["--root", &root, "--json"].into_iter();
        own.chain(arguments.iter().map(AsRef::as_ref)).map(str::to_owned).collect()
    }

    /// Runs the binary on the root.
    pub(crate) fn run(&self, arguments: &[impl AsRef<str>]) -> Ran {
        run(quiet(Command::new(binary()).args(self.arguments(arguments))), None)
    }

    /// The same with these variables, from the case's folder.
    pub(crate) fn run_with(&self, variables: &[(&str, OsString)], arguments: &[impl AsRef<str>]) -> Ran {
        let mut command = Command::new(whole_binary());
        command.current_dir(self.path()).envs(variables.iter().map(|(name, value)| (name, value)));
        run(quiet(command.args(self.arguments(arguments))), None)
    }

    /// Runs a command that ends in the binary, with something around it that watches its calls. Stdout goes to a file.
    pub(crate) fn run_under(&self, watching: &mut Command, arguments: &[String]) -> Ran {
        let stdout = File::create(self.stdout()).unwrap_or_else(|error| panic!("no file for stdout: {error}"));
        run(quiet(watching.args(self.arguments(arguments))), Some(stdout))
    }

    /// The tasks that are listed.
    pub(crate) fn tasks(&self) -> Result<Vec<Value>, String> {
        Ok(self.run(&["task", "list", "--limit", "1000"]).expect(0)?.lines())
    }

    /// One task with its steps and their history.
    pub(crate) fn task(&self, id: &str) -> Result<Value, String> {
        let shown = self.run(&["task", "show", id, "--history"]);
        let mut lines = shown.expect(0)?.lines();
        if lines.len() == 1 { Ok(lines.remove(0)) } else { Err(format!("one line wanted: {shown}")) }
    }

    /// Keeps the folder, and says where it is.
    pub(crate) fn keep(self) -> PathBuf {
        self.folder.keep()
    }
}

/// The same environment whoever starts the test.
pub(crate) fn quiet(command: &mut Command) -> &mut Command {
    command
        .env_remove("RELAYMESH_ROOT")
        .env_remove("RELAYMESH_NAMESPACE")
        .env("USER", "tester")
        .env("RELAYMESH_NO_DAEMON", "1")
}

/// Copies a folder with everything in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to.join(entry.file_name()))?;
        } else {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}
