use super::*;

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;
/// Some day.
const T: u64 = 1_763_000_000_000;

fn look(wall_ms: u64, boot: &str, boot_ms: u64) -> Look<'_> {
    Look { wall_ms, boot_ms, boot }
}

/// What is kept by a root that was looked at on that day, an hour after the machine had started.
fn kept() -> Kept {
    State::start(None, None, 0, look(T, "a", HOUR_MS)).kept(look(T, "a", HOUR_MS))
}

#[test]
fn a_clock_that_is_right_is_followed() {
    for (newest_ms, boot, boot_ms) in [(T - DAY_MS, "a", 2 * HOUR_MS), (0, "b", 7), (T + 5, "b", 7)] {
        for off_ms in [0, HOUR_MS, 2 * DAY_MS] {
            let now = look(T + HOUR_MS + off_ms, boot, boot_ms);
            let state = State::start(Some(&kept()), None, newest_ms, now);
            assert_eq!((state.now_ms(boot_ms), state.aged_ms(now)), (now.wall_ms, now.wall_ms));
            assert_eq!(state.doubt(now), None);
        }
    }
}

#[test]
fn a_clock_400_days_ahead_neither_ages_nor_stamps_anything() {
    for (boot, boot_ms, certain_ms) in [("a", 2 * HOUR_MS, HOUR_MS), ("b", 5, 0), ("", 5, 0)] {
        let now = look(T + 400 * DAY_MS, boot, boot_ms);
        let state = State::start(Some(&kept()), None, T - DAY_MS, now);
        assert_eq!((state.now_ms(boot_ms), state.aged_ms(now)), (T + certain_ms, T + certain_ms), "{boot}");
        assert!(matches!(state.doubt(now), Some(Doubt::Ahead { .. })));
        // Put right again, it is as if nothing had happened.
        let again = look(T + 2 * HOUR_MS, "c", 5);
        let state = State::start(Some(&state.kept(now)), None, T - DAY_MS, again);
        assert_eq!((state.now_ms(5), state.aged_ms(again), state.doubt(again)), (again.wall_ms, again.wall_ms, None));
    }
}

#[test]
fn a_root_without_the_file_goes_by_its_log() {
    let now = look(T + 400 * DAY_MS, "a", 5);
    let state = State::start(None, None, T, now);
    assert_eq!((state.now_ms(5), state.aged_ms(now)), (T, T));
    // A log that was stamped ahead says nothing about how old its tasks are.
    let now = look(T, "a", 5);
    let state = State::start(None, None, T + 400 * DAY_MS, now);
    assert_eq!((state.now_ms(5), state.aged_ms(now), state.doubt(now)), (T + 400 * DAY_MS, T, None));
    // A new root takes the clock as it is.
    let state = State::start(None, None, 0, now);
    assert_eq!((state.now_ms(5), state.aged_ms(now)), (T, T));
}

#[test]
fn a_month_off_is_followed_by_stamps_and_not_by_ages() {
    let now = look(T + 20 * DAY_MS, "b", 5);
    let state = State::start(Some(&kept()), None, T, now);
    assert_eq!((state.now_ms(5), state.aged_ms(now)), (now.wall_ms, T));
    assert!(matches!(state.doubt(now), Some(Doubt::Ahead { by_ms, .. }) if by_ms == 20 * DAY_MS));
}

#[test]
fn time_never_goes_back_when_the_clock_does() {
    for wall_ms in [0, 86_400_000, T - 2 * HOUR_MS] {
        let now = look(wall_ms, "b", 5);
        let state = State::start(Some(&kept()), None, T - DAY_MS, now);
        assert_eq!((state.now_ms(5), state.aged_ms(now)), (T, wall_ms));
        assert!(matches!(state.doubt(now), Some(Doubt::Behind { .. })));
        // One start in 1970 does not make the right time suspect.
        let right = look(T + DAY_MS, "c", 5);
        let state = State::start(Some(&state.kept(now)), None, T - DAY_MS, right);
        assert_eq!((state.aged_ms(right), state.doubt(right)), (right.wall_ms, None));
    }
}

