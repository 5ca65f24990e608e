//! The agents of a root: the builtin ones and those of `agents.toml`.

use relaymesh_agents::{Agents, config::FILE};
use relaymesh_api::error::{Code, Error, Place};
pub use relaymesh_api::flow::{known as check, unknown};
use std::path::Path;

/// The agents of this root. A file that is wrong is shown where it is wrong.
pub fn read(root: &Path) -> Result<Agents, Error> {
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
