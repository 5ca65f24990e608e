//! Follows every link of the site: the file is there, and so is what the fragment names.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use crate::run::{Failure, Result};
use crate::tidy::links::{is_elsewhere, resolve};

/// How many pages there are, and each dead link with its page.
pub(super) fn check(site: &Path) -> Result<(usize, Vec<String>)> {
    let (mut files, mut pages) = (BTreeSet::new(), BTreeMap::new());
    read(site, "", &mut files, &mut pages)
        .map_err(|error| Failure(format!("cannot read {}: {error}", site.display())))?;
    Ok((pages.len(), dead(&files, &pages)))
}

fn read(
    folder: &Path,
    below: &str,
    files: &mut BTreeSet<String>,
    pages: &mut BTreeMap<String, String>,
) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read(&entry.path(), &format!("{path}/"), files, pages)?;
            continue;
        }
        if path.ends_with(".html") {
            pages.insert(path.clone(), fs::read_to_string(entry.path())?);
        }
        files.insert(path);
    }
    Ok(())
}

fn dead(files: &BTreeSet<String>, pages: &BTreeMap<String, String>) -> Vec<String> {
    let named: BTreeMap<&str, BTreeSet<&str>> =
        pages.iter().map(|(path, text)| (path.as_str(), values(text, "id=\"").collect())).collect();
    let mut found = Vec::new();
    for (path, text) in pages {
        for link in values(text, "href=\"").chain(values(text, "src=\"")).filter(|link| !is_elsewhere(link)) {
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = resolve(path, file).unwrap_or_default();
            let names = named.get(target.as_str());
            let is_named = fragment.is_empty() || names.is_none_or(|names| names.contains(fragment));
            if !files.contains(&target) || !is_named {
                found.push(format!("{path}: {link}"));
            }
        }
    }
    found
}

/// The values of an attribute, up to the closing quote.
fn values<'a>(text: &'a str, attribute: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(attribute)
        .filter(|(at, _)| text[..*at].ends_with([' ', '\n']))
        .filter_map(move |(at, _)| text[at + attribute.len()..].split('"').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_needs_its_file_and_its_heading() {
        let files = ["index.html", "a/b.html", "a/c.rs"].map(String::from).into();
        let page = |links: &[&str]| links.iter().map(|link| format!("<a href=\"{link}\">x</a>")).collect::<String>();
        let other = "<h2 id=\"here\">Here</h2><p data-id=\"no\"><a href=\"../index.html\">up</a>".to_owned();
        let pages = |links: &[&str]| {
            BTreeMap::from([("index.html".to_owned(), page(links)), ("a/b.html".to_owned(), other.clone())])
        };
        let good =
            ["a/b.html", "a/b.html#here", "a/c.rs", "a/c.rs#L1", "", "https://example.org", "mailto:a@example.org"];
        assert_eq!(dead(&files, &pages(&good)), [""; 0]);
        for link in ["a/d.html", "a/b.html#there", "#here", "a", "../x.html", "a/b.html#no"] {
            assert_eq!(dead(&files, &pages(&[link])), [format!("index.html: {link}")]);
        }
    }
}
