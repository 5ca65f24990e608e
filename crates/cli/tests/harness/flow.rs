//! The three flows that are killed: a submit, a claim and its completion, a retry to the dead letter.

use super::{case::Case, point::Point, striker::Striker};
use serde_json::{Value, json};

/// The request id of the one task that a flow is about.
const REQUEST: &str = "req_01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// What a client wants done, and how it ends when nothing comes in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// `submit` on a fresh root: the root is made, one task is accepted, nothing is run.
    Submit,
    /// `run` of two steps, the second one fed by the first, on a root that has been in use.
    Complete,
    /// `run` of a step that fails twice, on a root whose last process died between a claim and its completion: its
    /// write-ahead log is to be read again, and its lease to be revoked. That was its only attempt, so it is a dead letter
    /// at once: a second one, due at a random time, would make every run another one.
    DeadLetter,
}

impl Flow {
    /// What there is before the flow. What died before it was struck by this striker.
    pub(crate) fn start(self, striker: Striker) -> Case {
        let case = Case::new();
        if self != Self::Submit {
            let before = case.run(&["submit", "--agent", "hash", "--input", "\"before\"", "--wait"]);
            before.expect(0).unwrap_or_else(|why| panic!("{why}"));
        }
        if self == Self::DeadLetter {
            // The first commit, submit and claim in one, is durable; the sidecar does not know of it yet.
            let point = Point { path: "root/head".to_owned(), call: "pwrite64".to_owned(), number: 1 };
            let older = ["submit", "--agent", "echo", "--max-attempts", "1", "--wait"].map(str::to_owned);
            let died = striker.kill(&case, &older, &point);
            assert!(died.is_killed(), "{died}");
        }
        case
    }

    /// The command. It may be repeated: the request id makes it one task.
    pub(crate) fn command(self, case: &Case) -> Vec<String> {
        let keyed = |words: &[&str]| words.iter().chain(&["--request-id", REQUEST]).map(ToString::to_string).collect();
        match self {
            Self::Submit => keyed(&["submit", "--agent", "echo", "--input", "{\"n\":1}", "--base-backoff-ms", "1"]),
            Self::Complete | Self::DeadLetter => keyed(&["run", &self.file(case)]),
        }
    }

    /// The exit code of the command.
    pub(crate) fn exit(self) -> i32 {
        if self == Self::DeadLetter { 10 } else { 0 }
    }

    /// How the task ends.
    pub(crate) fn status(self) -> &'static str {
        if self == Self::DeadLetter { "DEAD_LETTER" } else { "SUCCESS" }
    }

    /// What the task delivers.
    pub(crate) fn result(self) -> Value {
        match self {
            Self::Submit => json!({ "n": 1 }),
            // SHA-256 of {"a":{"n":1}}
            Self::Complete => {
                json!({ "bytes": 13, "sha256": "e0559ad1ffe65eac5e381e53beeb768ceb404499fb78124bd67bb61a507e0887" })
            }
            Self::DeadLetter => Value::Null,
        }
    }

    /// How the tasks end that were there before, newest first.
    pub(crate) fn others(self) -> &'static [&'static str] {
        match self {
            Self::Submit => &[],
            Self::Complete => &["SUCCESS"],
            Self::DeadLetter => &["DEAD_LETTER", "SUCCESS"],
        }
    }

    /// How many tasks the root has in the end.
    pub(crate) fn tasks(self) -> usize {
        self.others().len() + 1
    }

    fn file(self, case: &Case) -> String {
        let step = |id: &str, agent: &str| json!({ "id": id, "agent": agent, "retry": { "base_backoff_ms": 1, "max_attempts": 2 } });
        let (mut first, mut second) = (step("a", "echo"), step("b", "hash"));
        first["input"] = json!({ "n": 1 });
        second["depends_on"] = json!(["a"]);
        let steps = if self == Self::DeadLetter { vec![step("a", "fail")] } else { vec![first, second] };
        let file = case.path().join("flow.json");
        let text = json!({ "name": "flow", "steps": steps }).to_string();
        std::fs::write(&file, text).unwrap_or_else(|error| panic!("cannot write the flow: {error}"));
        file.display().to_string()
    }
}
