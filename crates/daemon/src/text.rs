//! Text for terminals and logs: without anything that a terminal would obey, and on stderr when nobody asked for it.

use std::io::Write as _;

/// The text without anything that a terminal would obey. Agents write errors, and a file may hold anything.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect()
}

/// The first line, cleaned, at most `chars_max` long.
pub fn short(text: &str, chars_max: usize) -> String {
    let first = text.lines().next().unwrap_or_default();
    let mut short: String = clean(first).chars().take(chars_max).collect();
    if first.chars().count() > chars_max || text.lines().nth(1).is_some() {
        short.push('…');
    }
    short
}

/// Lines with aligned columns; the last one is as long as it likes.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let aligned = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(aligned).collect::<Vec<_>>().join("\n")
}

/// Writes a line to stderr. When nobody reads it any more it is dropped: `eprintln!` would panic.
pub fn note(text: &str) {
    let _ = std::io::stderr().lock().write_all(format!("{text}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_characters_not_bytes() {
        let rows = [["STEP", "S"], ["ä→b", "✓ x"], ["longer", ""]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "STEP    S\nä→b     ✓ x\nlonger");
    }

    #[test]
    fn a_terminal_gets_no_commands_from_data() {
        assert_eq!(clean("a\x1b[31mb\tc\nd"), "a [31mb c\nd");
        assert_eq!(short("first\nsecond", 40), "first…");
        assert_eq!(short("abcdef", 3), "abc…");
    }
}
