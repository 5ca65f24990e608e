//! The driver's loop without threads: what is done in which order with everything that comes in.
//!
//! ```text
//!  handle_* ──► [requests] ──┐
//!  handle_* ──► Engine ◄─────┴─ poll_turn: tick, decide a little ──► a batch for the writer,
//!                 ▲                                                  and: again, wait, or ended
//!                 └── handle_committed ──► the next batch for the writer, and after it the answers: tell
//! ```
//!
//! [`super::Driver`] runs it on a thread, with channels, a clock to sleep by and a writer thread. The simulator runs the same loop
//! by hand. So whatever depends on order belongs here, and what stays outside is waiting and passing things on.
//!
//! Deciding everything that has come in before the writer gets its next batch is the tempting loop, and leaves the writer
//! idle while a hundred commands are decided. So a turn decides a little, and between two turns the writer's word is heard.

use super::{
    audience::{Follower, Listener, Watcher},
    command::Request,
    engine::{Config, Engine},
    error::Error,
    sizes::Sizes,
    timers::earlier,
};
use crate::world::{Finished, World};
use relaymesh_store::{Batch, Reader, Spend};
use std::{collections::VecDeque, sync::Arc};

/// An engine and the requests that wait for it. Call order: any number of `handle_*`, then [`EventLoop::poll_turn`], and what
/// [`Turn::next`] asks for. A batch that is given out goes to the writer before anything else is called; its result comes
/// back by [`EventLoop::handle_committed`], and no second batch is given out before that.
pub struct EventLoop<R, W> {
    engine: Engine<R, W>,
    /// Requests that are not decided yet.
    requests: VecDeque<Request>,
    /// Those of them that let go of what is over: they wait for the others.
    upkeep: VecDeque<Request>,
    /// Something else than upkeep was decided since the last turn.
    is_loaded: bool,
    stopping: bool,
}

/// The result of one turn.
#[derive(Debug)]
pub struct Turn {
    /// A batch for the writer.
    pub batch: Option<Arc<Batch>>,
    /// What to do next.
    pub next: Next,
}

/// What to do after a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Hand in what has come in meanwhile, if anything, and make another turn: there is more to decide.
    Again,
    /// Hand in what has come in. If that is nothing, call [`EventLoop::handle_idle`] and wait for an input, or until
    /// [`EventLoop::wake_at`]; then make another turn.
    Wait,
    /// Stop for good: the loop was told to stop and is done, or the store is poisoned and this is why.
    Ended(Result<(), String>),
}

/// How the driver stands at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glance {
    /// What it holds in memory.
    pub sizes: Sizes,
    /// The newest durable op.
    pub pos: u64,
    /// How often a lower lane had to be forced (R13).
    pub low_starvation_count: u64,
}

impl<R: Reader, W: World> EventLoop<R, W> {
    /// A loop around this engine.
    pub fn new(engine: Engine<R, W>) -> Self {
        Self { engine, requests: VecDeque::new(), upkeep: VecDeque::new(), is_loaded: false, stopping: false }
    }

    /// A command has come in. It is decided in one of the next turns.
    pub fn handle_request(&mut self, request: Request) {
        let queue = if request.command.is_upkeep() { &mut self.upkeep } else { &mut self.requests };
        queue.push_back(request);
    }

    /// An attempt has ended.
    pub fn handle_finished(&mut self, finished: Finished) {
        self.is_loaded = true;
        self.engine.handle_finished(finished);
    }

    /// Something was used.
    pub fn handle_spent(&mut self, spend: Spend) {
        self.engine.handle_spent(spend);
    }

    /// The agents have changed.
    pub fn handle_refresh(&mut self) {
        self.engine.handle_refresh();
    }

    /// The settings have changed.
    pub fn handle_configured(&mut self, config: Config) {
        self.engine.handle_configured(config);
    }

    /// Tells `watcher` of everything that becomes durable from now on, until it returns `false`.
    pub fn watch(&mut self, watcher: Watcher) {
        self.engine.watch(watcher);
    }

    /// Tells `listener` of messages that wait or are over, from now on, until it returns `false`.
    pub fn listen(&mut self, listener: Listener) {
        self.engine.listen(listener);
    }

    /// Tells `follower` where the log stands after every commit that added to it, until it returns `false`.
    pub fn follow(&mut self, follower: Follower) {
        self.engine.follow(follower);
    }

