//! Being the daemon.

use crate::{
    Home, agents,
    carriers::Carriers,
    http::{self, Http},
    live::Live,
    log::{FILE, Form, Level, Log},
    metrics::Metrics,
    notify, private,
    recovery::RecoveryPoint,
    reload::Reload,
    root,
    session::{self, Session},
    settings,
    start::{Birth, tell_parent},
    traces,
    upkeep::{self, Errand},
    watchdog,
};
use relaymesh_agents::Agents;
use relaymesh_api::{
    error::{Code, Error},
    flow,
    http::Listening,
    local::{self, Desk, Endpoint, HeldAgent, LastStop, Status},
    metrics::{self, Counts},
    time,
    traces::Traces,
};
use relaymesh_core::id::NodeId;
use relaymesh_runtime::{
    driver::{Glance, Watcher},
    rate_limits,
    root_clock::RootClock,
    settings::{NORMAL, Settings},
    world::Alert,
};
use relaymesh_store::Reader as _;
use relaymesh_store_sqlite::{FileBlobs, SqliteStore};
use serde_json::json;
use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        mpsc::{self, Receiver, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};
use tokio::{
    net::UnixListener,
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};

/// How often the files of the root are checked. A submit checks them first.
const LOOK_AT_FILES: Duration = Duration::from_secs(1);
/// Written and removed while the disk is full, to see whether it still is.
const ROOM_FILE: &str = ".room";
/// More than a commit needs.
const ROOM_BYTES: usize = 256 << 10;

/// How the daemon is run.
#[derive(Debug, Clone)]
pub struct Manner {
    /// It has a parent that waits to hear how the start went, and no terminal.
    pub is_child: bool,
    /// How log lines are written.
    pub form: Form,
    /// How much is logged.
    pub level: Level,
    /// Settings that were arguments.
    pub flags: Vec<(String, String)>,
}

/// Why it stops.
#[derive(Debug, Clone, Copy)]
enum Stop {
    Signal(&'static str),
    Asked,
    /// The driver has ended by itself: the store is poisoned.
    Poisoned,
}

impl Stop {
    fn why(self) -> &'static str {
        match self {
            Self::Signal(name) => name,
            Self::Asked => "asked",
            Self::Poisoned => "poisoned",
        }
    }
}

/// Runs the daemon of this root until it is stopped.
pub fn run(home: &Home, manner: Manner) -> Result<(), Error> {
    if manner.is_child {
        // Refused only to the leader of a group, and then there is a terminal that may end us: nothing is lost by it.
        let _ = rustix::process::setsid();
    }
    let ran = Daemon::start(home, &manner).and_then(Daemon::wait);
    if let (true, Err(error)) = (manner.is_child, &ran) {
        let (code, message, hints) = (error.code.as_str().to_owned(), error.message.clone(), error.hints.clone());
        tell_parent(&Birth::Failed { code, message, hints });
    }
    ran
}

struct Daemon {
    session: Session,
    recovery: RecoveryPoint,
    root: PathBuf,
    socket: PathBuf,
    log: Log,
    stops: Receiver<Stop>,
    carriers: Carriers,
    http: Option<Http>,
    traces: Option<Traces>,
    upkeep: (Sender<Errand>, JoinHandle<()>),
    /// Told, it ends the socket.
    io: (oneshot::Sender<()>, JoinHandle<()>),
}

