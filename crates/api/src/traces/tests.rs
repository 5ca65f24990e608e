use super::*;
use relaymesh_core::{lanes::Priority, name::Name};
use relaymesh_runtime::driver::StepEvent;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn step(index: u16, epoch: u32, status: Status) -> StepEvent {
    let (name, agent) = (name("s"), name("a"));
    StepEvent { index, name, agent, lane: Priority::Normal, status, attempt: epoch, epoch, error: None }
}

fn event(kind: Kind, status: Status, steps: Vec<StepEvent>) -> Event {
    Event { pos: 1, kind, task: TaskId::new(1, 1), trace_id: 7, asked_in: None, status, steps }
}

#[test]
fn what_ended_is_wanted_and_nothing_else() {
    let table = [
        (event(Kind::ClaimWork, Status::Running, vec![step(0, 1, Status::Running)]), 0, 0, false),
        (event(Kind::ApproveStep, Status::Running, vec![step(0, 0, Status::Pending)]), 0, 0, false),
        (event(Kind::FailJob, Status::Running, vec![step(0, 1, Status::Retrying)]), 1, 0, false),
        (event(Kind::ExpireWork, Status::Running, vec![step(0, 2, Status::Pending)]), 1, 0, false),
        (
            event(Kind::CompleteJob, Status::Running, vec![step(0, 1, Status::Success), step(1, 0, Status::Pending)]),
            1,
            1,
            false,
        ),
        (event(Kind::CompleteJob, Status::Success, vec![step(0, 1, Status::Success)]), 1, 1, true),
        (event(Kind::CancelTask, Status::Cancelled, vec![step(0, 0, Status::Cancelled)]), 0, 0, true),
    ];
    for (event, attempts, steps, is_over) in table {
        let found = Wanted::of(&event).unwrap_or_default();
        assert_eq!((found.attempts.len(), found.steps.len(), found.is_over), (attempts, steps, is_over), "{event:?}");
        assert_eq!(found.count(), (attempts + steps + usize::from(is_over)) as u64);
    }
    let submitted = Wanted::of(&event(Kind::ScheduleJob, Status::Pending, Vec::new())).unwrap();
    assert_eq!((submitted.submitted, submitted.count()), (Some(None), 1));
}

#[test]
fn what_comes_soon_goes_together_and_a_task_once() {
    let (notes, received) = mpsc::sync_channel(8);
    let ended = |event: Event| Note::Task(event.task, Wanted::of(&event).unwrap());
    notes.send(ended(event(Kind::CompleteJob, Status::Success, vec![step(0, 1, Status::Success)]))).unwrap();
    let (done, _) = mpsc::sync_channel(1);
    notes.send(Note::End(done)).unwrap();
    let first = ended(event(Kind::ScheduleJob, Status::Pending, Vec::new()));
    let (tasks, end) = gather(first, &received);
    assert!(end.is_some());
    let found = tasks.values().next().unwrap();
    assert_eq!((tasks.len(), found.count()), (1, 4), "{found:?}");
}

#[test]
fn headers_are_checked_and_what_is_wrong_with_one_does_not_repeat_it() {
    let made = |said: &str| Collector::new("http://127.0.0.1:1", said, "n").map(drop);
    assert!(made("").is_ok() && made("authorization=Bearer a=b,x-team=c").is_ok());
    for said in ["canary", "a b=canary", "x=canary\u{7f}y"] {
        let why = made(said).unwrap_err();
        assert!(why.contains("header 1") && !why.contains("canary"), "{why}");
    }
    assert!(Collector::new("nowhere", "", "n").is_err());
}
