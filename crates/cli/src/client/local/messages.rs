//! Messages in the root on this machine.

use super::Local;
use crate::{
    client::{Given, Messages},
    error::{Code, Error},
    link::{self, Missing},
};
use relaymesh_api::view::{
    Results,
    message::{self, Asking, Replied, Spoken, Told, Waiting},
};
use relaymesh_core::{id::ThreadId, name::Name, op::Scope};
use relaymesh_runtime::driver::{Answer, Command, MessageCommand};
use relaymesh_store::Reader as _;

impl Messages for Local<'_> {
    fn message(&self, command: MessageCommand) -> Result<Given, Error> {
        match self.give(Missing::Make, Command::Message(command))? {
            Answer::Message { thread, message, state } => Ok(Given::Told(Told { thread, message, state })),
            Answer::Taken(None) => Ok(Given::Taken(None)),
            Answer::Taken(Some(delivery)) => {
                self.read(|reader| message::delivered(reader, &delivery)).map(|found| Given::Taken(Some(found)))
            }
            Answer::Replied { thread, message, completed } => {
                let asked = completed.map(|(step, completed)| Asking { step, completed });
                Ok(Given::Replied(Replied { thread, message, asked }))
            }
            other @ (Answer::Accepted { .. }
            | Answer::Ended { .. }
            | Answer::Claimed(_)
            | Answer::Locked { .. }
            | Answer::Released
            | Answer::Swept { .. }
            | Answer::Compacted { .. }
            | Answer::Namespace { .. }
            | Answer::Renewed { .. }
            | Answer::Noted { .. }
            | Answer::Done { .. }) => Err(link::unexpected(&other)),
        }
    }

    fn thread(&self, thread: ThreadId) -> Result<Vec<Spoken>, Error> {
        self.read(|reader| {
            let rows = reader.scope(Scope::Thread(thread))?;
            let missing = || Error::new(Code::NoTask, format!("there is no thread {thread} in this root"));
            message::thread(reader, rows.as_ref().and_then(|rows| rows.thread()).ok_or_else(missing)?, Results::Full)
        })
    }

    fn inbox(&self, agent: &Name, limit: u32) -> Result<Vec<Waiting>, Error> {
        self.read(|reader| message::inbox(reader, &self.context.namespace, agent, limit as usize, Results::Full))
    }
}