#[test]
fn a_person_ends_the_doubt_at_once_or_at_the_next_start() {
    let now = look(T + 400 * DAY_MS, "b", 1_000);
    let said = Confirmed { boot: "b".to_owned(), boot_ms: 900, wall_ms: now.wall_ms - 100 };
    let mut state = State::start(Some(&kept()), None, T, now);
    state.look(Some(&said), now);
    assert_eq!((state.aged_ms(now), state.doubt(now)), (now.wall_ms, None));
    assert_eq!(state.now_ms(1_000), T, "stamps follow at the next start: a due time is in them");
    for kept in [kept(), state.kept(now)] {
        let state = State::start(Some(&kept), Some(&said), T, now);
        assert_eq!((state.now_ms(1_000), state.aged_ms(now), state.doubt(now)), (now.wall_ms, now.wall_ms, None));
    }
    let state = State::start(Some(&state.kept(now)), None, T, now);
    assert_eq!((state.now_ms(1_000), state.doubt(now)), (now.wall_ms, None), "it was kept");
    // And a clock that was believed and was wrong can be confirmed back.
    let right = look(T, "c", 7);
    let said = Confirmed { boot: "c".to_owned(), boot_ms: 7, wall_ms: T };
    let state = State::start(Some(&state.kept(now)), Some(&said), T, right);
    assert_eq!((state.aged_ms(right), state.doubt(right)), (T, None));
    assert!(state.now_ms(7) >= T + 400 * DAY_MS, "stamps do not go back");
}

#[test]
fn days_in_which_the_clocks_agree_end_the_doubt_and_a_jump_begins_them_anew() {
    let start = T + 10 * DAY_MS;
    let at = |ms: u64| look(start + ms, "b", 1_000 + ms);
    let mut state = State::start(Some(&kept()), None, T, at(0));
    let mut passed_ms = 0;
    while passed_ms < AGREED_MS - HOUR_MS {
        passed_ms += HOUR_MS;
        state.look(None, at(passed_ms));
        assert!(state.doubt(at(passed_ms)).is_some());
    }
    // Over a restart in between, too.
    let mut jumped = state.clone();
    let mut state = State::start(Some(&state.kept(at(passed_ms))), None, T, at(passed_ms));
    assert!(state.doubt(at(passed_ms)).is_some());
    let end = at(AGREED_MS);
    state.look(None, end);
    assert_eq!((state.aged_ms(end), state.doubt(end)), (end.wall_ms, None));
    let ahead = look(end.wall_ms + DAY_MS, "b", end.boot_ms);
    jumped.look(None, ahead);
    assert!(jumped.doubt(ahead).is_some());
}

#[test]
fn a_clock_that_is_set_while_the_process_runs_ages_nothing() {
    let mut state = State::start(Some(&kept()), None, T, look(T, "b", 5));
    for wall_ms in [T + 400 * DAY_MS, T + HOUR_MS, 0] {
        let now = look(wall_ms, "b", 1_005);
        state.look(None, now);
        assert_eq!((state.now_ms(1_005), state.aged_ms(now)), (T + 1_000, wall_ms.min(T + 1_000)));
    }
}

#[test]
fn a_command_has_the_time_of_the_daemon_that_runs() {
    for off_ms in [2 * HOUR_MS, 0] {
        let now = look(T + HOUR_MS + off_ms, "a", 2 * HOUR_MS);
        let state = State::glance(Some(&kept()), None, T, now);
        assert_eq!((state.now_ms(now.boot_ms), state.aged_ms(now)), (T + HOUR_MS, now.wall_ms));
        let now = look(T + HOUR_MS + off_ms, "b", 5);
        assert_eq!(State::glance(Some(&kept()), None, T, now).now_ms(5), now.wall_ms, "none has run since this start");
    }
}

#[test]
fn what_is_kept_is_read_again_and_a_damaged_file_is_none() {
    let root = tempfile::tempdir().unwrap();
    let clock = RootClock::start(root.path(), 0);
    assert_eq!(clock.problem(), None);
    let ahead_ms = clock.now_ms() + 10 * DAY_MS;
    let ahead = Kept { now_ms: ahead_ms, ..read::<Kept>(root.path(), FILE).unwrap() };
    write(root.path(), FILE, &ahead, true).unwrap();
    assert!(RootClock::glance(root.path(), 0).now_ms() >= ahead_ms);
    let mut bytes = std::fs::read(root.path().join(FILE)).unwrap();
    let at = bytes.iter().position(|byte| *byte == b'1').unwrap();
    bytes[at] = b'2';
    std::fs::write(root.path().join(FILE), bytes).unwrap();
    assert!(RootClock::glance(root.path(), 0).now_ms() < ahead_ms);
    confirm(root.path()).unwrap();
    RootClock::start(root.path(), 0);
    assert!(!root.path().join(CONFIRMED_FILE).exists());
}
