//! Waiting for the end of a task, by long poll.
//!
//! The driver keeps whoever waits until the task ends, and a poll that gave up cannot be taken back. So each task is waited for once,
//! however many polls there are, and all of them hear of that one end.

use super::desk::Desk;
use crate::error::{Code, Error};
use relaymesh_core::id::TaskId;
use relaymesh_runtime::driver::{Caller, Command};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Room for answers that last: streams of events and long polls. Each of them has a place of the connections for as long as its client likes, and
/// whoever may only look may ask for as many as they like. So some places are left for whoever has something to do.
pub(super) struct Room {
    max: usize,
    left: Arc<Semaphore>,
}

impl Room {
    /// Among so many connections.
    pub(super) fn new(connections_max: usize) -> Self {
        let max = connections_max / 4 * 3;
        Self { max, left: Arc::new(Semaphore::new(max)) }
    }

    /// A place for one of them, until the value is dropped; or an error if there is none.
    pub(super) fn enter(&self) -> Result<OwnedSemaphorePermit, Error> {
        let none = |_| Error::new(Code::Busy, format!("{} clients are already waiting or reading events", self.max));
        Arc::clone(&self.left).try_acquire_owned().map_err(none)
    }
}

type Ends = Arc<Mutex<HashMap<TaskId, watch::Receiver<Option<Result<(), Error>>>>>>;

/// The tasks whose end somebody waits for.
#[derive(Default)]
pub(super) struct Waits(Ends);

impl Waits {
    /// Waits until the task has ended, at most so long. `false`: it has not.
    pub(super) async fn wait(
        &self,
        desk: &Arc<Desk>,
        caller: &Caller,
        task: TaskId,
        patience: Duration,
    ) -> Result<bool, Error> {
        let mut end = self.end(desk, caller, task).await?;
        let heard = tokio::time::timeout(patience, end.wait_for(Option::is_some)).await;
        match heard {
            Err(_) => Ok(false),
            Ok(Ok(end)) => end.clone().unwrap_or(Ok(())).map(|()| true),
            Ok(Err(_)) => Err(Error::new(Code::Stopping, "the node is stopping")),
        }
    }

    async fn end(
        &self,
        desk: &Arc<Desk>,
        caller: &Caller,
        task: TaskId,
    ) -> Result<watch::Receiver<Option<Result<(), Error>>>, Error> {
        let (told, end) = watch::channel(None);
        {
            let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = ends.get(&task) {
                return Ok(known.clone());
            }
            ends.insert(task, end.clone());
        }
        let ends = Arc::clone(&self.0);
        let reply = move |answer: Result<_, Error>| {
            ends.lock().unwrap_or_else(PoisonError::into_inner).remove(&task);
            let _ = told.send(Some(answer.map(drop)));
        };
        desk.send(caller, Command::Wait { task }, reply).await?;
        Ok(end)
    }
}
