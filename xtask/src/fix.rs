//! `cargo xtask fix`: the mutating twin of `verify`.

use crate::run::{Cmd, Result, Workspace};

pub(crate) fn run(workspace: &Workspace) -> Result {
    // Format first, so that it is done even if the code does not compile; and again after the lints' suggestions.
    Cmd::cargo("fmt --all").run(&workspace.root)?;
    Cmd::cargo("clippy --fix --allow-dirty --allow-staged --workspace --all-targets").run(&workspace.root)?;
    Cmd::cargo("fmt --all").run(&workspace.root)
}
