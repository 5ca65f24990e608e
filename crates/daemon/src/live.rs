//! The settings that the daemon runs with: taken up as a whole, or not at all.

use crate::settings;
use crate::{
    log::{Level, Log},
    reload::{Stamp, stamp},
    upkeep::Errand,
};
use relaymesh_api::{error::Error, time, view::setting};
use relaymesh_runtime::{
    agents::{Limits, News},
    driver::Handle,
    settings::{
        FILE, Layers, Loaded, Settings,
        history::{self, Entry},
    },
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError, mpsc::Sender},
};

/// The settings, and what is needed to change them.
pub(crate) struct Live {
    layers: Layers,
    news: News,
    handle: Handle,
    errands: Sender<Errand>,
    log: Log,
    state: Mutex<State>,
}

struct State {
    loaded: Loaded,
    seen: Stamp,
    /// Why the newest ones were not taken up.
    problem: Option<String>,
}

impl Live {
    /// The settings that the daemon has started with.
    pub(crate) fn new(
        layers: Layers,
        loaded: Loaded,
        (news, handle, errands): (News, Handle, Sender<Errand>),
        log: Log,
    ) -> Self {
        let seen = stamp(&layers.root.join(FILE)).unwrap_or_default();
        let changed = loaded.changed_fields(&Settings::default());
        let live =
            Self { layers, news, handle, errands, log, state: Mutex::new(State { loaded, seen, problem: None }) };
        live.write_down("start", &changed);
        live
    }

    /// The values.
    pub(crate) fn settings(&self) -> Settings {
        self.state().loaded.settings.clone()
    }

    /// The values and where they come from.
    pub(crate) fn loaded(&self) -> Loaded {
        self.state().loaded.clone()
    }

    /// Changes the file if it is still the one that was seen, and takes it up.
    pub(crate) fn change(
        &self,
        seen: &str,
        changes: &BTreeMap<String, serde_json::Value>,
    ) -> Result<(Loaded, Vec<String>), Error> {
        setting::change(&self.layers, seen, changes)?;
        let changed = self.reload("http")?;
        Ok((self.loaded(), changed.into_iter().map(str::to_owned).collect()))
    }

    /// Why the newest ones were not taken up, if they were not.
    pub(crate) fn problem(&self) -> Option<String> {
        self.state().problem.clone()
    }

    /// The values and where they come from, read again first if that is asked for; and names of those that changed.
    pub(crate) fn shown(&self, reload: bool) -> Result<(Loaded, Vec<String>), Error> {
        let changed = if reload { self.reload("command")? } else { Vec::new() };
        Ok((self.state().loaded.clone(), changed.into_iter().map(str::to_owned).collect()))
    }

    /// Reads them again if the file is another than the last time. What is wrong with it is in the log and in the status.
    pub(crate) fn look(&self) {
        let now = stamp(&self.layers.root.join(FILE)).unwrap_or_default();
        if now != self.state().seen {
            let _ = self.reload("file");
        }
    }

    /// Takes up all of them or none. Gives the names of those that changed.
    fn reload(&self, source: &str) -> Result<Vec<&'static str>, Error> {
        let mut state = self.state();
        state.seen = stamp(&self.layers.root.join(FILE)).unwrap_or_default();
        let loaded = match settings::load(&self.layers) {
            Ok(loaded) => loaded,
            Err(error) => {
                state.problem = Some(place(&error));
                drop(state);
                let fields = json!({ "what": "settings", "by": source, "error": place(&error), "kept": "the previous settings" });
                self.log.say(Level::Error, "reload_refused", fields);
                return Err(error);
            }
        };
        let changed = loaded.changed_fields(&state.loaded.settings);
        state.problem = None;
        if !changed.is_empty() {
            self.handle.configure(loaded.settings.config());
            self.news.lock().unwrap_or_else(PoisonError::into_inner).limits = Some(Limits::from(&loaded.settings));
            self.handle.refresh();
        }
        state.loaded = loaded;
        drop(state);
        // The retention may have changed: wake the upkeep, unless it has ended.
        let _ = self.errands.send(Errand::Look);
        self.write_down(source, &changed);
        Ok(changed)
    }

    fn write_down(&self, source: &str, changed: &[&'static str]) {
        if changed.is_empty() {
            return;
        }
        self.log.say(Level::Info, "settings_loaded", json!({ "by": source, "changed_fields": changed }));
        let changed_fields = changed.iter().map(|name| (*name).to_owned()).collect();
        let entry = Entry { at_ms: time::now_ms(), source: source.to_owned(), changed_fields };
        if let Err(error) = history::append(&self.layers.root, &entry) {
            self.log.say(
                Level::Error,
                "history_not_written",
                json!({ "file": history::FILE, "error": error.to_string() }),
            );
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is wrong, with the place in words.
fn place(error: &Error) -> String {
    match error.place.as_deref() {
        Some(place) => format!("{} (line {}, column {} of {FILE})", error.message, place.line, place.column),
        None => error.message.clone(),
    }
}
