//! A flow as a picture: columns by rank, boxes in them, curves between. Readable on light and dark ground.

use super::{notes, ranks};
use relaymesh_core::task::spec::{Schedule, StepSpec};
use std::fmt::Write as _;

const BOX_WIDTH: usize = 190;
const LINE: usize = 16;
const PADDING: usize = 10;
const GAP_X: usize = 60;
const GAP_Y: usize = 18;
const MARGIN: usize = 16;
/// What fits into a box.
const CHARS_MAX: usize = 28;

const STYLE: &str = "text{font:12px ui-monospace,monospace;fill:#1f2937}.name{font-weight:700}.note{fill:#6b7280}\
    .step{fill:#fff;stroke:#6366f1;stroke-width:1.5}.gated{stroke-dasharray:5 3}.undo{stroke:#f59e0b}\
    .edge{fill:none;stroke:#9ca3af;stroke-width:1.5;marker-end:url(#tip)}.back{stroke:#f59e0b;stroke-dasharray:4 3}\
    @media(prefers-color-scheme:dark){text{fill:#e5e7eb}.note{fill:#9ca3af}.step{fill:#111827}}";

struct Placed {
    x: usize,
    y: usize,
    height: usize,
    lines: Vec<String>,
}

pub(super) fn draw(schedule: &Schedule) -> String {
    let placed = place(&schedule.steps);
    let width = placed.iter().map(|at| at.x + BOX_WIDTH).max().unwrap_or(0) + MARGIN;
    let height = placed.iter().map(|at| at.y + at.height).max().unwrap_or(0) + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" aria-label=\"The flow {}\">\n<style>{STYLE}</style>\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" \
         refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#9ca3af\"/></marker></defs>\n",
        schedule.name
    );
    for (index, step) in schedule.steps.iter().enumerate() {
        for of in &step.depends_on {
            edge(&mut svg, &placed[usize::from(*of)], &placed[index]);
        }
        if let Some(of) = step.compensates {
            undone_by(&mut svg, &placed[usize::from(of)], &placed[index]);
        }
    }
    for (step, at) in schedule.steps.iter().zip(&placed) {
        step_box(&mut svg, step, at);
    }
    svg + "</svg>"
}

/// Columns from left to right by rank; in a column one below the other, near what they come after.
fn place(steps: &[StepSpec]) -> Vec<Placed> {
    let ranks = ranks(steps);
    let mut placed: Vec<Placed> = steps.iter().map(|step| sized(step, steps)).collect();
    for rank in 0..=ranks.iter().copied().max().unwrap_or(0) {
        let mut column: Vec<usize> = (0..steps.len()).filter(|index| ranks[*index] == rank).collect();
        let middle = |index: usize, placed: &[Placed]| {
            let before: Vec<usize> = steps[index].depends_on.iter().map(|of| placed[usize::from(*of)].y).collect();
            before.iter().sum::<usize>().checked_div(before.len()).unwrap_or(0)
        };
        column.sort_by_key(|index| (steps[*index].compensates.is_some(), middle(*index, &placed), *index));
        let mut y = MARGIN;
        for index in column {
            placed[index].x = MARGIN + rank * (BOX_WIDTH + GAP_X);
            placed[index].y = y;
            y += placed[index].height + GAP_Y;
        }
    }
    placed
}

fn sized(step: &StepSpec, steps: &[StepSpec]) -> Placed {
    let lines: Vec<String> = [step.name.to_string(), step.agent.to_string()]
        .into_iter()
        .chain(notes(step, steps))
        .map(|line| cut(&line))
        .collect();
    Placed { x: 0, y: 0, height: 2 * PADDING + lines.len() * LINE, lines }
}

fn step_box(svg: &mut String, step: &StepSpec, at: &Placed) {
    let gated = if step.when().is_some() { " gated" } else { "" };
    let undo = if step.compensates.is_some() { " undo" } else { "" };
    let Placed { x, y, height, lines } = at;
    let _ = writeln!(
        svg,
        "<g><rect class=\"step{gated}{undo}\" x=\"{x}\" y=\"{y}\" width=\"{BOX_WIDTH}\" height=\"{height}\" rx=\"8\"/>"
    );
    for (number, line) in lines.iter().enumerate() {
        let class = if number == 0 { "name" } else { "note" };
        let (x, y) = (x + PADDING, y + PADDING + number * LINE + LINE * 3 / 4);
        let _ = writeln!(svg, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", escaped(line));
    }
    let _ = writeln!(svg, "</g>");
}

fn edge(svg: &mut String, from: &Placed, to: &Placed) {
    let (x1, y1) = (from.x + BOX_WIDTH, from.y + from.height / 2);
    let (x2, y2) = (to.x, to.y + to.height / 2);
    let middle = usize::midpoint(x1, x2);
    let _ = writeln!(svg, "<path class=\"edge\" d=\"M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}\"/>");
}

fn undone_by(svg: &mut String, from: &Placed, to: &Placed) {
    let (x, y1, y2) = (from.x + BOX_WIDTH / 2, from.y + from.height, to.y);
    let _ = writeln!(svg, "<path class=\"edge back\" d=\"M{x} {y1}L{x} {y2}\"/>");
}

fn cut(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(CHARS_MAX).collect();
    if text.chars().count() > CHARS_MAX { line.chars().take(CHARS_MAX - 1).chain(['…']).collect() } else { line }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