impl Daemon {
    fn start(home: &Home, manner: &Manner) -> Result<Self, Error> {
        let layers = settings::layers(&home.root, &manner.flags);
        let loaded = settings::load(&layers)?;
        let file = manner.is_child.then(|| home.root.join(FILE));
        let log = Log::start(manner.form, manner.level, file).map_err(|error| failed("start its log", &error))?;
        let options = root::options(&loaded.settings);
        let store = open(home, &loaded.settings, &log)?;
        let head = root::reader(&store)?.head()?;
        let node = head.chain.origin;
        let begun = RecoveryPoint::begin(&home.root, &head);
        let (recovery, last_stop) = begun.map_err(|error| failed("write its recovery point", &error))?;
        let listening = http::bind(&loaded.settings, &home.root, &log)?;
        let socket = Endpoint::socket(&home.root, &node.to_string());
        let socket = socket.map_err(|error| failed("choose a path for its socket", &error))?;
        let (stop, stops) = mpsc::channel();
        let last = Arc::new(Mutex::new(Last::default()));
        let counts = Arc::new(Counts::default());
        let agents = agents::read(&home.root)?;
        let known: http::Known = Arc::new(RwLock::new(Arc::new(agents.clone())));
        let traces = traces::start(home, &loaded.settings, node, (&counts, &known), &log);
        // From the start: what an earlier life had left is seen by all of them, too.
        let mut watchers: Vec<Watcher> = vec![Box::new(log.watcher()), Box::new(counts.watcher())];
        watchers.extend(traces.iter().map(|traces| Box::new(traces.watcher()) as Watcher));
        let alarm = alarm(&log, (&last, &counts), &stop);
        let session = Self::drive(home, store, (&loaded.settings, agents), (&alarm, watchers))?;
        let metrics = Metrics::new(counts, session.handle().clone(), log.clone(), &home.root, session.clock());
        let news = session.news().unwrap_or_default();
        let (errands, received) = mpsc::channel();
        let for_live = (Arc::clone(&news), session.handle().clone(), errands.clone());
        let live = Arc::new(Live::new(layers, loaded, for_live, log.clone()));
        let carriers = Carriers::start(home, &session, node, &live, &log)?;
        let (carried, shared) = (carriers.agents(), Arc::clone(&known));
        let told = Box::new(move |agents: &Agents| {
            carried(agents);
            *shared.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(agents.clone());
        });
        let reload = Reload::new(home.root.clone(), news, session.handle().clone(), told);
        let files = Arc::new(Files {
            root: home.root.clone(),
            needed_bytes: options.min_free_disk_bytes,
            reload,
            live,
            clock: session.clock(),
            log: log.clone(),
            last: Arc::clone(&last),
        });
        let says = says(&files, Arc::clone(&metrics.counts), (node, last), last_stop);
        let counts = Arc::clone(&metrics.counts);
        let scrapes = scrapes(&files, &says, metrics);
        let desk = desk(&session, (&files, &known), (&says, &scrapes), &stop);
        let io = listen(socket.clone(), desk, stop, Arc::clone(&files))?;
        let url = listening.as_ref().map(Listening::url);
        let start_http =
            |listening| Http::start(home, listening, &session, &files, known, (says, scrapes, counts), (&log, alarm));
        let http = listening.map(start_http).transpose()?;
        let (root, handle, caller) = (home.root.clone(), session.handle().clone(), home.caller.clone());
        let sweeping = spawn("upkeep", move || {
            upkeep::run(&root, &handle, &caller, (&files.live, &files.clock, &files.log), &received)
        })?;
        announce(home, manner, &log, (&socket, url))?;
        let (root, upkeep) = (home.root.clone(), (errands, sweeping));
        Ok(Self { session, recovery, root, socket, log, stops, carriers, http, traces, upkeep, io })
    }

    fn drive(
        home: &Home,
        store: SqliteStore,
        (settings, agents): (&Settings, Agents),
        (alarm, watchers): (&Alarm, Vec<Watcher>),
    ) -> Result<Session, Error> {
        let [alarm, poisoned] = [(); 2].map(|()| Arc::clone(alarm));
        // Somebody beside the driver may see it first, and the driver only when it commits.
        store.when_poisoned(move |why| poisoned(Alert::Poisoned(why.to_owned())));
        Session::start(store, &home.caller, settings, Some(agents), watchers, move |alert| alarm(alert))
    }

    /// Until somebody says stop; then takes no more work, flushes, releases the leases and goes (R12).
    fn wait(self) -> Result<(), Error> {
        let why = self.stops.recv().unwrap_or(Stop::Asked);
        self.log.say(Level::Info, "stopping", json!({ "why": why.why() }));
        notify::tell("STOPPING=1");
        // A client that connects from now on finds no daemon, and starts one as soon as this one has released the root.
        let removed = Endpoint::remove(&self.root, &self.socket);
        let _ = self.upkeep.0.send(Errand::End);
        if let Some(http) = &self.http {
            http.close();
        }
        let (recovery, log) = (&self.recovery, &self.log);
        let finished = self.session.finish_at(Ok::<(), Error>(()), |head| {
            if let Err(error) = recovery.end(head) {
                log.say(Level::Warn, "recovery_point_failed", json!({ "error": error.to_string() }));
            }
        });
        let _ = self.upkeep.1.join();
        self.carriers.end();
        if let Some(http) = self.http {
            http.end();
        }
        if let Some(traces) = self.traces {
            traces.end();
        }
        // The last line of the log is written before the socket closes, so a client that waits for the stop finds the log complete.
        self.log.say(Level::Info, "down", json!({}));
        self.log.flush();
        let _ = self.io.0.send(());
        let _ = self.io.1.join();
        finished?;
        removed.map_err(|error| failed("remove its socket", &error))
    }
}

