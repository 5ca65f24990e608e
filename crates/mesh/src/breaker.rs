//! The circuit breaker: a remote that fails again and again is left alone for a while (V8).
//!
//! ```text
//!            5 failures in a row                 30 s
//!  closed ─────────────────────────► open ─────────────────► half-open ──── the probe succeeds ───► closed
//!    ▲ │                              ▲                          │
//!    └─┘ a success starts             └── the probe fails ───────┘
//!        the count again
//! ```
//!
//! A caller asks [`Breaker::admit`] before each call and tells [`Breaker::handle`] how it ended. What is refused is queued, not
//! lost: [`Failure::CircuitOpen`](crate::write_queue::Failure::CircuitOpen) is an outage.
//!
//! The tempting mistake is to let everybody through when the time is over: a remote that is just getting up is met by all
//! who waited. Half-open lets **one** call through, the probe. If its end is never told (its caller died), another
//! probe is let through after the same time, or the circuit would be stuck half-open for ever.
//!
//! Late word of calls that were let through before the circuit opened changes nothing: a ticket is good for its generation.

use serde::{Deserialize, Serialize};

/// How many failures in a row open the circuit, unless configured otherwise.
pub const FAILURES_MAX: u32 = 5;
/// How long it stays open, unless configured otherwise.
pub const RESET_AFTER_MS: u64 = 30_000;

/// The circuit to one remote. Times are of one monotonic clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breaker {
    failures_max: u32,
    reset_after_ms: u64,
    state: State,
    generation: u64,
}

/// Where the circuit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Calls go through.
    Closed {
        /// Failures since the last success.
        failures: u32,
    },
    /// No call goes through.
    Open {
        /// From when on a probe may.
        until_ms: u64,
    },
    /// One call is on its way; everybody else waits for its end.
    HalfOpen {
        /// From when on it is given up, and another may.
        until_ms: u64,
    },
}

/// A call was let through; give it back with how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    generation: u64,
    /// Whether this call decides about the circuit.
    pub is_probe: bool,
}

/// The call was not let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the circuit is open: try again in {retry_in_ms} ms")]
pub struct Refused {
    /// How long until a call may go through.
    pub retry_in_ms: u64,
}

/// How a call ended. An answer that is a refusal is a success: the remote is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The remote answered.
    Answered,
    /// It did not.
    Failed,
}

impl Default for Breaker {
    fn default() -> Self {
        Self::new(FAILURES_MAX, RESET_AFTER_MS)
    }
}

impl Breaker {
    /// A closed circuit that opens after so many failures in a row, for so long. 0 failures are taken for 1.
    pub const fn new(failures_max: u32, reset_after_ms: u64) -> Self {
        Self { failures_max, reset_after_ms, state: State::Closed { failures: 0 }, generation: 0 }
    }

    /// Where it is.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Whether a call may go through at `now_ms`.
    pub fn admit(&mut self, now_ms: u64) -> Result<Ticket, Refused> {
        let until_ms = match self.state {
            State::Closed { .. } => return Ok(Ticket { generation: self.generation, is_probe: false }),
            State::Open { until_ms } | State::HalfOpen { until_ms } => until_ms,
        };
        if now_ms < until_ms {
            return Err(Refused { retry_in_ms: until_ms - now_ms });
        }
        self.turn(State::HalfOpen { until_ms: now_ms.saturating_add(self.reset_after_ms) });
        Ok(Ticket { generation: self.generation, is_probe: true })
    }

    /// Takes note of how a call ended. True when this opened or closed the circuit.
    pub fn handle(&mut self, ticket: Ticket, ended: Ended, now_ms: u64) -> bool {
        if ticket.generation != self.generation {
            return false;
        }
        let open = State::Open { until_ms: now_ms.saturating_add(self.reset_after_ms) };
        match (self.state, ended) {
            (State::Closed { .. }, Ended::Answered) => self.state = State::Closed { failures: 0 },
            (State::Closed { failures }, Ended::Failed) if failures.saturating_add(1) < self.failures_max => {
                self.state = State::Closed { failures: failures + 1 };
            }
            (State::Closed { .. } | State::HalfOpen { .. }, Ended::Failed) => return self.turn(open),
            (State::HalfOpen { .. }, Ended::Answered) => return self.turn(State::Closed { failures: 0 }),
            // Nobody has a ticket of an open circuit.
            (State::Open { .. }, Ended::Answered | Ended::Failed) => {}
        }
        false
    }

