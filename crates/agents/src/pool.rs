//! The thread on which attempts are watched.

use crate::{
    config::Script,
    judge::End,
    process::{self, Grace, Started, Stop},
    tree,
};
use relaymesh_core::id::StepId;
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::PathBuf,
    rc::Rc,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch},
    task::{self, LocalSet},
};

/// How long attempts have to end when the pool does (R12: 15 s for everything).
const GRACE_MAX: Duration = Duration::from_secs(10);

/// Which attempt: the step and the claim's fence.
pub type Key = (StepId, u32);

/// Gives the input of an attempt, or says why there is none.
pub type Input = Box<dyn FnOnce() -> Result<Vec<u8>, String> + Send>;

/// An attempt to be made.
pub struct Launch {
    /// Which.
    pub key: Key,
    /// By whom.
    pub script: Arc<Script>,
    /// Its own folder; it is made.
    pub folder: PathBuf,
    /// Gives what it reads from stdin. It is asked on the pool's thread, for the bytes may lie on a disk.
    pub input: Input,
    /// Variables that it gets besides.
    pub env: Vec<(String, String)>,
    /// What all its processes carry: the owner's mark first, and no other attempt's tag.
    pub tag: String,
}

enum Order {
    Launch(Box<Launch>),
    Stop(Key),
}

/// Runs attempts. Dropped, it ends all of them and waits until they are gone.
pub struct Pool {
    orders: Option<mpsc::UnboundedSender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Pool {
    /// A pool that tells `ended` how each attempt ended, on its own thread. `owner` is the mark of its processes: those that a previous
    /// life left are ended first.
    pub fn new(owner: &str, ended: impl Fn(Key, End) + Send + 'static) -> io::Result<Self> {
        tree::adopt();
        tree::sweep(owner);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (orders, received) = mpsc::unbounded_channel();
        let run = move || LocalSet::new().block_on(&runtime, run(received, Rc::new(ended)));
        let thread = thread::Builder::new().name("agents".to_owned()).spawn(run)?;
        Ok(Self { orders: Some(orders), thread: Some(thread) })
    }

    /// Begins an attempt.
    pub fn launch(&self, launch: Launch) {
        self.order(Order::Launch(Box::new(launch)));
    }

    /// Ends an attempt: SIGTERM, the agent's grace, SIGKILL. One that has ended needs none.
    pub fn stop(&self, step: StepId, epoch: u32) {
        self.order(Order::Stop((step, epoch)));
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // The thread ends only when this is dropped.
            let _ = orders.send(order);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// An attempt under way.
struct Under {
    stop: watch::Sender<Stop>,
    leader: i32,
    tag: String,
}

async fn run(mut orders: mpsc::UnboundedReceiver<Order>, ended: Rc<dyn Fn(Key, End)>) {
    let mut under: BTreeMap<Key, Under> = BTreeMap::new();
    let (ends, mut over) = mpsc::unbounded_channel();
    let mut is_open = true;
    while is_open || !under.is_empty() {
        tokio::select! {
            order = orders.recv(), if is_open => match order {
                Some(Order::Launch(mut launch)) => match process::start(&mut launch) {
                    Ok(started) => {
                        let (stop, stops) = watch::channel(None);
                        let leader = started.leader.as_raw_nonzero().get();
                        under.insert(launch.key, Under { stop, leader, tag: launch.tag.clone() });
                        task::spawn_local(follow(started, launch, stops, ends.clone()));
                    }
                    Err(end) => ended(launch.key, end),
                },
                Some(Order::Stop(key)) => {
                    under.get(&key).map(|attempt| attempt.stop.send(Some(Grace::Own)));
                }
                None => {
                    is_open = false;
                    for attempt in under.values() {
                        let _ = attempt.stop.send(Some(Grace::AtMost(GRACE_MAX)));
                    }
                }
            },
            Some((key, end)) = over.recv() => {
                under.remove(&key);
                let known: BTreeSet<i32> = under.values().map(|attempt| attempt.leader).collect();
                tree::reap_strays(&known, &|tag| under.values().any(|attempt| attempt.tag == tag));
                ended(key, end);
            }
        }
    }
}

async fn follow(
    started: Started,
    launch: Box<Launch>,
    stops: watch::Receiver<Stop>,
    ends: mpsc::UnboundedSender<(Key, End)>,
) {
    let end = started.watch(&launch, stops).await;
    let _ = ends.send((launch.key, end));
}
