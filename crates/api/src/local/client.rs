//! The command line's end of the socket.
//!
//! It blocks: a command line has nothing else to do. A thread of its own reads, so that answers and events come whenever they
//! come.

use super::{Ask, Endpoint, Hello, Question, Said, Status, Word, frame};
use crate::{
    error::{Code, Error},
    flow::RetryGap,
    metrics::Form,
};
use relaymesh_runtime::{
    driver::{Answer, Caller, Command, Event, Submit},
    settings::Loaded,
};
use std::{
    collections::HashMap,
    io::{self, BufReader, Write as _},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
};

type Reply = Box<dyn FnOnce(Result<Said, Error>) + Send>;
type Watcher = Box<dyn FnMut(&Event) -> bool + Send>;

/// A connection to a daemon.
pub struct Client {
    shared: Arc<Shared>,
    caller: Caller,
    /// The daemon's process.
    pid: u32,
}

struct Shared {
    stream: UnixStream,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next_id: u64,
    waiting: HashMap<u64, Reply>,
    watcher: Option<Watcher>,
    /// Why nothing can be asked any more.
    gone: Option<Error>,
    out: Vec<u8>,
}

impl Client {
    /// Connects to the daemon of this root. `None`: there is none.
    pub fn connect(root: &Path, caller: &Caller) -> Result<Option<Self>, Error> {
        let io = |error: io::Error| Error::new(Code::StoreIo, format!("cannot reach the daemon: {error}"));
        let Some(endpoint) = Endpoint::read(root).map_err(io)? else { return Ok(None) };
        let stream = match UnixStream::connect(&endpoint.socket) {
            Ok(stream) => stream,
            // What a daemon left that is gone.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                return Ok(None);
            }
            Err(error) => return Err(io(error)),
        };
        let mut reads = BufReader::new(stream.try_clone().map_err(io)?);
        let mut hello = Vec::new();
        frame::append(&Hello::ours(), &mut hello)?;
        let greeted = (&stream).write_all(&hello).and_then(|()| frame::read::<Hello>(&mut reads, &mut Vec::new()));
        let theirs = match greeted {
            Ok(Some(theirs)) => theirs,
            Ok(None) => return Ok(None), // it was stopping
            // It was killed at this very moment.
            Err(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => {
                return Ok(None);
            }
            Err(error) => return Err(io(error)),
        };
        if theirs != Hello::ours() {
            let message = format!(
                "the daemon (pid {}) has version {}, this program has version {}",
                endpoint.pid,
                theirs.version,
                env!("CARGO_PKG_VERSION")
            );
            return Err(Error::new(Code::OtherVersion, message));
        }
        let shared = Arc::new(Shared { stream, state: Mutex::default() });
        let reader = Arc::clone(&shared);
        let listen = move || reader.listen(reads);
        thread::Builder::new().name("daemon".to_owned()).spawn(listen).map_err(io)?;
        Ok(Some(Self { shared, caller: caller.clone(), pid: endpoint.pid }))
    }

    /// The daemon's process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Hands a command over; the answer goes to `reply`, once it is durable. When the daemon goes away before, nobody knows.
    pub fn send(&self, command: Command, reply: impl FnOnce(Result<Answer, Error>) + Send + 'static) {
        let ask = Ask::Command { caller: self.caller.clone(), command: Box::new(command) };
        self.ask(ask, reply);
    }

    /// Hands a submit over, as [`Client::send`] does. The daemon takes up agents that have changed, and fills these gaps by them and by
    /// its settings.
    pub fn submit(
        &self,
        submit: Submit,
        gaps: Vec<RetryGap>,
        reply: impl FnOnce(Result<Answer, Error>) + Send + 'static,
    ) {
        self.ask(Ask::Submit { caller: self.caller.clone(), submit: Box::new(submit), gaps }, reply);
    }

    fn ask(&self, ask: Ask, reply: impl FnOnce(Result<Answer, Error>) + Send + 'static) {
        let reply = |said: Result<Said, Error>| {
            reply(said.and_then(|said| match said {
                Said::Answer(answer) => Ok(answer),
                Said::Status(_) | Said::Metrics(_) | Said::Settings(..) | Said::Done => Err(unexpected()),
            }));
        };
        self.shared.ask(ask, Box::new(reply));
    }

    /// Hands a command over and waits for the answer.
    pub fn call(&self, command: Command) -> Result<Answer, Error> {
        wait(|reply| self.send(command, reply))
    }

    /// Tells `watcher` of everything that becomes durable from now on, until it returns `false`. It is dropped when the daemon
    /// goes away.
    pub fn watch(&self, watcher: impl FnMut(&Event) -> bool + Send + 'static) -> Result<(), Error> {
        self.shared.lock().watcher = Some(Box::new(watcher));
        self.said(Ask::Watch).map(drop)
    }

