//! The bell of a daemon elsewhere: its events, each of which is a reason to look.

use super::Http;
use crate::{
    client::{About, Bells, Rang, Rings, Stream},
    error::Error,
    remote::Events,
};
use relaymesh_core::{id::TaskId, name::Name};
use std::time::Duration;

/// How often to look at what agents say: nothing tells of that.
const LOOK: Duration = Duration::from_secs(1);

struct There<'a>(Events<'a>);

impl Bells for Http<'_> {
    fn bell(&self, about: About) -> Result<Box<dyn Rings + '_>, Error> {
        let query = match about {
            About::Task(task) => ("task", Some(task.to_string())),
            About::Messages => self.namespace(),
            About::Log => ("task", None),
        };
        Ok(Box::new(There(self.remote.events(&[query])?)))
    }
}

impl Rings for There<'_> {
    fn wait(&mut self, at_most: Option<Duration>) -> Result<Rang, Error> {
        Ok(if self.0.rings(at_most) { Rang::Maybe } else { Rang::Ended })
    }

    fn listen(&mut self, _: TaskId, _: &[(Name, u32)], _: Stream) -> Option<Duration> {
        Some(LOOK)
    }
}
