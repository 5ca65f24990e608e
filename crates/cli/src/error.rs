//! Errors as they stand in a terminal.

use crate::output;
pub(crate) use relaymesh_api::error::{Code, Error, Place};

/// Says it on stderr.
pub(crate) fn print(error: &Error, json: bool) {
    if json { output::note(&error.to_json().to_string()) } else { output::say(&to_text(error)) }
}

/// The form that people read.
pub(crate) fn to_text(error: &Error) -> String {
    let (code, message) = (error.code, output::clean(&error.message));
    let mut text = format!("error[{}] {}: {message}\n", code.as_str(), code.number());
    if let Some(place) = &error.place {
        let number = place.line.to_string();
        let margin = " ".repeat(number.len());
        text += &format!("  {margin} --> {}:{}:{}\n", place.file, place.line, place.column);
        text += &format!("  {number} | {}\n", output::clean(&place.text));
        // A long line is shown in part; what is not shown cannot be pointed at.
        if place.column <= place.text.chars().count() + 1 {
            text += &format!("  {margin} | {}^\n", " ".repeat(place.column.saturating_sub(1)));
        }
    }
    for hint in &error.hints {
        text += &format!("  hint: {hint}\n");
    }
    text += &format!("  page: {}\n", error.page());
    error.more.iter().fold(text, |text, other| text + &to_text(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_pointed_at() {
        let place = Place { file: "f.yaml".into(), line: 12, column: 3, text: "  agnet: echo".into() };
        let error = Error::new(Code::BadFlow, "unknown field `agnet`").at(Some(place)).hint("did you mean `agent`?");
        insta::assert_snapshot!(to_text(&error), @r"
        error[bad_flow] RM0003: unknown field `agnet`
             --> f.yaml:12:3
          12 |   agnet: echo
             |   ^
          hint: did you mean `agent`?
          page: docs/reference/errors.md#bad_flow
        ");
    }
}
