//! Where there is no Landlock.

use super::{Confinement, Level};
use crate::agent::Process;
use std::{io, path::Path};

/// Never made.
pub(crate) enum Fence {}

impl Fence {
    pub(crate) fn enter(self) -> io::Result<()> {
        match self {}
    }
}

/// Makes no fences.
pub(crate) struct Warden;

impl Warden {
    pub(crate) fn new(_: &[std::path::PathBuf]) -> Self {
        Self
    }

    pub(crate) fn fence(&self, _: &Process, _: &Path, _: &[std::path::PathBuf]) -> io::Result<Option<Fence>> {
        Ok(None)
    }
}

pub(crate) fn guard() {}

pub(super) fn machine() -> Confinement {
    Confinement { level: Level::None, why: "this system has no Landlock".to_owned() }
}
