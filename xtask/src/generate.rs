//! `cargo xtask gen`: pages that are made from the program's own definition, and the words that people see.

use crate::run::{Cmd, Failure, Result, Workspace};

/// What is made, and by which command of the binary.
const PAGES: [(&str, &str); 1] = [("docs/reference/cli.md", "reference")];

pub(crate) fn run(workspace: &Workspace) -> Result {
    for (page, command) in PAGES {
        let text = Cmd::cargo("run -q --locked -p relaymesh --").arg(command).read(&workspace.root)?;
        let path = workspace.root.join(page);
        std::fs::write(&path, text).map_err(|error| Failure(format!("cannot write {}: {error}", path.display())))?;
        eprintln!("    wrote {page}");
    }
    // The help of every command is kept as it is shown; this takes it as it is now.
    Cmd::cargo("test -q --locked -p relaymesh --test help").env("INSTA_UPDATE", "always").run(&workspace.root)
}
