//! What a person or a program sees of a task while it runs.
//!
//! | mode  | when                                    | where  | what                                    |
//! |-------|-----------------------------------------|--------|-----------------------------------------|
//! | Quiet | neither `--watch` nor `--json`          | stderr | accepted, ended                         |
//! | Lines | `--watch`, and stderr is no terminal    | stderr | one line per change                     |
//! | Bars  | `--watch` on a terminal                 | stderr | every step, drawn in place              |
//! | Json  | `--json`                                | stdout | one line per event, flushed             |
//!
//! In the first three, stdout gets the result alone, at the end.

mod bars;
pub(crate) mod last;
mod say;

use crate::{args::Context, error::Error, output};
use bars::Bars;
use relaymesh_api::view::{Reference, Shown, ShownStep};
use relaymesh_core::{id::TaskId, name::Name, task::Status};
use relaymesh_runtime::driver::{Event, StepEvent};
pub(crate) use say::{merged, result, step_result};
use serde_json::json;
use std::{
    io::IsTerminal as _,
    time::{Duration, Instant},
};

enum Mode {
    Quiet,
    Lines,
    Bars(Box<Bars>),
    Json,
}

/// Fetches what an answer only names.
pub(crate) type Fetch<'a> = dyn Fn(&Reference) -> Result<Vec<u8>, Error> + 'a;

/// How a task came to be watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// It was just submitted.
    Accepted,
    /// An equal request had made it before (D5).
    Merged,
    /// It was there.
    Found,
    /// It is tried again.
    Redriven,
}

/// Shows a task while it runs.
pub(crate) struct Watch {
    mode: Mode,
    started: Instant,
    /// How the task was come by, once it is known.
    begun: Option<Begin>,
    /// What was last shown of each step.
    shown: Vec<Option<(Status, u32)>>,
    name_width: usize,
    /// Events up to here are older than what was shown.
    seen_pos: u64,
    /// The steps of which it was said that they wait for an approval.
    said_waiting: Vec<u16>,
}

impl Watch {
    /// A watch in the mode that the arguments and the terminal call for.
    pub(crate) fn new(context: &Context, every_step: bool) -> Self {
        let mode = match (context.json, every_step) {
            (true, _) => Mode::Json,
            (false, false) => Mode::Quiet,
            (false, true) if std::io::stderr().is_terminal() => Mode::Bars(Box::new(Bars::new(output::has_colour()))),
            (false, true) => Mode::Lines,
        };
        Self {
            mode,
            started: Instant::now(),
            begun: None,
            shown: Vec::new(),
            name_width: 0,
            seen_pos: 0,
            said_waiting: Vec::new(),
        }
    }

    /// The task is durable. `task` is at least as new as the log at `pos`; it is shown unless events are going to
    /// tell the same from the start.
    pub(crate) fn begin(&mut self, how: Begin, task: &Shown, pos: u64) {
        if self.begun.is_some() {
            self.seen_pos = self.seen_pos.max(pos);
            self.sync(task);
            return;
        }
        self.begun = Some(how);
        self.shown = vec![None; task.steps.len()];
        self.name_width = task.steps.iter().map(|step| step.step.as_str().len()).max().unwrap_or(0);
        match &mut self.mode {
            Mode::Json => output::line(&say::begun_json(how, task).to_string()),
            Mode::Quiet | Mode::Lines => output::note(&say::begun(how, task)),
            Mode::Bars(bars) => {
                output::note(&say::begun(how, task));
                bars.begin(task, self.name_width);
            }
        }
        if matches!(how, Begin::Merged | Begin::Found) {
            self.seen_pos = pos;
            self.sync(task);
        }
    }

    /// Something became durable.
    pub(crate) fn event(&mut self, event: &Event) {
        if event.pos <= self.seen_pos {
            return;
        }
        for step in &event.steps {
            self.grow(usize::from(step.index) + 1);
            self.step(event.task, step, Some(event.pos));
        }
    }

    /// Items of lists get their steps when they are known.
    fn grow(&mut self, steps: usize) {
        if steps > self.shown.len() {
            self.shown.resize(steps, None);
        }
    }

    /// Shows whatever is new in how the task stands.
    pub(crate) fn sync(&mut self, task: &Shown) {
        self.grow(task.steps.len());
        for step in &task.steps {
            self.step(task.task, &event(step), None);
        }
    }

    /// Whether steps are drawn in place.
    pub(crate) fn is_drawn(&self) -> bool {
        matches!(self.mode, Mode::Bars(_))
    }