    /// Shows the state of the daemon.
    pub fn status(&self) -> Result<Status, Error> {
        match self.said(Ask::Status)? {
            Said::Status(status) => Ok(*status),
            Said::Answer(_) | Said::Metrics(_) | Said::Settings(..) | Said::Done => Err(unexpected()),
        }
    }

    /// What operators watch over time, as text.
    pub fn metrics(&self, form: Form) -> Result<String, Error> {
        match self.said(Ask::Metrics { open: form == Form::OpenMetrics })? {
            Said::Metrics(text) => Ok(text),
            Said::Answer(_) | Said::Status(_) | Said::Settings(..) | Said::Done => Err(unexpected()),
        }
    }

    /// The settings that the daemon runs with, and names of those that a `reload` changed.
    pub fn settings(&self, reload: bool) -> Result<(Loaded, Vec<String>), Error> {
        match self.said(Ask::Settings { reload })? {
            Said::Settings(loaded, changed) => Ok((*loaded, changed)),
            Said::Answer(_) | Said::Status(_) | Said::Metrics(_) | Said::Done => Err(unexpected()),
        }
    }

    /// Asks the daemon to take up what has changed in the files of the root.
    pub fn reload(&self) -> Result<(), Error> {
        self.said(Ask::Reload).map(drop)
    }

    /// Has the daemon give free space of the database back to the file system, and waits until that is done.
    pub fn shrink(&self) -> Result<(), Error> {
        self.said(Ask::Shrink).map(drop)
    }

    /// Asks the daemon to stop. It has when the connection ends: [`Client::wait_gone`].
    pub fn stop(&self) -> Result<(), Error> {
        self.said(Ask::Stop).map(drop)
    }

    /// Waits until the daemon has ended the connection.
    pub fn wait_gone(&self) {
        // A question that is never answered ends with the connection.
        let (ended, end) = mpsc::sync_channel::<()>(1);
        let mut state = self.shared.lock();
        if state.gone.is_some() {
            return;
        }
        state.waiting.insert(u64::MAX, Box::new(move |_| drop(ended)));
        drop(state);
        let _ = end.recv();
    }

    fn said(&self, ask: Ask) -> Result<Said, Error> {
        wait(|reply| self.shared.ask(ask, Box::new(reply)))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The reader's thread ends with the connection.
        let _ = self.shared.stream.shutdown(Shutdown::Both);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, ask: Ask, reply: Reply) {
        let mut state = self.lock();
        if let Some(gone) = state.gone.clone() {
            drop(state);
            return reply(Err(gone));
        }
        let id = state.next_id;
        state.next_id += 1;
        let mut out = std::mem::take(&mut state.out);
        out.clear();
        if let Err(error) = frame::append(&Question { id, ask }, &mut out) {
            drop(state);
            return reply(Err(error));
        }
        state.waiting.insert(id, reply);
        // A write that fails finds its answer where the reader ends.
        let _ = (&self.stream).write_all(&out);
        out.shrink_to(64 << 10);
        state.out = out;
    }

    fn listen(&self, mut reads: BufReader<UnixStream>) {
        let mut buffer = Vec::new();
        let why = loop {
            match frame::read::<Word>(&mut reads, &mut buffer) {
                Ok(Some(Word::Answer { id, result })) => {
                    let reply = self.lock().waiting.remove(&id);
                    if let Some(reply) = reply {
                        reply(result.map_err(Error::from));
                    }
                }
                Ok(Some(Word::Event(event))) => self.tell(&event),
                Ok(None) => break "the connection was closed".to_owned(),
                Err(error) => break error.to_string(),
            }
        };
        let gone = Error::new(Code::DaemonGone, format!("the daemon did not answer: {why}"));
        let mut state = self.lock();
        state.gone = Some(gone.clone());
        state.watcher = None;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for reply in waiting.into_values() {
            reply(Err(gone.clone()));
        }
    }

    fn tell(&self, event: &Event) {
        let watcher = self.lock().watcher.take();
        let Some(mut watcher) = watcher else { return };
        if watcher(event) {
            self.lock().watcher.get_or_insert(watcher);
        }
    }
}

fn wait<T: Send + 'static>(ask: impl FnOnce(Box<dyn FnOnce(Result<T, Error>) + Send>)) -> Result<T, Error> {
    let (answer, answered) = mpsc::sync_channel(1);
    ask(Box::new(move |result| drop(answer.send(result))));
    answered.recv().unwrap_or_else(|_| Err(unexpected()))
}

fn unexpected() -> Error {
    Error::new(Code::Internal, "unexpected answer from the daemon")
}
