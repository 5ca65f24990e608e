//! Whether two keys have a path in common.
//!
//! The tempting wrong answers: comparing globs as text (`src/*` and `src/?` differ and overlap), and matching one
//! against the other as if it were a path (`a*` and `*b` match neither each other, and both match `ab`). The right
//! question is whether some path is matched by both, and it is asked of both at once: walk the two patterns side by
//! side, and keep the set of places `(i, j)` such that one text brings the first to `i` and the second to `j`.
//!
//! ```text
//! at a run      it may end here              (i + 1, j)      and the same with the other one
//!               it takes what the other has  (i, j + 1)
//! at two singles that agree                  (i + 1, j + 1)
//! ```
//!
//! That walk is done twice: over the parts of the two keys, where `**` is the run, and for each pair of parts over their
//! characters, where `*` is the run. Each place is visited once, so two keys take at most 512 · 512 steps.

use super::key::Key;

/// Whether some path is matched by both keys. `folded` compares in lower case.
pub fn overlap(one: &Key, other: &Key, folded: bool) -> bool {
    if !one.is_glob() && !other.is_glob() {
        let lower = |key: &Key| key.as_str().chars().map(lower).collect::<Vec<char>>();
        return one == other || (folded && lower(one) == lower(other));
    }
    let (one, other) = (parts(one, folded), parts(other, folded));
    meet(
        &one,
        &other,
        |part| matches!(part, Part::Deep),
        |one, other| match (one, other) {
            (Part::Of(one), Part::Of(other)) => meet(one, other, |mark| *mark == Mark::Run, agree),
            (Part::Deep, _) | (_, Part::Deep) => true,
        },
    )
}

/// One part of a key.
enum Part {
    /// Any run of parts.
    Deep,
    /// One part that these characters match. No part is empty, and every one is matched by some text that is not.
    Of(Vec<Mark>),
}

/// One place within a part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// This character.
    Is(char),
    /// Any one character.
    One,
    /// Any run of characters.
    Run,
}

fn parts(key: &Key, folded: bool) -> Vec<Part> {
    let mark = |c: char| match c {
        '*' => Mark::Run,
        '?' => Mark::One,
        c if folded => Mark::Is(lower(c)),
        c => Mark::Is(c),
    };
    key.parts().map(|part| if part == "**" { Part::Deep } else { Part::Of(part.chars().map(mark).collect()) }).collect()
}

/// The simple lower case of Unicode: one character for one, so that `?` means the same in both cases.
fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

fn agree(one: &Mark, other: &Mark) -> bool {
    match (one, other) {
        (Mark::Is(one), Mark::Is(other)) => one == other,
        (Mark::One | Mark::Run, _) | (_, Mark::One | Mark::Run) => true,
    }
}

/// Whether one sequence is matched by both patterns. Row by row: `here[j]` says whether the place `(i, j)` is reached.
fn meet<T>(one: &[T], other: &[T], is_run: impl Fn(&T) -> bool, agree: impl Fn(&T, &T) -> bool) -> bool {
    let mut here = vec![false; other.len() + 1];
    here[0] = true;
    for mine in one.iter().map(Some).chain([None]) {
        let mut next = vec![false; other.len() + 1];
        let run = mine.is_some_and(&is_run);
        for (j, theirs) in other.iter().map(Some).chain([None]).enumerate() {
            if !here[j] {
                continue;
            }
            next[j] |= run;
            match theirs {
                Some(theirs) if is_run(theirs) => {
                    here[j + 1] = true;
                    next[j] |= mine.is_some();
                }
                Some(_) if run => here[j + 1] = true,
                Some(theirs) => next[j + 1] |= mine.is_some_and(|mine| agree(mine, theirs)),
                None => {}
            }
        }
        if mine.is_none() {
            return here[other.len()];
        }
        if !next.contains(&true) {
            return false;
        }
        here = next;
    }
    false
}
