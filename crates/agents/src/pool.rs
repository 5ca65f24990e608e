//! The threads on which attempts are made: one for each attempt under way, kept for the next.
//!
//! Watching all of them on one thread is the tempting answer, for a process under way needs no thread. But starting one keeps a thread
//! until the other program runs, the folders are made on a disk, and all others would wait behind it. Whoever launches sees to it that
//! there are not too many at once.

use crate::{
    agent::Process,
    cgroup::{Group, Groups, MARK},
    confine::{self, SandboxBuilder},
    crowd::Crowd,
    end::{End, Ended},
    meter::Meter,
    process::{self, Kit},
    secret::Secret,
    tree,
    watch::{Grace, Watch},
    workspace::Tree,
};
use relaymesh_core::id::StepId;
use rustix::process::Pid;
use std::{
    collections::{BTreeMap, VecDeque},
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicI32, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// How long attempts have to end when the pool does, unless it is told otherwise (R12: 15 s for everything).
const GRACE_MAX: Duration = Duration::from_secs(10);

/// How long a thread beyond the core waits for work.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// Which attempt: the step and its epoch.
pub type Key = (StepId, u32);

/// Gives what an attempt is given, or says why there is nothing: then the attempt has failed for good.
pub type Input = Box<dyn FnOnce() -> Result<Given, String> + Send>;

/// Makes a working tree, or says how the attempt ends that cannot have one.
pub type Prepare = Box<dyn FnOnce() -> Result<Place, End> + Send>;

/// A working tree that is there, and whatever keeps others off it.
pub struct Place {
    /// The tree.
    pub tree: Tree,
    /// Dropped when the attempt is over.
    pub guard: Box<dyn Send>,
}

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
    /// The agent's program.
    pub process: Arc<Process>,
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
    /// What else it may write to.
    pub opened: Vec<PathBuf>,
    /// Makes the working tree that it works in, if it wants one. It is asked on a thread of the pool, for git takes its time.
    pub workspace: Option<Prepare>,
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
    /// How many idle threads are kept, and how long others wait for work.
    core: AtomicUsize,
    idle_max: Duration,
    sandboxes: SandboxBuilder,
    /// Where processes are counted, if the system does.
    groups: Option<Groups>,
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
    /// The process that leads it, once there is one; 0 before.
    leader: AtomicI32,
    /// The control group that its processes are in, if they are in one.
    group: OnceLock<String>,
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
    /// previous life left are ended first. What is called like one of `hidden`, or like one of them and more, no confined attempt reads.
    pub fn new(owner: &str, hidden: &[PathBuf], ended: impl Fn(Key, Ended) + Send + Sync + 'static) -> Self {
        confine::protect_daemon();
        tree::adopt();
        tree::sweep(owner);
        Self::with(SandboxBuilder::new(hidden), Groups::find(owner), ended)
    }

    fn with(
        sandboxes: SandboxBuilder,
        groups: Option<Groups>,
        ended: impl Fn(Key, Ended) + Send + Sync + 'static,
    ) -> Self {
        let shared = Shared {
            sandboxes,
            groups,
            desk: Mutex::default(),
            news: Condvar::new(),
            grace: Mutex::new(GRACE_MAX),
            core: AtomicUsize::new(usize::MAX),
            idle_max: IDLE_MAX,
            ended: Box::new(ended),
        };
        Self { shared: Arc::new(shared), threads: Mutex::default() }
    }

    /// Begins an attempt.
    pub fn launch(&self, launch: Launch) {
        let key = launch.key;
        let attempt = Attempt {
            tag: launch.tag.clone(),
            leader: AtomicI32::new(0),
            group: OnceLock::new(),
            stop: Mutex::default(),
        };
        let attempt = Arc::new(attempt);
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
                let error = format!("cannot start a thread: {error}");
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

    /// How many idle threads are kept. Those beyond it end after a while without work.
    pub fn set_core(&self, threads: usize) {
        self.shared.core.store(threads, Ordering::Relaxed);
        self.shared.news.notify_all();
    }

    fn hire(&self) -> io::Result<()> {
        let (bell, rings) = io::pipe()?;
        let shared = Arc::clone(&self.shared);
        let work = move || shared.work(&Arc::new(bell), &Arc::new(rings));
        let thread = thread::Builder::new().name("agent".to_owned()).stack_size(STACK_BYTES).spawn(work)?;
        let mut threads = locked(&self.threads);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
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
        let mut kit = Kit::new();
        let group = self.groups.as_ref().and_then(Groups::enter);
        while let Some((mut launch, attempt)) = self.next() {
            locked(&attempt.stop).bell = Some(Arc::clone(rings));
            let orders = Orders { attempt: Arc::clone(&attempt), bell: Arc::clone(bell) };
            let end = self.placed(&mut launch, &orders, &mut kit, group.as_ref());
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
            let is_extra = desk.idle > self.core.load(Ordering::Relaxed);
            let is_over;
            (desk, is_over) = if is_extra {
                let (desk, waited) =
                    self.news.wait_timeout(desk, self.idle_max).unwrap_or_else(PoisonError::into_inner);
                (desk, waited.timed_out())
            } else {
                (self.news.wait(desk).unwrap_or_else(PoisonError::into_inner), false)
            };
            desk.idle -= 1;
            if is_over && desk.queue.is_empty() && desk.idle >= self.core.load(Ordering::Relaxed) {
                return None;
            }
        }
    }

    /// Whether this orphan is of another attempt than this one: its leader, or in its control group, or, where there are none, with its tag.
    fn is_of_another(&self, key: Key, pid: Pid) -> bool {
        let any = |fits: &dyn Fn(&Attempt) -> bool| {
            locked(&self.desk).under.iter().any(|(other, attempt)| *other != key && fits(attempt))
        };
        if any(&|attempt| attempt.leader.load(Ordering::Acquire) == pid.as_raw_nonzero().get()) {
            return true;
        }
        match tree::group(pid, MARK) {
            Some(group) => any(&|attempt| attempt.group.get() == Some(&group)),
            None => tree::tag(pid).is_some_and(|tag| any(&|attempt| attempt.tag == tag)),
        }
    }

    /// Makes the attempt in the working tree that it wants, if it wants one.
    fn placed(&self, launch: &mut Launch, orders: &Orders, kit: &mut Kit, group: Option<&Group<'_>>) -> Ended {
        let Place { tree, guard } = match launch.workspace.take().map(|prepare| prepare()) {
            None => return self.made(launch, orders, kit, group),
            Some(Err(end)) => return end.into(),
            Some(Ok(place)) => place,
        };
        launch.workdir = Some(tree.folder().to_owned());
        launch.opened.push(tree.common().to_owned());
        let Ended { end, inference } = self.made(launch, orders, kit, group);
        let end = tree.leave(end);
        drop(guard);
        Ended { end, inference }
    }

    fn made(&self, launch: &mut Launch, orders: &Orders, kit: &mut Kit, group: Option<&Group<'_>>) -> Ended {
        if orders.stop().is_some() {
            return End::Failed { error: "stopped".to_owned(), retryable: true }.into();
        }
        if let Some(group) = group {
            orders.attempt.group.get_or_init(|| group.name());
        }
        let crowd = Crowd::new(group, &launch.tag, launch.process.limits.processes);
        let born = |leader: Pid| orders.attempt.leader.store(leader.as_raw_nonzero().get(), Ordering::Release);
        let started = match process::start(launch, kit, &self.sandboxes, &born) {
            Ok(started) => started,
            Err(end) => return end.into(),
        };
        let leader = started.started.child.leader;
        launch.process.limits.hold(leader, &|| crowd.all(leader));
        let key = launch.key;
        let ended = Watch::new(started, launch, orders, crowd).run(|leader, pipe| {
            let is_others = |pid| self.is_of_another(key, pid);
            tree::end_strays(leader, pipe, &is_others)
        });
        if launch.folder == launch.files {
            // Any other folder is not this attempt's alone.
            kit.folders.left(&launch.process, &launch.folder);
        }
        ended
    }
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use relaymesh_core::id::TaskId;
    use std::sync::mpsc;

    /// A fork bomb, in a group of its own and outside of it, where the system does not count.
    #[test]
    fn too_many_processes_are_seen_without_the_help_of_the_system() {
        tree::adopt();
        for bomb in [
            "bomb() { bomb & bomb & wait; }; bomb",
            "i=0; while [ $i -lt 200 ]; do setsid sleep 1000 & i=$((i+1)); done; wait",
        ] {
            let folder = tempfile::tempdir().unwrap();
            let (tell, ends) = mpsc::channel();
            let pool = Pool::with(SandboxBuilder::new(&[]), None, move |_, ended| drop(tell.send(ended.end)));
            let text = "[agents.a]\ncommand = [\"sh\", \"-c\", \"BOMB\"]\nlimits = { processes = 60 }\n";
            let agents = crate::Agents::parse(&text.replace("BOMB", bomb), folder.path()).unwrap();
            let tag = format!("bomb-{}", folder.path().display());
            pool.launch(Launch {
                key: (StepId { task: TaskId::from_bytes([1; 16]), index: 0 }, 1),
                process: agents.get(&"a".parse().unwrap()).unwrap().process().unwrap().clone().into(),
                folder: folder.path().join("a"),
                files: folder.path().join("a"),
                input: Box::new(|| Ok(Vec::new().into())),
                env: Vec::new(),
                tag: tag.clone(),
                meter: Meter::default(),
                workdir: None,
                opened: Vec::new(),
                workspace: None,
                result_schema: None,
            });
            let end = ends.recv_timeout(Duration::from_secs(60)).unwrap();
            let End::Failed { error, retryable: false } = end else { panic!("{end:?}") };
            assert!(error.contains("more than 60 processes"), "{error}");
            assert_eq!(tree::alive(&tag), Vec::<i32>::new(), "somebody survived");
        }
    }

    /// Five at once need five threads; afterwards those beyond the core end, and the core stays.
    #[test]
    fn r18_idle_threads_beyond_the_core_end() {
        let folder = tempfile::tempdir().unwrap();
        let (tell, ends) = mpsc::channel();
        let mut pool = Pool::with(SandboxBuilder::new(&[]), None, move |_, ended| drop(tell.send(ended.end)));
        Arc::get_mut(&mut pool.shared).unwrap().idle_max = Duration::from_millis(1);
        pool.set_core(2);
        let agents = crate::Agents::parse("[agents.a]\ncommand = [\"sleep\", \"0.1\"]\n", folder.path()).unwrap();
        for index in 0..5 {
            let place = folder.path().join(index.to_string());
            pool.launch(Launch {
                key: (StepId { task: TaskId::from_bytes([1; 16]), index }, 1),
                process: agents.get(&"a".parse().unwrap()).unwrap().process().unwrap().clone().into(),
                folder: place.clone(),
                files: place.clone(),
                input: Box::new(|| Ok(Vec::new().into())),
                env: Vec::new(),
                tag: format!("idle-{}", place.display()),
                meter: Meter::default(),
                workdir: None,
                opened: Vec::new(),
                workspace: None,
                result_schema: None,
            });
        }
        for _ in 0..5 {
            ends.recv_timeout(Duration::from_secs(60)).unwrap();
        }
        let threads = || locked(&pool.threads).iter().filter(|thread| !thread.is_finished()).count();
        let until = std::time::Instant::now() + Duration::from_secs(60);
        while threads() > 2 || locked(&pool.shared.desk).idle < 2 {
            assert!(std::time::Instant::now() < until, "{} threads are left", threads());
            thread::yield_now();
        }
        assert_eq!(threads(), 2);
    }
}