/// Says that the daemon is up: to commands, to the log, to the service manager and to the process that started it.
fn announce(home: &Home, manner: &Manner, log: &Log, (socket, url): (&Path, Option<String>)) -> Result<(), Error> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let endpoint = Endpoint { pid: std::process::id(), version, socket: socket.to_owned(), http: url.clone() };
    endpoint.write(&home.root).map_err(|error| failed("write daemon.json", &error))?;
    let at =
        json!({ "pid": endpoint.pid, "root": home.root, "socket": socket, "url": url, "version": endpoint.version });
    log.say(Level::Info, "up", at);
    notify::tell("READY=1");
    if manner.is_child {
        tell_parent(&Birth::Ready { pid: endpoint.pid });
    }
    Ok(())
}

/// Opens the store, or makes it.
fn open(home: &Home, settings: &Settings, log: &Log) -> Result<SqliteStore, Error> {
    if settings.synchronous == NORMAL {
        let risk = "commits are acknowledged before they are synced: a power cut loses acknowledged writes";
        log.say(Level::Warn, "synchronous_normal", json!({ "risk": risk }));
    }
    let options = root::options(settings);
    if root::exists(&home.root) {
        return root::open(&home.root, &options);
    }
    let (store, _) = root::create(&home.root, &options)?;
    log.say(Level::Info, "root_made", json!({ "root": home.root }));
    Ok(store)
}

/// Raises an alert: in the log, in the metrics, in the status.
pub(crate) type Alarm = Arc<dyn Fn(Alert) + Send + Sync>;

fn alarm(log: &Log, (last, counts): (&Arc<Mutex<Last>>, &Arc<Counts>), stop: &Sender<Stop>) -> Alarm {
    let (log, last, counts, stop) = (log.clone(), Arc::clone(last), Arc::clone(counts), stop.clone());
    Arc::new(move |alert| {
        let is_known = || last.lock().unwrap_or_else(PoisonError::into_inner).poisoned.is_some();
        if matches!(alert, Alert::Poisoned(_)) && is_known() {
            return;
        }
        let words = session::warning(&alert);
        counts.alert(&alert);
        let (level, event) = match alert {
            Alert::ClockJump(_) => (Level::Warn, "clock_jumped"),
            Alert::ClockUnconfirmed(_) => (Level::Warn, "clock_unconfirmed"),
            Alert::Late { .. } => (Level::Warn, "was_stopped"),
            Alert::DiskFull(_) => (Level::Error, "disk_full"),
            Alert::Poisoned(_) => (Level::Error, "store_poisoned"),
            Alert::Unreadable(_) => (Level::Error, "store_unreadable"),
            Alert::Held { .. } => (Level::Warn, "agent_held"),
        };
        log.say(level, event, json!({ "alert": words }));
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        last.alert = Some(words);
        match alert {
            Alert::DiskFull(why) => last.full = Some(why),
            Alert::Poisoned(why) => {
                last.poisoned = Some(why);
                let _ = stop.send(Stop::Poisoned);
            }
            Alert::ClockJump(_)
            | Alert::ClockUnconfirmed(_)
            | Alert::Late { .. }
            | Alert::Unreadable(_)
            | Alert::Held { .. } => {}
        }
    })
}

/// What an operator should have seen last.
#[derive(Default)]
struct Last {
    alert: Option<String>,
    poisoned: Option<String>,
    /// Why the last write was refused for want of space, until there is room again.
    full: Option<String>,
}

