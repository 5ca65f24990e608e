//! The windows: every cell of the table, and every sequence of words.

use super::dwell::{
    Dwell,
    Status::{self, Alive, Dead, Suspect},
    Step, Windows,
};
use proptest::prelude::*;

const WINDOWS: Windows = Windows { suspect_recover_min_ms: 5_000, dead_recover_min_ms: 30_000 };

/// Something that has been in `status` since 0.
fn resting(status: Status) -> Dwell {
    let mut dwell = Dwell::new(Alive, 0);
    dwell.hear(status, 0, WINDOWS);
    dwell
}

#[test]
fn r32_every_cell_of_the_table() {
    for (status, word, at_ms, step, after) in [
        (Alive, Alive, 9, Step::Same, Alive),
        (Alive, Suspect, 9, Step::Changed { was: Alive }, Suspect),
        (Alive, Dead, 9, Step::Changed { was: Alive }, Dead),
        (Suspect, Alive, 4_999, Step::Suppressed, Suspect),
        (Suspect, Alive, 5_000, Step::Changed { was: Suspect }, Alive),
        (Suspect, Suspect, 9_000, Step::Same, Suspect),
        (Suspect, Dead, 9, Step::Changed { was: Suspect }, Dead),
        (Dead, Alive, 29_999, Step::Suppressed, Dead),
        (Dead, Alive, 30_000, Step::Changed { was: Dead }, Alive),
        (Dead, Suspect, 99_000, Step::Same, Dead),
        (Dead, Dead, 99_000, Step::Same, Dead),
    ] {
        let mut dwell = resting(status);
        assert_eq!(dwell.hear(word, at_ms, WINDOWS), step, "{word} said of {status} at {at_ms}");
        assert_eq!(dwell.status(), after);
    }
}

#[test]
fn r32_a_recovery_is_suppressed_once_and_counts_when_the_window_is_over() {
    let mut dwell = resting(Suspect);
    assert_eq!(dwell.hear(Alive, 100, WINDOWS), Step::Suppressed);
    assert_eq!(dwell.hear(Alive, 200, WINDOWS), Step::Same, "the same recovery");
    assert_eq!(dwell.hear(Suspect, 300, WINDOWS), Step::Same);
    assert_eq!(dwell.hear(Alive, 400, WINDOWS), Step::Suppressed, "another one");
    assert_eq!(dwell.hear(Alive, 5_000, WINDOWS), Step::Changed { was: Suspect });
}

proptest! {
    /// Whatever is said and when: nobody is shown ALIVE again before its window is over, bad news is never held back, and
    /// without windows the status is the word, but that DEAD is not softened to SUSPECT.
    #[test]
    fn r32_no_recovery_before_its_window_and_no_bad_news_held_back(
        words in prop::collection::vec((0..3u8, 0..9_000u64), 0..60),
        windows in prop::bool::ANY,
    ) {
        let windows = if windows { WINDOWS } else { Windows { suspect_recover_min_ms: 0, dead_recover_min_ms: 0 } };
        let mut dwell = Dwell::new(Alive, 0);
        let mut now_ms = 0;
        for (word, wait) in words {
            now_ms += wait;
            let word = [Alive, Suspect, Dead][usize::from(word)];
            let (was, since_ms) = (dwell.status(), dwell.since_ms());
            let step = dwell.hear(word, now_ms, windows);
            prop_assert_eq!(matches!(step, Step::Changed { .. }), was != dwell.status());
            prop_assert!(dwell.status() >= word, "bad news count at once");
            if dwell.status() < was {
                let min_ms = if was == Dead { windows.dead_recover_min_ms } else { windows.suspect_recover_min_ms };
                prop_assert_eq!(dwell.status(), Alive);
                prop_assert!(now_ms - since_ms >= min_ms);
            }
            if windows.dead_recover_min_ms == 0 && (was, word) != (Dead, Suspect) {
                prop_assert_eq!(dwell.status(), word);
            }
        }
    }
}
