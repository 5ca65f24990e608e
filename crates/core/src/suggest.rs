//! "Did you mean": the nearest of some known words.

/// The word of `known` that is nearest to `given`, if it is near enough to be a slip of the finger.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (given.chars().count() / 3).clamp(1, 3);
    let with_distance = known.into_iter().map(|word| (distance(given, word), word));
    with_distance.filter(|(distance, _)| *distance <= allowed).min().map(|(_, word)| word)
}

/// How many letters have to be added, dropped, changed or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = changed.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let agents = ["echo", "fail", "sleep", "hash"];
        assert_eq!(nearest("ehco", agents), Some("echo"));
        assert_eq!(nearest("slep", agents), Some("sleep"));
        assert_eq!(nearest("haash", agents), Some("hash"));
        assert_eq!(nearest("claude", agents), None);
        assert_eq!(nearest("", agents), None);
        assert_eq!(nearest("depend_on", ["depends_on", "id"]), Some("depends_on"));
    }
}
