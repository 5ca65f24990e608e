//! What goes into the site: the table of contents as mdBook wants it, and the files.

use std::collections::BTreeSet;

use crate::run::{Failure, Result};
use crate::tidy::{links, pages, tree::Tree};

/// The site's own settings. No preprocessors: one of them would rename README.md, and not the links to it. A print page and a page for missing
/// addresses would repeat links in places where they are wrong.
pub(super) const CONFIG: &str = "\
[book]
title = \"RelayMesh\"
language = \"en\"
src = \"src\"

[build]
use-default-preprocessors = false

[output.html]
input-404 = \"\"
no-section-label = true
smart-punctuation = false

[output.html.print]
enable = false
";

#[derive(Debug)]
pub(super) struct Book {
    pub(super) summary: String,
    /// Paths in the repository.
    pub(super) files: BTreeSet<String>,
}

pub(super) fn of(tree: &Tree) -> Result<Book> {
    let text = tree.text(pages::SUMMARY).ok_or_else(|| Failure(format!("there is no {}", pages::SUMMARY)))?;
    let mut summary = String::new();
    let mut files = BTreeSet::new();
    for line in text.lines() {
        match links::links(line).first() {
            Some(link) => {
                let page = links::resolve(pages::SUMMARY, link)
                    .ok_or_else(|| Failure(format!("{}: {link} leaves the repository", pages::SUMMARY)))?;
                summary += &line.replace(&format!("]({link})"), &format!("]({page})"));
                files.insert(page);
            }
            None => summary += line,
        }
        summary += "\n";
    }
    // The records of decisions come by themselves, below their index, which is the last entry.
    for (path, text) in tree.texts_named(".md").filter(|(path, _)| pages::is_record(path)) {
        let title = text.lines().next().unwrap_or_default().trim_start_matches('#').trim();
        summary += &format!("  - [{title}]({path})\n");
        files.insert(path.to_owned());
    }
    let linked: Vec<String> = files.iter().flat_map(|page| targets(tree, page)).collect();
    files.extend(linked);
    Ok(Book { summary, files })
}

/// The files that a page links to. A folder is none: a site has no listing of it.
fn targets(tree: &Tree, page: &str) -> Vec<String> {
    let links = links::of(tree.text(page).unwrap_or_default());
    let local = links.iter().filter(|link| !links::is_elsewhere(link));
    let paths = local.filter_map(|link| links::resolve(page, link.split('#').next().unwrap_or_default()));
    paths.filter(|path| tree.is_file(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_records_and_what_they_link_to_are_in() {
        let tree = Tree::of(&[
            (
                "docs/SUMMARY.md",
                "# Contents\n\n[Top](../README.md)\n\n- [A page](how-to/a.md)\n- [Decisions](decisions/README.md)\n",
            ),
            ("README.md", "[a](docs/how-to/a.md#x) [elsewhere](https://example.org/x.rs)"),
            ("docs/how-to/a.md", "[the code](../../src/a.rs) `[not](../../src/b.rs)` [folder](../../src)"),
            ("docs/decisions/README.md", ""),
            ("docs/decisions/0001-a.md", "# 1. We chose\n"),
            ("src/a.rs", ""),
            ("src/b.rs", ""),
        ]);
        let book = of(&tree).unwrap();
        assert_eq!(
            book.summary,
            "# Contents\n\n[Top](README.md)\n\n- [A page](docs/how-to/a.md)\n- [Decisions](docs/decisions/README.md)\n  - [1. We chose](docs/decisions/0001-a.md)\n"
        );
        let files: Vec<&str> = book.files.iter().map(String::as_str).collect();
        assert_eq!(
            files,
            ["README.md", "docs/decisions/0001-a.md", "docs/decisions/README.md", "docs/how-to/a.md", "src/a.rs"]
        );
    }

    #[test]
    fn without_a_table_of_contents_there_is_no_site() {
        assert!(of(&Tree::of(&[("README.md", "")])).is_err());
    }
}
