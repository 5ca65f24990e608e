//! Locks in the root on this machine.

use super::Local;
use crate::{
    client::Locks,
    error::Error,
    link::{self, Missing},
};
use relaymesh_api::view::lock::{self, Held, Shown};
use relaymesh_runtime::driver::{Answer, Command, LockCommand};

impl Locks for Local<'_> {
    fn lock(&self, command: LockCommand) -> Result<Option<Held>, Error> {
        let answer = self.give(Missing::Make, Command::Lock(command))?;
        if let Answer::Locked { held, deadline_ms } = answer {
            return Ok(Some(Held::new(held, deadline_ms)));
        }
        if answer == Answer::Released { Ok(None) } else { Err(link::unexpected(&answer)) }
    }

    fn locks(&self) -> Result<Vec<Shown>, Error> {
        let mut found = Vec::new();
        let tell = |repository: &_, held: &_| found.push(lock::shown(repository, held));
        self.read(|reader| lock::each(reader, &self.context.namespace, tell))?;
        Ok(found)
    }
}
