//! What failed for good in the root on this machine.

use super::Local;
use crate::{
    bulk::{self, Outcome},
    client::dead::{Dead, Told, scope},
    error::{Code, Error},
    progress::Progress,
};
use relaymesh_api::view::dead::{self, All, Selection, Shown, What};
use relaymesh_runtime::driver::{Command, LifeCommand, MessageCommand};
use serde_json::Value;

impl Dead for Local<'_> {
    fn dead(&self, selection: &Selection) -> Result<All, Error> {
        let mut progress = Progress::new("looked at threads:", 0);
        let namespace = &self.context.namespace;
        let found = self.read(|reader| selection.find(reader, namespace, &mut |seen| progress.tell(seen)))?;
        let total = found.len();
        Ok(All { dead: found.into_iter().map(dead::Dead::shown).collect(), total })
    }

    fn dead_named(&self, ids: &[String]) -> Result<Vec<Shown>, Error> {
        let mut progress = Progress::new("looked at threads:", 0);
        let mut found = self.read(|reader| dead::named(reader, ids, &mut |seen| progress.tell(seen)))?;
        found.sort_by_key(|dead| dead.pos);
        Ok(found.into_iter().map(dead::Dead::shown).collect())
    }

    fn dead_documents(&self, id: &str) -> Result<Vec<Value>, Error> {
        let found = self.dead_named(&[id.to_owned()])?;
        let documents = |what: What| {
            let mut all = Vec::new();
            let mut out = |bytes: &[u8]| {
                all.extend_from_slice(bytes);
                Ok(())
            };
            self.read(|reader| what.document().write(reader, &mut out))?;
            serde_json::from_slice(&all).map_err(|error| Error::new(Code::Internal, error.to_string()))
        };
        found.iter().filter_map(|dead| dead.ids.what()).map(documents).collect()
    }

    fn redrive(&self, all: &[What], reason: &str, tell: &mut Told<'_>) -> Result<Outcome, Error> {
        let command = |what: &What| {
            let reason = reason.to_owned();
            match *what {
                What::Task(task) => Command::Redrive { task, reason },
                What::Message(thread, message) => Command::Message(MessageCommand::Redrive { thread, message, reason }),
            }
        };
        let commands = all.iter().map(|what| (*what, command(what))).collect();
        bulk::all(self.context, "redriven:", commands, |what, answer| tell(*what, answer.map(drop)))
    }

    fn purge(&self, all: &[What], tell: &mut Told<'_>) -> Result<Outcome, Error> {
        let purge = |what: &What| (*what, Command::Life(LifeCommand::Purge { scope: scope(*what) }));
        let commands = all.iter().map(purge).collect();
        bulk::all(self.context, "purged:", commands, |what, answer| tell(*what, answer.map(drop)))
    }
}
