//! The engine on two threads: one decides, one commits.

use super::{
    command::{Answer, Caller, Command, Error, Event, Request},
    engine::{Config, Engine, Watcher},
};
use crate::world::{Finished, World};
use relaymesh_store::{Batch, Reader, Store};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// Commands that may wait before more are turned away.
const WAITING_MAX: usize = 16_384;

enum Input {
    Request(Request),
    Finished(Finished),
    Watch(Watcher),
    Committed(Result<(), relaymesh_store::Error>),
    Stop,
}

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
}

impl<S: Store> Driver<S> {
    /// Starts a driver on `store`. `world` is made with the function that takes outcomes which come late.
    pub fn start<W: World>(
        store: S,
        config: Config,
        world: impl FnOnce(Box<dyn Fn(Finished) + Send>) -> W,
    ) -> Result<Self, relaymesh_store::Error> {
        let (inputs, received) = mpsc::channel();
        let (batches, to_commit) = mpsc::channel::<Arc<Batch>>();
        let late = inputs.clone();
        // A driver that is gone does not need the outcome: the restart will find the attempt in the rows.
        let world = world(Box::new(move |finished| drop(late.send(Input::Finished(finished)))));
        let engine = Engine::new(store.reader()?, world, config)?;
        let committed = inputs.clone();
        let writer = spawn("writer", move || write(store, &to_commit, &committed))?;
        let waiting = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&waiting);
        let kernel = spawn("kernel", move || decide(engine, &received, &batches, &counted))?;
        Ok(Self { handle: Handle { inputs, waiting }, kernel, writer })
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

    /// Tells `watcher` of everything that becomes durable from now on, until it returns `false`.
    pub fn watch(&self, watcher: impl FnMut(&Event) -> bool + Send + 'static) {
        // A driver that has stopped has nothing to tell.
        let _ = self.inputs.send(Input::Watch(Box::new(watcher)));
    }
}

fn decide<R: Reader, W: World>(
    mut engine: Engine<R, W>,
    inputs: &Receiver<Input>,
    batches: &Sender<Arc<Batch>>,
    waiting: &AtomicUsize,
) -> Option<String> {
    let mut stopping = false;
    loop {
        hand_over(&mut engine, batches);
        if let Some(why) = engine.poisoned() {
            return Some(why.to_owned());
        }
        if stopping && engine.is_settled() {
            return None;
        }
        let mut next = receive(&mut engine, inputs);
        while let Some(input) = next {
            match input {
                Input::Request(request) => {
                    waiting.fetch_sub(1, Ordering::Relaxed);
                    if stopping {
                        (request.reply)(Err(Error::Stopped));
                    } else {
                        engine.handle_request(request);
                    }
                }
                Input::Finished(finished) => engine.handle_finished(finished),
                Input::Watch(watcher) => engine.watch(watcher),
                Input::Committed(result) => engine.handle_committed(result),
                Input::Stop => {
                    stopping = true;
                    engine.handle_close();
                }
            }
            next = if engine.has_room() { inputs.try_recv().ok() } else { None };
        }
        if !stopping {
            engine.handle_tick();
        }
    }
}

/// Gives the next batch to the writer, if it is free; a batch without anything to write is settled at once.
fn hand_over<R: Reader, W: World>(engine: &mut Engine<R, W>, batches: &Sender<Arc<Batch>>) {
    while let Some(batch) = engine.poll_batch() {
        if batch.is_empty() {
            engine.handle_committed(Ok(()));
        } else if batches.send(batch).is_err() {
            let detail = "the writer thread has ended".to_owned();
            engine.handle_committed(Err(relaymesh_store::Error::Poisoned { detail }));
        } else {
            return;
        }
    }
}

/// Waits for the next input, or until something falls due.
fn receive<R: Reader, W: World>(engine: &mut Engine<R, W>, inputs: &Receiver<Input>) -> Option<Input> {
    let Some(wake_at) = engine.wake_at() else { return inputs.recv().ok() };
    let left = wake_at.saturating_sub(engine.world_mut().now().mono_ms);
    match inputs.recv_timeout(Duration::from_millis(left)) {
        Ok(input) => Some(input),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => Some(Input::Stop),
    }
}

fn write<S: Store>(mut store: S, batches: &Receiver<Arc<Batch>>, committed: &Sender<Input>) -> S {
    while let Ok(batch) = batches.recv() {
        if committed.send(Input::Committed(store.commit(&batch))).is_err() {
            break;
        }
    }
    store
}

fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, relaymesh_store::Error> {
    let failed = |error: io::Error| relaymesh_store::Error::Io { detail: format!("no {name} thread: {error}") };
    thread::Builder::new().name(name.to_owned()).spawn(body).map_err(failed)
}
