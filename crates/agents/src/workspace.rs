//! A working tree of a repository for a step: made before its attempt, kept when it fails, and told of when it is done.
//!
//! A clone for each step is the tempting answer: it is slow, and its branches end up in a folder that nobody looks into. A *worktree* shares
//! the repository's objects, and the branch is there for everybody at once. Git refuses to check a branch out twice, but two attempts could
//! still race to make it, and a person may hold it: whoever makes a workspace holds a lock on the branch meanwhile.
//!
//! All attempts of a step work in the same tree, so that a retry goes on where the last one stopped.

use crate::end::End;
use relaymesh_core::{content::Media, task::spec::Workspace};
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The folder of all working trees, in the root, unless they are put elsewhere.
pub const FOLDER: &str = "workspaces";

/// The longest words of git that are passed on.
const WORDS_MAX: usize = 400;
/// Who commits what an agent left uncommitted.
const AUTHOR: [&str; 4] = ["-c", "user.name=relaymesh", "-c", "user.email=relaymesh@localhost"];
/// Nothing of a repository's own is run by us: neither its hooks nor its file watcher.
const QUIET: [&str; 4] = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];

/// What happens to a worktree whose step is done. One whose step failed is always kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// It goes; the branch stays.
    #[default]
    Failed,
    /// It stays until the task is purged.
    Always,
}

/// Where worktrees are made, and how long they stay: `[workspaces]` in `agents.toml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Workspaces {
    /// The folder; without one, `workspaces` in the root.
    pub folder: Option<PathBuf>,
    /// How long they stay.
    pub keep: Keep,
}

/// A worktree that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The repository.
    pub repository: PathBuf,
    /// What it begins from.
    pub reference: Option<String>,
    /// The branch.
    pub branch: String,
    /// Where it is.
    pub folder: PathBuf,
    /// What happens to it when its step is done.
    pub keep: Keep,
    /// What its commits are called.
    pub title: String,
}

impl Plan {
    /// The plan for a step. Paths that are not absolute are relative to the root.
    pub fn new(asked: &Workspace, policy: &Workspaces, root: &Path, (task, step): (&str, &str)) -> Self {
        let folder = policy.folder.as_ref().map_or_else(|| root.join(FOLDER), |folder| meant(folder, root));
        Self {
            repository: meant(Path::new(&asked.git), root),
            reference: asked.reference.clone(),
            branch: asked.branch.clone().unwrap_or_else(|| format!("relaymesh/{task}/{step}")),
            folder: folder.join(task).join(step),
            keep: policy.keep,
            title: format!("{step} of {task}"),
        }
    }

    /// The same in the repository's own folder, if there is a repository: a path to one of its folders means it. The error is for
    /// people; another attempt would find the same.
    pub fn in_repository(mut self) -> Result<Self, String> {
        let top = git(&self.repository, ["rev-parse", "--show-toplevel"]);
        let found = match top {
            Ok(top) if !top.is_empty() => PathBuf::from(top),
            // A bare one has no working tree.
            _ => self.common().map(|_| self.repository.clone())?,
        };
        self.repository = found.canonicalize().unwrap_or(found);
        Ok(self)
    }

    /// Where the repository keeps its objects and branches.
    fn common(&self) -> Result<PathBuf, String> {
        let common = git(&self.repository, ["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        common.map(PathBuf::from).map_err(|words| {
            let at = self.repository.display();
            if self.repository.is_dir() {
                format!("`{at}` (`workspace.git`) is not a usable git repository: {words}")
            } else {
                format!(
                    "the repository `{at}` (`workspace.git`) does not exist: give an absolute path, or one relative to the root"
                )
            }
        })
    }

