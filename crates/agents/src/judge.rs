//! How an attempt ended: the exit code says whether it went well, the output says what came of it, and each is judged by itself.

use relaymesh_core::content::Media;
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

/// Exit codes (of sysexits.h) that say the request itself is wrong: EX_USAGE, EX_DATAERR, EX_NOINPUT, EX_CONFIG. Another attempt
/// would find the same.
const FINAL_CODES: [i32; 4] = [64, 65, 66, 78];

/// Judges what a process left: its exit status, its output, and the last line that it said.
pub(crate) fn judge(status: ExitStatus, output: Vec<u8>, last_line: &str) -> End {
    let said = if last_line.is_empty() { String::new() } else { format!(": {last_line}") };
    match status.code() {
        Some(0) => result(output),
        Some(code) => End::Failed { error: format!("exit code {code}{said}"), retryable: !FINAL_CODES.contains(&code) },
        None => {
            let signal = std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or(0);
            End::Failed { error: format!("ended by signal {signal}{said}"), retryable: true }
        }
    }
}

/// JSON as it is, other text as text, nothing as `null`.
pub(crate) fn result(mut output: Vec<u8>) -> End {
    output.truncate(output.trim_ascii_end().len());
    if output.is_empty() {
        return End::Done { media: Media::Json, result: b"null".to_vec() };
    }
    if serde_json::from_slice::<serde::de::IgnoredAny>(&output).is_ok() {
        return End::Done { media: Media::Json, result: output };
    }
    match String::from_utf8(output) {
        Ok(text) => End::Done { media: Media::Text, result: text.into_bytes() },
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let error = format!("the result is neither JSON nor text: byte {at} cannot be read as UTF-8");
            End::Failed { error, retryable: false }
        }
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
            (
                exit(0),
                b"a\xff",
                "",
                failed("the result is neither JSON nor text: byte 1 cannot be read as UTF-8", false),
            ),
            (exit(1), b"{}", "no such model", failed("exit code 1: no such model", true)),
            (exit(65), b"", "", failed("exit code 65", false)),
            (ExitStatus::from_raw(9), b"{}", "", failed("ended by signal 9", true)),
        ];
        for (status, output, last, end) in cases {
            assert_eq!(judge(status, output.to_vec(), last), end, "{status:?} {output:?}");
        }
    }
}
