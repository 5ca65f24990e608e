//! How many are let in at once.
//!
//! A limit alone would let idle connections shut everybody else out. So when there is no room, the one that has been idle longest goes;
//! only when all of them are busy is a new one turned away.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use tokio::sync::Notify;

/// Everybody who is in.
pub(super) struct Crowd {
    max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    members: HashMap<u64, Member>,
}

struct Member {
    /// Requests under way.
    busy: u32,
    /// Since when there is none.
    idle_since: Instant,
    leave: Arc<Notify>,
}

/// One place. It is free again when this goes.
pub(super) struct Seat {
    crowd: Arc<Crowd>,
    id: u64,
    /// Told when somebody else needs the place.
    pub(super) leave: Arc<Notify>,
}

/// A request under way.
pub(super) struct Busy(Arc<Seat>);

impl Crowd {
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, state: Mutex::default() })
    }

    /// A place, if necessary that of the connection that was idle longest; `None` if none is idle.
    pub(super) fn enter(self: &Arc<Self>, now: Instant) -> Option<Seat> {
        let mut state = self.state();
        if state.members.len() >= self.max {
            let idle = state.members.iter().filter(|(_, member)| member.busy == 0);
            let longest = idle.min_by_key(|(_, member)| member.idle_since).map(|(id, _)| *id)?;
            if let Some(gone) = state.members.remove(&longest) {
                gone.leave.notify_one();
            }
        }
        let (id, leave) = (state.next, Arc::new(Notify::new()));
        state.next += 1;
        state.members.insert(id, Member { busy: 0, idle_since: now, leave: Arc::clone(&leave) });
        Some(Seat { crowd: Arc::clone(self), id, leave })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// A request has come. The answer is under way until the value goes.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        if let Some(member) = self.crowd.state().members.get_mut(&self.id) {
            member.busy += 1;
        }
        Busy(Arc::clone(self))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.crowd.state().members.remove(&self.id);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(member) = self.0.crowd.state().members.get_mut(&self.0.id) {
            member.busy = member.busy.saturating_sub(1);
            member.idle_since = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn whoever_is_idle_longest_makes_room_and_nobody_who_is_busy() {
        let (crowd, start) = (Crowd::new(3), Instant::now());
        let enter = |ms| crowd.enter(start + Duration::from_millis(ms)).map(Arc::new);
        let (first, second, third) = (enter(0).unwrap(), enter(1).unwrap(), enter(2).unwrap());
        let asking = first.busy();
        let fourth = enter(3).unwrap();
        let told = |seat: &Seat| {
            let heard = seat.leave.notified();
            let mut heard = std::pin::pin!(heard);
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            std::future::Future::poll(heard.as_mut(), &mut context).is_ready()
        };
        assert!(told(&second) && !told(&first) && !told(&third), "the second was idle longest");
        let _all = [third.busy(), fourth.busy()];
        assert!(enter(4).is_none(), "everybody is busy");
        drop(asking);
        let fifth = enter(5);
        assert!(fifth.is_some() && told(&first), "an answer that is over makes its connection idle");
        drop(second);
        assert_eq!(crowd.state().members.len(), 3, "who was sent away has no place to give back");
    }
}
