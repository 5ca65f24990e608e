//! The driver on two threads: one decides, one commits. What is done in which order is the business of [`EventLoop`].

use super::{
    audience::{Follower, Listener, Watcher},
    caller::Caller,
    command::{Answer, Command, Request},
    engine::{Config, Engine},
    error::Error,
    event::{Event, Posted},
    event_loop::{EventLoop, Glance, Next, Turn},
    meter::Meter,
};
use crate::{
    ledger::Write,
    world::{Finished, Late, World},
};
use relaymesh_store::{Batch, Reader, Spend, Store};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Attempts and requests that are decided in one turn, before the writer's result is looked at again.
const DECISIONS_AT_ONCE: usize = 32;

/// Commands that may wait before more are turned away.
const WAITING_MAX: usize = 16_384;

/// What the writer does, one after the other.
enum Job {
    Commit(Arc<Batch>),
    Shrink(Shrunk),
}

/// Is told how shrinking went.
type Shrunk = Box<dyn FnOnce(Result<(), relaymesh_store::Error>) + Send>;

enum Input {
    Request(Request),
    Finished(Finished),
    Spent(Spend),
    Watch(Watcher),
    Listen(Listener, Sender<()>),
    Follow(Follower),
    Look(Looker),
    Refresh,
    Configure(Box<Config>),
    Shrink(Shrunk),
    Committed(Result<(), relaymesh_store::Error>),
    Stop,
}

type Looker = Box<dyn FnOnce(Glance) + Send>;

/// A running driver. Dropping it without [`Driver::stop`] leaves the threads to end by themselves.
pub struct Driver<S: Store> {
    handle: Handle,
    kernel: JoinHandle<Option<String>>,
    writer: JoinHandle<S>,
}

/// Where commands go. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    inputs: Sender<Input>,
    waiting: Arc<AtomicUsize>,
    meter: Arc<Meter>,
}

impl<S: Store> Driver<S> {
    /// Starts a driver on `store`. `world` is made with the handle of the driver: outcomes that come late go there.
    pub fn start<W: World>(
        store: S,
        config: Config,
        world: impl FnOnce(&Handle) -> W,
    ) -> Result<Self, relaymesh_store::Error> {
        Self::start_watched(store, config, Vec::new(), world)
    }

    /// The same, and these are told of everything from the start: also of what an earlier life had left.
    pub fn start_watched<W: World>(
        store: S,
        config: Config,
        watchers: Vec<Watcher>,
        world: impl FnOnce(&Handle) -> W,
    ) -> Result<Self, relaymesh_store::Error> {
        let (inputs, received) = mpsc::channel();
        let (batches, to_commit) = mpsc::channel::<Job>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let meter = Arc::new(Meter::default());
        let handle = Handle { inputs: inputs.clone(), waiting: Arc::clone(&waiting), meter: Arc::clone(&meter) };
        let world = world(&handle);
        let engine = Engine::watched(store.reader()?, world, config, watchers)?;
        let committed = inputs.clone();
        let writer = spawn("writer", move || write(store, &to_commit, &committed, &meter))?;
        let kernel = Kernel { turns: EventLoop::new(engine), inputs: received, batches, waiting };
        let kernel = spawn("kernel", move || kernel.run())?;
        Ok(Self { handle, kernel, writer })
    }

    /// Where commands go.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Takes no more commands, commits what was decided, ends the threads and gives the store back. `Err`: the store
    /// is poisoned, and why.
    pub fn stop(self) -> Result<S, String> {
        // A kernel that has ended already was poisoned; its word follows.
        let _ = self.handle.inputs.send(Input::Stop);
        let poisoned = self.kernel.join().unwrap_or_else(|_| Some("the kernel thread panicked".to_owned()));
        let store = self.writer.join().map_err(|_| "the writer thread panicked".to_owned())?;
        match poisoned {
            None => Ok(store),
            Some(why) => Err(why),
        }
    }
}

impl Handle {
    /// How commits went.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Hands a command over; the answer goes to `reply`, on the driver's thread, once it is durable.
    pub fn send(&self, caller: Caller, command: Command, reply: impl FnOnce(Result<Answer, Error>) + Send + 'static) {
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed);
        if waiting >= WAITING_MAX {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return reply(Err(Error::Busy { waiting }));
        }
        let request = Request { caller, command, reply: Box::new(reply) };
        if let Err(mpsc::SendError(Input::Request(request))) = self.inputs.send(Input::Request(request)) {
            (request.reply)(Err(Error::Stopped));
        }
    }

    /// Hands a command over and waits for the answer.
    pub fn call(&self, caller: Caller, command: Command) -> Result<Answer, Error> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.send(caller, command, move |result| drop(answer.send(result)));
        answered.recv().unwrap_or(Err(Error::Stopped))
    }

    /// The agents have changed: the world takes it up, and steps that nobody knew may have somebody now.
    pub fn refresh(&self) {
        let _ = self.inputs.send(Input::Refresh);
    }

    /// Takes outcomes that come late. A driver that is gone does not need them: the restart will find the attempts in the rows.
    pub fn late(&self) -> Late {
        let inputs = self.inputs.clone();
        Arc::new(move |finished| drop(inputs.send(Input::Finished(finished))))
    }

    /// Takes what was used, for the journal.
    pub fn spends(&self) -> Write {
        let inputs = self.inputs.clone();
        Arc::new(move |spend| drop(inputs.send(Input::Spent(spend))))
    }

    /// Tells the driver its new settings. They count from the next decision on.
    pub fn configure(&self, config: Config) {
        let _ = self.inputs.send(Input::Configure(Box::new(config)));
    }

    /// Has the store give free space back to the file system, and tells `reply` how that went. Commits wait meanwhile. A driver that has
    /// stopped drops `reply`.
    pub fn shrink(&self, reply: impl FnOnce(Result<(), relaymesh_store::Error>) + Send + 'static) {
        let _ = self.inputs.send(Input::Shrink(Box::new(reply)));
    }

    /// Tells `looker` how the driver stands. A driver that has stopped drops it.
    pub fn look(&self, looker: impl FnOnce(Glance) + Send + 'static) {
        let _ = self.inputs.send(Input::Look(Box::new(looker)));
    }

    /// Tells `watcher` of everything that becomes durable from now on, until it returns `false`.
    pub fn watch(&self, watcher: impl FnMut(&Event) -> bool + Send + 'static) {
        // A driver that has stopped has nothing to tell.
        let _ = self.inputs.send(Input::Watch(Box::new(watcher)));
    }

    /// Tells `listener` of messages that wait or are over, from now on, until it returns `false`. When this returns, whatever it is not told of can
    /// be read: who listens first and then looks misses nothing.
    pub fn listen(&self, listener: impl FnMut(&Posted) -> bool + Send + 'static) {
        let (told, heard) = mpsc::channel();
        if self.inputs.send(Input::Listen(Box::new(listener), told)).is_ok() {
            // A driver that has stopped says nothing, and has nothing to tell.
            let _ = heard.recv();
        }
    }

    /// Tells `follower` where the log stands after every commit that added to it, until it returns `false`.
    pub fn follow(&self, follower: impl FnMut(u64) -> bool + Send + 'static) {
        let _ = self.inputs.send(Input::Follow(Box::new(follower)));
    }
}

