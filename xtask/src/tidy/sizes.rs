//! Small files and small functions, so that a reader can hold one in the head.

use super::Finding;
use super::tree::Tree;

const FILE_LINES_MAX: usize = 600;
const FILE_LINES_MEDIAN_MAX: usize = 250;
const FUNCTION_LINES_MAX: usize = 70;
const TEST_LINES_MAX: usize = 120;
const ARCHITECTURE: &str = "ARCHITECTURE.md";
const ARCHITECTURE_LINES_MAX: usize = 140;

/// Lines, where, and what.
type Sized = (usize, String);

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts_named(".rs") {
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX {
            let problem = format!("{lines} lines, {FILE_LINES_MAX} are allowed");
            findings.push(Finding::new(path, lines, problem, "split the file: one verb, one check, one table each"));
        }
    }
    for (path, source) in tree.sources() {
        for function in &source.functions {
            let in_test = source.is_test || function.in_test;
            let allowed = if in_test { TEST_LINES_MAX } else { FUNCTION_LINES_MAX };
            if function.lines > allowed {
                let problem = format!("fn {} has {} lines, {allowed} are allowed", function.name, function.lines);
                findings.push(Finding::new(
                    path,
                    function.line,
                    problem,
                    "take its parts out into functions with names",
                ));
            }
        }
    }
    let median = median(&files(tree));
    if median > FILE_LINES_MEDIAN_MAX {
        let problem = format!("the median source file has {median} lines, {FILE_LINES_MEDIAN_MAX} are allowed");
        findings.push(Finding::new("Cargo.toml", 1, problem, "split the largest (cargo xtask tidy --report)"));
    }
    let lines = tree.text(ARCHITECTURE).map_or(0, |text| text.lines().count());
    if lines > ARCHITECTURE_LINES_MAX {
        let problem = format!("{lines} lines, {ARCHITECTURE_LINES_MAX} are allowed");
        findings.push(Finding::new(ARCHITECTURE, lines, problem, "move detail to docs/internals and link to it"));
    }
    findings
}

pub(super) fn report(tree: &Tree) -> String {
    let mut functions: Vec<Sized> = Vec::new();
    for (path, source) in tree.sources() {
        functions.extend(source.functions.iter().map(|f| (f.lines, format!("{path}:{} fn {}", f.line, f.name))));
    }
    functions.sort();
    let mut text = String::new();
    for (what, sorted) in [("files", files(tree)), ("functions", functions)] {
        text += &format!("{} {what}, median {} lines; the largest:\n", sorted.len(), median(&sorted));
        for (lines, place) in sorted.iter().rev().take(3) {
            text += &format!("  {lines:>5}  {place}\n");
        }
    }
    text
}

fn files(tree: &Tree) -> Vec<Sized> {
    let mut files: Vec<Sized> =
        tree.texts_named(".rs").map(|(path, text)| (text.lines().count(), path.to_string())).collect();
    files.sort();
    files
}

fn median(sorted: &[Sized]) -> usize {
    sorted.get(sorted.len() / 2).map_or(0, |(lines, _)| *lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        check(&Tree::of(&[(path, text)])).iter().map(ToString::to_string).collect()
    }

    fn function(lines: usize) -> String {
        format!("fn long() {{{}}}", "\n".repeat(lines - 1))
    }

    #[test]
    fn small_things_pass() {
        assert_eq!(found("a.rs", &function(70)), [""; 0]);
        assert_eq!(found("a.rs", &format!("#[test] {}", function(120))), [""; 0]);
        assert_eq!(found("crates/x/tests/a.rs", &function(120)), [""; 0]);
        assert_eq!(found(ARCHITECTURE, &"x\n".repeat(ARCHITECTURE_LINES_MAX)), [""; 0]);
    }

    #[test]
    fn a_long_function_is_found_where_it_starts() {
        let found = found("a.rs", &format!("\n\n{}", function(71)));
        assert!(found[0].starts_with("a.rs:3: fn long has 71 lines, 70 are allowed"), "{found:?}");
    }

    #[test]
    fn a_long_test_is_found() {
        assert_eq!(found("a.rs", &format!("#[test] {}", function(121))).len(), 1);
    }

    #[test]
    fn long_files_are_found_one_by_one_and_by_their_median() {
        let small = [("a.rs", ""), ("b.rs", ""), ("c.rs", &"\n".repeat(600))];
        assert_eq!(check(&Tree::of(&small)), []);
        let one = [("a.rs", ""), ("b.rs", ""), ("c.rs", &"\n".repeat(601))];
        assert_eq!(check(&Tree::of(&one)).len(), 1);
        assert!(found("a.rs", &"\n".repeat(251))[0].contains("the median source file has 251 lines"));
    }

    #[test]
    fn a_long_architecture_is_found() {
        assert_eq!(found(ARCHITECTURE, &"x\n".repeat(ARCHITECTURE_LINES_MAX + 1)).len(), 1);
    }

    #[test]
    fn the_report_names_the_largest() {
        let text = report(&Tree::of(&[("a.rs", &function(9)), ("b.rs", "")]));
        assert!(text.contains("2 files, median 9 lines") && text.contains("9  a.rs:1 fn long"), "{text}");
    }
}
