//! The bell of the root on this machine: the system tells that the sidecar has changed.

use super::Local;
use crate::{
    args::Context,
    bell::{self, Bell},
    client::{About, Bells, Rang, Rings, Stream},
    error::Error,
};
use relaymesh_core::{id::TaskId, name::Name};
use relaymesh_runtime::agents::said;
use std::time::Duration;

struct Here<'a> {
    context: &'a Context,
    bell: Bell,
    about: About,
}

impl Bells for Local<'_> {
    fn bell(&self, about: About) -> Result<Box<dyn Rings + '_>, Error> {
        Ok(Box::new(Here { context: self.context, bell: Bell::new(&self.context.root), about }))
    }
}

impl Rings for Here<'_> {
    fn wait(&mut self, at_most: Option<Duration>) -> Result<Rang, Error> {
        let rang = self.bell.wait(at_most);
        if !rang && self.about == About::Messages && !self.context.no_daemon {
            self.context.daemon(&[])?;
        }
        Ok(Rang::Maybe)
    }

    fn listen(&mut self, task: TaskId, attempts: &[(Name, u32)], stream: Stream) -> Option<Duration> {
        // An agent writes into its file and tells nobody; before its first word there may be no file to listen to.
        let hears = |bell: &Bell, (step, epoch): &(Name, u32)| {
            bell.hears(&said(&self.context.root, task, step, *epoch, stream.as_str()))
        };
        let unheard = attempts.iter().filter(|attempt| !hears(&self.bell, attempt)).count();
        (unheard > 0).then_some(bell::LOOK)
    }
}
