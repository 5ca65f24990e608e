//! A node of the mesh: a peer that runs or does not, its disk, its clock, and what it works on.

use crate::{rng::Rng, time::Ns};
use rand_pcg::{Pcg64Mcg, rand_core::SeedableRng as _};
use relaymesh_bus::sign::{PublicKey, Signer};
use relaymesh_core::{
    hlc::Hlc,
    id::{LeaseToken, NodeId, OpId, StepId},
    op::Hold,
};
use relaymesh_mesh::{
    feed::MemoryFeedLog,
    membership,
    peer::{Commit, Config, Peer, Start},
    sync,
    work::{Etiquette, LeaseWatch},
};

/// Milliseconds since the epoch when a world begins.
pub(super) const WALL_START_MS: u64 = 1_760_000_000_000;
/// How long a claim holds in here.
pub(super) const LEASE_MS: u64 = 6_000;

/// Work that a node has under way.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) step: StepId,
    pub(super) token: LeaseToken,
    pub(super) claimed: OpId,
    pub(super) done_at: Ns,
    pub(super) renew_at: Ns,
}

pub(super) struct Node {
    pub(super) number: usize,
    pub(super) signer: Signer,
    pub(super) id: NodeId,
    pub(super) peer: Option<Peer<Pcg64Mcg>>,
    /// What is durable while no peer runs.
    pub(super) disk: MemoryFeedLog,
    pub(super) life: u64,
    /// Which of its feeds it writes.
    pub(super) origin_epoch: u32,
    /// How often the owner has given rights: no two links are alike.
    pub(super) given: u8,
    pub(super) skew_ms: i64,
    /// What is on its way to the disk.
    pub(super) writing: Option<Commit>,
    pub(super) wake_at: Option<Ns>,
    pub(super) etiquette: Etiquette,
    pub(super) watch: LeaseWatch,
    pub(super) jobs: Vec<Job>,
    pub(super) rng: Rng,
}

/// The key of the node with this number, the same in all worlds: making keys is not what is simulated.
pub(super) fn signer(number: usize) -> Signer {
    Signer::from_seed(&[number as u8 + 1; 32])
}

/// The owner's key.
pub(super) fn root() -> PublicKey {
    signer(0).public_key()
}

/// Everything a little faster than in earnest, so that a world is over soon.
pub(super) fn config() -> Config {
    let membership = membership::Config {
        windows: membership::dwell::Windows { suspect_recover_min_ms: 1_000, dead_recover_min_ms: 3_000 },
        ..membership::Config::default()
    };
    let sync = sync::Config { period_ms: 1_000, jitter_ms: 300, want_timeout_ms: 1_500, ..sync::Config::default() };
    Config { membership, sync, promise_period_ms: 1_000, seal_period_ms: 2_000, ..Config::default() }
}

impl Node {
    pub(super) fn new(number: usize, skew_ms: i64, rng: Rng) -> Self {
        let signer = signer(number);
        Self {
            number,
            id: signer.public_key().node(),
            signer,
            peer: None,
            disk: MemoryFeedLog::default(),
            life: 0,
            origin_epoch: 1,
            given: 0,
            skew_ms,
            writing: None,
            wake_at: None,
            etiquette: Etiquette::new(3, 800),
            watch: LeaseWatch::default(),
            jobs: Vec::new(),
            rng,
        }
    }

    /// What the node's clock says.
    pub(super) fn wall_ms(&self, now: Ns) -> u64 {
        (WALL_START_MS + now / crate::time::MS).saturating_add_signed(self.skew_ms)
    }

    /// When the node's clock says so.
    pub(super) fn at(&self, wall_ms: u64) -> Ns {
        wall_ms.saturating_sub(WALL_START_MS).saturating_add_signed(-self.skew_ms).saturating_mul(crate::time::MS)
    }

    pub(super) fn start(&mut self, all: &[NodeId], now: Ns) {
        self.life += 1;
        let draw = |rng: &mut Rng| Pcg64Mcg::seed_from_u64(rng.between(0, u64::MAX - 1));
        let rngs = [draw(&mut self.rng), draw(&mut self.rng), draw(&mut self.rng)];
        let start = Start {
            signer: self.signer.clone(),
            root: root(),
            origin_epoch: self.origin_epoch,
            life: self.life,
            log: std::mem::take(&mut self.disk),
            config: config(),
            rngs,
        };
        let wall_ms = self.wall_ms(now);
        let mut peer = Peer::open(start, wall_ms);
        peer.remember(all.iter().copied(), wall_ms);
        self.peer = Some(peer);
        (self.wake_at, self.writing) = (None, None);
        self.watch = LeaseWatch::default();
        self.jobs.clear();
    }

    /// The process is gone. What was on its way to the disk is there, or it is not.
    pub(super) fn kill(&mut self, is_written: bool) -> Option<Commit> {
        let mut peer = self.peer.take()?;
        // The next start has a later life than any that this one came to.
        self.life = self.life.max(peer.membership().identity().life);
        let commit = self.writing.take();
        if let (true, Some(commit)) = (is_written, &commit) {
            peer.write(commit.clone());
        }
        self.disk = peer.into_log();
        self.jobs.clear();
        commit.filter(|_| is_written)
    }

    /// Everything that it knew is gone, and so it begins another feed.
    pub(super) fn forget(&mut self) {
        self.disk = MemoryFeedLog::default();
        self.origin_epoch += 1;
    }

    /// The log, wherever it is.
    pub(super) fn log(&self) -> &MemoryFeedLog {
        self.peer.as_ref().map_or(&self.disk, Peer::log)
    }

    /// The proof that a job is this node's, as its own rows have it.
    pub(super) fn held(&self, job: &Job) -> Option<Hold<u16>> {
        let row = self.peer.as_ref()?.fold().job(job.step)?;
        let lease = row.lease.filter(|lease| lease.token == job.token && lease.owner == self.id)?;
        let rows = self.peer.as_ref()?.fold().rows(relaymesh_core::op::Scope::Task(job.step.task))?.task()?;
        let epoch = rows.steps.get(usize::from(job.step.index))?.epoch;
        Some(Hold { step: job.step.index, epoch, token: lease.token })
    }

    /// The node's newest stamp.
    pub(super) fn now(&self) -> Option<Hlc> {
        self.peer.as_ref().map(Peer::now)
    }
}
