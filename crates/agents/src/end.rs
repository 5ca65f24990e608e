//! How an attempt ended: the exit code says whether it went well, the output is the result, and each is judged by itself.

use crate::inference::Inference;
use relaymesh_core::{canonical, content::Media};
use std::process::ExitStatus;

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With a result.
    Done {
        /// What kind of bytes.
        media: Media,
        /// The result.
        result: Vec<u8>,
    },
    /// With an error.
    Failed {
        /// What went wrong, for people.
        error: String,
        /// Whether another attempt may help.
        retryable: bool,
    },
    /// Its provider turned it away: nothing was done.
    Limited {
        /// In the provider's words, for people.
        reason: String,
        /// Until when, in milliseconds since 1970, if it said so.
        until_ms: Option<u64>,
    },
}

/// How an attempt ended, and what a model did in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// How.
    pub end: End,
    /// What a model was asked and said, if one was asked. It is there however the attempt ended: what was used was used.
    pub inference: Option<Box<Inference>>,
}

impl From<End> for Ended {
    fn from(end: End) -> Self {
        Self { end, inference: None }
    }
}

/// Exit codes (of sysexits.h) that say the request itself is wrong: EX_USAGE, EX_DATAERR, EX_NOINPUT, EX_CONFIG. Another attempt
/// would find the same.
const FINAL_CODES: [i32; 4] = [64, 65, 66, 78];

/// What ends a process that writes a file longer than it may.
const SIGXFSZ: i32 = 25;

/// How a process ended that left this exit status, this output (text in any case, or what it looks like), and this last line on stderr.
pub(crate) fn of_exit(status: ExitStatus, output: Vec<u8>, is_text: bool, last_line: &str) -> End {
    let said = if last_line.is_empty() { String::new() } else { format!(": {last_line}") };
    match status.code() {
        Some(0) => of_output(output, is_text),
        Some(code) => End::Failed { error: format!("exit code {code}{said}"), retryable: !FINAL_CODES.contains(&code) },
        None => {
            let signal = std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or(0);
            let why = if signal == SIGXFSZ { ", for a file longer than its `limits.file_bytes`" } else { "" };
            End::Failed { error: format!("ended by signal {signal}{why}{said}"), retryable: true }
        }
    }
}

/// JSON as it is, other text as text, nothing as `null`. JSON obeys the rule for inputs: no key twice, no number that would be rounded.
/// What begins as JSON and is not one whole document is neither: half a result, or two,
/// must not pass for text.
pub(crate) fn of_output(mut output: Vec<u8>, is_text: bool) -> End {
    let failed = |error| End::Failed { error, retryable: true };
    output.truncate(output.trim_ascii_end().len());
    if !is_text {
        if output.is_empty() {
            return End::Done { media: Media::Json, result: b"null".to_vec() };
        }
        match canonical::validate(&output) {
            Ok(()) => return End::Done { media: Media::Json, result: output },
            Err(error) if begins_as_json(&output) => {
                let error = if let canonical::Error::Syntax { message } = error {
                    format!("the result begins like JSON but is not one document: {message}")
                } else {
                    format!("the result is JSON that programs read differently: {error}")
                };
                return failed(format!("{error}; if it is text, set `result = \"text\"` for the agent"));
            }
            // A number alone, of too many digits: as a text it keeps them.
            Err(_) => {}
        }
    }
    match String::from_utf8(output) {
        Ok(text) => End::Done { media: Media::Text, result: text.into_bytes() },
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let error = format!("the result is neither JSON nor text: invalid UTF-8 at byte {at}");
            End::Failed { error, retryable: false }
        }
    }
}

/// An object or a list, as far as the first two characters tell: `[INFO] ready` is no list.
fn begins_as_json(output: &[u8]) -> bool {
    let mut bytes = output.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
    match (bytes.next(), bytes.next()) {
        (Some(b'{'), second) => matches!(second, None | Some(b'"' | b'}')),
        (Some(b'['), second) => {
            matches!(second, None | Some(b'"' | b'{' | b'[' | b']' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;

    fn done(media: Media, result: &str) -> End {
        End::Done { media, result: result.as_bytes().to_vec() }
    }

    fn failed(error: &str, retryable: bool) -> End {
        End::Failed { error: error.to_owned(), retryable }
    }

    #[test]
    fn exit_code_and_output_are_judged_apart() {
        let exit = |code: i32| ExitStatus::from_raw(code << 8);
        let cases = [
            (exit(0), &b"{\"a\": 1}\n"[..], "", done(Media::Json, "{\"a\": 1}")),
            (exit(0), b"", "", done(Media::Json, "null")),
            (exit(0), b"hello\n\n", "noise", done(Media::Text, "hello")),
            (exit(0), b"a\xff", "", failed("the result is neither JSON nor text: invalid UTF-8 at byte 1", false)),
            (exit(1), b"{}", "no such model", failed("exit code 1: no such model", true)),
            (exit(65), b"", "", failed("exit code 65", false)),
            (ExitStatus::from_raw(9), b"{}", "", failed("ended by signal 9", true)),
        ];
        for (status, output, last, end) in cases {
            assert_eq!(of_exit(status, output.to_vec(), false, last), end, "{status:?} {output:?}");
        }
    }

    #[test]
    fn half_a_document_and_two_of_them_are_no_result_unless_text_is_meant() {
        let exit = ExitStatus::from_raw(0);
        for (output, place) in [
            ("{\"a\": [1, 2", "line 1 column 11"),
            ("{\"a\": 1}\n{\"a\": 2}", "line 2 column 1"),
            ("[1, 2]\n[3]\n", "line 2 column 1"),
            ("{", "line 1 column 1"),
            ("[\"half", "line 1 column"),
        ] {
            let End::Failed { error, retryable: true } = of_exit(exit, output.into(), false, "") else {
                panic!("{output} passed")
            };
            assert!(error.contains("is not one document") && error.contains(place), "{output}: {error}");
            assert_eq!(of_exit(exit, output.into(), true, ""), done(Media::Text, output.trim_end()));
        }
        for text in ["[INFO] ready", "{{ a template }}", "(1)", "[x] done", "1 2", "\"a\" \"b\""] {
            assert_eq!(of_exit(exit, text.into(), false, ""), done(Media::Text, text));
        }
        assert_eq!(of_exit(exit, "{}".into(), true, ""), done(Media::Text, "{}"));
    }
}
