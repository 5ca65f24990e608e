//! The threads on which attempts are made: one for each attempt under way, kept for the next.
//!
//! Watching all of them on one thread is the tempting answer, for a process under way needs no thread. But starting one keeps a thread
//! until the other program runs, the folders are made on a disk, and all others would wait behind it. Whoever launches sees to it that
//! there are not too many at once.

use crate::{
    config::Script,
    ended::{Ended, Meter},
    folder::Folders,
    judge::End,
    process,
    secret::Secret,
    spawn::Starter,
    tree,
    watch::{Grace, Watch},
};
use relaymesh_core::id::StepId;
use std::{
    collections::{BTreeMap, VecDeque},
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

/// How long attempts have to end when the pool does, unless it is told otherwise (R12: 15 s for everything).
const GRACE_MAX: Duration = Duration::from_secs(10);

/// Which attempt: the step and the claim's fence.
pub type Key = (StepId, u32);

/// Gives what an attempt is given, or says why there is nothing: then the attempt has failed for good.
pub type Input = Box<dyn FnOnce() -> Result<Given, String> + Send>;

/// What an attempt is given.
#[derive(Debug, Default)]
pub struct Given {
    /// Its input. A long one is kept beside its folder.
    pub input: Vec<u8>,
    /// What it reads from stdin instead, if its input names secrets. It is kept nowhere.
    pub stdin: Option<Secret>,
    /// Variables that are secret.
    pub env: Vec<(String, Secret)>,
    /// What is taken out of everything that it says.
    pub secrets: Vec<Secret>,
}

impl From<Vec<u8>> for Given {
    fn from(input: Vec<u8>) -> Self {
        Self { input, ..Self::default() }
    }
}

/// An attempt to be made.
pub struct Launch {
    /// Which.
    pub key: Key,
    /// By whom.
    pub script: Arc<Script>,
    /// Where it works; it is made.
    pub folder: PathBuf,
    /// How the files with what it was given and what it says are called, but for their last part.
    pub files: PathBuf,
    /// Gives what it reads from stdin, and its secrets. It is asked on a thread of the pool, for the bytes may lie on a disk.
    pub input: Input,
    /// Variables that it gets besides.
    pub env: Vec<(String, String)>,
    /// What all its processes carry: the owner's mark first, and no other attempt's tag.
    pub tag: String,
    /// What it may use.
    pub meter: Meter,
    /// Where it works instead, if that is somewhere that is there already.
    pub workdir: Option<PathBuf>,
    /// What its result must be like: a JSON schema, as text.
    pub result_schema: Option<String>,
}

/// Runs attempts. Dropped, it ends all of them and waits until they are gone.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    desk: Mutex<Desk>,
    news: Condvar,
    /// How long attempts have to end when the pool does.
    grace: Mutex<Duration>,
    ended: Box<dyn Fn(Key, Ended) + Send + Sync>,
}

#[derive(Default)]
struct Desk {
    /// Not yet taken up.
    queue: VecDeque<(Box<Launch>, Arc<Attempt>)>,
    /// Threads that wait for one.
    idle: usize,
    /// Not yet ended.
    under: BTreeMap<Key, Arc<Attempt>>,
    is_closed: bool,
}

/// An attempt that has not ended.
struct Attempt {
    tag: String,
    stop: Mutex<Stop>,
}

#[derive(Default)]
struct Stop {
    order: Option<Grace>,
    /// Wakes the thread that makes the attempt, once one does.
    bell: Option<Arc<PipeWriter>>,
}

/// What an attempt is told while it is made.
pub(crate) struct Orders {
    attempt: Arc<Attempt>,
    bell: Arc<PipeReader>,
}

impl Orders {
    /// Whether it is to end, and with how much grace.
    pub(crate) fn stop(&self) -> Option<Grace> {
        locked(&self.attempt.stop).order
    }

    /// Readable when there is news.
    pub(crate) fn bell(&self) -> &PipeReader {
        &self.bell
    }

    /// The news was heard.
    pub(crate) fn heard(&self) {
        let _ = (&*self.bell).read(&mut [0; 16]);
    }
}

impl Attempt {
    fn order(&self, grace: Grace) {
        let mut stop = locked(&self.stop);
        stop.order = Some(grace);
        if let Some(bell) = &stop.bell {
            // A few bytes in all, and the other end is held as long as this one.
            let _ = (&**bell).write(&[1]);
        }
    }
}

