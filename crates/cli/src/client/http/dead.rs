//! What failed for good at a daemon elsewhere.

use super::Http;
use crate::{
    bulk::Outcome,
    client::{
        Tasks as _,
        dead::{Dead, Told},
    },
    error::Error,
    remote,
};
use relaymesh_api::view::dead::{self, All, Documents, Selection, Shown, What};
use relaymesh_core::{
    id::{MessageId, ThreadId},
    name::Name,
};
use serde_json::{Value, json};

/// Ids that are asked about at once.
const NAMED_MAX: usize = 200;
/// How many are given at once.
const AT_ONCE: usize = 500;

impl Http<'_> {
    /// The whole id of what is meant there.
    fn whole(&self, text: &str) -> Result<String, Error> {
        let is_message = text.parse::<MessageId>().is_ok() || text.parse::<ThreadId>().is_ok();
        if is_message { Ok(text.to_owned()) } else { self.find(text).map(|task| task.to_string()) }
    }

    fn each(&self, verb: &str, all: &[What], reason: Option<&str>, tell: &mut Told<'_>) -> Result<Outcome, Error> {
        let mut outcome = Outcome::default();
        for some in all.chunks(AT_ONCE) {
            let ids: Vec<String> = some.iter().map(|what| what.id()).collect();
            let mut body = json!({ "ids": ids });
            if let Some(reason) = reason {
                body["reason"] = json!(reason);
            }
            let dead::Outcome { done, failed } = self.remote.post(&["dead", verb], &body)?;
            for what in done.iter().filter_map(dead::Ids::what) {
                tell(what, Ok(()));
                outcome.add(Ok(()));
            }
            for dead::Failed { ids, error } in failed {
                let error = remote::problem(&error);
                if let Some(what) = ids.what() {
                    tell(what, Err(&error));
                }
                outcome.add(Err(error));
            }
        }
        Ok(outcome)
    }
}

impl Dead for Http<'_> {
    fn dead(&self, selection: &Selection) -> Result<All, Error> {
        let Selection { agent, flow, since_ms, before_ms } = selection;
        let text = |name: &Option<Name>| name.as_ref().map(Name::to_string);
        let query = [
            self.namespace(),
            ("agent", text(agent)),
            ("flow", text(flow)),
            ("since_ms", since_ms.map(|since| since.to_string())),
            ("before_ms", before_ms.map(|before| before.to_string())),
        ];
        self.remote.get(&["dead"], &query)
    }

    fn dead_named(&self, ids: &[String]) -> Result<Vec<Shown>, Error> {
        let whole = ids.iter().map(|text| self.whole(text)).collect::<Result<Vec<_>, _>>()?;
        let mut found = Vec::new();
        for some in whole.chunks(NAMED_MAX) {
            found.extend(self.remote.get::<All>(&["dead"], &[("ids", Some(some.join(",")))])?.dead);
        }
        Ok(found)
    }

    fn dead_documents(&self, id: &str) -> Result<Vec<Value>, Error> {
        Ok(self.remote.get::<Documents>(&["dead", &self.whole(id)?], &[])?.documents)
    }

    fn redrive(&self, all: &[What], reason: &str, tell: &mut Told<'_>) -> Result<Outcome, Error> {
        self.each("redrive", all, Some(reason), tell)
    }

    fn purge(&self, all: &[What], tell: &mut Told<'_>) -> Result<Outcome, Error> {
        self.each("purge", all, None, tell)
    }
}
