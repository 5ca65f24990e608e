//! Time out: an attempt ran longer than its step allows. Judged by the monotonic clock of the node that owns the lease
//! (R10), so only that node may say it.

use super::{
    apply::{At, Effect, Refusal},
    fail::{Failure, lose},
    lease::attempt,
    state::{Outcome, TaskRows},
    table::Verb,
};

pub(super) fn time_out(
    rows: &mut TaskRows,
    index: u16,
    epoch: u32,
    jitter_ms: u32,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let step = attempt(rows, index, epoch)?;
    let name = || step.spec.name.clone();
    let owner = step.lease.as_ref().map(|lease| lease.owner).ok_or_else(|| Refusal::NotReady { name: name() })?;
    if owner != at.origin {
        return Err(Refusal::NotOwner { name: name(), owner, author: at.origin });
    }
    let error = match step.spec.timeout_ms {
        Some(allowed) => format!("timed out: it took longer than {allowed} ms"),
        None => "timed out".to_owned(),
    };
    effects.push(Effect::Stop { step: index, epoch });
    let failure = Failure { retryable: true, jitter_ms, error: &error };
    lose(rows, index, Verb::TimeOut, Outcome::Timeout, failure, at, effects);
    Ok(())
}
