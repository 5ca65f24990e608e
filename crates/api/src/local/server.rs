//! The daemon's end of the socket.
//!
//! One task reads a connection and one writes it. Answers come from the driver's thread, which only puts them into the
//! connection's queue. A client that does not read what it asked for, or does not keep up with the events it asked for, is
//! let go of when its queue is full: everything that it missed is on the log.

use super::{Ask, Fault, Hello, PROTOCOL, Question, Said, Status, Word, frame};
use crate::{
    error::{Code, Error},
    flow::RetryGap,
    metrics::Form,
};
use relaymesh_runtime::{
    driver::{Caller, Command, Glance, Handle, Submit},
    settings::Loaded,
};
use relaymesh_store::Blobs;
use std::{
    convert::Infallible,
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{
        UnixListener, UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{Notify, mpsc, oneshot},
    task, time,
};

/// Clients at once.
const CLIENTS_MAX: u64 = 512;
/// Words that may wait for one client.
const UNSENT_MAX: usize = 65_536;
/// How long to wait when nobody can be let in.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// Bytes that are written at once.
const WRITE_BYTES: usize = 64 << 10;

/// Settings, and names of those that a reload changed.
type Taken = Result<(Loaded, Vec<String>), Error>;

/// Fills what the steps of a submit do not say about retries.
type Fill = dyn Fn(&mut Submit, &[RetryGap]) -> Result<(), Error> + Send + Sync;

/// What the socket stands in front of.
pub struct Desk<B> {
    /// Where commands go.
    pub handle: Handle,
    /// Where long content goes.
    pub blobs: B,
    /// How the daemon is, but for the number of clients.
    pub status: Box<dyn Fn(Glance) -> Status + Send + Sync>,
    /// The metrics, with how many clients there are. Reads the store, so it is called on a thread that may wait.
    pub metrics: Box<dyn Fn(Glance, u64, Form) -> Result<String, Error> + Send + Sync>,
    /// Fills what steps do not say about retries by their agents, as they are now, and by the settings.
    pub fill: Box<Fill>,
    /// Takes up what has changed in the files of the root.
    pub reload: Box<dyn Fn() -> Result<(), Error> + Send + Sync>,
    /// The settings that the daemon runs with, read again first if that is asked for; and names of those that changed.
    pub settings: Box<dyn Fn(bool) -> Taken + Send + Sync>,
    /// Asks the daemon to stop.
    pub stop: Box<dyn Fn() + Send + Sync>,
    /// The user that may connect: the one that it runs as.
    pub uid: u32,
}

/// Serves connections for ever.
pub async fn serve<B: Blobs>(listener: UnixListener, desk: Arc<Desk<B>>) -> Infallible {
    let clients = Arc::new(AtomicU64::new(0));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // No descriptors are left, or the client has gone: others must not suffer from it.
            time::sleep(ACCEPT_AGAIN).await;
            continue;
        };
        let allowed = stream.peer_cred().is_ok_and(|peer| peer.uid() == desk.uid);
        if !allowed || clients.load(Ordering::Relaxed) >= CLIENTS_MAX {
            continue; // dropping it is the answer: who it is for, or that there is no room, its log says
        }
        let present = Present::new(&clients);
        let desk = Arc::clone(&desk);
        task::spawn(async move {
            // A client that goes away in the middle of a word is no fault of the daemon.
            let _ = talk(stream, desk, &present).await;
        });
    }
}

/// One client, counted as long as it is there.
struct Present(Arc<AtomicU64>);

impl Present {
    fn new(clients: &Arc<AtomicU64>) -> Self {
        clients.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(clients))
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Where the words for one client go.
#[derive(Clone)]
struct Outbox {
    words: mpsc::UnboundedSender<Word>,
    unsent: Arc<AtomicUsize>,
    /// Told when the client has fallen too far behind: what it was not told is on the log, and it must know that it missed something.
    behind: Arc<Notify>,
}

impl Outbox {
    /// `false`: the client is gone, or has fallen too far behind.
    fn say(&self, word: Word) -> bool {
        if self.unsent.fetch_add(1, Ordering::Relaxed) >= UNSENT_MAX {
            self.behind.notify_one();
            return false;
        }
        self.words.send(word).is_ok()
    }

