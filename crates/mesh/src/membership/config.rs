//! The numbers, and how those of SWIM follow from the size of the mesh.

use super::dwell::Windows;
use std::{
    num::{NonZeroU8, NonZeroUsize},
    time::Duration,
};

/// The numbers of membership. Names that the settings have are those of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// How often one other node is probed.
    pub probe_period_ms: u64,
    /// How long a probe is waited for before others are asked to try.
    pub probe_rtt_ms: u64,
    /// How long a suspicion may be refuted in a mesh of ten; three times as long in one of a thousand.
    pub suspect_ms: u64,
    /// The windows `suspect_recover_min_ms` and `dead_recover_min_ms`.
    pub windows: Windows,
    /// How often a sample of what is known goes to one other node.
    pub sync_period_ms: u64,
    /// How many members a sample has at most.
    pub gossip_sync_sample_size: usize,
    /// For how long a node that knows others may hear nobody before it doubts itself; `None`: it never does.
    pub self_suspect_after_ms: Option<u64>,
    /// How many other nodes are known at most.
    pub members_max: usize,
    /// How many frames of one node are read in a second.
    pub frames_per_second_max: u64,
    /// After how long a node that is dead and was never let in is forgotten.
    pub mesh_prune_older_than_ms: u64,
    /// Whether a node that is not ALIVE in its own eyes stops pulling work.
    pub pause_worker_when_local_not_alive: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            probe_period_ms: 1_000,
            probe_rtt_ms: 300,
            suspect_ms: 4_000,
            windows: Windows { suspect_recover_min_ms: 5_000, dead_recover_min_ms: 30_000 },
            sync_period_ms: 5_000,
            gossip_sync_sample_size: 32,
            self_suspect_after_ms: Some(8_000),
            members_max: 4_096,
            frames_per_second_max: 256,
            mesh_prune_older_than_ms: 604_800_000,
            pause_worker_when_local_not_alive: true,
        }
    }
}

/// The longest datagram.
pub(super) const DATAGRAM_BYTES_MAX: usize = 1_400;
/// How long a dead life is remembered by SWIM; a new life is never in its way.
const DEAD_REMEMBERED: Duration = Duration::from_secs(48 * 60 * 60);
/// How often a rumour is passed on at least. In a mesh of three half of it goes to the one who is doubted and has to hear
/// it; of two messages both are lost once in four hundred times at a loss of 5 %, of five never.
const PASSED_ON_MIN: u8 = 10;
const INDIRECT_PROBES: NonZeroUsize = NonZeroUsize::new(3).unwrap();
const PACKET: NonZeroUsize = NonZeroUsize::new(DATAGRAM_BYTES_MAX).unwrap();
const ONE: NonZeroUsize = NonZeroUsize::MIN;

impl Config {
    /// The numbers for SWIM in a mesh of so many nodes. A rumour needs about log(n) rounds to reach everybody, so that is how
    /// often it is passed on, and how much longer a suspicion may be refuted.
    pub(super) fn for_size(&self, nodes: usize) -> foca::Config {
        let digits = u64::from(nodes.max(1).ilog10() + 1);
        let passed_on = u8::try_from(4 * digits).unwrap_or(u8::MAX).max(PASSED_ON_MIN);
        let times = digits.saturating_sub(1).max(1);
        let period = Duration::from_millis(self.probe_period_ms.max(2));
        foca::Config {
            probe_period: period,
            probe_rtt: Duration::from_millis(self.probe_rtt_ms.clamp(1, self.probe_period_ms.max(2) - 1)),
            num_indirect_probes: INDIRECT_PROBES,
            max_transmissions: NonZeroU8::new(passed_on).unwrap_or(NonZeroU8::MIN),
            suspect_to_down_after: Duration::from_millis(self.suspect_ms.max(1).saturating_mul(times)),
            remove_down_after: Some(DEAD_REMEMBERED),
            max_packet_size: PACKET,
            // Foca 2.0 tells a node that it is dead when the time to refute is over, also if it has refuted. Our samples tell
            // the dead, and nobody else (`stories::a_suspicion_that_was_refuted_costs_nobody_a_life`).
            notify_down_members: false,
            periodic_announce: Some(foca::PeriodicParams { frequency: period.saturating_mul(30), num_members: ONE }),
            periodic_announce_to_down_members: Some(foca::PeriodicParams {
                frequency: period.saturating_mul(60),
                num_members: ONE,
            }),
            periodic_gossip: Some(foca::PeriodicParams { frequency: period / 5, num_members: INDIRECT_PROBES }),
        }
    }
}
