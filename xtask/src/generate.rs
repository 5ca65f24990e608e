//! `cargo xtask gen`: pages that are made from the program's own definition, and the words that people see.

use crate::run::{Cmd, Failure, Result, Workspace};

/// What is made, and by which option of `relaymesh reference`.
const PAGES: [(&str, &str); 3] = [
    ("docs/reference/cli.md", "--cli"),
    ("docs/reference/settings.md", "--settings"),
    ("docs/reference/openapi.json", "--openapi"),
];

pub(crate) fn run(workspace: &Workspace) -> Result {
    for (page, option) in PAGES {
        let text = Cmd::cargo("run -q --locked -p relaymesh -- reference").arg(option).read(&workspace.root)?;
        let path = workspace.root.join(page);
        std::fs::write(&path, text).map_err(|error| Failure(format!("cannot write {}: {error}", path.display())))?;
        eprintln!("    wrote {page}");
    }
    // The help of every command is kept as it is shown; this takes it as it is now.
    Cmd::cargo("test -q --locked -p relaymesh --test main help::").env("INSTA_UPDATE", "always").run(&workspace.root)
}
