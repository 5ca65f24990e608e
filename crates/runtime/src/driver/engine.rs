//! The driver without threads.

use super::{
    ask::asker,
    attempts::Attempts,
    audience::{Audience, Watcher},
    batch::{InFlight, Open},
    cache::Cache,
    caller::Caller,
    event::{Event, Posted},
    namespaces,
    ready::Ready,
    scopes::Scopes,
    timers::{Timers, earlier},
    upkeep::Upkeep,
};
use crate::world::World;
use relaymesh_core::{
    content::CONTENT_BYTES_MAX,
    hlc::HlcClock,
    id::{NodeId, RequestId, TaskId, WorkerId},
    lanes::DEFAULT_MAX_CONSECUTIVE_HIGH,
    name::Name,
    task::{Effect, spec::IdempotencyKey},
};
use relaymesh_store::{Batch, Error, Head, Reader, ScopePut};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// How a driver is set up. Names are those of the contract's settings where it has them (R18).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Ready steps that are held in memory; the backlog is in the store.
    pub queue_capacity: usize,
    /// Attempts of this node's own agents under way at once.
    pub slots: usize,
    /// How long the lease on a step of this node's own agents runs on the log.
    pub lease_timeout_ms: u64,
    /// How long reclaim is put off when the clock jumped.
    pub reclaim_scan_interval_ms: u64,
    /// Ops in one batch, at most.
    pub batch_ops_max: usize,
    /// High items in a row before a lower one must run.
    pub max_consecutive_high: u32,
    /// The longest content that is taken; never more than [`CONTENT_BYTES_MAX`].
    pub payload_max_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            queue_capacity: 100,
            slots: 512,
            lease_timeout_ms: 15_000,
            reclaim_scan_interval_ms: 5_000,
            batch_ops_max: 1_024,
            max_consecutive_high: DEFAULT_MAX_CONSECUTIVE_HIGH,
            payload_max_bytes: CONTENT_BYTES_MAX,
        }
    }
}

/// Decides commands, one batch ahead of the store. Call order: any number of `handle_*`, then `poll_batch`; what it
/// gives out goes to the store, and the store's word comes back by `handle_committed`; after the next `poll_batch`, so
/// that the store need not wait, `tell` gives the answers, and `start_some` begins the work that became durable. `wake_at` says when to call `handle_tick` if nothing else comes in.
pub struct Engine<R, W> {
    pub(super) config: Config,
    pub(super) reader: R,
    pub(super) world: W,
    pub(super) node: NodeId,
    /// The world's own agents are one worker, named after the node: after a restart its leases are known to be dead.
    pub(super) worker: WorkerId,
    /// Steps that wait for an answer are held by another one: their answers may come after a restart, so its leases outlive it.
    pub(super) asker: WorkerId,
    pub(super) itself: Caller,
    pub(super) head: Head,
    pub(super) hlc: HlcClock,
    pub(super) cache: Cache,
    pub(super) scopes: Scopes,
    /// Every namespace that is there, those of batches on their way included.
    pub(super) namespaces: BTreeSet<Name>,
    pub(super) timers: Timers,
    pub(super) open: Open,
    pub(super) in_flight: Option<InFlight>,
    /// A batch that is durable, and nobody has been told yet.
    pub(super) durable: Option<InFlight>,
    pub(super) batches: u64,
    /// The greatest request id that was ever a key here.
    pub(super) newest_request: Option<RequestId>,
    /// What became of keys that no reader sees yet, with the batch that has it.
    pub(super) keys: HashMap<(Name, IdempotencyKey), (u64, Option<TaskId>)>,
    pub(super) upkeep: Upkeep,
    pub(super) audience: Audience,
    pub(super) ready: Ready,
    pub(super) attempts: Attempts,
    pub(super) effects: Vec<Effect>,
    pub(super) poisoned: Option<String>,
}

impl<R: Reader, W: World> Engine<R, W> {
    /// A driver that goes on where the store stands: leases of dead processes are revoked, what is due is taken up.
    pub fn new(reader: R, world: W, config: Config) -> Result<Self, Error> {
        Self::watched(reader, world, config, Vec::new())
    }

    /// The same, and these hear of all of that, too.
    pub fn watched(mut reader: R, mut world: W, config: Config, watchers: Vec<Watcher>) -> Result<Self, Error> {
        let head = reader.head()?;
        let newest_request = reader.newest_request()?;
        let namespaces = namespaces::load(&mut reader)?;
        let node = head.chain.origin;
        let name = |text: &str| text.parse::<Name>().map_err(|e| Error::Unusable { detail: e.to_string() });
        let timers = Timers::new(world.now());
        let mut engine = Self {
            ready: Ready::new(config.max_consecutive_high),
            config,
            reader,
            world,
            node,
            worker: WorkerId::from_bytes(node.to_bytes()),
            asker: asker(node),
            itself: Caller::new(name("node")?, name("driver")?),
            hlc: head.hlc().map_or_else(|| HlcClock::new(node), HlcClock::resume),
            open: Open::new(head.clone()),
            head,
            cache: Cache::default(),
            scopes: Scopes::default(),
            namespaces,
            timers,
            in_flight: None,
            durable: None,
            batches: 0,
            newest_request,
            keys: HashMap::new(),
            upkeep: Upkeep::default(),
            audience: Audience::new(watchers),
            attempts: Attempts::default(),
            effects: Vec::new(),
            poisoned: None,
        };
        engine.recover()?;
        Ok(engine)
    }

