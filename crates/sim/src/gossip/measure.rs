//! What is measured in one world, and what many worlds come to.

use super::mesh::Mesh;
use relaymesh_mesh::membership::Status;
use std::collections::BTreeSet;

/// Until then the nodes find their pace; nothing is counted.
const SETTLED_MS: u64 = 10_000;
/// For so long nobody dies, and messages and false suspicions are counted.
const QUIET_MS: u64 = 30_000;
/// By then every survivor must have noticed the death.
const NOTICED_MS_MAX: u64 = 120_000;

/// One world: a mesh in which first nobody dies, and then one node does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Messages that a node sent in a second while nobody died.
    pub messages: f64,
    /// Bytes of them.
    pub bytes: f64,
    /// How often somebody who lived was doubted by anybody who had not been doubted by anybody else, in a minute, all nodes
    /// together.
    pub doubted: f64,
    /// How many who lived were declared dead by anybody.
    pub buried_alive: usize,
    /// Recoveries that the windows suppressed, all nodes together.
    pub suppressed: u64,
    /// From the death to the first suspicion.
    pub suspect_ms: u64,
    /// From the death to the first node that showed it DEAD.
    pub dead_ms: u64,
    /// From the death to the last; `None` when somebody had not noticed in time.
    pub all_dead_ms: Option<u64>,
}

/// Runs one world.
pub fn measure(nodes: usize, loss_per_mille: u64, seed: u64) -> Measured {
    let mut mesh = Mesh::new(nodes, loss_per_mille, seed);
    mesh.run(SETTLED_MS, |_| false);
    (mesh.sent, mesh.bytes) = (0, 0);
    mesh.shown.clear();
    mesh.run(SETTLED_MS + QUIET_MS, |_| false);
    let node_seconds = (nodes as u64 * QUIET_MS / 1_000) as f64;
    let (messages, bytes) = (mesh.sent as f64 / node_seconds, mesh.bytes as f64 / node_seconds);
    let doubted = episodes(&mesh) as f64 * 60_000.0 / QUIET_MS as f64;
    let buried: BTreeSet<usize> =
        mesh.shown.iter().filter(|(_, _, status, _)| *status == Status::Dead).map(|(_, of, _, _)| *of).collect();
    mesh.shown.clear();

    let victim = usize::try_from(seed).unwrap_or(0) % nodes;
    mesh.kill(victim);
    let died_ms = mesh.now_ms();
    mesh.run(died_ms + NOTICED_MS_MAX, |mesh| mesh.all_show(victim, Status::Dead));
    let when = |wanted: Status| {
        let of_victim =
            mesh.shown.iter().filter(move |(by, of, status, _)| *by != victim && *of == victim && *status == wanted);
        of_victim.map(|(_, _, _, at_ms)| at_ms - died_ms)
    };
    let noticed = mesh.all_show(victim, Status::Dead);
    Measured {
        messages,
        bytes,
        doubted,
        buried_alive: buried.len(),
        suppressed: mesh.suppressed(),
        suspect_ms: when(Status::Suspect).min().unwrap_or(NOTICED_MS_MAX),
        dead_ms: when(Status::Dead).min().unwrap_or(NOTICED_MS_MAX),
        all_dead_ms: when(Status::Dead).max().filter(|_| noticed),
    }
}

/// How often a node became suspect to somebody while it was so to nobody.
fn episodes(mesh: &Mesh) -> usize {
    let mut doubters: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); mesh.len()];
    let mut episodes = 0;
    // A node that doubts itself is another matter.
    for (by, of, status, _) in mesh.shown.iter().filter(|(by, of, _, _)| by != of) {
        if *status == Status::Suspect {
            episodes += usize::from(doubters[*of].is_empty());
            doubters[*of].insert(*by);
        } else {
            doubters[*of].remove(by);
        }
    }
    episodes
}

/// What several worlds of one kind come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Nodes in each of them.
    pub nodes: usize,
    /// Messages lost out of a thousand.
    pub loss_per_mille: u64,
    /// How many worlds.
    pub worlds: usize,
    /// The mean of each.
    pub messages: f64,
    /// The mean of each.
    pub bytes: f64,
    /// The mean of each.
    pub doubted: f64,
    /// All of them.
    pub buried_alive: usize,
    /// All of them.
    pub suppressed: u64,
    /// The median.
    pub suspect_ms: u64,
    /// The median.
    pub dead_ms: u64,
    /// The median.
    pub all_dead_ms: u64,
    /// The longest; `None` when somebody never noticed.
    pub all_dead_ms_max: Option<u64>,
}

/// Runs so many worlds, with the seeds from 1 on.
pub fn summary(nodes: usize, loss_per_mille: u64, worlds: usize) -> Summary {
    let all: Vec<Measured> = (1..=worlds as u64).map(|seed| measure(nodes, loss_per_mille, seed)).collect();
    let mean = |of: fn(&Measured) -> f64| all.iter().map(of).sum::<f64>() / worlds as f64;
    let median = |of: fn(&Measured) -> u64| {
        let mut values: Vec<u64> = all.iter().map(of).collect();
        values.sort_unstable();
        values[values.len() / 2]
    };
    Summary {
        nodes,
        loss_per_mille,
        worlds,
        messages: mean(|one| one.messages),
        bytes: mean(|one| one.bytes),
        doubted: mean(|one| one.doubted),
        buried_alive: all.iter().map(|one| one.buried_alive).sum(),
        suppressed: all.iter().map(|one| one.suppressed).sum(),
        suspect_ms: median(|one| one.suspect_ms),
        dead_ms: median(|one| one.dead_ms),
        all_dead_ms: median(|one| one.all_dead_ms.unwrap_or(NOTICED_MS_MAX)),
        all_dead_ms_max: all.iter().map(|one| one.all_dead_ms).max_by_key(|at| at.unwrap_or(u64::MAX)).flatten(),
    }
}
