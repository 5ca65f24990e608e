//! The agents of a root: the builtin ones and those of `agents.toml`.

use crate::error::{Code, Error, Place};
use relaymesh_agents::{Agents, config::FILE};
use relaymesh_core::{
    name::Name,
    suggest,
    task::request::{Request, StepRequest},
};
use relaymesh_runtime::builtin::{AGENTS, Builtin};
use std::path::Path;

/// The agents of this root. A file that is wrong is shown where it is wrong.
pub(crate) fn read(root: &Path) -> Result<Agents, Error> {
    Agents::read(root).map_err(|error| {
        let file = root.join(FILE);
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let shown = |(line, column): (usize, usize)| Place {
            file: file.display().to_string(),
            line,
            column,
            text: text.lines().nth(line - 1).unwrap_or_default().chars().take(160).collect(),
        };
        Error::new(Code::BadAgents, error.message).at(error.place.map(shown))
    })
}

/// Every agent that is named must be here: there is nobody else to do the work.
pub(crate) fn check<'a>(request: &'a Request, agents: &Agents) -> Result<(), (&'a StepRequest, Error)> {
    let known = |name: &Name| Builtin::knows(name) || agents.get(name).is_some();
    match request.steps.iter().find(|step| !known(&step.agent)) {
        Some(step) => Err((step, unknown(&step.agent, agents))),
        None => Ok(()),
    }
}

/// What to say about an agent that is not there.
pub(crate) fn unknown(agent: &Name, agents: &Agents) -> Error {
    let names = AGENTS.iter().map(|(name, _)| *name).chain(agents.iter().map(|(name, _)| name.as_str()));
    let mut error = Error::new(Code::UnknownAgent, format!("there is no agent `{agent}`"));
    error.hints.extend(suggest::nearest(agent.as_str(), names).map(|near| format!("did you mean `{near}`?")));
    error.hints.push(format!("`relaymesh agent list` shows the agents; those of your own stand in {FILE} in the root"));
    error
}
