//! All attempts under way, on one thread.
//!
//! An answer takes minutes, and almost all of them are spent waiting: a thread for each would be a hundred threads that sleep. So all of them share
//! one, which is started with the first attempt; before that there is nothing. What may keep a thread (a name that is looked up, a secret or a
//! result on a disk) is done beside it.

use super::{Http, call, client::Clients};
use crate::{
    end::{End, Ended},
    meter::Meter,
    pool::{Input, Key, locked},
};
use relaymesh_core::id::StepId;
use std::{
    collections::BTreeMap,
    io,
    path::PathBuf,
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::Duration,
};
use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::{mpsc, oneshot},
};

/// What is done beside the thread at once.
const BESIDE_MAX: usize = 8;
/// How long attempts that are stopped have to say so when everything ends.
const CLOSE: Duration = Duration::from_secs(3);

/// An attempt to be made.
pub struct Launch {
    /// Which.
    pub key: Key,
    /// The agent's server.
    pub http: Arc<Http>,
    /// How the files with what it says are called, but for their last part.
    pub files: PathBuf,
    /// Gives what is sent, and its secrets. It is asked beside the thread of all attempts, for the bytes may lie on a disk.
    pub input: Input,
    /// Variables of the attempt, which become headers.
    pub env: Vec<(String, String)>,
    /// What it may use.
    pub meter: Meter,
    /// What its result must be like: a JSON schema, as text.
    pub result_schema: Option<String>,
}

/// Makes attempts of agents that are reached by HTTP. Dropped, it ends all of them.
pub struct Calls {
    shared: Arc<Shared>,
    running: Mutex<Option<Running>>,
}

struct Shared {
    /// Not yet ended. What is taken out is stopped.
    under: Mutex<BTreeMap<Key, oneshot::Sender<()>>>,
    clients: Clients,
    ended: Box<dyn Fn(Key, Ended) + Send + Sync>,
}

/// The thread, once there is one.
struct Running {
    handle: Handle,
    /// Each attempt has one, and the thread waits until all are gone.
    alive: mpsc::Sender<()>,
    close: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Calls {
    /// Tells `ended` how each attempt ended. Nothing is started yet.
    pub fn new(ended: impl Fn(Key, Ended) + Send + Sync + 'static) -> Self {
        let shared = Shared { under: Mutex::default(), clients: Clients::default(), ended: Box::new(ended) };
        Self { shared: Arc::new(shared), running: Mutex::default() }
    }

    /// Begins an attempt.
    pub fn launch(&self, launch: Launch) {
        let key = launch.key;
        let (stop, stopped) = oneshot::channel();
        locked(&self.shared.under).insert(key, stop);
        let (handle, alive) = match self.running() {
            Ok(running) => running,
            Err(error) => {
                locked(&self.shared.under).remove(&key);
                let error = format!("cannot start a thread: {error}");
                return (self.shared.ended)(key, End::Failed { error, retryable: true }.into());
            }
        };
        let shared = Arc::clone(&self.shared);
        handle.spawn(async move {
            let made = Arc::clone(&shared);
            let made = tokio::spawn(async move { call::make(launch, &made.clients, stopped).await });
            let ended = made.await.unwrap_or_else(|error| {
                End::Failed { error: format!("the attempt ended because of a bug: {error}"), retryable: true }.into()
            });
            locked(&shared.under).remove(&key);
            let _ = tokio::task::spawn_blocking(move || (shared.ended)(key, ended)).await;
            drop(alive);
        });
    }

    /// Ends an attempt: its connection is gone at once. One that has ended needs none.
    pub fn stop(&self, step: StepId, epoch: u32) {
        if let Some(stop) = locked(&self.shared.under).remove(&(step, epoch)) {
            let _ = stop.send(());
        }
    }

    fn running(&self) -> io::Result<(Handle, mpsc::Sender<()>)> {
        let mut running = locked(&self.running);
        let running = match &mut *running {
            Some(running) => running,
            none => none.insert(start()?),
        };
        Ok((running.handle.clone(), running.alive.clone()))
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        let Some(Running { alive, close, thread, .. }) = locked(&self.running).take() else { return };
        locked(&self.shared.under).clear();
        drop(alive);
        let _ = close.send(());
        let _ = thread.join();
    }
}

fn start() -> io::Result<Running> {
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(BESIDE_MAX).build()?;
    let handle = runtime.handle().clone();
    let (alive, drained) = mpsc::channel(1);
    let (close, closed) = oneshot::channel();
    let thread = thread::Builder::new().name("http".to_owned()).spawn(move || work(runtime, closed, drained))?;
    Ok(Running { handle, alive, close, thread })
}

fn work(runtime: Runtime, closed: oneshot::Receiver<()>, mut drained: mpsc::Receiver<()>) {
    runtime.block_on(async {
        let _ = closed.await;
        let _ = tokio::time::timeout(CLOSE, drained.recv()).await;
    });
    // A name that is still looked up is nobody's business any more.
    runtime.shutdown_timeout(Duration::from_millis(100));
}