    /// Where the log stands, as far as it is durable.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The world, for a simulator.
    pub fn world_mut(&mut self) -> &mut W {
        &mut self.world
    }

    /// How many tasks are held in memory.
    pub fn live(&self) -> usize {
        self.cache.len()
    }

    /// How often a lower lane had to be forced (`low_starvation_count`).
    pub fn low_starvation_count(&self) -> u64 {
        self.ready.low_starvation_count()
    }

    /// The agents have changed.
    pub fn handle_refresh(&mut self) {
        self.ready.note_backlog(self.world.refresh());
    }

    /// The settings have changed. What is claimed keeps its terms; the lanes keep their counts until the next start.
    pub fn handle_configured(&mut self, config: Config) {
        // What was too much for a smaller window may fit in now.
        self.ready.note_backlog(config.queue_capacity > self.config.queue_capacity);
        self.config = config;
    }

    /// Tells `watcher` of everything that becomes durable from now on, until it returns `false`.
    pub fn watch(&mut self, watcher: impl FnMut(&Event) -> bool + Send + 'static) {
        self.audience.watch(Box::new(watcher));
    }

    /// Tells `listener` of messages that wait or are over, from now on, until it returns `false`.
    pub fn listen(&mut self, listener: impl FnMut(&Posted) -> bool + Send + 'static) {
        self.audience.listen(Box::new(listener));
    }

    /// Tells `follower` where the log stands after every commit that added to it, until it returns `false`.
    pub fn follow(&mut self, follower: impl FnMut(u64) -> bool + Send + 'static) {
        self.audience.follow(Box::new(follower));
    }

    /// Whether the batch being decided has room for more.
    pub fn has_room(&self) -> bool {
        self.open.batch.ops.len() < self.config.batch_ops_max
    }

    /// Why the node must stop, if it must.
    pub fn poisoned(&self) -> Option<&str> {
        self.poisoned.as_deref()
    }

    /// Whether nothing is on its way and nobody waits for a commit.
    pub fn is_settled(&self) -> bool {
        self.in_flight.is_none()
            && self.durable.is_none()
            && self.open.is_idle()
            && !self.has_starts()
            && self.upkeep.is_idle()
    }

    /// The next batch for the store, if the last one is settled and there is anything to do. A batch may be empty:
    /// then there are only answers, and it needs no commit, see [`Engine::handle_committed`].
    pub fn poll_batch(&mut self) -> Option<Arc<Batch>> {
        let settled = self.settled_batch();
        self.cache.settle_visitors(settled);
        self.scopes.settle(settled);
        if self.in_flight.is_some() || self.poisoned.is_some() {
            return None;
        }
        self.dispatch();
        self.write_checkpoint();
        if self.open.is_idle() {
            return None;
        }
        self.put_rows();
        let next = Open::new(self.open.batch.head.clone());
        let Open { batch, after, .. } = std::mem::replace(&mut self.open, next);
        let batch = Arc::new(batch);
        self.batches += 1;
        self.in_flight = Some(InFlight { number: self.batches, batch: Arc::clone(&batch), after });
        Some(batch)
    }

    /// Writes the rows that have changed into the batch being decided. Whoever has nothing better to do while the store is
    /// busy does it early, and the store waits less for its next batch.
    pub fn put_rows(&mut self) {
        let Open { batch, after, rows_put, scopes_put } = &mut self.open;
        for task in &after.touched[*rows_put..] {
            let Some(entry) = self.cache.get_mut(*task) else { continue };
            entry.dirty = false;
            entry.batch = self.batches + 1;
            match (&entry.rows, entry.purged.take()) {
                (Some(rows), _) => entry.saved.put(rows, batch),
                (None, Some(row)) => entry.saved.purge(row, batch),
                (None, None) => {}
            }
        }
        *rows_put = after.touched.len();
        for scope in &after.touched_scopes[*scopes_put..] {
            let Some(entry) = self.scopes.get_mut(*scope) else { continue };
            entry.dirty = false;
            entry.batch = self.batches + 1;
            let before = batch.scopes.len();
            entry.saved.put(*scope, entry.rows.as_ref(), batch);
            let due = batch.scopes[before..].iter().filter_map(ScopePut::due_ms).min();
            after.wake_ms = earlier(after.wake_ms, due);
        }
        *scopes_put = after.touched_scopes.len();
    }
}