/// What is read from files of the root, and may change.
pub(crate) struct Files {
    root: PathBuf,
    /// Below this, the store writes nothing; as it was at the start.
    needed_bytes: u64,
    pub(crate) reload: Reload,
    pub(crate) live: Arc<Live>,
    pub(crate) clock: Arc<RootClock>,
    log: Log,
    last: Arc<Mutex<Last>>,
}

impl Files {
    /// Reloads the files that have changed.
    fn look(&self) {
        match self.reload.run() {
            Ok(false) => {}
            Ok(true) => self.log.say(Level::Info, "agents_loaded", json!({ "file": "agents.toml" })),
            Err(error) => {
                self.log.say(Level::Error, "reload_refused", json!({ "what": "agents", "error": error.message }))
            }
        }
        self.live.look();
        let was_doubted = self.clock.doubt().is_some();
        self.clock.look();
        if was_doubted && self.clock.doubt().is_none() {
            self.log.say(Level::Info, "clock_confirmed", json!({ "ages_by": time::rfc3339(self.clock.aged_ms()) }));
        }
        self.look_for_room();
    }

    /// Nobody may write any more once a probe has said that the disk is full, so room is looked for here. How much is free does not
    /// tell: a quota may be used up, and `min_free_disk_bytes` may be 0.
    fn look_for_room(&self) {
        let full = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if full().full.is_none() || has_room(&self.root).is_err() {
            return;
        }
        full().full = None;
        self.log.say(Level::Info, "disk_has_room", json!({}));
    }
}

/// Whether a file of [`ROOM_BYTES`] can be written.
fn has_room(root: &Path) -> io::Result<()> {
    let path = root.join(ROOM_FILE);
    let mut options = fs::OpenOptions::new();
    let written = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
    let written = written.and_then(|mut file| file.write_all(&[0; ROOM_BYTES]));
    let removed = fs::remove_file(&path);
    written.and(removed)
}

/// The state of the daemon for `status`, except for the number of clients.
pub(crate) type Says = Arc<dyn Fn(Glance) -> Status + Send + Sync>;

/// The text of the metrics, with how many clients there are.
pub(crate) type Scrapes = Arc<dyn Fn(Glance, u64, metrics::Form) -> Result<String, Error> + Send + Sync>;

fn says(
    files: &Arc<Files>,
    counts: Arc<Counts>,
    (node, last): (NodeId, Arc<Mutex<Last>>),
    last_stop: Option<LastStop>,
) -> Says {
    let (files, started_ms) = (Arc::clone(files), time::now_ms());
    Arc::new(move |glance| Status {
        tasks_submitted: counts.tasks().0,
        tasks_ended: counts.tasks().1,
        tokens_problem: private::damaged(&files.root).map(|(name, error)| format!("cannot use {name}: {error}")),
        clock_problem: files.clock.problem(),
        settings_problem: files.live.problem(),
        agents_problem: files.reload.problem(),
        disk_free_bytes: free_bytes(&files.root),
        disk_needed_bytes: files.needed_bytes,
        held: held_agents(&files.root),
        last_stop: last_stop.clone(),
        ..status(glance, node, started_ms, &last)
    })
}

fn scrapes(files: &Files, says: &Says, metrics: Metrics) -> Scrapes {
    let (says, live) = (Arc::clone(says), Arc::clone(&files.live));
    Arc::new(move |glance, clients, form| {
        let status = Status { clients, ..says(glance) };
        metrics.text(status, glance, live.settings().config().queue_capacity as u64, form)
    })
}

/// What the socket stands in front of.
fn desk(
    session: &Session,
    (files, known): (&Arc<Files>, &http::Known),
    (says, scrapes): (&Says, &Scrapes),
    stop: &Sender<Stop>,
) -> Desk<FileBlobs> {
    let (told, says, scrapes) = (stop.clone(), Arc::clone(says), Arc::clone(scrapes));
    let [for_reload, for_settings, for_submits] = [(); 3].map(|()| Arc::clone(files));
    let known = Arc::clone(known);
    Desk {
        handle: session.handle().clone(),
        blobs: session.blobs(),
        fill: Box::new(move |submit, gaps| {
            for_submits.reload.run()?;
            let agents = Arc::clone(&known.read().unwrap_or_else(PoisonError::into_inner));
            flow::fill_retries(&mut submit.schedule, gaps, &agents, for_submits.live.settings().retry());
            Ok(())
        }),
        reload: Box::new(move || for_reload.reload.run().map(drop)),
        settings: Box::new(move |reload| for_settings.live.shown(reload)),
        status: Box::new(move |glance| says(glance)),
        metrics: Box::new(move |glance, clients, form| scrapes(glance, clients, form)),
        stop: Box::new(move || {
            // A second signal has no effect.
            let _ = told.send(Stop::Asked);
        }),
        uid: rustix::process::getuid().as_raw(),
    }
}

