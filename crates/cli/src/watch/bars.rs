//! Every step in its own line of the terminal, drawn in place.

use super::say;
use crate::output;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use relaymesh_api::view::Shown;
use relaymesh_core::{name::Name, task::Status};
use relaymesh_runtime::driver::StepEvent;
use std::time::Duration;

const TICK: Duration = Duration::from_millis(100);

/// The line of one step.
struct Line {
    bar: ProgressBar,
    name: Option<Name>,
    state: String,
}

/// One line per step.
pub(super) struct Bars {
    lines: MultiProgress,
    steps: Vec<Line>,
    name_width: usize,
    colour: bool,
}

impl Bars {
    /// Nothing is drawn before there are steps.
    pub(super) fn new(colour: bool) -> Self {
        Self {
            lines: MultiProgress::with_draw_target(ProgressDrawTarget::stderr()),
            steps: Vec::new(),
            name_width: 0,
            colour,
        }
    }

    /// Draws every step as it stands.
    pub(super) fn begin(&mut self, task: &Shown, name_width: usize) {
        self.name_width = name_width;
        for step in &task.steps {
            self.step(&super::event(step));
        }
    }

    /// A step changed.
    pub(super) fn step(&mut self, step: &StepEvent) {
        while self.steps.len() <= usize::from(step.index) {
            let bar = self.lines.add(ProgressBar::new_spinner());
            bar.set_style(style("  {prefix}  {msg}"));
            self.steps.push(Line { bar, name: None, state: String::new() });
        }
        let (line, width) = (&mut self.steps[usize::from(step.index)], self.name_width);
        line.name = Some(step.name.clone());
        let bar = &line.bar;
        bar.set_prefix(format!("{:width$}", step.name.as_str()));
        let text = output::painted(step.status, &say::state(step), self.colour);
        if step.status == Status::Running {
            bar.reset_elapsed();
            bar.set_style(style("{spinner} {prefix}  {msg} {elapsed}"));
            bar.enable_steady_tick(TICK);
        } else {
            bar.disable_steady_tick();
            bar.set_style(style("  {prefix}  {msg}"));
        }
        bar.set_message(text.clone());
        bar.tick();
        line.state = text;
    }

    /// Draws what the agent of a running step said last.
    pub(super) fn said(&mut self, index: usize, last: impl FnOnce(&Name) -> Option<String>) {
        let Some(Line { bar, name: Some(name), state }) = self.steps.get(index) else { return };
        if let Some(last) = last(name) {
            bar.set_message(format!("{state}: {last}"));
        }
    }

    /// Writes something above the lines.
    pub(super) fn suspend(&self, write: impl FnOnce()) {
        self.lines.suspend(write);
    }

    /// Leaves the lines where they are.
    pub(super) fn end(&mut self) {
        for Line { bar, .. } in self.steps.drain(..) {
            bar.disable_steady_tick();
            bar.abandon();
        }
    }
}

/// The template is a literal; were it wrong, the plain style would do.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
