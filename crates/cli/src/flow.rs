//! Flow files: YAML or JSON, read strictly.
//!
//! What two readers could understand differently is refused: a key that stands twice, an integer that others would
//! round, more than one document. Every error says where, shows the line, and knows a slip of the finger when it sees one.

pub(crate) mod graph;
mod json;

use crate::error::{Code, Error, Place};
use relaymesh_agents::Agents;
pub(crate) use relaymesh_api::flow::schema;
use relaymesh_api::flow::{bad_flow, beginning, place, refused, unknown_field, yaml};
use relaymesh_core::{
    content::CONTENT_BYTES_MAX,
    name::Name,
    task::{
        request::{self, Prepared, Request, StepRequest},
        spec::IdempotencyKey,
    },
};
use serde_json::Value;
use std::{
    io::{ErrorKind, Read as _},
    path::Path,
};

/// The longest flow that is read.
const FLOW_BYTES_MAX: usize = 8 << 20;

/// A request, and the text that it was read from.
#[derive(Debug)]
pub(crate) struct Flow {
    /// What is asked for.
    pub(crate) request: Request,
    /// The file and its text, in which mistakes are shown.
    source: Option<(String, String)>,
}

/// Reads a flow; `-` is stdin. Without agents, whoever is named is taken to be there.
pub(crate) fn read(path: &Path, agents: Option<&Agents>) -> Result<Flow, Error> {
    let (text, file, is_json) = open(path)?;
    parse(text, file, is_json, agents)
}

fn open(path: &Path) -> Result<(String, String, bool), Error> {
    let file = if path == Path::new("-") { "<stdin>".to_owned() } else { path.display().to_string() };
    let text = text(path, Wanted::Flow)?;
    let is_json = path.extension().is_some_and(|extension| extension == "json")
        || (path == Path::new("-") && text.trim_start().starts_with('{'));
    Ok((text, file, is_json))
}

/// The request in `text`; errors name `file`.
fn request(text: &str, file: &str, is_json: bool) -> Result<Request, Error> {
    let request = if is_json { json::parse(text) } else { yaml::parse(text) };
    request.map_err(|mut error| {
        if let Some(place) = &mut error.place {
            file.clone_into(&mut place.file);
        }
        if error.place.is_none() {
            error.message = format!("{file}: {}", error.message);
        }
        error
    })
}

/// Parses the flow in `text`; errors name `file`. Without `agents`, the agents are not checked.
pub(crate) fn parse(text: String, file: String, is_json: bool, agents: Option<&Agents>) -> Result<Flow, Error> {
    let request = request(&text, &file, is_json)?;
    if let Some(agents) = agents {
        crate::agents::check(&request, agents).map_err(|(step, error)| error.at(agent_place(&text, &file, step)))?;
    }
    schema::bad_results(&request).next().map_or(Ok(()), |(error, at)| Err(error.at(text_place(&text, &file, at))))?;
    Ok(Flow { request, source: Some((file, text)) })
}

/// Reads a flow and checks it: every mistake is told, each where it stands.
pub(crate) fn check(path: &Path, agents: &Agents, namespace: &Name) -> Result<Flow, Error> {
    let (text, file, is_json) = open(path)?;
    let request = request(&text, &file, is_json)?;
    let mut found: Vec<Error> = relaymesh_api::flow::unknown_agents(&request, agents)
        .map(|(step, error)| error.at(agent_place(&text, &file, step)))
        .collect();
    found.extend(schema::bad_results(&request).map(|(error, at)| error.at(text_place(&text, &file, at))));
    found.extend(request.mistakes(namespace).into_iter().map(|error| {
        let place = mistake(&error).and_then(|words| text_place(&text, &file, &words));
        refused(&error, &request).at(place)
    }));
    Error::all(found)?;
    Ok(Flow { request, source: Some((file, text)) })
}

impl Flow {
    /// A request that stands in no file.
    pub(crate) fn new(request: Request) -> Self {
        Self { request, source: None }
    }

    /// The same with its input, which must be as its schema says.
    pub(crate) fn given(mut self, argument: Option<&str>) -> Result<Self, Error> {
        self.request.given = argument.map(input).transpose()?;
        if let Some(schema) = &self.request.input {
            schema::check(schema, self.request.given.as_ref())?;
        }
        Ok(self)
    }

    /// Whether the repositories are there that its steps work in. A mistake is shown where it is.
    pub(crate) fn check_workspaces(&self, root: &Path) -> Result<(), Error> {
        for step in &self.request.steps {
            let Some(workspace) = &step.workspace else { continue };
            relaymesh_agents::workspace::check(&workspace.git, root).map_err(|why| {
                let at = self.source.as_ref().and_then(|(file, text)| text_place(text, file, &workspace.git));
                bad_flow(&format!("step `{}`: {why}", step.id)).at(at)
            })?;
        }
        Ok(())
    }

