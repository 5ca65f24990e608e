//! A flow in JSON.

use super::{bad_flow, place, unknown_field};
use crate::error::Error;
use relaymesh_core::{canonical, task::request::Request};

/// Reads the request. The strict parser looks first; the second one knows lines and columns of what does not fit.
pub(super) fn parse(text: &str) -> Result<Request, Error> {
    canonical::parse(text.as_bytes()).map_err(|error| strict(&error, text))?;
    serde_json::from_str(text).map_err(|error| typed(&error, text))
}

fn strict(error: &canonical::Error, text: &str) -> Error {
    let (line, column) = match error {
        canonical::Error::DuplicateKey { line, column, .. } => (Some(*line), Some(*column)),
        // A place that is a path may hold keys of the file, and these may look like anything.
        canonical::Error::Integer { at, .. } | canonical::Error::Depth { at } if at.starts_with('`') => (None, None),
        canonical::Error::Integer { at, .. } | canonical::Error::Depth { at } => line_and_column(at),
        canonical::Error::Syntax { message } | canonical::Error::Encode { message } => line_and_column(message),
    };
    let found = line.zip(column).and_then(|(line, column)| place(text, line, column));
    bad_flow(&error.to_string()).at(found)
}

fn typed(error: &serde_json::Error, text: &str) -> Error {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    let found = place(text, error.line(), error.column());
    // The field is quoted as it is, backticks and all; what is known here comes after it.
    let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.rsplit_once("`, expected "));
    match unknown {
        Some((field, expected)) => {
            let expected: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
            unknown_field(field, &expected).at(found)
        }
        None => bad_flow(message).at(found),
    }
}

/// The numbers at the end of `… line 3 column 4`.
fn line_and_column(said: &str) -> (Option<usize>, Option<usize>) {
    let after = |word| said.rsplit_once(word)?.1.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    (after("line "), after("column "))
}
