//! The root on this machine, and its daemon.

use super::Local;
use crate::{
    client::Root,
    error::{Code, Error},
    link::{self, Missing},
    progress::Progress,
    root as folder, settings,
};
use relaymesh_api::{
    local::{Client as Daemon, Endpoint, Status},
    metrics::Form,
    view::{agent, namespace, setting},
};
use relaymesh_core::name::Name;
use relaymesh_runtime::{
    driver::{Answer, Command},
    settings::history::{self, Entry},
};
use relaymesh_store::Reader as _;
use relaymesh_store_sqlite::SqliteReader;

impl Local<'_> {
    /// The daemon, if there is one.
    fn daemon(&self) -> Result<Option<Daemon>, Error> {
        folder::there(&self.context.root)?;
        Daemon::connect(&self.context.root, &self.context.caller)
    }

    fn no_daemon(&self) -> Error {
        Error::new(Code::NoDaemon, format!("no daemon is running for {}", self.context.root.display()))
    }

    /// There is no daemon; and if none can start, that is the answer.
    fn no_status(&self) -> Error {
        let root = &self.context.root;
        match SqliteReader::open(root).and_then(|mut reader| reader.remembers(root)) {
            Ok(()) => self.no_daemon(),
            Err(error) => Error::from(error).hint("no daemon is running, and none can start until this is fixed"),
        }
    }
}

impl Root for Local<'_> {
    fn agents(&self) -> Result<Vec<agent::Shown>, Error> {
        Ok(agent::list(self.agents()?, &self.context.root))
    }

    fn namespaces(&self) -> Result<Vec<namespace::Shown>, Error> {
        self.read(|reader| {
            let mut progress = Progress::new("looked at tasks:", reader.counts()?.0);
            let found = namespace::find(reader, &mut |seen| progress.tell(seen))?;
            Ok(found.into_iter().map(|(name, listed)| listed.shown(name)).collect())
        })
    }

    fn create_namespace(&self, name: Name, about: String) -> Result<namespace::Created, Error> {
        let answer = self.give(Missing::Make, Command::CreateNamespace { name, about })?;
        let Answer::Namespace { name, is_new } = answer else { return Err(link::unexpected(&answer)) };
        Ok(namespace::Created { namespace: name, created: is_new })
    }

    fn settings(&self) -> Result<Vec<setting::Shown>, Error> {
        settings::current(self.context).map(|loaded| setting::shown(&loaded))
    }

    fn settings_history(&self, limit: usize) -> Result<Vec<Entry>, Error> {
        folder::there(&self.context.root)?;
        let unreadable = |error| Error::new(Code::StoreIo, format!("cannot read {}: {error}", history::FILE));
        history::newest(&self.context.root, limit).map_err(unreadable)
    }

    fn status(&self) -> Result<(Status, Option<String>), Error> {
        let Some(daemon) = self.daemon()? else { return Err(self.no_status()) };
        let url = Endpoint::read(&self.context.root).ok().flatten().and_then(|endpoint| endpoint.http);
        Ok((daemon.status()?, url))
    }

    fn metrics(&self, form: Form) -> Result<String, Error> {
        self.daemon()?.ok_or_else(|| self.no_daemon())?.metrics(form)
    }
}
