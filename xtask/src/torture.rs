//! `cargo xtask torture`: the crash harness, too slow and too rough for the everyday tests.
//!
//! One seed decides the whole run; it is always printed, so that a failure can be repeated.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::run::{Cmd, Failure, Result, Workspace};

pub(crate) fn run(workspace: &Workspace, seed: Option<u64>, quick: bool) -> Result {
    let seed = seed.unwrap_or_else(fresh_seed);
    let binary = workspace.binary("release", "relaymesh")?;
    let mut harness = Cmd::cargo("test --release --locked -p relaymesh --test main torture:: -- --ignored --nocapture")
        .env("RELAYMESH_BIN", binary)
        .env("RELAYMESH_TORTURE_SEED", seed.to_string());
    if quick {
        harness = harness.env("RELAYMESH_TORTURE_QUICK", "1");
    }
    eprintln!("==> torture with seed {seed}");
    let repeat = format!("cargo xtask torture --seed {seed}{}", if quick { " --quick" } else { "" });
    harness.run(&workspace.root).map_err(|failure| Failure(format!("{failure}\n  repeat this run: {repeat}")))?;
    eprintln!("==> kills during bulk submits over HTTP: 64 clients, 30 kills");
    Cmd::cargo("test --release --locked -p relaymesh --test main api_kills:: -- --ignored --nocapture")
        .run(&workspace.root)
}

fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(since.subsec_nanos()) ^ (since.as_secs() & 0xffff_ffff)
}
