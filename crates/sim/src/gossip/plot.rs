//! The plot: two pictures side by side, in plain SVG, the same bytes for the same numbers.

use super::measure::Summary;
use std::fmt::Write as _;

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 52.0;
const TOP: f64 = 46.0;
const GAP: f64 = 70.0;
const COLOURS: [&str; 3] = ["#1b6ca8", "#c8553d", "#3f7d20"];

/// A line of a picture: its name, and a point for each size.
struct Line<'a> {
    name: &'a str,
    points: Vec<(usize, f64)>,
    dashed: bool,
}

/// Draws detection times and messages over the number of nodes.
pub fn plot(rows: &[Summary]) -> String {
    let points = |loss: u64, of: fn(&Summary) -> f64| -> Vec<(usize, f64)> {
        rows.iter().filter(|row| row.loss_per_mille == loss).map(|row| (row.nodes, of(row))).collect()
    };
    let line = |name, loss: u64, of| Line { name, points: points(loss, of), dashed: loss > 0 };
    let seconds: [fn(&Summary) -> f64; 3] = [
        |row| row.suspect_ms as f64 / 1_000.0,
        |row| row.dead_ms as f64 / 1_000.0,
        |row| row.all_dead_ms as f64 / 1_000.0,
    ];
    let times =
        [line("first SUSPECT", 0, seconds[0]), line("first DEAD", 0, seconds[1]), line("DEAD for all", 0, seconds[2])];
    let costs = [line("no loss", 0, |row| row.messages), line("5 % loss", 50, |row| row.messages)];
    let total = LEFT * 2.0 + WIDTH * 2.0 + GAP;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {total} {}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        HEIGHT + TOP + 60.0,
    );
    picture(&mut svg, LEFT, "seconds until a death is noticed, no loss", &times);
    picture(&mut svg, LEFT + WIDTH + GAP, "messages a node sends in a second", &costs);
    svg.push_str("</svg>\n");
    svg
}

fn picture(svg: &mut String, left: f64, title: &str, lines: &[Line<'_>]) {
    let values = || lines.iter().flat_map(|line| line.points.iter());
    let top_value = nice(values().map(|(_, value)| *value).fold(1.0, f64::max));
    let most = values().map(|(nodes, _)| *nodes).max().unwrap_or(10).max(10) as f64;
    let x = |nodes: usize| left + WIDTH * (nodes as f64 / 2.0).ln() / (most / 2.0).ln();
    let y = |value: f64| TOP + HEIGHT * (1.0 - value / top_value);
    let _ = writeln!(svg, "<text x=\"{left}\" y=\"18\" font-weight=\"bold\">{title}</text>");
    for step in 0..=4 {
        let value = top_value * f64::from(step) / 4.0;
        let at = y(value);
        let _ = writeln!(
            svg,
            "<line x1=\"{left}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"#dddddd\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
            left + WIDTH,
            left - 6.0,
            at + 4.0,
        );
    }
    for (nodes, _) in lines.first().map_or(&[][..], |line| &line.points) {
        let bottom = TOP + HEIGHT + 16.0;
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{bottom}\" text-anchor=\"middle\">{nodes}</text>", x(*nodes));
    }
    let below = TOP + HEIGHT + 36.0;
    let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{below}\" text-anchor=\"middle\">nodes</text>", left + WIDTH / 2.0);
    for ((line, colour), place) in lines.iter().zip(COLOURS).zip(0_u8..) {
        let dash = if line.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
        let at = |(nodes, value): &(usize, f64)| format!("{:.1},{:.1}", x(*nodes), y(*value));
        let path: Vec<String> = line.points.iter().map(at).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>",
            path.join(" ")
        );
        for (nodes, value) in &line.points {
            let _ =
                writeln!(svg, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"/>", x(*nodes), y(*value));
        }
        let from = left + 8.0 + 118.0 * f64::from(place);
        let _ = writeln!(
            svg,
            "<line x1=\"{from}\" y1=\"32\" x2=\"{}\" y2=\"32\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/><text x=\"{}\" y=\"36\">{}</text>",
            from + 18.0,
            from + 23.0,
            line.name,
        );
    }
}

/// The next round number: 1, 2, 4 or 8 times a power of ten.
fn nice(value: f64) -> f64 {
    let mut round = 1.0;
    loop {
        for times in [1.0, 2.0, 4.0, 8.0] {
            if round * times >= value {
                return round * times;
            }
        }
        round *= 10.0;
    }
}
