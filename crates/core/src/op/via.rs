//! How a write came in from outside: what the daemon saw, and what the other end said about itself (R25).
//!
//! An op without it has the first format, an op with it the second, so nothing that was written before changes. All but the first
//! three fields are somebody's word: they are kept for people who look into what happened, and nothing is ever decided by them (D8).

use serde::{Deserialize, Serialize};

/// The longest text that is kept of any field.
pub const VIA_FIELD_BYTES_MAX: usize = 256;

/// How a write came in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Via {
    /// How it was asked for.
    pub method: String,
    /// What for, as the route is written in the reference: without ids.
    pub route: String,
    /// The other end of the connection.
    pub remote_addr: String,
    /// Which program it says it is.
    pub user_agent: Option<String>,
    /// Whom it says it asks for.
    pub x_forwarded_for: Option<String>,
    /// The page that a browser says it is on.
    pub origin: Option<String>,
    /// The page that a browser says it came from.
    pub referer: Option<String>,
}

impl Via {
    /// The same with every field as short as it must be.
    #[must_use]
    pub fn shortened(mut self) -> Self {
        self.fields().into_iter().for_each(|text| {
            let mut end = text.len().min(VIA_FIELD_BYTES_MAX);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
        });
        self
    }

    /// Whether every field is as short as it must be.
    pub(super) fn is_short(&self) -> bool {
        let mut copy = self.clone();
        copy.fields().iter().all(|text| text.len() <= VIA_FIELD_BYTES_MAX)
    }

    fn fields(&mut self) -> Vec<&mut String> {
        let Self { method, route, remote_addr, user_agent, x_forwarded_for, origin, referer } = self;
        let said = [user_agent, x_forwarded_for, origin, referer];
        [method, route, remote_addr].into_iter().chain(said.into_iter().flatten()).collect()
    }
}
