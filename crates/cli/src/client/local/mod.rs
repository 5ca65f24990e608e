//! The root on this machine: looks read its database; writes go to its daemon, or with `--no-daemon` to a driver in this process.

mod audit;
mod bell;
mod dead;
mod follow;
mod locks;
mod messages;
mod root;
mod tasks;

use crate::{
    agents,
    args::Context,
    error::{Code, Error},
    link::{self, Link, Missing},
    root as folder,
};
use relaymesh_agents::Agents;
use relaymesh_core::{id::TaskId, task::TaskRows};
use relaymesh_runtime::driver::{Answer, Command};
use relaymesh_store::Reader as _;
use relaymesh_store_sqlite::SqliteReader;
use std::cell::{Cell, OnceCell, RefCell};

/// The root on this machine.
pub(super) struct Local<'a> {
    context: &'a Context,
    reader: RefCell<Option<SqliteReader>>,
    agents: OnceCell<Agents>,
    /// What follows a task now.
    link: RefCell<Option<Link>>,
    restarts: Cell<u32>,
    /// Whether another process has the root, whose work is followed.
    is_beside: Cell<bool>,
}

impl<'a> Local<'a> {
    /// Nothing is opened yet.
    pub(super) fn new(context: &'a Context) -> Self {
        Self {
            context,
            reader: RefCell::default(),
            agents: OnceCell::new(),
            link: RefCell::default(),
            restarts: Cell::default(),
            is_beside: Cell::default(),
        }
    }

    fn read<T>(&self, look: impl FnOnce(&mut SqliteReader) -> Result<T, Error>) -> Result<T, Error> {
        let mut reader = self.reader.borrow_mut();
        let reader = match &mut *reader {
            Some(reader) => reader,
            none => none.insert(folder::read(&self.context.root)?),
        };
        look(reader)
    }

    fn rows(&self, task: TaskId) -> Result<TaskRows, Error> {
        self.read(|reader| rows(reader, task))
    }

    /// Gives a command, by the link that follows a task if there is one. Nothing is claimed here meanwhile.
    fn give(&self, missing: Missing, command: Command) -> Result<Answer, Error> {
        match &*self.link.borrow() {
            Some(link) => link.call(command),
            None => link::once(self.context, missing, command),
        }
    }

    /// The agents, read once.
    fn agents(&self) -> Result<&Agents, Error> {
        match self.agents.get() {
            Some(agents) => Ok(agents),
            None => agents::read(&self.context.root).map(|agents| self.agents.get_or_init(|| agents)),
        }
    }
}

fn rows(reader: &mut SqliteReader, task: TaskId) -> Result<TaskRows, Error> {
    let missing = || Error::new(Code::NoTask, format!("there is no task {task} in this root"));
    reader.task(task)?.ok_or_else(missing)
}
