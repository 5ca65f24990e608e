//! `cargo xtask docs`: the site, built from the markdown files of the repository with mdBook (decision 0035).
//!
//! The pages and every file that they link to are mirrored into `target/docs-src`, at the same places: relative links lead to the same
//! things in the repository and on the site. What comes out is in `target/docs`, and each of its links is followed.

mod book;
mod html;

use std::{fs, path::Path};

use crate::run::{Cmd, Failure, Result, Workspace};
use crate::tidy::tree::Tree;

/// One version: a newer one may draw other headings.
const MDBOOK: &str = "0.5.4";

pub(crate) fn run(workspace: &Workspace) -> Result {
    let tree = Tree::read(&workspace.root)?;
    let book = book::of(&tree)?;
    let (source, site) = (workspace.target.join("docs-src"), workspace.target.join("docs"));
    fresh(&source)?;
    fresh(&site)?;
    write(&source.join("book.toml"), book::CONFIG)?;
    write(&source.join("src/SUMMARY.md"), &book.summary)?;
    for file in &book.files {
        let target = source.join("src").join(file);
        let copied = parent(&target).and_then(|()| fs::copy(workspace.root.join(file), &target));
        copied.map_err(|error| Failure(format!("cannot copy {file}: {error}")))?;
    }
    let program = installed(workspace)?;
    program
        .arg("build")
        .arg("--dest-dir")
        .arg(site.display().to_string())
        .arg(source.display().to_string())
        .run(&workspace.root)?;
    let (pages, dead) = html::check(&site)?;
    if !dead.is_empty() {
        dead.iter().for_each(|link| println!("{link}"));
        return Err(Failure(format!("the site has {} dead links, listed above", dead.len())));
    }
    eprintln!("    {pages} pages, no dead link: {}", site.join("index.html").display());
    Ok(())
}

/// mdBook, without its server and its watcher, and unoptimised: that builds in a third of the time, and a site takes it a second.
fn installed(workspace: &Workspace) -> Result<Cmd> {
    let folder = workspace.target.join("mdbook");
    let program = folder.join("bin").join(format!("mdbook{}", std::env::consts::EXE_SUFFIX));
    let is_there = Cmd::new(&program, "--version").read(&workspace.root).is_ok_and(|said| said.contains(MDBOOK));
    if !is_there {
        let build = folder.join("build");
        Cmd::cargo("install mdbook --locked --force --debug --no-default-features --features search --version")
            .arg(format!("={MDBOOK}"))
            .arg("--root")
            .arg(folder.display().to_string())
            .arg("--target-dir")
            .arg(build.display().to_string())
            .run(&workspace.root)?;
        fs::remove_dir_all(&build).map_err(|error| Failure(format!("cannot remove {}: {error}", build.display())))?;
    }
    Ok(Cmd::new(&program, ""))
}

fn fresh(folder: &Path) -> Result {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure(format!("cannot empty {}: {error}", folder.display())))
        }
        _ => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> Result {
    let written = parent(path).and_then(|()| fs::write(path, text));
    written.map_err(|error| Failure(format!("cannot write {}: {error}", path.display())))
}

fn parent(path: &Path) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}
