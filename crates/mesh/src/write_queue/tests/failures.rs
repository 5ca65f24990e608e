//! Which failures wait, each status by itself.

use super::*;

#[test]
fn f7_d12_every_status_is_an_outage_or_a_refusal_as_listed() {
    for status in 0..=999 {
        let expected = match status {
            502..=504 => Verdict::Outage,
            408 => Verdict::OutageByReading(Note::RequestTimeout),
            425 => Verdict::OutageByReading(Note::TooEarly),
            429 => Verdict::OutageByReading(Note::TooManyRequests),
            500 => Verdict::OutageByReading(Note::ServerError),
            _ => Verdict::Refused,
        };
        assert_eq!(Failure::Http(status).verdict(), expected, "{status}");
    }
    for refused in [400, 401, 403, 404, 409, 422] {
        assert!(!Failure::Http(refused).verdict().is_outage(), "{refused} is listed as final");
    }
    for outage in [
        Failure::Timeout,
        Failure::Aborted,
        Failure::ConnectionRefused,
        Failure::NameNotFound,
        Failure::ConnectionReset,
        Failure::Network,
        Failure::QuorumTimeout,
        Failure::CircuitOpen,
    ] {
        assert_eq!(outage.verdict(), Verdict::Outage, "{outage}");
    }
    assert_eq!(Failure::Tls.verdict(), Verdict::OutageByReading(Note::Tls));
}

#[test]
fn f7_an_outage_waits_and_a_refusal_is_only_recorded() {
    for (failure, status) in [
        (Failure::Http(503), Status::Pending),
        (Failure::Timeout, Status::Pending),
        (Failure::Http(422), Status::Failed),
        (Failure::Http(404), Status::Failed),
    ] {
        let mut queue = Queue::default();
        let enqueued = queue.enqueue(write(1, 10, 2), failure, 10, 500).unwrap();
        queue.validate().unwrap();
        let row = queue.row(id(1)).unwrap();
        assert_eq!((row.status, row.attempt_count), (status, 1));
        assert_eq!(enqueued == Enqueued::Failed, status == Status::Failed);
        assert_eq!(queue.next(node(2), 1_000).is_some(), status == Status::Pending, "a refusal is never replayed");
    }
}

#[test]
fn d12_a_row_that_waits_by_our_reading_says_so() {
    let mut queue = Queue::default();
    queue.enqueue(write(1, 10, 2), Failure::Http(429), 10, 0).unwrap();
    let said = queue.row(id(1)).unwrap().last_error.clone().unwrap();
    assert_eq!(said, "answered 429 (not listed as an outage; tried again by our reading)");
    queue.enqueue(write(2, 11, 2), Failure::Http(503), 10, 0).unwrap();
    assert_eq!(queue.row(id(2)).unwrap().last_error.as_deref(), Some("answered 503"));
}

#[test]
fn d13_a_write_that_may_be_in_effect_is_queued_as_indeterminate() {
    for (failure, expected) in [
        (Failure::QuorumTimeout, true),
        (Failure::Timeout, true),
        (Failure::Aborted, true),
        (Failure::ConnectionReset, true),
        (Failure::Network, true),
        (Failure::Http(500), true),
        (Failure::Http(502), true),
        (Failure::Http(503), true),
        (Failure::Http(504), true),
        (Failure::Http(408), false),
        (Failure::Http(425), false),
        (Failure::Http(429), false),
        (Failure::ConnectionRefused, false),
        (Failure::NameNotFound, false),
        (Failure::Tls, false),
        (Failure::CircuitOpen, false),
    ] {
        let enqueued = Queue::default().enqueue(write(1, 10, 2), failure, 10, 0);
        assert_eq!(enqueued, Ok(Enqueued::Queued { indeterminate: expected }), "{failure}");
    }
}

#[test]
fn f7_d12_an_outage_is_never_taken_for_a_refusal() {
    for failure in [Failure::Timeout, Failure::QuorumTimeout, Failure::Http(503), Failure::Http(429), Failure::Tls] {
        let mut queue = one();
        queue.begin(id(1), 20).unwrap();
        let before = queue.clone();
        assert_eq!(queue.refuse(id(1), failure, 30), Err(Refusal::AnOutage), "{failure}");
        assert_eq!(queue, before, "it is still being sent, and can be postponed");
        queue.postpone(id(1), failure, 30, 0).unwrap();
    }
}

#[test]
fn d13_a_refusal_does_not_say_that_an_earlier_attempt_had_no_effect() {
    for (first, indeterminate) in [(Failure::Timeout, true), (Failure::ConnectionRefused, false)] {
        let mut queue = Queue::default();
        queue.enqueue(write(1, 10, 2), first, 10, 0).unwrap();
        queue.begin(id(1), 20).unwrap();
        let row = queue.refuse(id(1), Failure::Http(403), 30).unwrap();
        assert_eq!((row.status, row.indeterminate), (Status::Failed, indeterminate), "{first}");
        queue.validate().unwrap();
    }
}
