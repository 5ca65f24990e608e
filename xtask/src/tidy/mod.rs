//! `cargo xtask tidy`: the rules no compiler knows. Reads, never writes.
//!
//! A check is a function from the tree to findings; the tree is in memory, so each check is tested on a few lines of
//! text. A finding says where, what is wrong, and what to do.

mod arrows;
mod examples;
pub(crate) mod links;
pub(crate) mod pages;
mod purity;
mod reach;
mod rows;
mod sizes;
mod source;
pub(crate) mod tree;

use std::fmt;

use crate::run::{Failure, Result, Workspace};
use tree::Tree;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    problem: String,
    remedy: String,
}

impl Finding {
    fn new(path: &str, line: usize, problem: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { path: path.into(), line, problem: problem.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.problem, self.remedy)
    }
}

pub(crate) fn run(workspace: &Workspace, report: bool) -> Result {
    let tree = Tree::read(&workspace.root)?;
    let checks = [
        ("sources", tree.unreadable()),
        ("arrows", arrows::check(&tree, &workspace.metadata)),
        ("purity", purity::check(&tree)),
        ("reach", reach::check(&tree)),
        ("sizes", sizes::check(&tree)),
        ("links", links::check(&tree)),
        ("pages", pages::check(&tree)),
        ("rows", rows::check(&tree)),
        ("examples", examples::check(&tree)),
    ];
    let mut total = 0;
    for (name, mut findings) in checks {
        findings.sort();
        findings.iter().for_each(|finding| println!("{finding}"));
        let verdict = if findings.is_empty() { "ok".into() } else { format!("{} to mend", findings.len()) };
        eprintln!("    tidy {name}: {verdict}");
        total += findings.len();
    }
    if total > 0 {
        return Err(Failure(format!("tidy found {total} to mend, listed above")));
    }
    if report {
        print!("{}", sizes::report(&tree));
    }
    Ok(())
}
