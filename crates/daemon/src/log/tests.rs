//! What lines look like, and what is left out.

use super::*;
use relaymesh_core::{id::TaskId, lanes::Priority, op::Kind, task::Status};
use relaymesh_runtime::driver::StepEvent;

fn event(kind: Kind, status: Status, task: Status) -> Event {
    let step = StepEvent {
        index: 0,
        name: "fetch".parse().unwrap(),
        agent: "curl".parse().unwrap(),
        lane: Priority::Normal,
        status,
        attempt: 2,
        epoch: 2,
        error: Some("exit code 7: \"no\"".to_owned()),
    };
    Event {
        pos: 12,
        kind,
        task: TaskId::from_bytes([7; 16]),
        trace_id: 0xab,
        asked_in: None,
        status: task,
        steps: vec![step],
    }
}

/// The lines of an event, as they are written.
fn written(form: Form, event: &Event) -> Vec<String> {
    event::lines(event).iter().map(|line| text(form, 0, line)).collect()
}

#[test]
fn r31_a_dead_letter_says_task_step_agent_attempt_trace_and_why() {
    let dead = event(Kind::FailJob, Status::DeadLetter, Status::DeadLetter);
    let lines = written(Form::Json, &dead);
    let first: Value = serde_json::from_str(&lines[0]).unwrap();
    let wanted = json!({
        "ts": "1970-01-01T00:00:00.000Z", "level": "error", "event": "step_dead_letter",
        "task": dead.task, "trace_id": "000000000000000000000000000000ab", "span_id": "4fd0e958a76d2475", "pos": 12, "op": "FailJob",
        "step": "fetch", "agent": "curl", "attempt": 2, "status": "DEAD_LETTER", "error": "exit code 7: \"no\"",
    });
    assert_eq!(first, wanted);
    let end: Value = serde_json::from_str(&lines[1]).unwrap();
    assert_eq!((&end["event"], &end["status"]), (&json!("task_ended"), &json!("DEAD_LETTER")));
    let human = &written(Form::Human, &dead)[0];
    assert!(human.starts_with("1970-01-01T00:00:00.000Z error step_dead_letter "), "{human}");
    assert!(human.contains("agent=curl") && human.contains(r#"error="exit code 7: \"no\"""#), "{human}");
}

#[test]
fn r31_every_thing_that_the_contract_names_has_its_line() {
    let cases = [
        (Kind::ScheduleJob, Status::Pending, Level::Info, "task_submitted"),
        (Kind::ClaimWork, Status::Running, Level::Info, "step_claimed"),
        (Kind::CompleteJob, Status::Success, Level::Info, "step_succeeded"),
        (Kind::FailJob, Status::Retrying, Level::Warn, "step_retrying"),
        (Kind::TimeoutWork, Status::Retrying, Level::Warn, "step_timed_out"),
        (Kind::ExpireWork, Status::Retrying, Level::Warn, "step_reclaimed"),
        (Kind::ExpireWork, Status::Pending, Level::Warn, "step_reclaimed"),
        (Kind::FailJob, Status::Failed, Level::Error, "step_failed"),
        (Kind::FailJob, Status::DeadLetter, Level::Error, "step_dead_letter"),
    ];
    for (kind, status, level, name) in cases {
        let event = event(kind, status, Status::Running);
        assert_eq!(event::level(&event), level, "{name}");
        let lines = event::lines(&event);
        assert!(lines.iter().any(|line| line.event == name && line.level == level), "{name}");
    }
}

/// A log whose lines nobody writes.
fn stuck(level: Level, room: usize) -> (Log, Receiver<Item>) {
    let (items, received) = mpsc::sync_channel(room);
    (Log { items, dropped: Arc::default(), level }, received)
}

#[test]
fn a_log_that_is_behind_counts_what_it_leaves_out_and_holds_nobody_up() {
    let (log, received) = stuck(Level::Debug, 2);
    for _ in 0..5 {
        log.say(Level::Info, "up", json!({}));
    }
    assert_eq!((received.try_iter().count(), log.dropped_total()), (2, 3));
}

#[test]
fn at_info_only_so_many_events_a_second_are_kept_but_every_failure() {
    let (log, received) = stuck(Level::Info, 10_000);
    let mut watcher = log.watcher();
    let (good, bad) = (
        event(Kind::ClaimWork, Status::Running, Status::Running),
        event(Kind::FailJob, Status::DeadLetter, Status::DeadLetter),
    );
    let begun = Instant::now();
    for _ in 0..3_000 {
        assert!(watcher(&good) && watcher(&bad));
    }
    let seconds = u32::try_from(begun.elapsed().as_secs()).unwrap() + 1;
    let kept = received.try_iter().count();
    assert!((4_000..=3_000 + (EVENTS_A_SECOND * seconds) as usize).contains(&kept), "{kept}");
    assert_eq!(kept + usize::try_from(log.dropped_total()).unwrap(), 6_000);
}

#[test]
fn what_the_level_does_not_ask_for_is_not_even_passed_on() {
    let (log, received) = stuck(Level::Warn, 100);
    let mut watcher = log.watcher();
    watcher(&event(Kind::ClaimWork, Status::Running, Status::Running));
    watcher(&event(Kind::FailJob, Status::Retrying, Status::Running));
    log.say(Level::Info, "up", json!({}));
    assert_eq!((received.try_iter().count(), log.dropped_total()), (1, 0));
}
