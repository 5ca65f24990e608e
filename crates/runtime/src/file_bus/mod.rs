//! The file bus: whoever can rename a file can take part (R9).
//!
//! ```text
//! root/
//!   payload/<id>.payload.json       first: what it says
//!   inbox/{high,normal,low}/<id>.meta.json   then: what is to be done with it
//!   meta/                           what is being taken in
//!   done/2026-11-17/<id>.*          taken in; <id>.receipt.json says as what
//!   dead/<id>.*                     not taken in; <id>.reason.json says why
//!   processing/<agent>/<message>.*  messages for an agent that made this folder
//! ```
//!
//! The database is the truth and the files are a way to it, so the order is what counts (D4): the payload is synced, the meta file is
//! renamed into `meta/`, both folders are synced, the message is committed, and only then is it acknowledged, by a receipt in `done/`.
//! After a crash whatever is in `inbox/` or `meta/` is taken in again; a file's id names the message or task that it becomes, so that twice is
//! once. What no row knows goes to `dead/` with its reason; what a row knows and the folder lacks fails its delivery, for all to see.
//! Nothing is overwritten, and nothing unknown is deleted: [`sweep()`] removes old files of `done/` and `dead/` that the bus understood.
//!
//! [`meta`] understands what programs write; `folder` is the only place that touches the disk.

mod compare;
mod deliver;
mod ear;
mod folder;
mod intake;
mod keep;
pub mod meta;
mod sweep;

pub use ear::Bell;
pub use sweep::{Swept, sweep};

use crate::{
    builtin::Builtin,
    driver::{Caller, Handle, Posted, Proof},
    settings::Settings,
};
use ear::Ear;
use folder::{Folder, Unsynced};
use relaymesh_agents::Agents;
use relaymesh_core::{
    hash::Hash,
    id::{MessageId, NodeId, WorkerId},
    lanes::Priority,
    name::Name,
};
use relaymesh_store::{Blobs, Reader};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, TryRecvError},
    },
    time::Duration,
};

/// How long to leave alone what cannot be done now.
const AGAIN_MS: u64 = 1_000;

/// What the bus is told. The bell is rung afterwards.
pub enum News {
    /// These are the agents now.
    Agents(Box<Agents>),
    /// To end.
    End,
}

/// Something that an operator should see.
#[derive(Debug)]
pub struct Told {
    /// Whether something is wrong.
    pub is_problem: bool,
    /// What happened.
    pub event: &'static str,
    /// About what.
    pub about: Value,
}

/// Why a round ends early.
enum Stop {
    /// The driver has stopped.
    Driver,
    /// The disk or the store does not work; tried again later.
    Trouble(String),
    /// A sync failed. It is not tried again (D2): the node stops, and what lies in the folders is taken in by the next one.
    Unsynced(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        match Unsynced::is_in(&error) {
            true => Self::Unsynced(error.to_string()),
            false => Self::Trouble(error.to_string()),
        }
    }
}

impl From<relaymesh_store::Error> for Stop {
    fn from(error: relaymesh_store::Error) -> Self {
        Self::Trouble(error.to_string())
    }
}

/// What the bus works with.
pub struct Means<R, B> {
    /// The root.
    pub root: PathBuf,
    /// Reads what is durable.
    pub reader: R,
    /// Takes long content.
    pub blobs: B,
    /// The driver.
    pub handle: Handle,
    /// Who the bus is on the log.
    pub caller: Caller,
    /// The node.
    pub node: NodeId,
    /// The agents of the root.
    pub agents: Agents,
    /// The settings as they are now.
    pub settings: Box<dyn Fn() -> Settings + Send>,
    /// What time it is.
    pub now_ms: fn() -> u64,
    /// Takes what an operator should see.
    pub tell: Box<dyn FnMut(Told) + Send>,
}

/// The bus of a root.
pub struct FileBus<R, B> {
    means: Means<R, B>,
    places: Places,
    worker: WorkerId,
    ear: Ear,
    /// Agents that have a folder: only their messages are of interest.
    hears: Arc<Mutex<BTreeSet<Name>>>,
    /// What lies in the agents' folders.
    placed: BTreeMap<Name, BTreeMap<MessageId, Proof>>,
    /// When to look again, if nothing is heard.
    next_ms: Option<u64>,
    /// When to compare the folders with the rows.
    compare_ms: u64,
}

