//! Code in comments is a picture, not a test.
//!
//! rustdoc would build a program of every block that it takes for Rust, each crate's dependencies once more in a form that no
//! other step uses, for minutes. What an example shows is shown by an ordinary test, and a block says what it is: `text`,
//! `toml`, or `ignore` for Rust that is only a sketch. So no block is left that looks tested and is not.

use super::Finding;
use super::tree::Tree;

/// Words after the fence that make rustdoc take a block for Rust.
const RUST: [&str; 6] = ["", "rust", "should_panic", "no_run", "compile_fail", "test_harness"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.texts_named(".rs").flat_map(|(path, text)| in_file(path, text)).collect()
}

fn in_file(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_open = false;
    for (index, line) in text.lines().enumerate() {
        let Some(comment) = documentation(line) else {
            is_open = false;
            continue;
        };
        let Some(words) = comment.trim_start().strip_prefix("```") else { continue };
        is_open = !is_open;
        let is_ignored = words.split(',').any(|word| word.trim() == "ignore");
        if is_open && !is_ignored && words.split(',').any(|word| is_rust(word.trim())) {
            let problem = "a block that rustdoc takes for Rust, and that no step runs";
            findings.push(Finding::new(path, index + 1, problem, "say what it is (```text), and make a test of it"));
        }
    }
    findings
}

fn is_rust(word: &str) -> bool {
    RUST.contains(&word) || word.starts_with("edition")
}

/// What a line of documentation says.
fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").filter(|rest| !rest.starts_with('/')).or_else(|| line.strip_prefix("//!"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(text: &str) -> Vec<usize> {
        check(&Tree::of(&[("a.rs", text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_block_that_would_be_a_test_is_found() {
        assert_eq!(lines("//! ```\n//! let a = 1;\n//! ```\n//! ```rust,no_run\n//! ```\n"), [1, 4]);
        assert_eq!(lines("    /// ```edition2024\n    /// ```\nfn f() {}\n"), [1]);
    }

    #[test]
    fn pictures_and_sketches_are_none() {
        assert_eq!(lines("//! ```text\n//! a ──► b\n//! ```\n/// ```ignore\n/// f()\n/// ```\nfn f() {}\n"), NONE);
        assert_eq!(lines("// ```\n//// ```\nconst A: &str = \"```\";\n"), NONE);
    }

    #[test]
    fn a_block_that_was_left_open_says_nothing_of_the_next_comment() {
        assert_eq!(lines("/// ```text\nfn f() {}\n/// ```\n/// ```\nfn g() {}\n"), [3]);
    }
}
