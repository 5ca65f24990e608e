//! Where there is no Landlock.

use super::{Confinement, Level};
use crate::agent::Process;
use std::{io, path::Path};

/// Never made.
pub(crate) enum Sandbox {}

impl Sandbox {
    pub(crate) fn enter(self) -> io::Result<()> {
        match self {}
    }
}

/// Makes no sandboxes.
pub(crate) struct SandboxBuilder;

impl SandboxBuilder {
    pub(crate) fn new(_: &[std::path::PathBuf]) -> Self {
        Self
    }

    pub(crate) fn build(&self, _: &Process, _: &Path, _: &[std::path::PathBuf]) -> io::Result<Option<Sandbox>> {
        Ok(None)
    }
}

pub(crate) fn protect_daemon() {}

pub(super) fn machine() -> Confinement {
    Confinement { level: Level::None, why: "this system has no Landlock".to_owned() }
}