/// The folders.
struct Places {
    lanes: [(Priority, Folder); 3],
    payload: Folder,
    meta: Folder,
    processing: Folder,
    done: Folder,
    dead: Folder,
}

impl<R: Reader, B: Blobs> FileBus<R, B> {
    /// Makes the folders. The bell wakes the bus when there is news.
    pub fn new(means: Means<R, B>) -> io::Result<(Self, Bell)> {
        let root = Folder::root(&means.root)?;
        let inbox = root.make("inbox")?;
        let lane = |priority: Priority| Ok::<_, io::Error>((priority, inbox.make(&priority.to_string())?));
        let places = Places {
            lanes: [lane(Priority::High)?, lane(Priority::Normal)?, lane(Priority::Low)?],
            payload: root.make("payload")?,
            meta: root.make("meta")?,
            processing: root.make("processing")?,
            done: root.make("done")?,
            dead: root.make("dead")?,
        };
        let (ear, bell) = Ear::new()?;
        for folder in ["inbox/high", "inbox/normal", "inbox/low", "payload", "meta", "processing"] {
            ear.listen(&means.root.join(folder))?;
        }
        let mut half = [0; 16];
        half.copy_from_slice(&Hash::sha256(&[b"bus", &means.node.to_bytes()[..]].concat()).0[..16]);
        let worker = WorkerId::from_bytes(half);
        let hears: Arc<Mutex<BTreeSet<Name>>> = Arc::default();
        let (heard, rings) = (Arc::clone(&hears), bell.clone());
        means.handle.listen(move |posted: &Posted| {
            if heard.lock().unwrap_or_else(PoisonError::into_inner).contains(&posted.to) {
                rings.ring();
            }
            true
        });
        Ok((Self { means, places, worker, ear, hears, placed: BTreeMap::new(), next_ms: None, compare_ms: 0 }, bell))
    }

    /// Works until it is told to end. What lies there already comes first: nothing may be stranded.
    pub fn run(mut self, news: &Receiver<News>) {
        let mut is_known = false;
        loop {
            self.next_ms = None;
            let known = if is_known { Ok(()) } else { self.recover() };
            is_known = known.is_ok();
            match known.and_then(|()| self.round()) {
                Ok(()) => {}
                Err(Stop::Driver) => return,
                Err(Stop::Unsynced(error)) => {
                    let poisoned = self.means.blobs.distrust(&error);
                    self.tell(true, "bus_stopped", serde_json::json!({ "error": poisoned.to_string() }));
                    return;
                }
                Err(Stop::Trouble(error)) => {
                    self.tell(true, "bus_trouble", serde_json::json!({ "error": error }));
                    self.look_at((self.means.now_ms)() + AGAIN_MS);
                }
            }
            let now_ms = (self.means.now_ms)();
            self.ear.wait(self.next_ms.map(|at_ms| Duration::from_millis(at_ms.saturating_sub(now_ms))));
            loop {
                match news.try_recv() {
                    Ok(News::Agents(agents)) => self.means.agents = *agents,
                    Ok(News::End) | Err(TryRecvError::Disconnected) => return,
                    Err(TryRecvError::Empty) => break,
                }
            }
        }
    }

    fn round(&mut self) -> Result<(), Stop> {
        self.take_in_all()?;
        self.serve_all()?;
        let now_ms = (self.means.now_ms)();
        if now_ms >= self.compare_ms {
            self.compare()?;
            self.compare_ms = now_ms.saturating_add(compare::INTERVAL_MS);
        }
        self.look_at(self.compare_ms);
        Ok(())
    }

    fn look_at(&mut self, at_ms: u64) {
        self.next_ms = Some(self.next_ms.map_or(at_ms, |other| other.min(at_ms)));
    }

    fn tell(&mut self, is_problem: bool, event: &'static str, about: Value) {
        (self.means.tell)(Told { is_problem, event, about });
    }

    /// Whether an agent of this name works here, by itself.
    fn runs_here(&self, agent: &Name) -> bool {
        Builtin::knows(agent) || self.means.agents.get(agent).is_some_and(|agent| !agent.is_inbox())
    }
}
