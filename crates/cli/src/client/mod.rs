//! What commands ask of a root, wherever it is.
//!
//! | client                   | writes and events                    | looks                       |
//! |--------------------------|--------------------------------------|-----------------------------|
//! | [`Local`]                | the root's daemon, over its socket   | the database, read-only     |
//! | [`Local`], `--no-daemon` | a driver in this process             | the database, read-only     |
//! | [`Http`], `--url`        | a daemon elsewhere, over HTTP        | its HTTP API                |
//!
//! A command asks its client and prints what it gets; it does not know which one it has. Values are the views of
//! `relaymesh_api`, so the words for people and the JSON for programs are made from the same values everywhere.
//!
//! There is a trait for each area; [`Client`] is all of them.

mod audit;
mod bell;
mod dead;
mod http;
mod local;
mod locks;
mod messages;
mod news;
mod root;
mod tasks;

pub(crate) use audit::{Audit, Found, Newest, Wanted};
pub(crate) use bell::{About, Bells, Rang, Rings};
pub(crate) use dead::{Dead, scope};
pub(crate) use locks::Locks;
pub(crate) use messages::{Given, Messages};
pub(crate) use news::{Follow, News, Seen, Start, Tell};
pub(crate) use root::Root;
pub(crate) use tasks::{Change, Listed, Out, Stream, Submission, Tasks};

use crate::args::Context;
use http::Http;
use local::Local;

/// A root that can be asked, wherever it is.
pub(crate) trait Client: Tasks + Follow + Bells + Messages + Locks + Dead + Audit + Root {}

impl<T: Tasks + Follow + Bells + Messages + Locks + Dead + Audit + Root> Client for T {}

impl Context {
    /// The client of the root that the command is about.
    pub(crate) fn client(&self) -> Box<dyn Client + '_> {
        match &self.remote {
            Some(remote) => Box::new(Http::new(self, remote)),
            None => Box::new(Local::new(self)),
        }
    }
}
