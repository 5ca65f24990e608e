//! `cargo xtask bench`: the release binary's own benchmark, so that what is measured is what is shipped.

use crate::run::{Cmd, Result, Workspace};

pub(crate) fn run(workspace: &Workspace, arguments: Vec<String>) -> Result {
    let binary = workspace.release_binary()?;
    with_benchmark(arguments).into_iter().fold(Cmd::new(binary, "bench"), Cmd::arg).run(&workspace.root)
}

/// `kernel` is the benchmark when the first argument names none.
fn with_benchmark(mut arguments: Vec<String>) -> Vec<String> {
    if arguments.first().is_none_or(|first| first.starts_with('-')) {
        arguments.insert(0, "kernel".into());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_is_the_default() {
        let given = |words: &[&str]| with_benchmark(words.iter().map(ToString::to_string).collect());
        assert_eq!(given(&[]), ["kernel"]);
        assert_eq!(given(&["--quick"]), ["kernel", "--quick"]);
        assert_eq!(given(&["kernel", "--quick"]), ["kernel", "--quick"]);
        assert_eq!(given(&["other"]), ["other"]);
    }
}
