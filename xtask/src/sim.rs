//! `cargo xtask sim`: the driver in a seeded world. Many seeds with their totals, or one seed with its whole trace.
//!
//! A release build of `crates/sim`, because a seed is a lot of work; what is said about it goes to stderr, so that the
//! trace on stdout can be searched.

use crate::run::{Cmd, Result, Workspace};

/// Which worlds to run.
pub(crate) enum Worlds {
    /// One, with everything that happens in it.
    One(u64),
    /// Many, and what they came to.
    Many { seeds: u64, from: u64 },
}

/// One node, or a mesh of several in a hostile network.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nodes {
    /// One.
    One,
    /// Several.
    Mesh,
}

pub(crate) fn run(workspace: &Workspace, worlds: &Worlds, nodes: Nodes, json: bool) -> Result {
    command(worlds, nodes, json).run(&workspace.root)
}

fn command(worlds: &Worlds, nodes: Nodes, json: bool) -> Cmd {
    let simulator = Cmd::cargo("run --quiet --release --locked -p relaymesh-sim --");
    let simulator = if nodes == Nodes::Mesh { simulator.arg("--net") } else { simulator };
    let simulator = match worlds {
        Worlds::One(seed) => simulator.arg("--seed").arg(seed.to_string()),
        Worlds::Many { seeds, from } => {
            simulator.arg("--seeds").arg(seeds.to_string()).arg("--from").arg(from.to_string())
        }
    };
    if json { simulator.arg("--json") } else { simulator }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_reach_the_simulator() {
        let one = command(&Worlds::One(7), Nodes::One, true).to_string();
        assert!(one.ends_with("-p relaymesh-sim -- --seed 7 --json"), "{one}");
        let many = command(&Worlds::Many { seeds: 10, from: 3 }, Nodes::Mesh, false).to_string();
        assert!(many.ends_with("-- --net --seeds 10 --from 3"), "{many}");
    }
}
