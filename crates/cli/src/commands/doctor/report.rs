//! What was found, line by line.

use crate::{
    error::{Code, Error},
    exit::Exit,
    output,
};
use relaymesh_api::error::Kind;
use serde_json::json;

/// How a check ended.
enum Verdict {
    Ok,
    Warn,
    Fail(Code),
}

/// Collects lines, and prints each as soon as it is known.
pub(super) struct Report {
    is_json: bool,
    checks: usize,
    failed: Vec<(Code, String)>,
}

impl Report {
    pub(super) fn new(is_json: bool) -> Self {
        Self { is_json, checks: 0, failed: Vec::new() }
    }

    /// It is as it should be.
    pub(super) fn ok(&mut self, check: &str, found: impl Into<String>) {
        self.line(check, &Verdict::Ok, &found.into(), None);
    }

    /// It works, and somebody should know.
    pub(super) fn warn(&mut self, check: &str, found: impl Into<String>, advice: &str) {
        self.line(check, &Verdict::Warn, &found.into(), Some(advice));
    }

    /// Something does not work, or will not.
    pub(super) fn fail(&mut self, check: &str, code: Code, found: impl Into<String>, advice: &str) {
        self.line(check, &Verdict::Fail(code), &found.into(), Some(advice));
    }

    /// The check itself came to an error.
    pub(super) fn error(&mut self, check: &str, error: &Error) {
        let advice = error.hints.first().map_or("see `relaymesh explain`", String::as_str);
        self.fail(check, error.code, error.message.clone(), advice);
    }

    fn line(&mut self, check: &str, verdict: &Verdict, found: &str, advice: Option<&str>) {
        let (word, code) = match verdict {
            Verdict::Ok => ("ok", None),
            Verdict::Warn => ("warn", None),
            Verdict::Fail(code) => ("fail", Some(*code)),
        };
        self.checks += 1;
        self.failed.extend(code.map(|code| (code, check.to_owned())));
        if self.is_json {
            let code = code.map(Code::as_str);
            output::line(
                &json!({ "check": check, "verdict": word, "found": found, "do": advice, "code": code }).to_string(),
            );
            return;
        }
        let found = output::clean(found).replace('\n', "\n                  ");
        output::line(&format!("{word:<4}  {check:<10}  {found}"));
        if let Some(advice) = advice {
            output::line(&format!("{:18}do: {}", "", output::clean(advice)));
        }
    }

    /// Done if nothing failed; otherwise the worst that did.
    pub(super) fn end(self) -> Result<Exit, Error> {
        let Some((code, _)) = self.failed.iter().max_by_key(|(code, _)| severity(code.kind())) else {
            return Ok(Exit::Done);
        };
        let names: Vec<&str> = self.failed.iter().map(|(_, check)| check.as_str()).collect();
        let message = format!("{} of {} checks failed: {}", names.len(), self.checks, names.join(", "));
        Err(Error { hints: Vec::new(), ..Error::new(*code, message) })
    }
}

/// What is worse has a greater number.
fn severity(kind: Kind) -> u8 {
    match kind {
        Kind::Usage => 0,
        Kind::NotFound => 1,
        Kind::Refused => 2,
        Kind::InUse => 3,
        Kind::Io => 4,
        Kind::DiskFull => 5,
        Kind::Indeterminate => 6,
        Kind::Damaged => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_decides_the_exit_code() {
        let mut report = Report::new(true);
        report.warn("a", "x", "y");
        report.fail("b", Code::BadAgents, "x", "y");
        report.fail("c", Code::Damaged, "x", "y");
        report.fail("d", Code::DiskFull, "x", "y");
        let error = report.end().unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (Code::Damaged, "3 of 4 checks failed: b, c, d"));
        assert_eq!(Report::new(true).end(), Ok(Exit::Done));
    }
}