/// The kernel thread: waits for what comes in, and passes it to the loop and batches to the writer.
struct Kernel<R: Reader, W: World> {
    turns: EventLoop<R, W>,
    inputs: Receiver<Input>,
    batches: Sender<Job>,
    waiting: Arc<AtomicUsize>,
}

impl<R: Reader, W: World> Kernel<R, W> {
    /// Runs until it is told to stop, or the store is poisoned: then that is why.
    fn run(mut self) -> Option<String> {
        loop {
            let waiting = self.turns.waiting();
            let Turn { batch, next } = self.turns.poll_turn(DECISIONS_AT_ONCE);
            self.waiting.fetch_sub(waiting - self.turns.waiting(), Ordering::Relaxed);
            let is_handed_over = self.hand_over(batch);
            let mut input = match next {
                Next::Ended(how) => return how.err(),
                Next::Again => self.inputs.try_recv().ok(),
                Next::Wait if is_handed_over => self.inputs.try_recv().ok().or_else(|| self.receive()),
                Next::Wait => None,
            };
            while let Some(next) = input {
                self.take_in(next);
                input = self.inputs.try_recv().ok();
            }
        }
    }

    fn take_in(&mut self, input: Input) {
        match input {
            Input::Request(request) => self.turns.handle_request(request),
            Input::Finished(finished) => self.turns.handle_finished(finished),
            Input::Spent(spend) => self.turns.handle_spent(spend),
            Input::Watch(watcher) => self.turns.watch(watcher),
            Input::Listen(listener, told) => {
                self.turns.listen(listener);
                let _ = told.send(());
            }
            Input::Follow(follower) => self.turns.follow(follower),
            Input::Refresh => self.turns.handle_refresh(),
            Input::Configure(config) => self.turns.handle_configured(*config),
            Input::Look(looker) => looker(self.turns.glance()),
            // A writer that has ended drops it.
            Input::Shrink(reply) => drop(self.batches.send(Job::Shrink(reply))),
            Input::Committed(result) => {
                let batch = self.turns.handle_committed(result);
                self.hand_over(batch);
                self.turns.tell();
            }
            Input::Stop => self.turns.handle_stop(),
        }
    }

    /// Gives a batch to the writer; `false` if the writer has ended, which the next turn finds.
    fn hand_over(&mut self, batch: Option<Arc<Batch>>) -> bool {
        let Some(batch) = batch else { return true };
        if self.batches.send(Job::Commit(batch)).is_ok() {
            return true;
        }
        let detail = "the writer thread has ended".to_owned();
        let batch = self.turns.handle_committed(Err(relaymesh_store::Error::Poisoned { detail }));
        debug_assert!(batch.is_none(), "a poisoned store gets no batch");
        false
    }

    /// Waits for the next input, or until something falls due.
    fn receive(&mut self) -> Option<Input> {
        self.turns.handle_idle();
        let Some(wake_at) = self.turns.wake_at() else { return Some(self.inputs.recv().unwrap_or(Input::Stop)) };
        let left = wake_at.saturating_sub(self.turns.world_mut().now().mono_ms);
        match self.inputs.recv_timeout(Duration::from_millis(left)) {
            Ok(input) => Some(input),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Input::Stop),
        }
    }
}

fn write<S: Store>(mut store: S, jobs: &Receiver<Job>, committed: &Sender<Input>, meter: &Meter) -> S {
    while let Ok(job) = jobs.recv() {
        let batch = match job {
            Job::Commit(batch) => batch,
            Job::Shrink(reply) => {
                reply(store.shrink());
                continue;
            }
        };
        let began = Instant::now();
        meter.begin();
        let result = store.commit(&batch);
        meter.committed(batch.ops.len(), began.elapsed(), &result);
        if committed.send(Input::Committed(result)).is_err() {
            break;
        }
    }
    store
}

fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, relaymesh_store::Error> {
    let failed =
        |error: io::Error| relaymesh_store::Error::Io { detail: format!("cannot start the {name} thread: {error}") };
    thread::Builder::new().name(name.to_owned()).spawn(body).map_err(failed)
}