    /// Draws what the agents of running steps said last.
    pub(crate) fn redraw(&mut self, last: impl Fn(&Name) -> Option<String>) {
        let Mode::Bars(bars) = &mut self.mode else { return };
        let is_running = |shown: &Option<(Status, u32)>| matches!(shown, Some((Status::Running, _)));
        for (index, _) in self.shown.iter().enumerate().filter(|(_, shown)| is_running(shown)) {
            bars.said(index, &last);
        }
    }

    /// Whether a step was last seen waiting for an approval.
    pub(crate) fn has_waiting(&self) -> bool {
        self.shown.iter().flatten().any(|(status, _)| *status == Status::Waiting)
    }

    /// Says something that is not data.
    pub(crate) fn note(&self, text: &str) {
        match &self.mode {
            Mode::Bars(bars) => bars.suspend(|| output::note(text)),
            Mode::Quiet | Mode::Lines | Mode::Json => output::note(text),
        }
    }

    /// The task has ended; its result goes to stdout, however long it is.
    pub(crate) fn end(&mut self, task: &Shown, fetch: &Fetch<'_>) -> Result<(), Error> {
        self.sync(task);
        if let Mode::Bars(bars) = &mut self.mode {
            bars.end();
        }
        if matches!(self.mode, Mode::Json) {
            let ended = say::ended_json(task).to_string();
            let open = ended.strip_suffix('}').unwrap_or(&ended);
            output::part(format!("{open},\"result\":").as_bytes());
            say::result(task, fetch, &mut |bytes| {
                output::part(bytes);
                Ok(())
            })?;
            output::line("}");
            return Ok(());
        }
        output::note(&say::ended(task, self.took(task)));
        if task.delivered().is_some() {
            output::json(|out| say::result(task, fetch, out))?;
        }
        Ok(())
    }

    /// How long the task took; one that is retried, from then on.
    fn took(&self, task: &Shown) -> Duration {
        match self.begun {
            Some(Begin::Found | Begin::Merged) => {
                Duration::from_millis(task.updated_ms.saturating_sub(task.created_ms))
            }
            Some(Begin::Accepted | Begin::Redriven) | None => self.started.elapsed(),
        }
    }

    /// Nothing can go on before a person has decided.
    pub(crate) fn blocked(&mut self, task: &Shown) {
        if let Mode::Json = self.mode {
            output::line(&say::blocked_json(task).to_string());
        } else {
            self.leave(&format!("{}\n  then continue with `relaymesh task wait {}`", say::blocked(task), task.task));
        }
    }

    /// The same, and somebody else may decide meanwhile: said once for each step that waits.
    pub(crate) fn waits(&mut self, task: &Shown) {
        let waiting: Vec<u16> = task.waiting().map(|step| step.index).collect();
        if self.said_waiting != waiting {
            if let Mode::Json = self.mode {
                output::line(&say::blocked_json(task).to_string());
            } else {
                self.note(&format!("{}\n  still waiting; Ctrl-C stops waiting, not the task", say::blocked(task)));
            }
            self.said_waiting = waiting;
        }
    }

    /// The command ends before the task does.
    pub(crate) fn stopped(&mut self, event: &str, task: Option<TaskId>) -> Result<(), Error> {
        if let Mode::Json = self.mode {
            output::line(&json!({ "event": event, "task": task }).to_string());
        } else {
            let go_on = task.map_or_else(String::new, |task| format!("; continue with `relaymesh task wait {task}`"));
            self.leave(&format!("{event}: no work is lost{go_on}"));
        }
        Ok(())
    }

    fn leave(&mut self, text: &str) {
        if let Mode::Bars(bars) = &mut self.mode {
            bars.end();
        }
        output::note(text);
    }

    fn step(&mut self, task: TaskId, step: &StepEvent, pos: Option<u64>) {
        let now = Some((step.status, step.attempt));
        let Some(shown) = self.shown.get_mut(usize::from(step.index)) else { return };
        let before = std::mem::replace(shown, now);
        if before == now {
            return;
        }
        match &mut self.mode {
            Mode::Quiet => {}
            Mode::Json => output::line(&say::step_json(task, step, pos).to_string()),
            Mode::Bars(bars) => bars.step(step),
            // A step that has not begun is no news.
            Mode::Lines if before.is_none() && step.status == Status::Pending => {}
            Mode::Lines => output::note(&say::step(step, self.started.elapsed(), self.name_width)),
        }
    }
}

/// How the step stands.
fn event(step: &ShownStep) -> StepEvent {
    StepEvent {
        index: step.index,
        name: step.step.clone(),
        agent: step.agent.clone(),
        lane: step.priority,
        status: step.status,
        attempt: step.attempt,
        epoch: step.epoch,
        error: step.error.clone(),
    }
}