impl Pool {
    /// A pool that tells `ended` how each attempt ended, on one of its threads. `owner` is the mark of its processes: those that a
    /// previous life left are ended first.
    pub fn new(owner: &str, ended: impl Fn(Key, Ended) + Send + Sync + 'static) -> Self {
        tree::adopt();
        tree::sweep(owner);
        let shared = Shared {
            desk: Mutex::default(),
            news: Condvar::new(),
            grace: Mutex::new(GRACE_MAX),
            ended: Box::new(ended),
        };
        Self { shared: Arc::new(shared), threads: Mutex::default() }
    }

    /// Begins an attempt.
    pub fn launch(&self, launch: Launch) {
        let key = launch.key;
        let attempt = Arc::new(Attempt { tag: launch.tag.clone(), stop: Mutex::default() });
        let mut desk = locked(&self.shared.desk);
        desk.under.insert(key, Arc::clone(&attempt));
        desk.queue.push_back((Box::new(launch), attempt));
        if desk.queue.len() <= desk.idle {
            self.shared.news.notify_one();
            return;
        }
        drop(desk);
        if let Err(error) = self.hire() {
            // Another thread may have taken it up meanwhile; then it goes its way.
            let mut desk = locked(&self.shared.desk);
            let before = desk.queue.len();
            desk.queue.retain(|(launch, _)| launch.key != key);
            if desk.queue.len() < before {
                desk.under.remove(&key);
                drop(desk);
                let error = format!("cannot start a thread for it: {error}");
                (self.shared.ended)(key, End::Failed { error, retryable: true }.into());
            }
        }
    }

    /// Ends an attempt: SIGTERM, the agent's grace, SIGKILL. One that has ended needs none.
    pub fn stop(&self, step: StepId, epoch: u32) {
        let attempt = locked(&self.shared.desk).under.get(&(step, epoch)).cloned();
        if let Some(attempt) = attempt {
            attempt.order(Grace::Own);
        }
    }

    /// How long attempts have to end when the pool does.
    pub fn set_grace(&self, most: Duration) {
        *locked(&self.shared.grace) = most;
    }

    fn hire(&self) -> io::Result<()> {
        let (bell, rings) = io::pipe()?;
        let shared = Arc::clone(&self.shared);
        let work = move || shared.work(&Arc::new(bell), &Arc::new(rings));
        let thread = thread::Builder::new().name("agent".to_owned()).stack_size(STACK_BYTES).spawn(work)?;
        locked(&self.threads).push(thread);
        Ok(())
    }
}

/// A thread of the pool does little, and there may be many.
const STACK_BYTES: usize = 512 << 10;

impl Drop for Pool {
    fn drop(&mut self) {
        let grace = *locked(&self.shared.grace);
        let mut desk = locked(&self.shared.desk);
        desk.is_closed = true;
        for attempt in desk.under.values() {
            attempt.order(Grace::AtMost(grace));
        }
        drop(desk);
        self.shared.news.notify_all();
        for thread in std::mem::take(&mut *locked(&self.threads)) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn work(&self, bell: &Arc<PipeReader>, rings: &Arc<PipeWriter>) {
        let (starter, mut folders) = (Starter::new(), Folders::default());
        while let Some((mut launch, attempt)) = self.next() {
            locked(&attempt.stop).bell = Some(Arc::clone(rings));
            let orders = Orders { attempt: Arc::clone(&attempt), bell: Arc::clone(bell) };
            let end = self.made(&mut launch, &orders, &starter, &mut folders);
            // Nobody rings any more. If somebody has, the next attempt looks up once and finds no order of its own.
            locked(&attempt.stop).bell = None;
            locked(&self.desk).under.remove(&launch.key);
            (self.ended)(launch.key, end);
        }
    }

    fn next(&self) -> Option<(Box<Launch>, Arc<Attempt>)> {
        let mut desk = locked(&self.desk);
        loop {
            if let Some(next) = desk.queue.pop_front() {
                return Some(next);
            }
            if desk.is_closed {
                return None;
            }
            desk.idle += 1;
            desk = self.news.wait(desk).unwrap_or_else(PoisonError::into_inner);
            desk.idle -= 1;
        }
    }

    fn made(&self, launch: &mut Launch, orders: &Orders, starter: &Starter, folders: &mut Folders) -> Ended {
        if orders.stop().is_some() {
            return End::Failed { error: "it was stopped".to_owned(), retryable: true }.into();
        }
        let started = match process::start(launch, starter, folders) {
            Ok(started) => started,
            Err(end) => return end.into(),
        };
        let key = launch.key;
        let ended = Watch::new(started, launch, orders).run(|| {
            let is_running =
                |tag: &str| locked(&self.desk).under.iter().any(|(other, attempt)| *other != key && attempt.tag == tag);
            tree::end_strays(&is_running);
        });
        if launch.folder == launch.files {
            // Any other folder is not this attempt's alone.
            folders.left(&launch.script, &launch.folder);
        }
        ended
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
