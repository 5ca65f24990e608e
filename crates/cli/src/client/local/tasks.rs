//! Tasks of the root on this machine.

use super::{Local, rows};
use crate::{
    client::{Change, Listed, Outcome, Stream, Submission, Tasks},
    error::Error,
    export,
    link::{self, Link, Missing},
    lookup, output,
    progress::Progress,
    session,
    view::{Shown, View, result_of},
};
use relaymesh_agents::Agents;
use relaymesh_api::view::{
    Accepted, Changed, Summary,
    asked::{self, Asked},
    summary,
};
use relaymesh_core::{id::TaskId, name::Name};
use relaymesh_runtime::{
    agents::said,
    driver::{Answer, Command},
    world::Alert,
};
use relaymesh_store::{Reader, TaskFilter};
use serde_json::Value;
use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

/// Tasks that are read at once.
const PAGE: usize = 64;
/// What is read of a file at once.
const READ_BYTES: u64 = 1 << 20;

impl Tasks for Local<'_> {
    fn known(&self) -> Result<Option<&Agents>, Error> {
        self.agents().map(Some)
    }

    fn submit(&self, submission: &Submission) -> Result<Accepted, Error> {
        let warn = |alert: Alert| output::note(&session::warning(&alert));
        let link = Link::open(self.context, Missing::Make, (None, None), warn)?;
        let answer = self.agents().and_then(|agents| link.submitted(submission, agents));
        let answer = link.finish(answer)?;
        let Answer::Accepted { task, status, merged, class } = answer else { return Err(link::unexpected(&answer)) };
        Ok(Accepted { task, status, merged, class })
    }

    fn change(&self, task: TaskId, change: &Change) -> Result<Changed, Error> {
        let command = match change {
            Change::Cancel { mode, reason } => Command::Cancel { task, mode: *mode, reason: reason.clone() },
            Change::Redrive { reason } => Command::Redrive { task, reason: reason.clone() },
            Change::Decide { step, ask, denied } => {
                let rows = self.rows(task)?;
                let (step, ask) = (rows.step_id(lookup::step(&rows, step.as_str())?.0), *ask);
                match denied.clone() {
                    None => Command::Approve { step, ask },
                    Some(reason) => Command::Deny { step, ask, reason },
                }
            }
        };
        let answer = self.give(Missing::Refuse, command)?;
        let (Answer::Done { status } | Answer::Accepted { status, .. } | Answer::Ended { status, .. }) = answer else {
            return Err(link::unexpected(&answer));
        };
        Ok(Changed { task, status })
    }

    fn find(&self, text: &str) -> Result<TaskId, Error> {
        self.read(|reader| Ok(lookup::task(reader, text)?.task.id))
    }

    fn task(&self, task: TaskId, history: bool) -> Result<Shown, Error> {
        self.read(|reader| {
            let rows = rows(reader, task)?;
            Ok(View::load(reader, rows)?.with_processes(&self.context.root).shown(history))
        })
    }

    fn result(&self, task: TaskId, step: Option<&str>) -> Result<Outcome, Error> {
        self.read(|reader| {
            let rows = rows(reader, task)?;
            let Some(step) = step else {
                let status = rows.task.status;
                return Ok(Outcome { status, result: View::load(reader, rows)?.result(), error: None });
            };
            let step = lookup::step(&rows, step)?.1;
            let result = result_of(reader, step)?;
            Ok(Outcome { status: step.status, result, error: step.error.clone() })
        })
    }

    fn asked(&self, task: TaskId, step: &str) -> Result<asked::Shown, Error> {
        self.read(|reader| {
            let rows = rows(reader, task)?;
            let index = lookup::step(&rows, step)?.0;
            Ok(Asked::load(reader, &rows, index)?.filled(reader, &rows)?.shown())
        })
    }

    fn tasks(&self, wanted: &Listed<'_>) -> Result<(Vec<Summary>, Option<TaskId>), Error> {
        self.read(|reader| {
            let before = wanted.before.map(|text| key_of(reader, text)).transpose()?;
            let filter = TaskFilter { namespace: Some(self.context.namespace.clone()), status: wanted.status };
            let tasks = reader.tasks(&filter, before, wanted.limit)?;
            let last = tasks.last().map(|task| task.id).filter(|_| tasks.len() == wanted.limit);
            let mut found = Vec::with_capacity(tasks.len());
            for task in tasks {
                // The row may have changed since it was listed; what is shown is of one moment.
                found.extend(reader.task_at(task.key)?.as_ref().map(summary));
            }
            Ok((found, last))
        })
    }

    fn export(&self, task: TaskId) -> Result<Value, Error> {
        self.read(|reader| {
            let rows = rows(reader, task)?;
            export::task(reader, rows)
        })
    }

    fn export_all(&self, tell: &mut dyn FnMut(&Value)) -> Result<(), Error> {
        self.read(|reader| {
            let mut progress = Progress::new("looked at tasks:", reader.counts()?.0);
            let (mut after, mut seen) = (None, 0);
            loop {
                let page = reader.tasks_by_key(after, PAGE)?;
                let Some(last) = page.last() else { return Ok(()) };
                after = Some(last.task.key);
                for rows in page {
                    seen += 1;
                    progress.tell(seen);
                    if rows.task.namespace == self.context.namespace {
                        tell(&export::task(reader, rows)?);
                    }
                }
            }
        })
    }

    fn step(&self, task: TaskId, text: &str) -> Result<u16, Error> {
        Ok(lookup::step(&self.rows(task)?, text)?.0)
    }

    fn written(
        &self,
        task: TaskId,
        (step, epoch): (&Name, u32),
        stream: Stream,
        from: u64,
    ) -> Result<Option<(u64, Vec<u8>)>, Error> {
        let path = said(&self.context.root, task, step, epoch, stream.as_str());
        // A file that is not there, or not any more, has nothing to show.
        let read = read(&path, from).ok();
        Ok(read.map(|bytes| (from + bytes.len() as u64, bytes)))
    }

    fn approvals(&self) -> Result<Vec<asked::Shown>, Error> {
        let found = self.read(|reader| asked::all(reader, &self.context.namespace))?;
        Ok(found.into_iter().map(Asked::shown).collect())
    }
}

/// The key of the task's row; a number is taken for the key itself.
fn key_of(reader: &mut impl Reader, text: &str) -> Result<u64, Error> {
    match text.parse() {
        Ok(key) => Ok(key),
        Err(_) => lookup::task(reader, text).map(|rows| rows.task.key),
    }
}

fn read(path: &Path, from: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(READ_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