    /// Makes the worktree, or finds the one that an earlier attempt left. The error is for people.
    pub fn make(&self) -> Result<Tree, String> {
        let repository = &self.repository;
        let common = self.common()?;
        if self.folder.join(".git").exists() {
            return self.found(common);
        }
        // One that was removed by hand is still known to git, which would not make another in its place.
        git(repository, ["worktree", "prune"])?;
        let parent = self.folder.parent().unwrap_or(&self.folder);
        fs::create_dir_all(parent).map_err(|error| format!("cannot make `{}`: {error}", parent.display()))?;
        let base = self.base()?;
        let folder = self.folder.as_os_str();
        let branch = format!("refs/heads/{}", self.branch);
        let added = if git(repository, ["rev-parse", "--verify", "--quiet", &branch]).is_ok() {
            git(repository, [OsStr::new("worktree"), "add".as_ref(), folder, self.branch.as_ref()])
        } else {
            let words =
                [OsStr::new("worktree"), "add".as_ref(), "-b".as_ref(), self.branch.as_ref(), folder, base.as_ref()];
            git(repository, words)
        };
        added.map_err(|words| {
            format!("cannot check out branch `{}` of `{}`: {words}", self.branch, repository.display())
        })?;
        Ok(Tree { plan: self.clone(), common, base })
    }

    /// The worktree of an earlier attempt. What it began from is where the branch left its reference.
    fn found(&self, common: PathBuf) -> Result<Tree, String> {
        let on = git(&self.folder, ["rev-parse", "--abbrev-ref", "HEAD"])?;
        if on != self.branch {
            return Err(format!(
                "`{}` is on branch `{on}`, not on `{}`: an earlier attempt switched it. Switch it back, or remove the folder",
                self.folder.display(),
                self.branch
            ));
        }
        let base = self.base()?;
        let base = git(&self.folder, ["merge-base", "HEAD", &base]).unwrap_or(base);
        Ok(Tree { plan: self.clone(), common, base })
    }

    fn base(&self) -> Result<String, String> {
        let named = self.reference.as_deref().unwrap_or("HEAD");
        let commit = format!("{named}^{{commit}}");
        git(&self.repository, ["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).map_err(|_| {
            format!(
                "`{named}` is not a branch, tag or commit of `{}`: check `workspace.ref`",
                self.repository.display()
            )
        })
    }
}

/// The path that these words mean: relative to the root, like every path in `agents.toml`. Until 0048 it was relative to the folder that
/// contains the root; what is only there is still found there.
fn meant(path: &Path, root: &Path) -> PathBuf {
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    let here = root.join(path);
    match root.parent().map(|home| home.join(path)) {
        Some(before) if !here.exists() && before.exists() => before,
        Some(_) | None => here,
    }
}

/// Whether `workspace.git` of a step names a repository. The error is for people.
pub fn check(repository: &str, root: &Path) -> Result<(), String> {
    let asked = Workspace { git: repository.to_owned(), reference: None, branch: None };
    Plan::new(&asked, &Workspaces::default(), root, ("", "")).common().map(drop)
}

/// A worktree that is there.
#[derive(Debug)]
pub struct Tree {
    plan: Plan,
    common: PathBuf,
    base: String,
}

impl Tree {
    /// Where the step works.
    pub fn folder(&self) -> &Path {
        &self.plan.folder
    }

    /// What else it writes to: the repository's objects and branches.
    pub fn common(&self) -> &Path {
        &self.common
    }

    /// The attempt is over. What is done gets a commit of whatever lies there, and a result that says where it is; what failed is kept.
    pub fn leave(self, end: End) -> End {
        match end {
            End::Done { media, result } => match self.done(media, &result) {
                Ok(result) => End::Done { media: Media::Json, result },
                Err(words) => {
                    let error = format!(
                        "the step is done, but its work cannot be committed to branch `{}`: {words}",
                        self.plan.branch
                    );
                    End::Failed { error, retryable: true }
                }
            },
            End::Failed { error, retryable } => {
                End::Failed { error: format!("{error} (its worktree is kept: {})", self.folder().display()), retryable }
            }
            end @ End::Limited { .. } => end,
        }
    }

