//! The files of the checkout: what git tracks or would track, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::SystemTime;

use super::Finding;
use super::source::{self, Source};
use crate::run::{Cmd, Failure, Result};

/// Folders that are never ours, for a checkout where git cannot be asked.
const NOT_OURS: [&str; 4] = [".git", ".relaymesh", "target", "node_modules"];

/// Paths are relative to the root and use `/`.
#[derive(Default)]
pub(crate) struct Tree {
    paths: BTreeSet<String>,
    texts: BTreeMap<String, String>,
    sources: BTreeMap<String, Source>,
    unreadable: Vec<(String, usize, String)>,
}

impl Tree {
    pub(crate) fn read(root: &Path) -> Result<Tree> {
        let mut files = Vec::new();
        for path in list(root)? {
            let is_text = [".rs", ".md", ".toml"].iter().any(|end| path.ends_with(end));
            let text = if is_text {
                let read = std::fs::read_to_string(root.join(&path));
                Some(read.map_err(|error| Failure(format!("could not read {path}: {error}")))?)
            } else {
                None
            };
            files.push((path, text));
        }
        Ok(Tree::new(files))
    }

    /// A tree from nothing but text, for the tests of the checks.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        Tree::new(files.iter().map(|(path, text)| (path.to_string(), Some(text.to_string()))))
    }

    fn new(files: impl IntoIterator<Item = (String, Option<String>)>) -> Tree {
        let mut tree = Tree::default();
        let mut test_folders = BTreeSet::new();
        for (path, text) in files {
            tree.paths.insert(path.clone());
            let Some(text) = text else { continue };
            if path.ends_with(".rs") {
                match Source::lex(&text) {
                    Ok(source) => {
                        test_folders.extend(source.test_modules.iter().map(|name| source::folder_of(&path) + name));
                        tree.sources.insert(path.clone(), source);
                    }
                    Err((line, problem)) => tree.unreadable.push((path.clone(), line, problem)),
                }
            }
            tree.texts.insert(path, text);
        }
        for (path, source) in &mut tree.sources {
            let declared_as_test = |folder: &String| {
                path.strip_prefix(folder.as_str()).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            };
            source.is_test = source::is_test_path(path) || test_folders.iter().any(declared_as_test);
        }
        tree
    }

    pub(super) fn sources(&self) -> impl Iterator<Item = (&str, &Source)> {
        self.sources.iter().map(|(path, source)| (path.as_str(), source))
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    pub(crate) fn texts_named(&self, end: &str) -> impl Iterator<Item = (&str, &str)> {
        self.texts
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .filter(move |(path, _)| path.ends_with(end))
    }

    /// Is there such a file?
    pub(crate) fn is_file(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Is there such a file, or a folder with files in it?
    pub(super) fn exists(&self, path: &str) -> bool {
        let inside = format!("{}/", path.trim_end_matches('/'));
        path.is_empty() || self.paths.contains(path) || self.paths.iter().any(|known| known.starts_with(&inside))
    }

    /// The line of a manifest that starts with `key`, or the first.
    pub(super) fn line_of(&self, manifest: &str, key: &str) -> usize {
        let starts = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '.', '=']));
        self.text(manifest).unwrap_or_default().lines().position(starts).map_or(1, |index| index + 1)
    }

    /// Every package's name and folder (with a closing `/`).
    pub(super) fn packages(&self) -> Vec<(&str, &str)> {
        let manifests = self.texts_named("Cargo.toml");
        manifests
            .filter_map(|(path, text)| {
                let package = text.split_once("[package]")?.1;
                let name = package.lines().find_map(|line| line.strip_prefix("name = "))?;
                Some((name.trim().trim_matches('"'), path.trim_end_matches("Cargo.toml")))
            })
            .collect()
    }

    pub(super) fn unreadable(&self) -> Vec<Finding> {
        let finding = |(path, line, problem): &(String, usize, String)| {
            Finding::new(path, *line, problem.as_str(), "make it readable Rust; the other checks skipped this file")
        };
        self.unreadable.iter().map(finding).collect()
    }
}

/// When each file was last written, and its size.
pub(crate) type Stamps = BTreeMap<String, (SystemTime, u64)>;

pub(crate) fn stamps(root: &Path) -> Result<Stamps> {
    let stamp = |path: String| {
        let meta = std::fs::symlink_metadata(root.join(&path)).ok()?;
        Some((path, (meta.modified().ok()?, meta.len())))
    };
    Ok(list(root)?.into_iter().filter_map(stamp).collect())
}

pub(crate) fn changed<'a>(before: &'a Stamps, after: &'a Stamps) -> Vec<&'a str> {
    let all: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    all.into_iter().filter(|path| before.get(*path) != after.get(*path)).map(String::as_str).collect()
}

fn list(root: &Path) -> Result<BTreeSet<String>> {
    let git = Cmd::new("git", "ls-files --cached --others --exclude-standard -z");
    let mut paths = BTreeSet::new();
    if git.works(root) {
        paths.extend(git.read(root)?.split('\0').filter(|path| root.join(path).is_file()).map(String::from));
    } else {
        walk(root, "", &mut paths).map_err(|error| Failure(format!("could not list the checkout: {error}")))?;
    }
    Ok(paths)
}

fn walk(folder: &Path, prefix: &str, paths: &mut BTreeSet<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            if !NOT_OURS.contains(&name.as_str()) {
                walk(&entry.path(), &format!("{prefix}{name}/"), paths)?;
            }
        } else {
            paths.insert(format!("{prefix}{name}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_git_the_folder_is_walked() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["a/b.rs", "target/c.rs", "README.md"] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "// text").unwrap();
        }
        let before = stamps(folder.path()).unwrap();
        assert_eq!(before.keys().collect::<Vec<_>>(), ["README.md", "a/b.rs"]);
        let tree = Tree::read(folder.path()).unwrap();
        assert!(tree.exists("a") && tree.exists("a/b.rs") && !tree.exists("target/c.rs"));

        std::fs::write(folder.path().join("a/new.rs"), "").unwrap();
        assert_eq!(changed(&before, &stamps(folder.path()).unwrap()), ["a/new.rs"]);
    }

    #[test]
    fn broken_source_is_a_finding_and_sound_source_is_none() {
        assert_eq!(Tree::of(&[("a.rs", "fn a() {}")]).unreadable(), []);
        assert_eq!(Tree::of(&[("a.rs", "\nfn a( {}")]).unreadable().len(), 1);
    }
}
