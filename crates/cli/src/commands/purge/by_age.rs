//! Purging what ended long ago.

use super::{Args, confirm, purged, sweep_bus};
use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    link::{self, Missing},
    output, root, settings, time,
};
use relaymesh_runtime::{root_clock::RootClock, upkeep};
use relaymesh_store::Reader as _;
use relaymesh_store_sqlite::SqliteReader;
use serde_json::json;

const DAY_MS: u64 = 86_400_000;

/// What is asked for, and what of it may go.
struct Wanted {
    /// What ended before this goes.
    until_ms: u64,
    /// What ended before this would go if no task were kept for its idempotency key.
    asked_ms: u64,
    /// How long keys are kept after the end of their task.
    key_days: u64,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let mut reader = root::read(&context.root)?;
    let newest_ms = reader.head()?.hlc().map_or(0, |hlc| hlc.wall_ms);
    let clock = RootClock::glance(&context.root, newest_ms);
    if let Some(problem) = clock.problem() {
        if args.older_than.is_some() {
            // An age of 30 days is of this very clock.
            let error = Error::new(Code::Refused, format!("not purged by age: {problem}"));
            return Err(error.hint("or name what to purge by its id"));
        }
        output::note(&format!("warning: {problem}"));
    }
    let wanted = Wanted::new(args, context, clock.aged_ms())?;
    // Nothing to purge is nothing to confirm.
    let finds_any = wanted.finds_any(&mut reader)?;
    let count = if finds_any {
        confirm(args.yes, || format!("everything that ended before {}", time::rfc3339(wanted.until_ms)))?;
        link::with(context, Missing::Refuse, |ask| upkeep::sweep(ask, wanted.until_ms, &mut |_| {}))?
    } else {
        0
    };
    // Nobody was asked about these files if there was nothing else; then they wait for upkeep, or for `--yes`.
    if finds_any || args.yes {
        sweep_bus(context, wanted.until_ms)?;
    }
    let is_kept = wanted.keeps_some(&mut reader)?;
    if context.json {
        let kept_by = is_kept.then_some("idempotency_ttl_days");
        output::value(&json!({ "purged": count, "until_ms": wanted.until_ms, "kept_by": kept_by }));
        return Ok(Exit::Done);
    }
    let exit = purged(context, count, &[]);
    let Wanted { until_ms, asked_ms, key_days } = wanted;
    if is_kept {
        output::note(&format!(
            "kept: tasks that ended after {}, because their idempotency keys are valid for {key_days} days after the \
             end (setting `idempotency_ttl_days`); purge a task at once by its id",
            time::rfc3339(until_ms)
        ));
    } else if count == 0 {
        output::note(&format!("nothing ended before {}", time::rfc3339(asked_ms)));
    }
    Ok(exit)
}

impl Wanted {
    /// By a clock that nobody has confirmed nothing is old: `now_ms` is the time by which ages are told.
    fn new(args: &Args, context: &Context, now_ms: u64) -> Result<Self, Error> {
        let kept = settings::current(context)?.settings.retention();
        let ago = |days: u64| now_ms.saturating_sub(days.saturating_mul(DAY_MS));
        let asked_ms = args.older_than.unwrap_or_else(|| ago(args.days.unwrap_or(kept.done_retention_days)));
        let until_ms = asked_ms.min(kept.keys_until_ms(now_ms));
        Ok(Self { until_ms, asked_ms, key_days: kept.idempotency_ttl_days })
    }

    /// Whether there is anything to purge.
    fn finds_any(&self, reader: &mut SqliteReader) -> Result<bool, Error> {
        Ok(!reader.ended(self.until_ms, None, 1)?.is_empty() || !reader.rested(self.until_ms, 1)?.is_empty())
    }

    /// Whether there are tasks that are old enough and kept for their keys.
    fn keeps_some(&self, reader: &mut SqliteReader) -> Result<bool, Error> {
        let after = Some((self.until_ms, u64::MAX));
        Ok(self.until_ms < self.asked_ms && !reader.ended(self.asked_ms, after, 1)?.is_empty())
    }
}
