//! Time: the wall clock read once, then carried on by the boot-time clock (DESIGN section 3, R10, D6).
//!
//! Reading the wall clock for every decision is the tempting wrong answer: a person or NTP sets it, and every lease in
//! the house expires at once, or never. Here `now` is the wall time at start plus the time that has passed since by a
//! clock that nobody sets and that goes on during a suspend. It never goes back, not even over a restart: where it starts,
//! [`root_clock`](crate::root_clock) says.
//!
//! The guard compares the two clocks, and always before time costs somebody a lease. Whichever way the wall clock was set, `now` goes
//! on as before until the process starts again: a retry that waits for a minute waits for a minute (decision 0008). It is a [`Jump`]:
//! an alert, and reclaim is put off by one round.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The wall clock may wander this far from ours before it counts as a jump.
pub const JUMP_MS_MAX: u64 = 1_000;

/// One reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// For people and for the HLC: milliseconds since 1970.
    pub wall_ms: u64,
    /// For timeouts: milliseconds since the machine started.
    pub mono_ms: u64,
}

/// The wall clock was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    /// How far, ahead or back.
    pub by_ms: i64,
}

/// The two clocks of a machine.
pub trait Source {
    /// What the wall clock says.
    fn wall_ms(&self) -> u64;
    /// Time since the machine started, suspends included.
    fn boot_ms(&self) -> u64;
}

/// The clock that the driver reads.
#[derive(Debug)]
pub struct Clock<S> {
    source: S,
    /// Our time minus boot time.
    offset_ms: u64,
    /// Wall time minus our time, as last accepted.
    ahead_ms: i64,
}

impl<S: Source> Clock<S> {
    /// A clock that starts at the wall time, but not before `floor_ms`, the newest time that was ever given out.
    pub fn new(source: S, floor_ms: u64) -> Self {
        let start_ms = source.wall_ms().max(floor_ms);
        Self::at(source, start_ms)
    }

    /// A clock that starts at this time and not at that of the wall clock.
    pub fn at(source: S, start_ms: u64) -> Self {
        let (wall_ms, boot_ms) = (source.wall_ms(), source.boot_ms());
        Self { source, offset_ms: start_ms.saturating_sub(boot_ms), ahead_ms: difference(wall_ms, start_ms) }
    }

    /// What time it is. Never less than before.
    pub fn now(&self) -> Now {
        let mono_ms = self.source.boot_ms();
        Now { wall_ms: self.offset_ms.saturating_add(mono_ms), mono_ms }
    }

    /// Compares the clocks. A jump is reported once: the new distance is the accepted one from then on.
    pub fn guard(&mut self) -> Option<Jump> {
        let wall_ms = self.source.wall_ms();
        let ahead_ms = difference(wall_ms, self.now().wall_ms);
        let by_ms = ahead_ms.saturating_sub(self.ahead_ms);
        if by_ms.unsigned_abs() <= JUMP_MS_MAX {
            return None;
        }
        self.ahead_ms = ahead_ms;
        Some(Jump { by_ms })
    }
}

fn difference(a: u64, b: u64) -> i64 {
    i64::try_from(i128::from(a) - i128::from(b)).unwrap_or(if a > b { i64::MAX } else { i64::MIN })
}

/// The clocks of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

impl Source for System {
    fn wall_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn boot_ms(&self) -> u64 {
        #[cfg(target_os = "linux")]
        let id = rustix::time::ClockId::Boottime;
        #[cfg(not(target_os = "linux"))]
        let id = rustix::time::ClockId::Monotonic;
        let time = rustix::time::clock_gettime(id);
        let ms = i128::from(time.tv_sec) * 1000 + i128::from(time.tv_nsec) / 1_000_000;
        u64::try_from(ms).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[derive(Default)]
    struct Set {
        wall: Cell<u64>,
        boot: Cell<u64>,
    }

    impl Source for &Set {
        fn wall_ms(&self) -> u64 {
            self.wall.get()
        }
        fn boot_ms(&self) -> u64 {
            self.boot.get()
        }
    }

    impl Set {
        fn pass(&self, ms: u64) {
            self.wall.set(self.wall.get() + ms);
            self.boot.set(self.boot.get() + ms);
        }
    }

    fn start(wall: u64, boot: u64) -> Set {
        Set { wall: Cell::new(wall), boot: Cell::new(boot) }
    }

    #[test]
    fn r10_ordinary_time_and_a_suspend_are_no_jump() {
        let set = start(1_000_000, 500);
        let mut clock = Clock::new(&set, 0);
        set.pass(8 * 3_600_000);
        assert_eq!(clock.guard(), None);
        assert_eq!(clock.now(), Now { wall_ms: 1_000_000 + 8 * 3_600_000, mono_ms: 500 + 8 * 3_600_000 });
    }

    #[test]
    fn r10_a_jump_ahead_is_reported_once_and_makes_nothing_due() {
        let set = start(1_000_000, 500);
        let mut clock = Clock::new(&set, 0);
        set.wall.set(5_000_000);
        assert_eq!(clock.guard(), Some(Jump { by_ms: 4_000_000 }));
        assert_eq!(clock.now().wall_ms, 1_000_000);
        assert_eq!(clock.guard(), None);
        set.pass(10);
        assert_eq!(clock.now().wall_ms, 1_000_010);
        assert_eq!(clock.guard(), None);
    }

    #[test]
    fn r10_a_jump_back_never_takes_time_back() {
        let set = start(1_000_000, 500);
        let mut clock = Clock::new(&set, 0);
        set.pass(10);
        set.wall.set(400_000);
        assert_eq!(clock.guard(), Some(Jump { by_ms: -600_010 }));
        assert_eq!(clock.guard(), None, "reported once");
        set.pass(10);
        assert_eq!(clock.now().wall_ms, 1_000_020);
        set.wall.set(1_000_020);
        assert_eq!(clock.guard(), Some(Jump { by_ms: 600_010 }), "the correction is a jump too");
        assert_eq!(clock.now().wall_ms, 1_000_020);
    }

    #[test]
    fn d6_a_restart_never_takes_time_back() {
        let set = start(1_000_000, 500);
        let mut clock = Clock::new(&set, 9_000_000);
        assert_eq!(clock.now().wall_ms, 9_000_000);
        set.pass(7);
        assert_eq!(clock.now().wall_ms, 9_000_007);
        assert_eq!(clock.guard(), None);
    }

    #[test]
    fn extreme_clocks_do_not_panic() {
        for (wall, boot, floor) in [(0, 0, 0), (u64::MAX, 0, 0), (0, u64::MAX, u64::MAX), (u64::MAX, u64::MAX, 1)] {
            let set = start(wall, boot);
            let mut clock = Clock::new(&set, floor);
            clock.now();
            set.wall.set(u64::MAX - wall);
            clock.guard();
            clock.now();
        }
    }

    #[test]
    fn the_system_clocks_tell_the_time() {
        let clock = Clock::new(System, 0);
        assert!(clock.now().wall_ms > 1_700_000_000_000);
        assert!(System.boot_ms() > 0);
    }
}
