//! The parsers of text from outside, without files around them, for the fuzz targets.

use crate::{backup::Manifest, error::Error, flow, settings};
pub use relaymesh_api::http::fuzzing as api;

use relaymesh_agents::http::{Api, answer::Answer, sse};
use relaymesh_core::task::request::Request;
use relaymesh_runtime::{file_bus::meta, settings::Layers};
use std::path::Path;

/// The language of a flow file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `*.json`, or stdin that starts with a brace.
    Json,
    /// Everything else.
    Yaml,
}

/// What is printed when a flow is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// For people.
    pub text: String,
    /// With `--json`.
    pub json: String,
}

/// Reads the text of a flow file, as `relaymesh run` does.
pub fn flow(text: &str, language: Language) -> Result<Request, Said> {
    let is_json = language == Language::Json;
    let agents = relaymesh_agents::Agents::default();
    let flow = flow::parse(text.to_owned(), "flow".to_owned(), is_json, Some(&agents)).map_err(|error| said(&error))?;
    let namespace = relaymesh_core::namespace::DEFAULT.parse().expect("a literal name");
    flow.prepare(&namespace, None, 0).map_err(|error| said(&error))?;
    Ok(flow.request)
}

/// Reads the text of a settings file; gives all settings as such a text.
pub fn settings(text: &str) -> Result<String, Said> {
    let loaded =
        Layers::default().over(Some(text)).map_err(|error| said(&settings::shown(error, Path::new("root"))))?;
    let rows = serde_json::json!(relaymesh_api::view::setting::shown(&loaded));
    let values = rows.as_array().into_iter().flatten().map(|row| format!("{}:{}", row["name"], row["value"]));
    Ok(format!("{{{}}}", values.collect::<Vec<_>>().join(",")))
}

/// Reads the manifest of a backup; gives it as it would be written.
pub fn backup(bytes: &[u8]) -> Result<String, Said> {
    let manifest = Manifest::parse(bytes, Path::new("backup")).map_err(|error| said(&error))?;
    serde_json::to_string(&manifest).map_err(|error| Said { text: error.to_string(), json: String::new() })
}

/// What an answer comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The words of the model.
    pub said: String,
    /// What was shown to people.
    pub shown: Vec<String>,
    /// How it ended.
    pub end: String,
}

/// Takes in an answer that comes in these pieces, in the words of each api.
pub fn answers(pieces: &[&[u8]]) -> Vec<Heard> {
    // The time does not matter, but must be the same for all.
    let now = relaymesh_agents::http::limit::epoch();
    let heard = |api: Api| {
        let mut parser = sse::Parser::default();
        let mut answer = Answer::new(api);
        let mut shown = Vec::new();
        for piece in pieces {
            for message in parser.take_in(piece).unwrap_or_default() {
                shown.extend(answer.take_in(&message, &now).iter().filter_map(|event| event.for_people()));
            }
        }
        Heard { said: answer.said().text.clone(), shown, end: format!("{:?}", answer.judge(false)) }
    };
    [Api::Json, Api::Chat, Api::Responses, Api::Messages].map(heard).to_vec()
}

/// Reads a meta file of the file bus; what was understood, for people.
pub fn meta(bytes: &[u8]) -> Result<String, String> {
    meta::parse(bytes).map(|order| format!("{order:?}"))
}

/// The names of the files that an id on the file bus has, if it is one.
pub fn bus_id(text: &str) -> Option<Vec<String>> {
    let ends = [meta::META, meta::PAYLOAD, meta::RECEIPT, meta::REASON];
    let files = |end: &str| meta::Id::of(&format!("{text}{end}"), end).map(|id| id.file(end));
    ends.into_iter().map(files).collect()
}

fn said(error: &Error) -> Said {
    Said { text: crate::error::to_text(error), json: error.to_json().to_string() }
}
