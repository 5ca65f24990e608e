//! The root itself and its daemon.

use crate::error::Error;
use relaymesh_api::{
    local::Status,
    metrics::Form,
    view::{agent, namespace, setting},
};
use relaymesh_core::name::Name;
use relaymesh_runtime::settings::history::Entry;

/// What is known of a root and of its daemon.
pub(crate) trait Root {
    /// Every agent.
    fn agents(&self) -> Result<Vec<agent::Shown>, Error>;

    /// Every namespace.
    fn namespaces(&self) -> Result<Vec<namespace::Shown>, Error>;

    /// Makes a namespace; one that is there stays as it is.
    fn create_namespace(&self, name: Name, about: String) -> Result<namespace::Created, Error>;

    /// Every setting.
    fn settings(&self) -> Result<Vec<setting::Shown>, Error>;

    /// When settings changed, newest first.
    fn settings_history(&self, limit: usize) -> Result<Vec<Entry>, Error>;

    /// How the daemon is, and where its HTTP API is reached.
    fn status(&self) -> Result<(Status, Option<String>), Error>;

    /// The metrics, as text.
    fn metrics(&self, form: Form) -> Result<String, Error>;
}
