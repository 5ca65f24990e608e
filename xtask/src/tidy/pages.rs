//! Every page of the docs is in the table of contents, from which the site is built.

use super::{Finding, links, tree::Tree};

/// The table of contents.
pub(crate) const SUMMARY: &str = "docs/SUMMARY.md";

/// Records of decisions are listed by themselves, below their index.
pub(crate) fn is_record(path: &str) -> bool {
    path.strip_prefix("docs/decisions/").is_some_and(|name| name != "README.md")
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let listed: Vec<String> = links::of(tree.text(SUMMARY).unwrap_or_default())
        .iter()
        .filter_map(|link| links::resolve(SUMMARY, link))
        .collect();
    let pages = tree.texts_named(".md").map(|(path, _)| path).filter(|path| path.starts_with("docs/"));
    pages
        .filter(|path| *path != SUMMARY && !is_record(path) && !listed.iter().any(|listed| listed == path))
        .map(|path| {
            Finding::new(path, 1, format!("the page is not in {SUMMARY}"), "add it where a reader would look for it")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_in_no_table_of_contents_is_found() {
        let summary = ("docs/SUMMARY.md", "- [A](how-to/a.md)\n- [Decisions](decisions/README.md)");
        let records = [("docs/decisions/README.md", ""), ("docs/decisions/0001-a.md", "")];
        let mut files = vec![summary, ("docs/how-to/a.md", ""), ("README.md", ""), ("crates/a/README.md", "")];
        files.extend(records);
        assert_eq!(check(&Tree::of(&files)), []);
        files.push(("docs/how-to/b.md", ""));
        let found = check(&Tree::of(&files));
        assert_eq!(found.len(), 1);
        assert!(
            found[0].to_string().starts_with("docs/how-to/b.md:1: the page is not in docs/SUMMARY.md"),
            "{}",
            found[0]
        );
    }
}