    fn done(&self, media: Media, result: &[u8]) -> Result<Vec<u8>, String> {
        let folder = self.folder();
        git(folder, ["add", "--all"])?;
        if git(folder, ["diff", "--cached", "--quiet"]).is_err() {
            let words = AUTHOR.into_iter().chain(["commit", "--quiet", "--no-verify", "-m", &self.plan.title]);
            git(folder, words.collect::<Vec<_>>())?;
        }
        let commit = git(folder, ["rev-parse", "HEAD"])?;
        let changes = git(folder, ["diff", "--numstat", &self.base, "HEAD"])?;
        let given = match media {
            Media::Json => serde_json::from_slice(result).unwrap_or(Value::Null),
            Media::Text => String::from_utf8_lossy(result).into_owned().into(),
        };
        let (files, insertions, deletions) = counted(&changes);
        if self.plan.keep == Keep::Failed {
            // The branch has everything by now. A tree that cannot be removed goes with its task.
            let _ = git(&self.plan.repository, [OsStr::new("worktree"), "remove".as_ref(), folder.as_os_str()]);
        }
        let value = json!({ "result": given, "workspace": {
            "repository": self.plan.repository, "branch": self.plan.branch, "base": self.base, "commit": commit,
            "files": files, "insertions": insertions, "deletions": deletions,
        }});
        Ok(value.to_string().into_bytes())
    }
}

/// Files, lines that came and lines that went, of `git diff --numstat`. A binary file has no lines.
fn counted(changes: &str) -> (u64, u64, u64) {
    changes.lines().fold((0, 0, 0), |(files, came, went), line| {
        let mut words = line.split('\t').map(|word| word.parse::<u64>().unwrap_or(0));
        (files + 1, came + words.next().unwrap_or(0), went + words.next().unwrap_or(0))
    })
}

