//! Tasks of the root on this machine.

use super::{Local, rows};
use crate::{
    client::{Change, Listed, Out, Stream, Submission, Tasks},
    error::{Code, Error},
    link::{self, Link, Missing},
    lookup, output,
    progress::Progress,
    session,
    view::{Shown, View},
};
use relaymesh_agents::Agents;
use relaymesh_api::view::{
    Accepted, Changed, Reference, Results, Room, Summary,
    asked::{self, Asked},
    bytes,
    document::{Document, Form},
    place, summary,
};
use relaymesh_core::{id::TaskId, name::Name};
use relaymesh_runtime::{
    agents::said,
    driver::{Answer, Command},
    world::Alert,
};
use relaymesh_store::{Reader, TaskFilter};
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
            Ok(View::load(reader, rows, Results::Short)?.with_processes(&self.context.root).shown(history))
        })
    }

    fn task_json(&self, task: TaskId, history: bool, results: Results, out: &mut Out<'_>) -> Result<(), Error> {
        let root = Some(self.context.root.clone());
        let form = Form { results, history, root, ..Form::default() };
        self.rows(task)?;
        self.read(|reader| Document::task(task, form).write(reader, out))
    }

    fn content(&self, task: TaskId, named: &Reference) -> Result<Vec<u8>, Error> {
        self.read(|reader| {
            let missing = || Error::new(Code::NoContent, format!("{task} has no content with the hash {}", named.hash));
            let (found, key) = place(&rows(reader, task)?, &named.hash).ok_or_else(missing)?;
            bytes(reader, key, found, || format!("the content {} of {task}", named.hash))
        })
    }

    fn asked(&self, task: TaskId, step: &str) -> Result<asked::Shown, Error> {
        self.read(|reader| {
            let rows = rows(reader, task)?;
            let index = lookup::step(&rows, step)?.0;
            Ok(Asked::load(reader, &rows, index, &mut Room::new(Results::Full))?.filled(reader, &rows)?.shown())
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

    fn export(&self, task: TaskId, out: &mut Out<'_>) -> Result<(), Error> {
        self.rows(task)?;
        self.read(|reader| Document::export(task).write(reader, out))
    }

    fn export_all(&self, out: &mut Out<'_>) -> Result<(), Error> {
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
                        Document::export(rows.task.id).write(reader, out)?;
                        out(b"\n")?;
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
        let all = |reader: &mut _| asked::all(reader, &self.context.namespace, usize::MAX, Results::Full);
        let (found, _) = self.read(all)?;
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
