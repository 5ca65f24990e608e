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
use tokio::sync::watch;

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