    fn turn(&mut self, state: State) -> bool {
        self.state = state;
        self.generation += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A circuit that has just opened, at time 0.
    fn opened() -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 0..FAILURES_MAX {
            let ticket = breaker.admit(0).unwrap();
            breaker.handle(ticket, Ended::Failed, 0);
        }
        breaker
    }

    #[test]
    fn v8_five_failures_in_a_row_open_it_and_a_success_starts_the_count_again() {
        let mut breaker = Breaker::default();
        let call = |breaker: &mut Breaker, ended| {
            let ticket = breaker.admit(0).unwrap();
            breaker.handle(ticket, ended, 0)
        };
        for failures in 1..5 {
            assert!(!call(&mut breaker, Ended::Failed));
            assert_eq!(breaker.state(), State::Closed { failures });
        }
        call(&mut breaker, Ended::Answered);
        assert_eq!(breaker.state(), State::Closed { failures: 0 });
        for _ in 0..4 {
            assert!(!call(&mut breaker, Ended::Failed));
        }
        assert!(call(&mut breaker, Ended::Failed));
        assert_eq!(breaker.state(), State::Open { until_ms: 30_000 });
        assert_eq!(breaker.admit(1), Err(Refused { retry_in_ms: 29_999 }));
    }

    #[test]
    fn v8_after_thirty_seconds_one_probe_goes_through_and_decides() {
        for (ended, after) in
            [(Ended::Answered, State::Closed { failures: 0 }), (Ended::Failed, State::Open { until_ms: 60_500 })]
        {
            let mut breaker = opened();
            assert!(breaker.admit(29_999).is_err());
            let probe = breaker.admit(30_000).unwrap();
            assert!(probe.is_probe);
            assert_eq!(breaker.admit(30_001), Err(Refused { retry_in_ms: 29_999 }), "one probe");
            assert!(breaker.handle(probe, ended, 30_500));
            assert_eq!(breaker.state(), after);
        }
    }

    #[test]
    fn a_probe_of_which_nobody_tells_does_not_keep_it_shut_for_ever() {
        let mut breaker = opened();
        let lost = breaker.admit(30_000).unwrap();
        let second = breaker.admit(60_000).unwrap();
        assert!(second.is_probe);
        assert!(!breaker.handle(lost, Ended::Failed, 60_001), "the first one's word is late");
        assert!(breaker.handle(second, Ended::Answered, 60_002));
    }

    #[test]
    fn late_word_of_calls_from_before_it_opened_changes_nothing() {
        let mut breaker = Breaker::default();
        let tickets: Vec<Ticket> = (0..8).map(|_| breaker.admit(0).unwrap()).collect();
        for ticket in &tickets[..5] {
            breaker.handle(*ticket, Ended::Failed, 10);
        }
        let open = breaker.clone();
        for (ticket, ended) in tickets[5..].iter().zip([Ended::Failed, Ended::Answered, Ended::Failed]) {
            assert!(!breaker.handle(*ticket, ended, 20));
        }
        assert_eq!(breaker, open);
    }

    proptest! {
        /// However calls overlap and end: between opening and its time nothing passes, and never two probes at once.
        #[test]
        fn while_open_nothing_passes_and_half_open_only_one(
            steps in prop::collection::vec((0..20_000u64, any::<bool>(), any::<bool>(), any::<prop::sample::Index>()), 0..80),
        ) {
            let mut breaker = Breaker::default();
            let (mut now_ms, mut flying, mut probe_until) = (0, Vec::new(), 0);
            for (wait, call, failed, which) in steps {
                now_ms += wait;
                let before = breaker.state();
                if call || flying.is_empty() {
                    let admitted = breaker.admit(now_ms);
                    match before {
                        State::Closed { .. } => prop_assert!(admitted.is_ok_and(|ticket| !ticket.is_probe)),
                        State::Open { until_ms } | State::HalfOpen { until_ms } => {
                            prop_assert_eq!(admitted.is_ok(), now_ms >= until_ms);
                        }
                    }
                    if let Ok(ticket) = admitted {
                        if ticket.is_probe {
                            prop_assert!(now_ms >= probe_until, "two probes at once");
                            probe_until = now_ms + RESET_AFTER_MS;
                        }
                        flying.push(ticket);
                    }
                } else {
                    let ticket = flying.swap_remove(which.index(flying.len()));
                    let ended = if failed { Ended::Failed } else { Ended::Answered };
                    if breaker.handle(ticket, ended, now_ms) {
                        probe_until = 0;
                    }
                }
                if let State::Closed { failures } = breaker.state() {
                    prop_assert!(failures < FAILURES_MAX);
                }
            }
        }
    }
}
