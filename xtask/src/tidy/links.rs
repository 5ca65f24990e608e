//! Every relative link in every Markdown file leads somewhere: the file exists, and so does the heading.
//!
//! Links to other hosts are not fetched: the gate must not depend on the network.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let anchors: BTreeMap<&str, BTreeSet<String>> =
        tree.texts_named(".md").map(|(path, text)| (path, anchors(text))).collect();
    let mut findings = Vec::new();
    for (path, text) in tree.texts_named(".md") {
        for (number, line) in prose(text) {
            for link in links(&without_code(line)) {
                findings.extend(
                    dead(tree, &anchors, path, &link)
                        .map(|(problem, remedy)| Finding::new(path, number, problem, remedy)),
                );
            }
        }
    }
    findings
}

fn dead(
    tree: &Tree,
    anchors: &BTreeMap<&str, BTreeSet<String>>,
    from: &str,
    link: &str,
) -> Option<(String, &'static str)> {
    if is_elsewhere(link) {
        return None;
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let file = file.split('?').next().unwrap_or(file).replace("%20", " ");
    let Some(target) = resolve(from, &file) else {
        return Some((format!("link {link} leaves the repository"), "link to a file inside it, or to a full address"));
    };
    if !tree.exists(&target) {
        return Some((format!("link {link} leads nowhere: there is no {target}"), "correct the path"));
    }
    let known = anchors.get(target.as_str())?;
    if anchor.is_empty() || known.contains(anchor) {
        return None;
    }
    Some((format!("link {link} leads to no heading of {target}"), "use the heading's slug, as GitHub makes it"))
}

/// All links of a page.
pub(crate) fn of(text: &str) -> Vec<String> {
    prose(text).iter().flat_map(|(_, line)| links(&without_code(line))).collect()
}

/// Does it lead to another host, or to no page at all?
pub(crate) fn is_elsewhere(link: &str) -> bool {
    let scheme = link.split_once(':').map_or("", |(scheme, _)| scheme);
    link.starts_with("//") || (!scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '+'))
}

/// The path a link means; none if it climbs out of the root.
pub(crate) fn resolve(from: &str, file: &str) -> Option<String> {
    if file.is_empty() {
        return Some(from.into());
    }
    let mut parts: Vec<&str> = if file.starts_with('/') { Vec::new() } else { from.split('/').collect() };
    parts.pop();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The lines outside fenced blocks, with their numbers.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        let marker = ["```", "~~~"].into_iter().find(|marker| start.starts_with(marker));
        match (fence, marker) {
            (None, Some(marker)) => fence = Some(marker),
            (Some(open), Some(marker)) if open == marker => fence = None,
            (Some(_), _) => {}
            (None, None) => lines.push((index + 1, line)),
        }
    }
    lines
}

/// The line with the content of its code spans taken out.
fn without_code(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        text += &rest[..start];
        let ticks = &rest[start..start + rest[start..].chars().take_while(|c| *c == '`').count()];
        rest = &rest[start + ticks.len()..];
        if let Some(end) = rest.find(ticks) {
            rest = &rest[end + ticks.len()..];
        }
    }
    text + rest
}

/// The targets of `[text](target)`, `[name]: target` and `href="target"` in a line.
pub(crate) fn links(line: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (at, _) in line.match_indices("](") {
        let mut depth = 1;
        let inside = |c: &char| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            depth > 0
        };
        found.push(line[at + 2..].chars().take_while(inside).collect());
    }
    if let Some((name, target)) = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]: "))
        && !name.starts_with('^')
        && !name.contains(']')
    {
        found.push(target.into());
    }
    for (attribute, quote) in [("href=\"", '"'), ("src=\"", '"'), ("href='", '\''), ("src='", '\'')] {
        let ends = line.match_indices(attribute).map(|(at, _)| at + attribute.len());
        found.extend(ends.map(|at| line[at..].split(quote).next().unwrap_or_default().to_string()));
    }
    found.iter().map(|link| target_of(link)).collect()
}

/// A link without its title: `<a b> "title"` is `a b`.
fn target_of(link: &str) -> String {
    let link = link.trim();
    match link.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((target, _)) => target.into(),
        None => link.split_whitespace().next().unwrap_or_default().into(),
    }
}

/// Everything a `#…` may name in this file.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut above = "";
    for (_, line) in prose(text) {
        let hashes = line.chars().take_while(|c| *c == '#').count();
        let is_under = |mark| line.len() > 1 && line.trim_end().chars().all(|c| c == mark) && !above.trim().is_empty();
        let heading = if (1..=6).contains(&hashes) && line[hashes..].starts_with(' ') {
            Some(line[hashes..].trim().trim_end_matches('#').trim())
        } else if is_under('=') || is_under('-') {
            Some(above.trim())
        } else {
            None
        };
        if let Some(heading) = heading {
            let slug = slug(heading);
            let count = seen.entry(slug.clone()).or_default();
            anchors.insert(if *count == 0 { slug } else { format!("{slug}-{count}") });
            *count += 1;
        }
        for mark in ["id=\"", "name=\""] {
            let ends = line.match_indices(mark).map(|(at, _)| at + mark.len());
            anchors.extend(ends.filter_map(|at| line[at..].split('"').next()).map(String::from));
        }
        above = line;
    }
    anchors
}

/// GitHub's rule: lower case, letters and digits and `-` and `_` stay, a space becomes `-`, the rest goes.
fn slug(heading: &str) -> String {
    let mut text = String::new();
    let mut rest = heading;
    // Of a link in a heading only its text counts.
    while let Some((before, link)) = rest.split_once("](") {
        text += before;
        rest = link.split_once(')').map_or("", |(_, after)| after);
    }
    text += rest;
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let other = ("docs/b.md", "# One `two`, three!\n## Same\n## Same\nUnder\n-----\n<a id=\"by-hand\"></a>");
        let tree = Tree::of(&[("docs/a.md", text), other, ("src/x.rs", "")]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        for link in [
            "[a](b.md)",
            "![a](../src/x.rs)",
            "[`a`](/src/x.rs#L1 \"title\")",
            "[a](../src)",
            "[a](b.md#one-two-three)",
            "[a](b.md#same-1)",
            "[a](b.md#under)",
            "[a](b.md#by-hand)",
            "# Top\n[a](#top)",
            "[a](https://example.org/x) [b](mailto:a@example.org)",
            "[a]: b.md",
            "[^1]: nowhere.md is a footnote",
            "`[a](nowhere.md)` and ``[a](nowhere.md)``",
            "```text\n[a](nowhere.md)\n```",
            "<img src=\"../src/x.rs\">",
        ] {
            assert_eq!(found(link), [""; 0], "{link}");
        }
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        for link in [
            "[a](nowhere.md)",
            "[a](b.md#two)",
            "[a](b.md#same-2)",
            "[a](#top)",
            "[a](../../b.md)",
            "[a]: nowhere.md",
            "<a href=\"nowhere.md\">a</a>",
            "`code` then [a](nowhere.md)",
        ] {
            assert_eq!(found(link).len(), 1, "{link}");
        }
        assert_eq!(
            found("\n[a](../x.md)"),
            ["docs/a.md:2: link ../x.md leads nowhere: there is no x.md; correct the path"]
        );
    }

    #[test]
    fn slugs_are_github_s() {
        assert_eq!(slug("7. Rooms: crates & arrows"), "7-rooms-crates--arrows");
        assert_eq!(slug("The [link](x.md) `code_it` ÄÖ"), "the-link-code_it-äö");
    }
}
