//! A daemon elsewhere itself.

use super::Http;
use crate::{client::Root, error::Error};
use relaymesh_api::{
    local::Status,
    metrics::Form,
    view::{agent, namespace, setting},
};
use relaymesh_core::name::Name;
use relaymesh_runtime::settings::history::Entry;
use serde_json::json;

impl Root for Http<'_> {
    fn agents(&self) -> Result<Vec<agent::Shown>, Error> {
        Ok(self.remote.get::<agent::All>(&["agents"], &[])?.agents)
    }

    fn namespaces(&self) -> Result<Vec<namespace::Shown>, Error> {
        Ok(self.remote.get::<namespace::All>(&["namespaces"], &[])?.namespaces)
    }

    fn create_namespace(&self, name: Name, about: String) -> Result<namespace::Created, Error> {
        self.remote.post(&["namespaces"], &json!({ "name": name, "about": about }))
    }

    fn settings(&self) -> Result<Vec<setting::Shown>, Error> {
        Ok(self.remote.get::<setting::All>(&["settings"], &[])?.settings)
    }

    fn settings_history(&self, limit: usize) -> Result<Vec<Entry>, Error> {
        let query = [("limit", Some(limit.max(1).to_string()))];
        Ok(self.remote.get::<setting::History>(&["settings", "history"], &query)?.history)
    }

    fn status(&self) -> Result<(Status, Option<String>), Error> {
        Ok((self.remote.get(&["status"], &[])?, Some(self.remote.url())))
    }

    fn metrics(&self, form: Form) -> Result<String, Error> {
        self.remote.metrics(form.content_type())
    }
}
