//! The table, and its place in the page.

use super::measure::Summary;
use std::fmt::Write as _;

/// What is measured stands between these two lines of the page.
pub const BEGIN: &str = "<!-- measured: begin -->";
/// See [`BEGIN`].
pub const END: &str = "<!-- measured: end -->";

/// The table in markdown.
pub fn table(rows: &[Summary]) -> String {
    let mut text = String::from(
        "| nodes | loss | worlds | messages | bytes | first SUSPECT | first DEAD | DEAD for all | slowest world | false suspicions | false deaths | suppressed |\n\
         |--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let seconds = |ms: u64| format!("{:.1} s", ms as f64 / 1_000.0);
    for row in rows {
        let slowest = row.all_dead_ms_max.map_or_else(|| "not all".to_owned(), seconds);
        let _ = writeln!(
            text,
            "| {} | {} % | {} | {:.1} | {:.0} | {} | {} | {} | {slowest} | {:.1} | {} | {} |",
            row.nodes,
            row.loss_per_mille / 10,
            row.worlds,
            row.messages,
            row.bytes,
            seconds(row.suspect_ms),
            seconds(row.dead_ms),
            seconds(row.all_dead_ms),
            row.doubted,
            row.buried_alive,
            row.suppressed,
        );
    }
    text
}

/// The page with another table in it; `None` when it has no place for one.
pub fn page(page: &str, rows: &[Summary]) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{}\n{END}{after}", table(rows)))
}
