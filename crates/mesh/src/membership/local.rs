//! What this node thinks of itself (R34).

use super::{
    config::Config,
    dwell::{Dwell, Status, Step},
};

/// A node in its own eyes.
#[derive(Debug)]
pub(super) struct Local {
    dwell: Dwell,
    heard_ms: u64,
    declared_dead: bool,
}

impl Local {
    pub(super) const fn new(now_ms: u64) -> Self {
        Self { dwell: Dwell::new(Status::Alive, now_ms), heard_ms: now_ms, declared_dead: false }
    }

    pub(super) const fn status(&self) -> Status {
        self.dwell.status()
    }

    /// Somebody spoke to this node.
    pub(super) const fn heard(&mut self, now_ms: u64) {
        self.heard_ms = now_ms;
    }

    /// The others gave this life up.
    pub(super) const fn declared_dead(&mut self) {
        self.declared_dead = true;
    }

    /// Looks at itself. Whoever knows nobody has nobody to hear, and is alive.
    pub(super) fn look(&mut self, others: usize, now_ms: u64, config: &Config) -> Step {
        let silent = config
            .self_suspect_after_ms
            .is_some_and(|after_ms| others > 0 && now_ms.saturating_sub(self.heard_ms) >= after_ms);
        let word = if std::mem::take(&mut self.declared_dead) {
            Status::Dead
        } else if silent {
            Status::Suspect
        } else {
            Status::Alive
        };
        self.dwell.hear(word, now_ms, config.windows)
    }
}