    /// The writer is done with the batch that was given out last. Gives out the next one: hand it over, and then call
    /// [`EventLoop::tell`]. The writer first, so that it is not idle while a hundred callers are answered.
    #[must_use]
    pub fn handle_committed(&mut self, result: Result<(), relaymesh_store::Error>) -> Option<Arc<Batch>> {
        self.engine.handle_committed(result);
        self.poll_batch()
    }

    /// Answers everybody who waited for the last commit.
    pub fn tell(&mut self) {
        self.engine.tell();
    }

    /// Takes no more commands. The loop ends once everything that was decided is committed.
    pub fn handle_stop(&mut self) {
        self.stopping = true;
        self.engine.handle_close();
    }

    /// One turn: does what is due, decides at most so many attempts and so many requests, and gives out the next batch if
    /// the writer is free.
    pub fn poll_turn(&mut self, decisions_max: usize) -> Turn {
        self.engine.tell();
        if !self.stopping {
            self.engine.handle_tick();
        }
        self.decide(decisions_max);
        self.decide_upkeep();
        let batch = self.poll_batch();
        Turn { batch, next: self.next() }
    }

    /// Nothing has come in. While the writer is busy there is time to write rows into the next batch, which then need not be
    /// done when the writer waits for it.
    pub fn handle_idle(&mut self) {
        self.engine.put_rows();
    }

    /// When to make the next turn if nothing comes in, by the monotonic clock; `None`: not before something comes in.
    pub fn wake_at(&mut self) -> Option<u64> {
        match (self.stopping, self.upkeep.is_empty()) {
            (true, _) => None,
            (false, true) => self.engine.wake_at(),
            (false, false) => earlier(self.engine.wake_at(), self.engine.upkeep_at()),
        }
    }

    /// How the driver stands.
    pub fn glance(&self) -> Glance {
        Glance {
            sizes: self.engine.sizes(),
            pos: self.engine.head().pos,
            low_starvation_count: self.engine.low_starvation_count(),
        }
    }

    /// Requests that are not decided yet.
    pub fn waiting(&self) -> usize {
        self.requests.len() + self.upkeep.len()
    }

    /// Whether nothing is on its way and nobody waits for a decision or for a commit.
    pub fn is_settled(&self) -> bool {
        self.engine.is_settled() && self.requests.is_empty() && self.upkeep.is_empty()
    }

    /// The world, for a simulator.
    pub fn world_mut(&mut self) -> &mut W {
        self.engine.world_mut()
    }

    /// Decides a little: attempts that may begin first, because somebody waits for their end already.
    fn decide(&mut self, decisions_max: usize) {
        if self.engine.has_room() {
            self.is_loaded |= self.engine.has_starts();
            self.engine.start_some(decisions_max);
        }
        for _ in 0..decisions_max {
            if !self.engine.has_room() {
                return;
            }
            let Some(request) = self.requests.pop_front() else { return };
            self.is_loaded = true;
            if self.stopping {
                (request.reply)(Err(Error::Stopped));
            } else {
                self.engine.handle_request(request);
            }
        }
    }

    /// Lets go of a little of what is over, if it is its turn.
    fn decide_upkeep(&mut self) {
        if std::mem::take(&mut self.is_loaded) {
            self.engine.note_load();
        }
        if self.stopping {
            self.upkeep.drain(..).for_each(|request| (request.reply)(Err(Error::Stopped)));
        }
        if !self.upkeep.is_empty()
            && self.engine.may_upkeep()
            && let Some(request) = self.upkeep.pop_front()
        {
            self.engine.handle_request(request);
        }
    }

    /// The next batch, if the writer is free. A batch without anything to write is settled at once.
    fn poll_batch(&mut self) -> Option<Arc<Batch>> {
        while let Some(batch) = self.engine.poll_batch() {
            if !batch.is_empty() {
                return Some(batch);
            }
            self.engine.handle_committed(Ok(()));
            self.engine.tell();
        }
        None
    }

    fn next(&mut self) -> Next {
        if let Some(why) = self.engine.poisoned() {
            Next::Ended(Err(why.to_owned()))
        } else if self.stopping && self.is_settled() {
            Next::Ended(Ok(()))
        } else if self.engine.has_room() && (self.engine.has_starts() || !self.requests.is_empty())
            || !self.upkeep.is_empty() && self.engine.may_upkeep()
        {
            Next::Again
        } else {
            Next::Wait
        }
    }
}