    fn answer(&self, id: u64, result: Result<Said, Error>) -> bool {
        self.say(Word::Answer { id, result: result.map_err(Fault::from) })
    }
}

async fn talk<B: Blobs>(stream: UnixStream, desk: Arc<Desk<B>>, present: &Present) -> io::Result<()> {
    let (reads, mut writes) = stream.into_split();
    let mut reads = BufReader::with_capacity(WRITE_BYTES, reads);
    let mut buffer = Vec::new();
    let Some(hello) = next::<Hello>(&mut reads, &mut buffer).await? else { return Ok(()) };
    let mut ours = Vec::new();
    frame::append(&Hello::ours(), &mut ours).map_err(io::Error::other)?;
    writes.write_all(&ours).await?;
    if hello.protocol != PROTOCOL {
        return Ok(());
    }
    let (words, unsaid) = mpsc::unbounded_channel();
    let outbox = Outbox { words, unsent: Arc::default(), behind: Arc::default() };
    let writing = task::spawn(write(writes, unsaid, Arc::clone(&outbox.unsent)));
    let behind = Arc::clone(&outbox.behind);
    let read = tokio::select! {
        read = read(&mut reads, &mut buffer, desk, &outbox, present) => read,
        () = behind.notified() => Err(io::Error::other("the client reads too slowly")),
    };
    drop(outbox);
    if read.is_err() {
        writing.abort();
    }
    read
}

async fn read<B: Blobs>(
    reads: &mut BufReader<OwnedReadHalf>,
    buffer: &mut Vec<u8>,
    desk: Arc<Desk<B>>,
    outbox: &Outbox,
    present: &Present,
) -> io::Result<()> {
    while let Some(Question { id, ask }) = next(reads, buffer).await? {
        let heard = match ask {
            Ask::Command { caller, command } => give(&desk, outbox, (id, caller, *command)).await,
            Ask::Submit { caller, mut submit, gaps } => match (desk.fill)(&mut submit, &gaps) {
                Ok(()) => give(&desk, outbox, (id, caller, Command::Submit(*submit))).await,
                Err(error) => outbox.answer(id, Err(error)),
            },
            Ask::Watch => {
                let events = outbox.clone();
                let (begun, watching) = (outbox.clone(), Said::Done);
                desk.handle.watch(move |event| events.say(Word::Event(event.clone())));
                begun.answer(id, Ok(watching))
            }
            Ask::Status => {
                let (desk, outbox) = (Arc::clone(&desk), outbox.clone());
                let clients = present.0.load(Ordering::Relaxed);
                task::spawn(async move {
                    let status = glance(&desk.handle).await.map(|glance| (desk.status)(glance));
                    let said = status.map(|status| Said::Status(Box::new(Status { clients, ..status })));
                    outbox.answer(id, said);
                });
                true
            }
            Ask::Metrics { open } => {
                let (desk, outbox) = (Arc::clone(&desk), outbox.clone());
                let clients = present.0.load(Ordering::Relaxed);
                let form = if open { Form::OpenMetrics } else { Form::Prometheus };
                task::spawn(async move {
                    let text = metrics(desk, clients, form).await;
                    outbox.answer(id, text.map(Said::Metrics));
                });
                true
            }
            Ask::Reload => outbox.answer(id, (desk.reload)().map(|()| Said::Done)),
            Ask::Settings { reload } => {
                let said = (desk.settings)(reload);
                outbox.answer(id, said.map(|(loaded, changed)| Said::Settings(Box::new(loaded), changed)))
            }
            Ask::Stop => {
                (desk.stop)();
                outbox.answer(id, Ok(Said::Done))
            }
            Ask::Shrink => {
                let outbox = outbox.clone();
                desk.handle.shrink(move |shrunk| {
                    outbox.answer(id, shrunk.map(|()| Said::Done).map_err(Error::from));
                });
                true
            }
        };
        if !heard {
            return Err(io::Error::other("the client reads too slowly"));
        }
        buffer.shrink_to(WRITE_BYTES);
    }
    Ok(())
}

/// Hands a command to the driver; the answer goes out when it is durable.
async fn give<B: Blobs>(desk: &Desk<B>, outbox: &Outbox, (id, caller, command): (u64, Caller, Command)) -> bool {
    match stow(command, &desk.blobs).await {
        Ok(command) => {
            let outbox = outbox.clone();
            desk.handle.send(caller, command, move |answer| {
                outbox.answer(id, answer.map(Said::Answer).map_err(Error::from));
            });
            true
        }
        Err(error) => outbox.answer(id, Err(error)),
    }
}

/// How the driver stands. What is made of it is made here: the driver's thread has better things to do.
async fn glance(handle: &Handle) -> Result<Glance, Error> {
    let (told, hears) = oneshot::channel();
    handle.look(move |glance| {
        // The client may have gone.
        let _ = told.send(glance);
    });
    hears.await.map_err(|_| Error::new(Code::Stopping, "the driver has ended"))
}

async fn metrics<B: Blobs>(desk: Arc<Desk<B>>, clients: u64, form: Form) -> Result<String, Error> {
    let glance = glance(&desk.handle).await?;
    let made = task::spawn_blocking(move || (desk.metrics)(glance, clients, form)).await;
    made.map_err(|error| Error::new(Code::Internal, error.to_string()))?
}

/// Long content is made durable on a thread that may wait for the disk.
async fn stow<B: Blobs>(mut command: Command, blobs: &B) -> Result<Command, Error> {
    if !command.is_long() {
        return Ok(command);
    }
    let blobs = blobs.clone();
    let stowed = task::spawn_blocking(move || command.stowed(&blobs)).await;
    Ok(stowed.map_err(|error| Error::new(Code::Internal, error.to_string()))??)
}

async fn write(
    mut writes: OwnedWriteHalf,
    mut words: mpsc::UnboundedReceiver<Word>,
    unsent: Arc<AtomicUsize>,
) -> io::Result<()> {
    let mut out = Vec::new();
    while let Some(word) = words.recv().await {
        let mut word = Some(word);
        while let Some(said) = word {
            unsent.fetch_sub(1, Ordering::Relaxed);
            frame::append(&said, &mut out).map_err(io::Error::other)?;
            word = if out.len() < WRITE_BYTES { words.try_recv().ok() } else { None };
        }
        writes.write_all(&out).await?;
        out.clear();
        out.shrink_to(WRITE_BYTES);
    }
    Ok(())
}

/// The next message; `None` when the client is gone.
async fn next<T: serde::de::DeserializeOwned>(
    reads: &mut BufReader<OwnedReadHalf>,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<T>> {
    let mut head = [0; 4];
    match reads.read_exact(&mut head).await {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = frame::length(head)?;
    buffer.clear();
    // Only as much is set aside as has come: a length is only somebody's word.
    reads.take(length as u64).read_to_end(buffer).await?;
    if buffer.len() < length {
        return Ok(None);
    }
    frame::decode(buffer).map(Some)
}
