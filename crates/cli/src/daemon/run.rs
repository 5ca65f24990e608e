//! Being the daemon.

use super::{
    reload::Reload,
    start::{Birth, tell_parent},
    talk::{self, Form},
    upkeep,
};
use crate::{
    args::Context,
    error::{Code, Error},
    root,
    session::{self, Session, Work},
    time,
};
use relaymesh_api::local::{self, Desk, Endpoint, Status};
use relaymesh_runtime::{driver::Glance, world::Alert};
use relaymesh_store::Reader as _;
use relaymesh_store_sqlite::SqliteStore;
use serde_json::json;
use std::{
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
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

/// How often the files of the root are looked at. Whoever submits something has them looked at before.
const LOOK_AT_FILES: Duration = Duration::from_secs(1);

/// How the daemon is run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// It has a parent that waits to hear how the start went, and no terminal.
    pub(crate) is_child: bool,
    /// Log lines are JSON.
    pub(crate) json: bool,
    /// Everything is logged, not only what went wrong.
    pub(crate) verbose: bool,
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

/// Is the daemon of this root until it is told to stop.
pub(crate) fn run(context: &Context, manner: Manner) -> Result<(), Error> {
    if manner.is_child {
        // Refused only to the leader of a group, and then there is a terminal that may end us: nothing is lost by it.
        let _ = rustix::process::setsid();
    }
    let ran = Daemon::start(context, manner).and_then(Daemon::wait);
    if let (true, Err(error)) = (manner.is_child, &ran) {
        tell_parent(&Birth::Failed { code: error.code.as_str().to_owned(), message: error.message.clone() });
    }
    ran
}

struct Daemon {
    session: Session,
    root: PathBuf,
    socket: PathBuf,
    form: Form,
    stops: Receiver<Stop>,
    /// Dropped, it ends the upkeep.
    upkeep: (Sender<()>, JoinHandle<()>),
    /// Told, it ends the socket.
    io: (oneshot::Sender<()>, JoinHandle<()>),
}

impl Daemon {
    fn start(context: &Context, manner: Manner) -> Result<Self, Error> {
        let form = if manner.json { Form::Json } else { Form::Human };
        let store = root::open_or_create(&context.root)?;
        let node = root::reader(&store)?.head()?.chain.origin;
        let socket =
            Endpoint::socket(&context.root, &node.to_string()).map_err(|error| failed("name its socket", &error))?;
        let (stop, stops) = mpsc::channel();
        let last = Arc::new(Mutex::new(None));
        let session = Self::drive(context, store, form, &last, &stop)?;
        if manner.verbose {
            session.handle().watch(move |event| {
                talk::event(form, event);
                true
            });
        }
        let blobs = session.blobs();
        let started_ms = time::now_ms();
        let told = stop.clone();
        let news = session.news().unwrap_or_default();
        let reload = Arc::new(Reload::new(context.root.clone(), news, session.handle().clone()));
        let asked = Arc::clone(&reload);
        let desk = Desk {
            handle: session.handle().clone(),
            blobs,
            reload: Box::new(move || asked.run().map(drop)),
            status: Box::new(move |glance| status(glance, node, started_ms, &last)),
            stop: Box::new(move || {
                // Whoever is told twice has heard it once.
                let _ = told.send(Stop::Asked);
            }),
            uid: rustix::process::getuid().as_raw(),
        };
        let io = listen(socket.clone(), desk, stop, (reload, form))?;
        let (ends, ended) = mpsc::channel();
        let (root, handle, caller) = (context.root.clone(), session.handle().clone(), context.caller.clone());
        let sweeping = spawn("upkeep", move || upkeep::run(&root, &handle, &caller, form, &ended))?;
        let endpoint =
            Endpoint { pid: std::process::id(), version: env!("CARGO_PKG_VERSION").to_owned(), socket: socket.clone() };
        endpoint.write(&context.root).map_err(|error| failed("say where it is", &error))?;
        let at = json!({ "pid": endpoint.pid, "root": context.root, "socket": socket, "version": endpoint.version });
        talk::say(form, "info", "up", &at);
        if manner.is_child {
            tell_parent(&Birth::Ready { pid: endpoint.pid });
        }
        Ok(Self { session, root: context.root.clone(), socket, form, stops, upkeep: (ends, sweeping), io })
    }

    fn drive(
        context: &Context,
        store: SqliteStore,
        form: Form,
        last: &Arc<Mutex<Option<String>>>,
        stop: &Sender<Stop>,
    ) -> Result<Session, Error> {
        let (last, stop) = (Arc::clone(last), stop.clone());
        Session::start(store, &context.caller, Work::Steps, move |alert| {
            let words = session::warning(&alert);
            talk::say(form, "warn", "alert", &json!({ "alert": words }));
            *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
            if matches!(alert, Alert::Poisoned(_)) {
                let _ = stop.send(Stop::Poisoned);
            }
        })
    }

    /// Until somebody says stop; then takes no more work, flushes, releases the leases and goes (R12).
    fn wait(self) -> Result<(), Error> {
        let why = self.stops.recv().unwrap_or(Stop::Asked);
        talk::say(self.form, "info", "stopping", &json!({ "why": why.why() }));
        // Whoever connects from now on finds no daemon, and starts one as soon as this one has let go of the root.
        let removed = Endpoint::remove(&self.root, &self.socket);
        drop(self.upkeep.0);
        let finished = self.session.finish(Ok::<(), Error>(()));
        let _ = self.upkeep.1.join();
        let _ = self.io.0.send(());
        let _ = self.io.1.join();
        talk::say(self.form, "info", "down", &json!({}));
        finished?;
        removed.map_err(|error| failed("remove its socket", &error))
    }
}

fn status(glance: Glance, node: relaymesh_core::id::NodeId, started_ms: u64, last: &Mutex<Option<String>>) -> Status {
    let number = |size: usize| size as u64;
    Status {
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        node,
        started_ms,
        pos: glance.pos,
        running: number(glance.sizes.attempts),
        ready: number(glance.sizes.window + glance.sizes.parked),
        waiting: number(glance.sizes.waiters),
        low_starvation_count: glance.low_starvation_count,
        clients: 0,
        alert: last.lock().unwrap_or_else(PoisonError::into_inner).clone(),
    }
}

/// Binds the socket and serves it on a thread of its own.
fn listen(
    socket: PathBuf,
    desk: Desk<relaymesh_store_sqlite::FileBlobs>,
    stop: Sender<Stop>,
    (reload, form): (Arc<Reload>, Form),
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
    std::fs::set_permissions(&socket, mode).map_err(|error| failed("close its socket to others", &error))?;
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
    let driver = desk.handle.clone();
    runtime.spawn(async move {
        let mut ticks = tokio::time::interval(LOOK_AT_FILES);
        loop {
            ticks.tick().await;
            // Whoever looks at the clocks sees that one was set, also when nothing is due.
            driver.look(drop);
            match reload.run() {
                Ok(false) => {}
                Ok(true) => talk::say(form, "info", "reload", &json!({ "file": "agents.toml" })),
                Err(error) => talk::say(form, "error", "reload", &json!({ "error": error.message })),
            }
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

fn failed(what: &str, error: &io::Error) -> Error {
    Error::new(Code::DaemonFailed, format!("the daemon cannot {what}: {error}"))
}
