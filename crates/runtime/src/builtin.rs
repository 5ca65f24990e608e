//! The builtin agents: `echo`, `fail`, `sleep`, `hash`. They run inside the daemon, so that a graph can be tried out, and
//! the runtime measured, with nothing installed.
//!
//! All but `sleep` answer at once, on the caller's thread. Sleepers share one thread, which waits for the first of them
//! to wake and does not exist before the first one sleeps.

use crate::world::{Finished, Late, Outcome, Work};
use relaymesh_core::{content::Media, id::StepId, name::Name};
use relaymesh_store::Content;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The names of the builtin agents and what they do.
pub const AGENTS: [(&str, &str); 4] = [
    ("echo", "returns its input"),
    ("fail", r#"fails; {"message": TEXT, "retryable": BOOL, "attempts": N} fails only the first N attempts"#),
    ("sleep", r#"waits; {"ms": N}, at most a day"#),
    ("hash", "returns the SHA-256 of its input"),
];

const SLEEP_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// The builtin agents.
pub struct Builtin {
    finished: Option<Late>,
    bed: Arc<Bed>,
}

/// Where sleepers lie, by the time they wake.
#[derive(Default)]
struct Bed {
    sleepers: Mutex<Sleepers>,
    changed: Condvar,
}

#[derive(Default)]
struct Sleepers {
    by_time: BTreeMap<(Instant, StepId, u32), Finished>,
    closed: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sleep {
    ms: u64,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Fail {
    message: Option<String>,
    retryable: Option<bool>,
    attempts: Option<u32>,
}

impl Builtin {
    /// The agents. Outcomes of sleepers go to `finished`.
    pub fn new(finished: Late) -> Self {
        Self { finished: Some(finished), bed: Arc::default() }
    }

    /// Whether there is a builtin agent of this name.
    pub fn knows(agent: &Name) -> bool {
        AGENTS.iter().any(|(name, _)| *name == agent.as_str())
    }

    /// Does the work, or begins it.
    pub fn start(&mut self, work: Work) -> Option<Outcome> {
        match work.agent.as_str() {
            "echo" => Some(Outcome::Done { media: Media::Json, result: work.input }),
            "hash" => Some(hash(&work.input)),
            "fail" => Some(fail(work)),
            "sleep" => self.sleep(work),
            unknown => Some(refused(format!("there is no builtin agent `{unknown}`"))),
        }
    }

    /// Wakes the sleeper without an outcome.
    pub fn stop(&mut self, step: StepId, epoch: u32) {
        self.bed.lock().by_time.retain(|(_, s, e), _| (*s, *e) != (step, epoch));
    }

    fn sleep(&mut self, work: Work) -> Option<Outcome> {
        let ms = match serde_json::from_slice(short(&work.input)) {
            Ok(Sleep { ms }) if ms <= SLEEP_MS_MAX => ms,
            Ok(_) => return Some(refused(format!("sleep: `ms` must be at most {SLEEP_MS_MAX}"))),
            Err(error) => return Some(refused(format!("sleep: the input must be {{\"ms\": N}}: {error}"))),
        };
        let result = Content::Inline(serde_json::json!({ "slept_ms": ms }).to_string().into_bytes());
        let finished = Finished::new(work.hold, Outcome::Done { media: Media::Json, result });
        let wakes = Instant::now() + Duration::from_millis(ms);
        self.bed.lock().by_time.insert((wakes, work.hold.step, work.hold.epoch), finished);
        if let Some(tell) = self.finished.take() {
            let bed = Arc::clone(&self.bed);
            thread::Builder::new().name("sleepers".to_owned()).spawn(move || bed.watch(&*tell)).ok()?;
        }
        self.bed.changed.notify_one();
        None
    }
}

impl Drop for Builtin {
    fn drop(&mut self) {
        self.bed.lock().closed = true;
        self.bed.changed.notify_one();
    }
}

impl Bed {
    fn lock(&self) -> std::sync::MutexGuard<'_, Sleepers> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self, tell: &dyn Fn(Finished)) {
        let mut sleepers = self.lock();
        while !sleepers.closed {
            let first = sleepers.by_time.first_key_value().map(|((wakes, ..), _)| *wakes);
            let left = first.map(|wakes| wakes.saturating_duration_since(Instant::now()));
            sleepers = match left {
                None => self.changed.wait(sleepers).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => {
                    if let Some((_, finished)) = sleepers.by_time.pop_first() {
                        tell(finished);
                    }
                    sleepers
                }
                Some(left) => self.changed.wait_timeout(sleepers, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }
}

/// What the input is named by is what is asked for: a blob need not be read.
fn hash(input: &Content) -> Outcome {
    let named = input.named(Media::Json);
    let result = serde_json::json!({ "sha256": named.hash, "bytes": named.len });
    Outcome::Done { media: Media::Json, result: Content::Inline(result.to_string().into_bytes()) }
}

/// The input of an agent that takes a few numbers only: nothing that is a blob can be one.
fn short(input: &Content) -> &[u8] {
    match input {
        Content::Inline(bytes) => bytes,
        Content::Blob(_) => b"too long",
    }
}

fn fail(work: Work) -> Outcome {
    let asked = match serde_json::from_slice::<Option<Fail>>(short(&work.input)) {
        Ok(asked) => asked.unwrap_or_default(),
        Err(error) => return refused(format!("fail: invalid input: {error}")),
    };
    if asked.attempts.is_some_and(|attempts| work.attempt > attempts) {
        return Outcome::Done { media: Media::Json, result: work.input };
    }
    let error = asked.message.unwrap_or_else(|| "asked to fail".to_owned());
    Outcome::Failed { error, retryable: asked.retryable.unwrap_or(true) }
}

/// The input is wrong: another attempt would not help.
fn refused(error: String) -> Outcome {
    Outcome::Failed { error, retryable: false }
}