fn status(glance: Glance, node: NodeId, started_ms: u64, last: &Mutex<Last>) -> Status {
    let number = |size: usize| size as u64;
    let last = last.lock().unwrap_or_else(PoisonError::into_inner);
    Status {
        started_ms,
        pos: glance.pos,
        running: number(glance.sizes.attempts),
        ready: number(glance.sizes.window + glance.sizes.parked),
        waiting: number(glance.sizes.waiters),
        low_starvation_count: glance.low_starvation_count,
        alert: last.alert.clone(),
        poisoned: last.poisoned.clone(),
        disk_full: last.full.clone(),
        ..Status::new(node)
    }
}

/// Room on the disk of the root; as much as one likes where nobody can tell.
fn free_bytes(root: &Path) -> u64 {
    rustix::fs::statvfs(root).map_or(u64::MAX, |found| found.f_bavail.saturating_mul(found.f_frsize))
}

/// Who is held now.
fn held_agents(root: &Path) -> Vec<HeldAgent> {
    let entries = rate_limits::entries(root).unwrap_or_default().into_iter().filter(|(_, entry)| !entry.is_over);
    let agent = |(whose, entry): (String, rate_limits::Entry)| HeldAgent {
        who: rate_limits::called(&whose),
        until_ms: entry.until_ms,
        because: entry.reason,
    };
    entries.map(agent).collect()
}

/// Binds the socket and serves it on a thread of its own.
fn listen(
    socket: PathBuf,
    desk: Desk<FileBlobs>,
    stop: Sender<Stop>,
    files: Arc<Files>,
) -> Result<(oneshot::Sender<()>, JoinHandle<()>), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed("start its io thread", &error))?;
    // We hold the root: a socket that is there belongs to a daemon that is gone.
    match std::fs::remove_file(&socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed("remove an old socket", &error)),
        Ok(()) | Err(_) => {}
    }
    let _inside = runtime.enter();
    let listener = UnixListener::bind(&socket).map_err(|error| failed("bind its socket", &error))?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&socket, mode).map_err(|error| failed("restrict access to its socket", &error))?;
    let hears = |kind, name: &'static str| {
        let heard = signal(kind).map_err(|error| failed("listen for signals", &error))?;
        Ok::<_, Error>((heard, name))
    };
    let signals = [hears(SignalKind::terminate(), "SIGTERM")?, hears(SignalKind::interrupt(), "SIGINT")?];
    for (mut heard, name) in signals {
        let stop = stop.clone();
        runtime.spawn(async move {
            while heard.recv().await.is_some() {
                if stop.send(Stop::Signal(name)).is_err() {
                    return;
                }
            }
        });
    }
    if let Some(interval) = watchdog::interval() {
        runtime.spawn(watchdog::run(desk.handle.clone(), interval));
    }
    let driver = desk.handle.clone();
    runtime.spawn(async move {
        let mut ticks = tokio::time::interval(LOOK_AT_FILES);
        loop {
            ticks.tick().await;
            // The clocks are read even when nothing is due, to detect that one was set.
            driver.look(drop);
            files.look();
        }
    });
    let (end, ended) = oneshot::channel();
    drop(_inside);
    let serving = spawn("io", move || {
        runtime.block_on(async move {
            tokio::select! {
                never = local::serve(listener, Arc::new(desk)) => match never {},
                _ = ended => {}
            }
        });
    })?;
    Ok((end, serving))
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Error> {
    thread::Builder::new().name(name.to_owned()).spawn(body).map_err(|error| failed("start a thread", &error))
}

pub(crate) fn failed(what: &str, error: &io::Error) -> Error {
    Error::new(Code::DaemonFailed, format!("the daemon cannot {what}: {error}"))
}
