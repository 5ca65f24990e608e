//! A few threads that look into the store, each with a connection of its own that stays open.
//!
//! The server's thread must never wait for a disk, and a thread for each look would open the database each time. The queue is bounded:
//! whoever finds it full is told to come again, and nothing piles up.
//!
//! Damage that a read meets is also told to the operator: the client that sent the request may not know what to do about it.

use crate::error::{Code, Error};
use relaymesh_store::Reader;
use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, SyncSender, TrySendError},
    },
    thread,
    time::Duration,
};
use tokio::sync::oneshot;

/// How many look at once.
const THREADS: usize = 2;
/// How many may wait for that.
const WAITING_MAX: usize = 512;
/// How long an answer that has begun waits for a place in the queue before it asks again.
const TURN: Duration = Duration::from_millis(20);
/// Damages that are remembered, so that each is told once.
const TOLD_MAX: usize = 256;

type Job = Box<dyn FnOnce(&mut Option<Box<dyn Reader>>) + Send>;
type Open = Box<dyn Fn() -> Result<Box<dyn Reader>, Error> + Send + Sync>;

/// Raises an alert about damage.
type Alarm = Box<dyn Fn(&str) + Send + Sync>;

/// Looks into the store. Clones are the same threads, which end with the last of them.
#[derive(Clone)]
pub struct Readers {
    jobs: SyncSender<Job>,
    open: Arc<Open>,
    damage: Arc<Damage>,
}

/// What was found to be damaged, and who is told.
struct Damage {
    alarm: Alarm,
    told: Mutex<BTreeSet<String>>,
}

impl Readers {
    /// Starts the threads. Each opens its connection when it is first needed. Damage is told to `alarm`.
    pub fn start(
        open: impl Fn() -> Result<Box<dyn Reader>, Error> + Send + Sync + 'static,
        alarm: Alarm,
    ) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::sync_channel(WAITING_MAX);
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..THREADS {
            let queue = Arc::clone(&queue);
            thread::Builder::new().name("reader".to_owned()).spawn(move || work(&queue))?;
        }
        let damage = Arc::new(Damage { alarm, told: Mutex::default() });
        Ok(Self { jobs, open: Arc::new(Box::new(open)), damage })
    }

    /// Raises an alert about damage that was found, once.
    pub fn tell_damage(&self, what: &str) {
        let mut told = self.damage.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < TOLD_MAX && told.insert(what.to_owned()) {
            (self.damage.alarm)(what);
        }
    }

    /// What `look` finds.
    pub async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut dyn Reader) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (job, found) = self.job(look);
        self.jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => Error::new(Code::Busy, format!("{WAITING_MAX} reads are already waiting")),
            TrySendError::Disconnected(_) => stopping(),
        })?;
        self.found(found).await
    }

    /// The same for an answer that has begun: it cannot be told to come again, so it waits for a place in the queue.
    pub async fn read_in_turn<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut dyn Reader) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (mut job, found) = self.job(look);
        loop {
            job = match self.jobs.try_send(job) {
                Ok(()) => return self.found(found).await,
                Err(TrySendError::Full(job)) => job,
                Err(TrySendError::Disconnected(_)) => return Err(stopping()),
            };
            tokio::time::sleep(TURN).await;
        }
    }

    /// What was found. Damage is told to the operator.
    async fn found<T>(&self, found: oneshot::Receiver<Result<T, Error>>) -> Result<T, Error> {
        let found = found.await.unwrap_or_else(|_| Err(failed()));
        if let Err(Error { code: Code::Damaged, message, .. }) = &found {
            self.tell_damage(message);
        }
        found
    }

    fn job<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut dyn Reader) -> Result<T, Error> + Send + 'static,
    ) -> (Job, oneshot::Receiver<Result<T, Error>>) {
        let (told, found) = oneshot::channel();
        let open = Arc::clone(&self.open);
        let job: Job = Box::new(move |reader| {
            let looked = match reader {
                Some(reader) => look(reader.as_mut()),
                None => open().and_then(|opened| look(reader.insert(opened).as_mut())),
            };
            let _ = told.send(looked); // nobody waits any more once the request is gone
        });
        (job, found)
    }
}

fn stopping() -> Error {
    Error::new(Code::Stopping, "the node is stopping")
}

fn failed() -> Error {
    Error::new(Code::Internal, "a read failed")
}

fn work(queue: &Mutex<Receiver<Job>>) {
    let mut reader = None;
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        // One that panics answers nobody, and the connection may be in the middle of something: it goes, the thread stays.
        if catch_unwind(AssertUnwindSafe(|| job(&mut reader))).is_err() {
            reader = None;
        }
    }
}
