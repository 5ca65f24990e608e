//! `relaymesh explain`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output,
};
use relaymesh_core::suggest;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh explain RM0025         by number
  relaymesh explain disk_full      by name
  relaymesh explain --list         list all codes";

/// How wide the text is.
const WIDTH: usize = 90;

/// Explain an error: what it means, what changed, what to do
///
/// Needs no root and no network.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Number or name of the error
    #[arg(value_name = "CODE", required_unless_present = "list")]
    code: Option<String>,
    /// List every code with its number and exit code
    #[arg(long, conflicts_with = "code")]
    list: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    match &args.code {
        Some(text) => explain(text, context.json)?,
        None => list(context.json),
    }
    Ok(Exit::Done)
}

fn explain(text: &str, is_json: bool) -> Result<(), Error> {
    let code = Code::meant(text).ok_or_else(|| unknown(text))?;
    let explained = code.explained();
    let kind = explained.kind();
    if is_json {
        output::value(&json!({
            "code": code.as_str(), "number": code.number(), "kind": kind.as_str(), "exit_code": kind.exit_code(),
            "means": explained.means, "changed": explained.changed, "do": explained.advice, "hints": code.hints(),
        }));
        return Ok(());
    }
    let mut lines =
        vec![format!("{} {} (exit code {}: {})", code.number(), code.as_str(), kind.exit_code(), kind.as_str())];
    for (name, text) in [("Means:", &explained.means), ("Changed:", &explained.changed), ("Do:", &explained.advice)] {
        lines.push(String::new());
        lines.extend(wrapped(&format!("{name:<9}{text}"), "         "));
    }
    if !code.hints().is_empty() {
        lines.push(String::new());
    }
    lines.extend(code.hints().iter().flat_map(|hint| wrapped(&format!("hint: {hint}"), "      ")));
    output::line(&lines.join("\n"));
    Ok(())
}

fn list(is_json: bool) {
    let mut codes: Vec<Code> = Code::ALL.to_vec();
    codes.sort_by_key(|code| code.number());
    let mut lines = vec![["NUMBER", "CODE", "EXIT", "KIND"].map(str::to_owned).to_vec()];
    for code in codes {
        let (number, name, kind) = (code.number(), code.as_str(), code.kind());
        if is_json {
            output::line(&json!({ "number": number, "code": name, "exit_code": kind.exit_code() }).to_string());
        }
        lines.push(vec![number.to_owned(), name.to_owned(), kind.exit_code().to_string(), kind.as_str().to_owned()]);
    }
    if !is_json {
        output::rows(&lines);
    }
}

fn unknown(text: &str) -> Error {
    let near = suggest::nearest(&text.to_ascii_lowercase(), Code::ALL.iter().map(|code| code.as_str()));
    let numbers = || suggest::nearest(&text.to_ascii_uppercase(), Code::ALL.iter().map(|code| code.number()));
    let error = Error::new(Code::Usage, format!("there is no error `{}`", output::short(text, 40)));
    let error = error.hint("list all with `relaymesh explain --list`");
    match near.or_else(numbers) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

/// Lines of at most `WIDTH` characters; all but the first begin with `margin`.
fn wrapped(text: &str, margin: &str) -> Vec<String> {
    let lead: String = text.chars().take_while(|c| *c == ' ').collect();
    let mut lines = vec![lead];
    for word in text.split_inclusive(' ') {
        let long = lines.last().map_or(0, |line| line.chars().count()) + word.trim_end().chars().count() > WIDTH;
        if long {
            lines.push(margin.to_owned());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(word);
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_between_words() {
        let text = format!("Do:   {}", "four ".repeat(40));
        let lines = wrapped(&text, "      ");
        assert!(lines.len() > 1 && lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:?}");
        assert!(lines[0].starts_with("Do:   four") && lines[1].starts_with("      four"), "{lines:?}");
        let words: usize = lines.iter().map(|line| line.matches("four").count()).sum();
        assert_eq!(words, 40);
    }
}
