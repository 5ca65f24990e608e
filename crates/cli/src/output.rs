//! Output to the terminal: data to stdout, messages to stderr.

use crate::args::Context;
use relaymesh_core::task::Status;
pub(crate) use relaymesh_daemon::text::{clean, note, short, table};
use serde_json::{Value, json};
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

/// What the shell reports for a program that wrote into a closed pipe.
const CLOSED_PIPE: i32 = 128 + 13;
/// The exit code of errors of the disk.
const IO: i32 = 9;

/// Writes one line of data and flushes it, so that a reader on the other end has it now.
pub(crate) fn line(text: &str) {
    let mut stdout = std::io::stdout().lock();
    written(writeln!(stdout, "{text}").and_then(|()| stdout.flush()));
}

/// Ends the program if data cannot be written. Everything acknowledged is durable, so there is nothing to clean up.
pub(crate) fn written(result: io::Result<()>) {
    match result {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(CLOSED_PIPE),
        Err(error) => {
            note(&format!("error: cannot write to stdout: {error}"));
            std::process::exit(IO);
        }
    }
}

/// Writes a part of the data as it is. What is long comes in parts, and is ended by [`end_of_line`].
pub(crate) fn part(bytes: &[u8]) {
    written(std::io::stdout().lock().write_all(bytes));
}

/// Ends a line of data that came in parts.
pub(crate) fn end_of_line() {
    line("");
}

/// Writes JSON that comes in parts as [`value`] does. Only for a terminal it is collected.
pub(crate) fn json<E>(write: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E>) -> Result<(), E> {
    if !std::io::stdout().is_terminal() {
        write(&mut |bytes| {
            part(bytes);
            Ok(())
        })?;
        end_of_line();
        return Ok(());
    }
    let mut all = Vec::new();
    write(&mut |bytes| {
        all.extend_from_slice(bytes);
        Ok(())
    })?;
    match serde_json::from_slice::<Value>(&all) {
        Ok(read) => value(&read),
        Err(_) => line(&String::from_utf8_lossy(&all)),
    }
    Ok(())
}

/// Writes a value as data: on one line for programs, indented for people.
pub(crate) fn value(value: &Value) {
    if std::io::stdout().is_terminal() { line(&format!("{value:#}")) } else { line(&value.to_string()) }
}

/// Writes a text as data; for programs it is a value by this name.
pub(crate) fn text(context: &Context, name: &str, text: &str) {
    if context.json { value(&json!({ name: text })) } else { line(text.trim_end()) }
}

/// Writes a JSON document that people read as well: as it was written, or for programs on one line.
pub(crate) fn document(context: &Context, text: &str) {
    match serde_json::from_str(text) {
        Ok(read) if context.json => value(&read),
        Ok(_) | Err(_) => line(text.trim_end()),
    }
}

/// Writes a message to stderr. If stderr is closed, the message is lost and nothing else changes.
pub(crate) fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Whether a person can be asked.
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a yes-or-no question; anything but yes is no.
pub(crate) fn ask(question: &str) -> bool {
    say(&format!("{question} [y/N] "));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// Whether stderr may be coloured: a terminal that is not dumb, and nobody said NO_COLOR.
pub(crate) fn has_colour() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    std::io::stderr().is_terminal() && !set("NO_COLOR") && !dumb
}

/// The symbol of a status. It is shown with the word, never instead of it.
pub(crate) fn symbol(status: Status) -> &'static str {
    match status {
        Status::Pending => "·",
        Status::Waiting => "?",
        Status::Running => "▸",
        Status::Retrying => "↻",
        Status::Success => "✓",
        Status::Failed | Status::DeadLetter => "✗",
        Status::Cancelled => "⊘",
        Status::Skipped => "-",
    }
}

/// The text in the colour of a status, if `colour`.
pub(crate) fn painted(status: Status, text: &str, colour: bool) -> String {
    let code = match status {
        Status::Pending | Status::Skipped => "2",
        Status::Running => "36",
        Status::Waiting | Status::Retrying | Status::Cancelled => "33",
        Status::Success => "32",
        Status::Failed | Status::DeadLetter => "31",
    };
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// `1 task`, `2 tasks`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Prints a table. On a terminal its lines are cut to the terminal's width; what is piped is not. If something is cut, a note says so.
pub(crate) fn rows(rows: &[Vec<String>]) {
    let text = table(rows);
    let shown = width().map_or_else(|| text.trim_end().to_owned(), |width| fitted(&text, width));
    line(&shown);
    if shown.contains('…') {
        note("texts that end in … are cut; `--json` shows all of them");
    }
}

/// How wide the terminal is that stdout goes to.
fn width() -> Option<usize> {
    let stdout = std::io::stdout();
    let size = stdout.is_terminal().then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten()?;
    Some(usize::from(size.ws_col)).filter(|width| *width > 0)
}

/// Lines of at most `width` characters; one that was longer ends in `…`.
fn fitted(text: &str, width: usize) -> String {
    let cut = |line: &str| match line.chars().count() {
        count if count <= width => line.to_owned(),
        _ => line.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
    };
    text.lines().map(cut).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_cut_and_says_so() {
        assert_eq!(fitted("12345\n123456\näöüßéè", 5), "12345\n1234…\näöüß…");
        assert_eq!(fitted("abc", 80), "abc");
    }
}
