//! What an attempt may use: it is told what it has used so far, and says whether it may go on.

use crate::tool::Usage;
use std::{sync::Arc, time::Duration};

/// Is told what an attempt has used so far, whenever that changes, and says whether it may go on. The error is why not.
pub type Used = Arc<dyn Fn(Usage) -> Result<(), String> + Send + Sync>;

/// What an attempt may use.
#[derive(Clone)]
pub struct Meter {
    /// Told of what it has used so far.
    pub used: Used,
    /// How long it may run, and why no longer.
    pub time: Option<(Duration, String)>,
}

impl Default for Meter {
    /// As much as it likes.
    fn default() -> Self {
        Self { used: Arc::new(|_| Ok(())), time: None }
    }
}
