//! The driver without threads.

use super::{
    attempts::Attempts,
    audience::{Audience, Watcher},
    event::{Event, Posted},
    identity::Identity,
    live::Live,
    pipeline::{After, Lost, Open, Pipeline},
    ready::Ready,
    said::LastWords,
    timers::{Timers, earlier},
    upkeep::Upkeep,
};
use crate::world::World;
use relaymesh_core::{
    content::CONTENT_BYTES_DEFAULT,
    lanes::{DEFAULT_MAX_CONSECUTIVE_HIGH, Weights},
    task::Effect,
};
use relaymesh_store::{Batch, Error, Head, Reader};
use std::{collections::BTreeSet, sync::Arc};

/// How a driver is set up. Names are those of the contract's settings where it has them (R18).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Ready steps that are held in memory; the backlog is in the store.
    pub queue_capacity: usize,
    /// Attempts of this node's own agents under way at once.
    pub slots: usize,
    /// Lease duration for steps that the daemon's own agents run.
    pub lease_timeout_ms: u64,
    /// How long reclaim is put off when the clock jumped.
    pub reclaim_scan_interval_ms: u64,
    /// Ops in one batch, at most.
    pub batch_ops_max: usize,
    /// High items in a row before a lower one must run.
    pub max_consecutive_high: u32,
    /// How much namespaces weigh when they take turns; those that are not named weigh 1.
    pub namespace_weights: Weights,
    /// The longest content that is taken; never more than [`CONTENT_BYTES_MAX`](relaymesh_core::content::CONTENT_BYTES_MAX).
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
            namespace_weights: Weights::new(),
            payload_max_bytes: CONTENT_BYTES_DEFAULT,
        }
    }
}

/// Decides commands, one batch ahead of the store. Call order: any number of `handle_*`, then `poll_batch`; what it
/// gives out goes to the store, and the store's word comes back by `handle_committed`; after the next `poll_batch`, so
/// that the store need not wait, `tell` gives the answers, and `start_some` begins the work that became durable. `wake_at` says when to call `handle_tick` if nothing else comes in.
///
/// Its state belongs to its parts. What a batch does to a part is that part's *share* of it: the part is given it when the batch is durable
/// (`settle`), or when it was rolled back (`undo`).
pub struct Engine<R, W> {
    pub(super) config: Config,
    pub(super) reader: R,
    pub(super) world: W,
    pub(super) identity: Identity,
    pub(super) pipeline: Pipeline,
    pub(super) live: Live,
    pub(super) ready: Ready,
    pub(super) attempts: Attempts,
    pub(super) timers: Timers,
    pub(super) audience: Audience,
    pub(super) upkeep: Upkeep,
    pub(super) last_words: LastWords,
    /// Effects that are about to be taken up. Empty in between: it only saves allocations.
    pub(super) effects: Vec<Effect>,
}

impl<R: Reader, W: World> Engine<R, W> {
    /// A driver that goes on where the store stands: leases of dead processes are revoked, what is due is taken up.
    pub fn new(reader: R, world: W, config: Config) -> Result<Self, Error> {
        Self::watched(reader, world, config, Vec::new())
    }

    /// The same, and these hear of all of that, too.
    pub fn watched(reader: R, world: W, config: Config, watchers: Vec<Watcher>) -> Result<Self, Error> {
        Self::serving(reader, world, config, Audience::new(watchers))
    }

    /// The same for the audience of an engine before this one. Callers that wait for a task that has ended meanwhile are told.
    pub fn serving(mut reader: R, mut world: W, config: Config, audience: Audience) -> Result<Self, Error> {
        let pipeline = Pipeline::new(reader.head()?);
        let mut engine = Self {
            identity: Identity::of(pipeline.head().chain.origin)?,
            pipeline,
            live: Live::read(&mut reader)?,
            ready: Ready::new(config.max_consecutive_high, &config.namespace_weights),
            attempts: Attempts::default(),
            timers: Timers::new(world.now()),
            audience,
            upkeep: Upkeep::default(),
            last_words: LastWords::default(),
            effects: Vec::new(),
            config,
            reader,
            world,
        };
        let unknown = super::Error::Indeterminate("its task was never created".to_owned());
        engine.audience.settle(&mut engine.reader, BTreeSet::new(), &unknown);
        engine.recover()?;
        Ok(engine)
    }

    /// Ends this engine and hands its audience on. Whoever asked for something that is not known to be durable is told so; callers that
    /// wait for the end of a task go on waiting.
    pub fn into_audience(mut self) -> Audience {
        self.tell();
        let unknown = super::Error::Indeterminate("the driver ended before it was durable".to_owned());
        for Lost { after, .. } in self.pipeline.undo() {
            for (reply, _) in after.replies {
                reply(Err(unknown.clone()));
            }
            self.audience.undo(after.audience);
        }
        for reply in self.upkeep.take_asked() {
            reply(Err(unknown.clone()));
        }
        self.audience
    }

    /// Where the log stands, as far as it is durable.
    pub fn head(&self) -> &Head {
        self.pipeline.head()
    }

    /// The world, for a simulator.
    pub fn world_mut(&mut self) -> &mut W {
        &mut self.world
    }

    /// How many tasks are held in memory.
    pub fn live(&self) -> usize {
        self.live.tasks()
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
        self.ready.set_weights(&config.namespace_weights);
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
        self.pipeline.ops() < self.config.batch_ops_max
    }

    /// Why the node must stop, if it must.
    pub fn poisoned(&self) -> Option<&str> {
        self.pipeline.poisoned()
    }

    /// Whether nothing is on its way and nobody waits for a commit.
    pub fn is_settled(&self) -> bool {
        self.pipeline.is_settled() && !self.has_starts() && self.upkeep.is_idle()
    }

    /// The next batch for the store, if the last one is settled and there is anything to do. A batch may be empty:
    /// then there are only answers, and it needs no commit, see [`Engine::handle_committed`].
    pub fn poll_batch(&mut self) -> Option<Arc<Batch>> {
        self.live.let_go(self.pipeline.settled());
        if !self.pipeline.is_free() {
            return None;
        }
        self.dispatch();
        self.write_checkpoint();
        if self.pipeline.is_idle() {
            return None;
        }
        self.put_rows();
        Some(self.pipeline.give_out())
    }

    /// Writes the rows that have changed into the batch being decided. Whoever has nothing better to do while the store is
    /// busy does it early, and the store waits less for its next batch.
    pub fn put_rows(&mut self) {
        let number = self.pipeline.number();
        let Open { batch, after } = self.pipeline.open();
        let After { live, effects, wake_ms, .. } = after;
        let node = self.identity.node;
        let due_ms = self.live.put(live, batch, number, |task, change| effects.take_in(task, change, node));
        *wake_ms = earlier(*wake_ms, due_ms);
    }
}
