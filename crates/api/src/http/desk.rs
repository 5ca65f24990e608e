//! What the server stands in front of.

use super::readers::Readers;
use crate::{
    error::{Code, Error},
    local::Status,
    metrics::{Counts, Form},
};
use relaymesh_agents::Agents;
use relaymesh_core::{hash::Hash, name::Name};
use relaymesh_runtime::{
    driver::{Answer, Caller, Command, Glance, Handle},
    root_clock::RootClock,
    settings::{Loaded, Settings},
};
use relaymesh_store::Blob;
use std::{collections::BTreeMap, fs::File, path::PathBuf, sync::Arc, time::Duration};
use tokio::{sync::oneshot, task};

/// How long the driver may take to say how it stands.
const GLANCE_PATIENCE: Duration = Duration::from_secs(2);

/// The settings after a change, and names of those that changed.
pub type Changed = Result<(Loaded, Vec<String>), Error>;

/// Changes settings by name, seen at a revision.
pub type Change = dyn Fn(&str, &BTreeMap<String, serde_json::Value>) -> Changed + Send + Sync;

/// Begins content that comes in parts.
pub type Begin = dyn Fn() -> Result<Box<dyn Upload>, Error> + Send + Sync;

/// Opens the file of a blob.
pub type Open = dyn Fn(&Hash) -> Result<Option<File>, Error> + Send + Sync;

/// Removes a blob that nothing names; says whether it did.
pub type Sweep = dyn Fn(&Hash) -> Result<bool, Error> + Send + Sync;

/// What the server needs from the daemon. The server knows neither the store nor the files.
pub struct Desk {
    /// The folder that holds everything.
    pub root: PathBuf,
    /// What time it is there: tokens expire by it.
    pub clock: Arc<RootClock>,
    /// Where commands go.
    pub handle: Handle,
    /// Puts long content where it belongs, before the command that names it. It may wait for the disk.
    pub stow: Box<dyn Fn(Command) -> Result<Command, Error> + Send + Sync>,
    /// Begins content that comes in parts. It may wait for the disk, and so may every part.
    pub upload: Box<Begin>,
    /// The file of a blob, if it is there.
    pub blob: Box<Open>,
    /// Removes a blob unless something names it.
    pub sweep: Box<Sweep>,
    /// Who looks into the store.
    pub readers: Readers,
    /// The agents that are known.
    pub agents: Box<dyn Fn() -> Arc<Agents> + Send + Sync>,
    /// The settings that the daemon runs with.
    pub settings: Box<dyn Fn() -> Loaded + Send + Sync>,
    /// Changes settings in their file if it is still the one with this revision, and takes them up.
    pub change: Box<Change>,
    /// Shows the state of the daemon.
    pub status: Box<dyn Fn(Glance) -> Status + Send + Sync>,
    /// Where the door counts what it lets through and turns away.
    pub counts: Arc<Counts>,
    /// The metrics. Reads the store, so it is called on a thread that may wait.
    pub metrics: Box<dyn Fn(Glance, Form) -> Result<String, Error> + Send + Sync>,
}

/// Content that comes in parts. One that is not finished is gone.
pub trait Upload: Send {
    /// The next part.
    fn write(&mut self, part: &[u8]) -> Result<(), Error>;

    /// Makes it durable. As long as the blob's value lives, nobody removes it.
    fn finish(self: Box<Self>) -> Result<Blob, Error>;
}

impl Desk {
    /// The values of the settings.
    pub(super) fn settings(&self) -> Settings {
        (self.settings)().settings
    }

    /// Hands a command over and waits until it is durable.
    pub(super) async fn ask(self: &Arc<Self>, caller: &Caller, command: Command) -> Result<Answer, Error> {
        let (reply, answer) = oneshot::channel();
        self.send(caller, command, move |answer| drop(reply.send(answer))).await?;
        answer.await.unwrap_or_else(|_| Err(Error::new(Code::Stopping, "the node is stopping")))
    }

    /// Hands a command over; the answer goes to `reply`, on the driver's thread.
    pub(super) async fn send(
        self: &Arc<Self>,
        caller: &Caller,
        mut command: Command,
        reply: impl FnOnce(Result<Answer, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        if command.is_long() {
            let desk = Arc::clone(self);
            command = blocking(move || (desk.stow)(command)).await?;
        }
        self.handle.send(caller.clone(), command, move |answer| reply(answer.map_err(Error::from)));
        Ok(())
    }

    /// Writes down that something was done which is no command of the driver.
    pub(super) async fn note(
        self: &Arc<Self>,
        caller: &Caller,
        event: &str,
        namespace: Option<&Name>,
        about: &[(&str, &str)],
    ) -> Result<(), Error> {
        let name = |text: &str| text.parse::<Name>().map_err(|error| Error::new(Code::Internal, error.to_string()));
        let namespace = namespace.cloned().map_or_else(|| name(relaymesh_core::namespace::DEFAULT), Ok)?;
        let about = about.iter().map(|(key, value)| Ok((name(key)?, (*value).to_owned())));
        let about = about.collect::<Result<Vec<_>, Error>>()?;
        self.ask(caller, Command::Note { event: name(event)?, namespace, about }).await.map(drop)
    }

    /// How the daemon is; `None` when the driver does not say.
    pub(super) async fn glance(&self) -> Option<Status> {
        Some((self.status)(self.look().await?))
    }

    /// The metrics in this form; `None` when the driver does not say how it stands.
    pub(super) async fn metrics(self: &Arc<Self>, form: Form) -> Option<Result<String, Error>> {
        let (desk, glance) = (Arc::clone(self), self.look().await?);
        Some(blocking(move || (desk.metrics)(glance, form)).await)
    }

    /// How the driver stands; `None` when it does not say.
    pub(super) async fn look(&self) -> Option<Glance> {
        let (told, glance) = oneshot::channel();
        self.handle.look(move |glance| {
            let _ = told.send(glance); // nobody waits any more once the request is gone
        });
        tokio::time::timeout(GLANCE_PATIENCE, glance).await.ok()?.ok()
    }
}

/// Does something that may wait for a disk, on a thread that may.
pub(super) async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let done = task::spawn_blocking(act).await;
    done.unwrap_or_else(|error| Err(Error::new(Code::Internal, error.to_string())))
}