    /// The request as it stands on the log; a mistake is shown where it is.
    pub(crate) fn prepare(
        &self,
        namespace: &Name,
        key: Option<IdempotencyKey>,
        trace_id: u128,
    ) -> Result<Prepared, Error> {
        self.request.prepare(namespace, key, trace_id).map_err(|error| {
            let place = mistake(&error).zip(self.source.as_ref());
            refused(&error, &self.request).at(place.and_then(|(words, (file, text))| text_place(text, file, &words)))
        })
    }
}

/// The words to look for in the file.
fn mistake(error: &request::Error) -> Option<String> {
    match error {
        request::Error::Reference(bad) => Some(bad.text.clone()),
        request::Error::UnknownStep { unknown, .. } => Some(unknown.to_string()),
        request::Error::Terms { field, .. } => Some(format!("{field}:")),
        request::Error::Graph(_)
        | request::Error::Input { .. }
        | request::Error::Given { .. }
        | request::Error::Canonical(_)
        | request::Error::InputTooLong { .. }
        | request::Error::TooLarge { .. } => None,
    }
}

/// Reads a JSON value given as an argument: the value itself, `@FILE`, or `-` for stdin.
pub(crate) fn input(argument: &str) -> Result<Value, Error> {
    let text = match argument.strip_prefix('@') {
        Some(file) => text(Path::new(file), Wanted::Input)?,
        None if argument == "-" => text(Path::new("-"), Wanted::Input)?,
        None => argument.to_owned(),
    };
    if text.trim().is_empty() {
        let error = Error::new(Code::BadInput, "--input is empty; it must be JSON");
        return Err(error.hint("to pass no input, leave out --input or give `null`"));
    }
    relaymesh_core::canonical::parse(text.as_bytes()).map_err(|error| {
        let error = Error::new(Code::BadInput, format!("--input: {error}"));
        error.hint("quote a string: --input '\"hello\"'; read a file: --input @FILE")
    })
}

/// The line of the file that names this step's agent. The parsed request has no places, so the text is searched: the
/// first `agent` with this value.
fn agent_place(text: &str, file: &str, step: &StepRequest) -> Option<Place> {
    let agent = step.agent.as_str();
    let value_of = |line: &str| {
        let at = line.find("agent")? + "agent".len();
        let value = line[at..].trim_start_matches(['"', '\'']).trim_start().strip_prefix(':')?.trim_start();
        let value = value.trim_start_matches(['"', '\'']);
        let rest = value.strip_prefix(agent)?;
        let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'));
        ends.then(|| line.len() - value.len())
    };
    let (number, line, at) = text.lines().enumerate().find_map(|(n, line)| Some((n, line, value_of(line)?)))?;
    let column = line[..at].chars().count() + 1;
    Some(Place { file: file.to_owned(), line: number + 1, column, text: beginning(line) })
}

/// The first place in the file where these words stand.
fn text_place(text: &str, file: &str, words: &str) -> Option<Place> {
    let words = words.lines().next().map(str::trim).filter(|words| !words.is_empty())?;
    let (number, line) = text.lines().enumerate().find(|(_, line)| line.contains(words))?;
    let column = line[..line.find(words)?].chars().count() + 1;
    Some(Place { file: file.to_owned(), line: number + 1, column, text: beginning(line) })
}

/// What a file is read for.
#[derive(Clone, Copy)]
enum Wanted {
    Flow,
    Input,
}

/// What the file holds.
fn text(path: &Path, wanted: Wanted) -> Result<String, Error> {
    let (bytes_max, bad, too_long) = match wanted {
        Wanted::Flow => (FLOW_BYTES_MAX, Code::BadFlow, Code::BadFlow),
        Wanted::Input => (CONTENT_BYTES_MAX, Code::BadInput, Code::TooLong),
    };
    let at_most = bytes_max as u64 + 1;
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(at_most).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(at_most).read_to_end(&mut bytes))
    };
    let name = if path == Path::new("-") { "<stdin>".to_owned() } else { path.display().to_string() };
    read.map_err(|error| {
        if error.kind() == ErrorKind::NotFound {
            let error = Error::new(Code::NoFile, format!("there is no file {name}"));
            match wanted {
                Wanted::Flow => error.hint("`relaymesh flow new` writes a flow to start from"),
                Wanted::Input => error,
            }
        } else if error.kind() == ErrorKind::IsADirectory {
            Error::new(Code::NoFile, format!("{name} is a folder, not a file"))
        } else {
            Error::new(Code::StoreIo, format!("cannot read {name}: {error}"))
        }
    })?;
    if bytes.len() > bytes_max {
        return Err(Error::new(too_long, format!("{name} is longer than {bytes_max} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::new(bad, format!("{name} is not UTF-8: invalid byte at position {at}"))
    })
}

#[cfg(test)]
mod tests;
