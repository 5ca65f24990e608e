//! What is killed: a command, what there is before it, and what must be true afterwards.

use super::{
    case::Case,
    check::{self, Depth},
    flow::Flow,
    story::Story,
    striker::Striker,
};
use std::fmt::Debug;

/// Something that the kill test kills at every call.
pub(crate) trait Struck: Copy + Debug {
    /// What there is before it.
    fn start(self, striker: Striker) -> Case;
    /// The command.
    fn command(self, case: &Case) -> Vec<String>;
    /// The exit code of the command.
    fn exit(self) -> i32;
    /// Starts again on what an ended run left behind, and goes on to the end.
    fn restart(self, case: &Case, depth: Depth) -> Result<(), String>;
}

impl Struck for Flow {
    fn start(self, striker: Striker) -> Case {
        Flow::start(self, striker)
    }

    fn command(self, case: &Case) -> Vec<String> {
        Flow::command(self, case)
    }

    fn exit(self) -> i32 {
        Flow::exit(self)
    }

    fn restart(self, case: &Case, depth: Depth) -> Result<(), String> {
        check::restart(case, self, depth)
    }
}

impl Struck for Story {
    fn start(self, _: Striker) -> Case {
        Story::start(self)
    }

    fn command(self, case: &Case) -> Vec<String> {
        Story::command(self, case)
    }

    fn exit(self) -> i32 {
        0
    }

    fn restart(self, case: &Case, depth: Depth) -> Result<(), String> {
        Story::restart(self, case, depth)
    }
}
