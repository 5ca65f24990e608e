//! The HTTP API in the daemon: a thread of its own, off everybody's path.
//!
//! The address is bound and the first token is there before the daemon says that it is ready, so a client that finds it in `daemon.json` can connect;
//! the routes are made on the thread, while the system keeps early callers waiting.

use crate::{
    Home,
    live::Live,
    log::{Level, Log},
    root,
    run::{Alarm, Files, Says, Scrapes, failed},
    session::Session,
};
use relaymesh_agents::Agents;
use relaymesh_api::{
    error::{Code, Error},
    http::{self, Desk, Listening, Readers, Upload},
    metrics::Counts,
};
use relaymesh_runtime::{settings::Settings, token::Tokens, world::Alert};
use relaymesh_store::{Blob, Reader};
use relaymesh_store_sqlite::NewBlob;
use serde_json::json;
use std::{
    path::Path,
    sync::{Arc, PoisonError, RwLock},
    thread::{self, JoinHandle},
};
use tokio::sync::watch;

/// Threads that may wait for a disk.
const BLOCKING_THREADS_MAX: usize = 8;

/// The current agents.
pub(crate) type Known = Arc<RwLock<Arc<Agents>>>;

/// The server. Told, it ends.
pub(crate) struct Http {
    ended: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

/// Binds the address. One that is not safe to listen on stops the start; one that is taken does not.
pub(crate) fn bind(settings: &Settings, root: &Path, log: &Log) -> Result<Option<Listening>, Error> {
    match http::bind(settings, root) {
        Err(error) if error.code == Code::DaemonFailed => {
            log.say(Level::Error, "http_not_listening", json!({ "error": error.message }));
            Ok(None)
        }
        Ok(Some(listening)) => {
            if let Some(port) = listening.moved_from {
                let error = format!(
                    "port {port} of the last start is taken: the HTTP API is at {} now; to choose a port yourself, set `http_addr`",
                    listening.address
                );
                log.say(Level::Error, "http_port_changed", json!({ "error": error }));
            }
            Ok(Some(listening))
        }
        bound => bound,
    }
}

impl Http {
    /// Serves the listener.
    pub(crate) fn start(
        home: &Home,
        listening: Listening,
        session: &Session,
        files: &Arc<Files>,
        known: Known,
        (says, scrapes, counts): (Says, Scrapes, Arc<Counts>),
        (log, alarm): (&Log, Alarm),
    ) -> Result<Self, Error> {
        first_token(&home.root, session, log)?;
        let (ended, told) = watch::channel(false);
        let desk = desk((&home.root, alarm), session, files, known, (says, scrapes, counts))?;
        let log = log.clone();
        let body = move || serve(listening, desk, told, &log);
        let serving = thread::Builder::new().name("api".to_owned()).spawn(body);
        Ok(Self { ended, serving: serving.map_err(|error| failed("start a thread", &error))? })
    }

    /// Lets nobody in any more.
    pub(crate) fn close(&self) {
        let _ = self.ended.send(true);
    }

    /// Waits until answers that were under way are sent, which has little time.
    pub(crate) fn end(self) {
        self.close();
        let _ = self.serving.join();
    }
}

fn desk(
    (folder, alarm): (&Path, Alarm),
    session: &Session,
    files: &Arc<Files>,
    known: Known,
    (says, scrapes, counts): (Says, Scrapes, Arc<Counts>),
) -> Result<Desk, Error> {
    let (blobs, read) = (session.blobs(), folder.to_owned());
    let [for_uploads, for_files, for_sweeps] = [(); 3].map(|()| session.blobs());
    let swept = folder.to_owned();
    let open = move || Ok(Box::new(root::read(&read)?) as Box<dyn Reader>);
    // Long content is written before its command: the driver never hears that there was no room for it.
    let (full, alarm) = (Arc::clone(&alarm), Box::new(move |what: &str| alarm(Alert::Unreadable(what.to_owned()))));
    let readers = Readers::start(open, alarm).map_err(|error| failed("start its readers", &error))?;
    let [for_agents, for_settings, for_change] = [(); 3].map(|()| Arc::clone(files));
    Ok(Desk {
        root: folder.to_owned(),
        clock: session.clock(),
        handle: session.handle().clone(),
        stow: Box::new(move |command| {
            Ok(command.stowed(&blobs).inspect_err(|error| {
                if let relaymesh_store::Error::Full { detail } = error {
                    full(Alert::DiskFull(detail.clone()));
                }
            })?)
        }),
        upload: Box::new(move || Ok(Box::new(Uploaded(for_uploads.begin()?)))),
        blob: Box::new(move |hash| Ok(for_files.file(hash)?)),
        sweep: Box::new(move |hash| Ok(for_sweeps.remove_unnamed(hash, &mut root::read(&swept)?)?)),
        readers,
        agents: Box::new(move || {
            // What is wrong with the file the next look says; those from before are good until then.
            let _ = for_agents.reload.run();
            Arc::clone(&known.read().unwrap_or_else(PoisonError::into_inner))
        }),
        settings: Box::new(move || for_settings.live.loaded()),
        change: Box::new(move |seen, changes| Live::change(&for_change.live, seen, changes)),
        status: Box::new(move |glance| says(glance)),
        counts,
        // Clients of the local socket are counted there.
        metrics: Box::new(move |glance, form| scrapes(glance, 0, form)),
    })
}

/// A blob that comes in parts.
struct Uploaded(NewBlob);

impl Upload for Uploaded {
    fn write(&mut self, part: &[u8]) -> Result<(), Error> {
        Ok(self.0.write(part)?)
    }

    fn finish(self: Box<Self>) -> Result<Blob, Error> {
        Ok(self.0.finish()?)
    }
}

/// Makes the first token of a new root, before anybody is told that the daemon is there.
fn first_token(root: &Path, session: &Session, log: &Log) -> Result<(), Error> {
    let made = Tokens::make_first(root, rand::random(), session.clock().now_ms());
    if made.map_err(|error| failed("make the first token of the HTTP API", &error))? {
        log.say(Level::Info, "http_token_made", json!({ "file": relaymesh_runtime::token::FIRST_FILE }));
    }
    Ok(())
}

fn serve(listening: Listening, desk: Desk, ended: watch::Receiver<bool>, log: &Log) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(BLOCKING_THREADS_MAX).build();
    let says = log.clone();
    let say = move |event: &'static str, words: String| {
        let level = if words.is_empty() { Level::Info } else { Level::Error };
        says.say(level, event, if words.is_empty() { json!({}) } else { json!({ "error": words }) });
    };
    let served = runtime.and_then(|runtime| {
        let served = runtime.block_on(http::serve(listening, desk, ended, say));
        runtime.shutdown_background();
        served
    });
    if let Err(error) = served {
        log.say(Level::Error, "http_ended", json!({ "error": error.to_string() }));
    }
}