/// What git says, or why it does not.
fn git<W: AsRef<OsStr>>(folder: &Path, words: impl IntoIterator<Item = W>) -> Result<String, String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(QUIET).args(words).stdin(Stdio::null());
    // Another repository may be set in the environment that we were started in; and nobody is there to be asked.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"] {
        command.env_remove(name);
    }
    let output =
        command.env("GIT_TERMINAL_PROMPT", "0").output().map_err(|error| format!("cannot run git: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    let words = text(&output.stderr);
    let words = words.lines().rev().find(|line| !line.starts_with("hint:")).unwrap_or("git gave no reason");
    Err(words.chars().take(WORDS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Rig {
        folder: tempfile::TempDir,
    }

    impl Rig {
        fn new() -> Self {
            let rig = Self { folder: tempfile::tempdir().unwrap() };
            fs::create_dir(rig.repository()).unwrap();
            git(&rig.repository(), ["init", "--quiet", "--initial-branch", "main"]).unwrap();
            fs::write(rig.repository().join("a.txt"), "one\n").unwrap();
            git(&rig.repository(), ["add", "--all"]).unwrap();
            git(&rig.repository(), AUTHOR.into_iter().chain(["commit", "--quiet", "-m", "first"])).unwrap();
            rig
        }

        fn repository(&self) -> PathBuf {
            self.folder.path().join("repo")
        }

        fn plan(&self, reference: Option<&str>, branch: Option<&str>, step: &str) -> Plan {
            let own = |text: Option<&str>| text.map(str::to_owned);
            let asked = Workspace { git: "repo".to_owned(), reference: own(reference), branch: own(branch) };
            let home = self.folder.path();
            Plan::new(&asked, &Workspaces::default(), &home.join("root"), ("tsk_1", step))
        }
    }

    fn done() -> End {
        End::Done { media: Media::Text, result: b"mended".to_vec() }
    }

    #[test]
    fn what_is_done_is_on_the_branch_and_the_result_says_where() {
        let rig = Rig::new();
        let tree = rig.plan(Some("main"), None, "fix").make().unwrap();
        let folder = tree.folder().to_owned();
        fs::write(folder.join("a.txt"), "two\nthree\n").unwrap();
        fs::write(folder.join("b.txt"), "new\n").unwrap();
        let End::Done { media: Media::Json, result } = tree.leave(done()) else { panic!("it is done") };
        let value: Value = serde_json::from_slice(&result).unwrap();
        assert_eq!(value["result"], "mended");
        let found = &value["workspace"];
        assert_eq!(found["branch"], "relaymesh/tsk_1/fix");
        assert_eq!((&found["files"], &found["insertions"], &found["deletions"]), (&json!(2), &json!(3), &json!(1)));
        let commit = git(&rig.repository(), ["rev-parse", "relaymesh/tsk_1/fix"]).unwrap();
        assert_eq!(found["commit"], commit.as_str());
        assert_eq!(git(&rig.repository(), ["show", "relaymesh/tsk_1/fix:b.txt"]).unwrap(), "new");
        assert!(!folder.exists(), "the branch has everything");
    }

    #[test]
    fn what_fails_is_kept_and_the_next_attempt_goes_on_there() {
        let rig = Rig::new();
        let plan = rig.plan(None, Some("topic"), "fix");
        let tree = plan.make().unwrap();
        fs::write(tree.folder().join("half.txt"), "half\n").unwrap();
        let End::Failed { error, retryable: true } =
            tree.leave(End::Failed { error: "exit code 1".to_owned(), retryable: true })
        else {
            panic!("it failed")
        };
        assert!(error.starts_with("exit code 1 (its worktree is kept: "), "{error}");
        let again = plan.make().unwrap();
        assert_eq!(fs::read_to_string(again.folder().join("half.txt")).unwrap(), "half\n");
        let End::Done { result, .. } = again.leave(done()) else { panic!("it is done") };
        assert_eq!(serde_json::from_slice::<Value>(&result).unwrap()["workspace"]["files"], 1);
        // The branch is there: the next step on it goes on from its end.
        let next = rig.plan(None, Some("topic"), "more").make().unwrap();
        assert!(next.folder().join("half.txt").exists());
    }

    #[test]
    fn a_relative_path_is_seen_from_the_root_and_then_from_the_folder_around_it() {
        let rig = Rig::new();
        let root = rig.folder.path().join("root");
        fs::create_dir(&root).unwrap();
        let found = |git: &str| {
            let asked = Workspace { git: git.to_owned(), reference: None, branch: None };
            check(git, &root)?;
            Plan::new(&asked, &Workspaces::default(), &root, ("tsk_1", "a")).in_repository().map(|plan| plan.repository)
        };
        let repository = rig.repository().canonicalize().unwrap();
        assert_eq!(found("../repo").unwrap(), repository);
        assert_eq!(found("repo").unwrap(), repository, "as it was written before");
        fs::create_dir(rig.repository().join("src")).unwrap();
        assert_eq!(found("../repo/src").unwrap(), repository, "one repository has one name, so one lock");
        assert!(found("../nowhere").unwrap_err().contains("relative to the root"));
        let inside = root.join("repo");
        fs::create_dir(&inside).unwrap();
        git(&inside, ["init", "--quiet", "--bare"]).unwrap();
        assert_eq!(found("repo").unwrap(), inside.canonicalize().unwrap(), "a bare one has no top");
    }

    #[test]
    fn conflicts_are_explained() {
        let rig = Rig::new();
        let held = rig.plan(None, Some("topic"), "a").make().unwrap();
        let error = rig.plan(None, Some("topic"), "b").make().unwrap_err();
        assert!(error.starts_with("cannot check out branch `topic`") && error.contains("a'"), "{error}");
        drop(held);
        let error = rig.plan(Some("no-such"), None, "c").make().unwrap_err();
        assert!(error.contains("`no-such` is not a branch, tag or commit"), "{error}");
        let mut plan = rig.plan(None, None, "d");
        plan.repository = rig.folder.path().join("nowhere");
        assert!(plan.make().unwrap_err().contains("does not exist: give an absolute path"), "{:?}", plan.make());
        plan.repository = rig.folder.path().to_owned();
        assert!(plan.make().unwrap_err().contains("is not a usable git repository"), "{:?}", plan.make());
        git(&rig.folder.path().join("root/workspaces/tsk_1/a"), ["checkout", "--quiet", "-b", "elsewhere"]).unwrap();
        let error = rig.plan(None, Some("topic"), "a").make().unwrap_err();
        assert!(error.contains("is on branch `elsewhere`, not on `topic`"), "{error}");
    }

    #[test]
    fn a_tree_that_was_removed_by_hand_is_made_again_and_no_hook_runs() {
        let rig = Rig::new();
        let hook = rig.repository().join(".git/hooks/post-checkout");
        fs::write(&hook, "#!/bin/sh\ntouch ran\n").unwrap();
        fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let plan = rig.plan(None, Some("topic"), "a");
        let folder = plan.make().unwrap().folder().to_owned();
        assert!(!folder.join("ran").exists());
        fs::remove_dir_all(&folder).unwrap();
        assert!(plan.make().unwrap().folder().join("a.txt").exists());
    }
}
