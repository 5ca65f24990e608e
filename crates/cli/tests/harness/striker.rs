//! The striker: who watches a run's calls, and kills it at one of them.
//!
//! `strace` needs nothing of the program, and can make a call fail as well. Fail points need a C compiler, as the build of
//! the program does, and count the calls of all threads together. `RELAYMESH_STRIKER=failpoints` (or `strace`) decides;
//! without it there is `strace` where that is installed, and fail points elsewhere.

use super::{
    case::Case,
    failpoints,
    point::Point,
    process::Ran,
    strace::{self, Blow},
};
use std::path::Path;

/// Who strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Striker {
    Strace,
    FailPoints,
}

impl Striker {
    /// The one for this test, if there is any.
    pub(crate) fn chosen(test: &str) -> Option<Self> {
        let asked = std::env::var_os("RELAYMESH_STRIKER");
        let striker = match asked.as_ref().map(|asked| asked.to_str()) {
            Some(Some("strace")) => Self::Strace,
            Some(Some("failpoints")) => Self::FailPoints,
            Some(_) => panic!("RELAYMESH_STRIKER is strace or failpoints, found {asked:?}"),
            None if strace::is_there() => return Some(Self::Strace),
            None => return Self::FailPoints.is_there(&format!("{test} without strace")).then_some(Self::FailPoints),
        };
        striker.is_there(test).then_some(striker)
    }

    /// Whether it is there. Without it a test may be skipped, loudly; never where everything must run.
    pub(crate) fn is_there(self, test: &str) -> bool {
        let (is_there, needs) = match self {
            Self::Strace => (strace::is_there(), "strace that may trace"),
            Self::FailPoints => (failpoints::are_there(), "Linux and a C compiler, for fail points"),
        };
        let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
        assert!(is_there || !is_ci, "{test} needs {needs}, and CI=true");
        if !is_there {
            eprintln!("SKIPPED: {test} needs {needs}: not here");
        }
        is_there
    }

    /// Runs the command with every writing call recorded in `record`.
    pub(crate) fn trial(self, case: &Case, arguments: &[String], record: &Path) -> Ran {
        match self {
            Self::Strace => strace::trial(case, arguments, record),
            Self::FailPoints => failpoints::trial(case, arguments, record),
        }
    }

    /// Runs the command and kills it at the point.
    pub(crate) fn kill(self, case: &Case, arguments: &[String], point: &Point) -> Ran {
        match self {
            Self::Strace => strace::strike(case, arguments, point, Blow::Kill, Path::new("/dev/null")),
            Self::FailPoints => failpoints::kill(case, arguments, point),
        }
    }
}
