//! Every step in its own line of the terminal, drawn in place.

use super::say;
use crate::output;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use relaymesh_core::task::{Status, TaskRows};
use relaymesh_runtime::driver::StepEvent;
use std::time::Duration;

const TICK: Duration = Duration::from_millis(100);

/// One line per step.
pub(super) struct Bars {
    lines: MultiProgress,
    steps: Vec<ProgressBar>,
    colour: bool,
}

impl Bars {
    /// Nothing is drawn before there are steps.
    pub(super) fn new(colour: bool) -> Self {
        Self { lines: MultiProgress::with_draw_target(ProgressDrawTarget::stderr()), steps: Vec::new(), colour }
    }

    /// Draws every step as the rows have it.
    pub(super) fn begin(&mut self, rows: &TaskRows, name_width: usize) {
        for (index, step) in rows.indexed() {
            let bar = self.lines.add(ProgressBar::new_spinner());
            bar.set_style(style("  {prefix}  {msg}"));
            bar.set_prefix(format!("{:name_width$}", step.spec.name.as_str()));
            self.steps.push(bar);
            let (name, error) = (step.spec.name.clone(), step.error.clone());
            self.step(&StepEvent { index, name, status: step.status, attempt: step.attempt, error });
        }
    }

    /// A step changed.
    pub(super) fn step(&self, step: &StepEvent) {
        let Some(bar) = self.steps.get(usize::from(step.index)) else { return };
        let text = output::painted(step.status, &say::state(step), self.colour);
        if step.status == Status::Running {
            bar.reset_elapsed();
            bar.set_style(style("{spinner} {prefix}  {msg} {elapsed}"));
            bar.enable_steady_tick(TICK);
        } else {
            bar.disable_steady_tick();
            bar.set_style(style("  {prefix}  {msg}"));
        }
        bar.set_message(text);
        bar.tick();
    }

    /// Writes something above the lines.
    pub(super) fn suspend(&self, write: impl FnOnce()) {
        self.lines.suspend(write);
    }

    /// Leaves the lines where they are.
    pub(super) fn end(&mut self) {
        for bar in self.steps.drain(..) {
            bar.disable_steady_tick();
            bar.abandon();
        }
    }
}

/// The template is a literal; were it wrong, the plain style would do.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
