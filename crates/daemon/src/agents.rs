//! The agents of a root: the builtin ones and those of `agents.toml`.

use relaymesh_agents::{Agents, config::FILE};
use relaymesh_api::error::{Code, Error, Place};
pub use relaymesh_api::flow::{known as check, unknown};
use std::path::Path;

/// The agents of this root. A file that is wrong is shown where it is wrong, without values: a key may stand there.
pub fn read(root: &Path) -> Result<Agents, Error> {
    Agents::read(root).map_err(|error| {
        let file = root.join(FILE);
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let shown = |(line, column): (usize, usize)| Place {
            file: file.display().to_string(),
            line,
            column,
            text: shown_line(text.lines().nth(line - 1).unwrap_or_default()),
        };
        Error::new(Code::BadAgents, error.message).at(error.place.map(shown))
    })
}

/// The name in this line, or the head of a table.
fn shown_line(line: &str) -> String {
    let is_head =
        line.trim_start().starts_with('[') && line.trim_end().ends_with(']') && !line.contains(['"', '\'', ',']);
    let shown = match line.split_once('=') {
        Some((name, _)) => format!("{name}= …"),
        None if is_head => line.to_owned(),
        None => "…".to_owned(),
    };
    shown.chars().take(160).collect()
}

#[cfg(test)]
mod tests {
    use super::shown_line;

    #[test]
    fn a_line_is_shown_without_its_value() {
        for (line, shown) in [
            ("env = \"sk-1\"", "env = …"),
            ("  [agents.a]", "  [agents.a]"),
            ("  \"sk-1\",", "…"),
            ("[\"sk-1\"]", "…"),
            ("comand = []", "comand = …"),
        ] {
            assert_eq!(shown_line(line), shown);
        }
    }
}
