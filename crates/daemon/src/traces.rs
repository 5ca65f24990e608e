//! Traces in the daemon: where they go, as the settings have it.

use crate::{
    Home,
    http::Known,
    log::{Level, Log},
    root, secrets,
};
use relaymesh_agents::Secret;
use relaymesh_api::{
    metrics::Counts,
    traces::{Collector, Means, Traces},
};
use relaymesh_core::{id::NodeId, name::Name};
use relaymesh_runtime::settings::Settings;
use relaymesh_store::Reader;
use serde_json::json;
use std::{
    path::Path,
    sync::{Arc, PoisonError},
};

/// Begins to send traces, if there is somewhere to send them. What is wrong with that place stops no work: it is said in the log.
pub(crate) fn start(
    home: &Home,
    settings: &Settings,
    node: NodeId,
    (counts, known): (&Arc<Counts>, &Known),
    log: &Log,
) -> Option<Traces> {
    if settings.traced_per_mille() == 0 {
        return None;
    }
    match begin(home, settings, node, (counts, known), log) {
        Ok(traces) => {
            log.say(Level::Info, "traces_sent_to", json!({ "endpoint": settings.otlp_endpoint }));
            Some(traces)
        }
        Err(why) => {
            log.say(Level::Error, "traces_off", json!({ "error": why }));
            None
        }
    }
}

fn begin(
    home: &Home,
    settings: &Settings,
    node: NodeId,
    (counts, known): (&Arc<Counts>, &Known),
    log: &Log,
) -> Result<Traces, String> {
    let headers = headers(&home.root, &settings.otlp_headers_secret)?;
    let headers = headers.as_ref().map_or("", Secret::expose);
    let collector = Collector::new(&settings.otlp_endpoint, headers, &node.to_string())?;
    let (folder, known, says) = (home.root.clone(), Arc::clone(known), log.clone());
    let means = Means {
        open: Box::new(move || Ok(Box::new(root::read(&folder)?) as Box<dyn Reader>)),
        agents: Box::new(move || Arc::clone(&known.read().unwrap_or_else(PoisonError::into_inner))),
        counts: Arc::clone(counts),
        per_mille: settings.traced_per_mille(),
        say: Box::new(move |event, why| {
            let (level, about) =
                if why.is_empty() { (Level::Info, json!({})) } else { (Level::Warn, json!({ "error": why })) };
            says.say(level, event, about);
        }),
    };
    Traces::start(means, collector).map_err(|error| error.to_string())
}

/// The secret with the headers, if there is to be one.
fn headers(root: &Path, secret: &str) -> Result<Option<Secret>, String> {
    if secret.is_empty() {
        return Ok(None);
    }
    let name: Name = secret.parse().map_err(|error| format!("otlp_headers_secret: {error}"))?;
    let mut all = secrets::vault(root).read().map_err(|error| error.to_string())?;
    let missing =
        || format!("there is no secret `{name}`: set it with `relaymesh secret set {name}` and restart the daemon");
    all.remove(&name).map(Some).ok_or_else(missing)
}
