//! A flow in JSON.

use super::{place, unknown_field};
use crate::error::{Code, Error};
use relaymesh_core::{canonical, task::request::Request};

/// Reads the request. The strict parser looks first; the second one knows lines and columns of what does not fit.
pub(super) fn parse(text: &str) -> Result<Request, Error> {
    canonical::parse(text.as_bytes()).map_err(|error| strict(&error, text))?;
    serde_json::from_str(text).map_err(|error| typed(&error, text))
}

fn strict(error: &canonical::Error, text: &str) -> Error {
    let message = error.to_string();
    let (line, column) = match error {
        canonical::Error::DuplicateKey { line, column, .. } => (Some(*line), Some(*column)),
        canonical::Error::Integer { .. }
        | canonical::Error::Depth { .. }
        | canonical::Error::Syntax { .. }
        | canonical::Error::Encode { .. } => (number_after(&message, "line "), number_after(&message, "column ")),
    };
    let found = line.zip(column).and_then(|(line, column)| place(text, line, column));
    Error::new(Code::BadFlow, message).at(found)
}

fn typed(error: &serde_json::Error, text: &str) -> Error {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    let found = place(text, error.line(), error.column());
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted[..] {
        [field, ref expected @ ..] if message.starts_with("unknown field") => unknown_field(field, expected).at(found),
        _ => Error::new(Code::BadFlow, message).at(found),
    }
}

fn number_after(message: &str, word: &str) -> Option<usize> {
    let (_, rest) = message.rsplit_once(word)?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}
