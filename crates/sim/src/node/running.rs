//! An attempt that is counted: it uses something, gives account of it, and ends when it is told to.

use crate::{
    rng::Rng,
    time::{MS, Ns},
};
use relaymesh_runtime::{
    ledger::Account,
    quota::{Meter, Usage},
    world::{Outcome, Work},
};

pub(crate) struct Running {
    pub(crate) work: Work,
    account: Account,
    meter: Meter,
    used: Usage,
    /// Until when it runs, and how it ends then.
    pub(crate) ends: (Ns, Outcome),
}

impl Running {
    /// An attempt that has begun. It runs no longer than its meter says.
    pub(crate) fn new(work: Work, account: Account, now: Ns, (takes, outcome): (Ns, Outcome)) -> Self {
        let meter = account.meter();
        let mut ends = (now + takes, outcome);
        if let Some((most, why)) = &meter.time {
            let most = u64::try_from(most.as_nanos()).unwrap_or(Ns::MAX);
            if most < takes {
                ends = (now + most, failed(why.clone()));
            }
        }
        Self { work, account, meter, used: Usage::default(), ends }
    }

    /// How long it may run, in milliseconds.
    pub(crate) fn time_ms(&self) -> Option<u64> {
        self.meter.time.as_ref().map(|(most, _)| u64::try_from(most.as_millis()).unwrap_or(u64::MAX))
    }

    /// When it gives account next.
    pub(crate) fn pause(rng: &mut Rng) -> Ns {
        rng.spread(20, 3_000) * MS
    }

    /// Uses something and gives account of it. An error says why it may not go on, and it ends then.
    pub(crate) fn uses(&mut self, rng: &mut Rng) -> Result<(), Outcome> {
        self.used.input_tokens += rng.spread(1, 2_000);
        self.used.output_tokens += rng.between(0, 200);
        self.used.turns += rng.between(0, 2);
        if rng.chance(800) {
            self.used.cost_micros = Some(self.used.cost_micros.unwrap_or(0) + rng.between(0, 4_000));
        }
        (self.meter.used)(self.used).map_err(failed)
    }

    /// It is over. Now and then it has used a little more than it has said so far.
    pub(crate) fn close(mut self, rng: &mut Rng) {
        if rng.chance(300) {
            self.used.output_tokens += rng.between(0, 300);
        }
        let says = rng.chance(900);
        self.account.close(says.then_some(self.used));
    }
}

fn failed(why: String) -> Outcome {
    Outcome::Failed { error: why, retryable: false }
}
