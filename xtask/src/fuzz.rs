//! `cargo xtask fuzz`: the fuzz targets under libFuzzer, by hand. The tests run the same targets for seconds, without it.
//!
//! Coverage counters need compiler flags that the stable toolchain keeps to itself, so `RUSTC_BOOTSTRAP` is set, for
//! this one child alone. No sanitizer is used: our crates forbid unsafe code, and without one there are ten times as
//! many runs. What lies in `fuzz/corpus` is read and never written; what a run learns stays in the build folder.

use std::path::Path;

use crate::run::{Cmd, Failure, Result, Workspace};

/// The longest input, in bytes, the most memory and the longest time for one of them.
const LIMITS: &str = "-max_len=8192 -rss_limit_mb=1024 -timeout=5 -print_final_stats=1";

pub(crate) fn run(workspace: &Workspace, target: Option<&str>, seconds: u32) -> Result {
    if !Cmd::cargo("fuzz --version").works(&workspace.root) {
        return Err(Failure("cargo-fuzz is missing; install it with: cargo install cargo-fuzz".into()));
    }
    let known = targets(&workspace.root)?;
    let chosen: Vec<&String> = known.iter().filter(|name| target.is_none_or(|target| *name == target)).collect();
    if chosen.is_empty() {
        let target = target.unwrap_or_default();
        return Err(Failure(format!("there is no fuzz target {target}; there are: {}", known.join(", "))));
    }
    // The versions that are shipped are the versions that are fuzzed.
    let lock = std::fs::copy(workspace.root.join("Cargo.lock"), workspace.root.join("fuzz/libfuzzer/Cargo.lock"));
    lock.map_err(|error| Failure(format!("could not copy the lock file: {error}")))?;
    let folder = workspace.target.join("fuzz");
    let seeds = Cmd::cargo("run --quiet --locked -p relaymesh-fuzz --example seeds --");
    seeds.arg(folder.join("seeds").display().to_string()).run(&workspace.root)?;
    for name in chosen {
        eprintln!("==> fuzz {name} for {seconds} seconds");
        let learned = folder.join("corpus").join(name);
        std::fs::create_dir_all(&learned)
            .map_err(|error| Failure(format!("could not make {}: {error}", learned.display())))?;
        command(&folder, name, seconds).run(&workspace.root).map_err(|failure| {
            Failure(format!(
                "{failure}\n  if an input broke the target, keep it: move it from fuzz/libfuzzer/artifacts/{name}/ \
                 to fuzz/corpus/{name}/, where every test run tries it again"
            ))
        })?;
    }
    Ok(())
}

fn command(folder: &Path, name: &str, seconds: u32) -> Cmd {
    let path = |inside: &str| folder.join(inside).display().to_string();
    let mut command = Cmd::cargo("fuzz run --fuzz-dir fuzz/libfuzzer --sanitizer none --target-dir")
        .env("RUSTC_BOOTSTRAP", "1")
        .arg(path("build"))
        .arg(name)
        .arg(path(&format!("corpus/{name}")))
        .arg(format!("fuzz/corpus/{name}"))
        .arg(path(&format!("seeds/{name}")))
        .arg("--")
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-dict={}", path("seeds/words.dict")));
    for limit in LIMITS.split_whitespace() {
        command = command.arg(limit);
    }
    command
}

/// The names of the targets: one file each.
fn targets(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("fuzz/libfuzzer/targets");
    let failed = |error| Failure(format!("could not list {}: {error}", folder.display()));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_bounds_time_and_memory_and_unlocks_the_compiler_for_the_child_alone() {
        let shown = command(Path::new("/t"), "op", 9).to_string();
        assert!(shown.starts_with("RUSTC_BOOTSTRAP=1 cargo fuzz run"), "{shown}");
        assert!(shown.contains(" op /t/corpus/op fuzz/corpus/op /t/seeds/op -- -max_total_time=9 "), "{shown}");
        assert!(shown.contains("-rss_limit_mb=1024 -timeout=5"), "{shown}");
    }

    #[test]
    fn targets_are_files() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert!(targets(&root).unwrap().contains(&"op".to_string()));
    }
}
