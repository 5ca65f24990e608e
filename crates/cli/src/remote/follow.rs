//! Following a task there until it has ended.
//!
//! Its events are a bell: each says that there is something new, and the task itself says what. So a step that was taken and done between two
//! looks is shown done; nothing that stays is missed.

use super::Remote;
use crate::{
    drive::Patience,
    error::{Code, Error},
    exit::Exit,
    output, time,
    watch::{Begin, Watch},
};
use relaymesh_api::view::{Accepted, Changed, Shown, asked};
use relaymesh_core::id::TaskId;
use serde_json::{Value, json};
use std::time::Instant;

/// How often events may end before the task does: a daemon that restarts ends them.
const ENDS_MAX: u32 = 5;

/// What to follow.
pub(crate) enum Followed {
    /// A task that is submitted now: the body of the submit.
    Submit(Value),
    /// A task that is there.
    Wait(TaskId),
    /// A task that ended badly and is tried again.
    Redrive(TaskId, String),
}

/// Follows a task until it has ended or patience is over.
pub(crate) fn follow(
    remote: &Remote,
    followed: Followed,
    watch: &mut Watch,
    patience: Patience,
) -> Result<Exit, Error> {
    let (task, how) = match followed {
        Followed::Submit(body) => {
            let Accepted { task, merged, .. } = remote.post(&["tasks"], &body)?;
            (task, if merged { Begin::Merged } else { Begin::Accepted })
        }
        Followed::Redrive(task, reason) => {
            let done: Changed = remote.post(&["tasks", &task.to_string(), "retry"], &json!({ "reason": reason }))?;
            (done.task, Begin::Redriven)
        }
        Followed::Wait(task) => (task, Begin::Found),
    };
    let id = task.to_string();
    for _ in 0..ENDS_MAX {
        // In this order: whatever happens after the look rings.
        let mut events = remote.events(&[("task", Some(id.clone()))])?;
        loop {
            let shown: Shown = remote.get(&["tasks", &id], &[])?;
            watch.begin(how, &shown, 0);
            if shown.status.is_terminal() {
                watch.end(&shown);
                return Ok(Exit::of(shown.status));
            }
            watch.sync(&shown);
            if patience.yes {
                approve(remote, &shown, watch)?;
            } else if shown.is_blocked(time::now_ms()) {
                watch.waits(&shown);
            }
            let left = patience.until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                watch.stopped("timed_out", Some(task))?;
                return Ok(Exit::NotEnded);
            }
            if !events.rings(left) {
                break;
            }
        }
    }
    Err(Error::new(Code::DaemonGone, format!("the daemon ended its events {ENDS_MAX} times")))
}

/// Approves whatever waits, having shown it.
fn approve(remote: &Remote, task: &Shown, watch: &Watch) -> Result<(), Error> {
    let id = task.task.to_string();
    for step in task.waiting() {
        let path = ["approvals", &id, step.step.as_str()];
        let asked: Result<asked::Shown, Error> = remote.get(&path, &[]);
        // Decided meanwhile, which is just as well.
        let Ok(asked) = asked else { continue };
        watch.note(&format!("step `{}` asks: {}; approved by --yes", asked.step, output::clean(&asked.asks)));
        match remote.post::<asked::Decided>(&path, &json!({ "ask": asked.ask, "approve": true })) {
            Err(error) if error.code != Code::Refused => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}
