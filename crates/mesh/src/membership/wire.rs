//! What SWIM wants done is collected here, and handed on when it is finished.

use super::identity::Identity;
use foca::{Notification, OwnedNotification, Runtime, Timer};
use std::{collections::VecDeque, time::Duration};

/// Everything that one call of SWIM asked for, in order.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) sends: VecDeque<(Identity, Vec<u8>)>,
    pub(super) timers: VecDeque<(u64, Timer<Identity>)>,
    pub(super) notes: VecDeque<OwnedNotification<Identity>>,
}

impl Runtime<Identity> for Asked {
    fn notify(&mut self, notification: Notification<'_, Identity>) {
        self.notes.push_back(notification.to_owned());
    }

    fn send_to(&mut self, to: Identity, data: &[u8]) {
        self.sends.push_back((to, data.to_vec()));
    }

    fn submit_after(&mut self, event: Timer<Identity>, after: Duration) {
        self.timers.push_back((u64::try_from(after.as_millis()).unwrap_or(u64::MAX), event));
    }
}
