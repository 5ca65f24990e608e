//! Namespaces through the engine: made before they are used, and remembered.

use super::{Answered, Rig, name, submit_of};
use crate::driver::{
    Answer, Command, Error, Letter, LifeCommand, LockCommand, MessageCommand, NAMESPACES_MAX, Until, live,
};
use relaymesh_core::{
    content::Media,
    id::{LeaseToken, MessageId, NamespaceId, NodeId, ThreadId, WorkerId},
    lanes::Priority,
    lock::{Case, EDIT_TTL_MS, Mode},
    namespace::{ABOUT_CHARS_MAX, Refusal},
    op::{HeldLock, Scope},
    task::{request::Request as Asked, spec::IdempotencyKey},
};
use relaymesh_store::{Content, Error as StoreError, Reader as _, memory::MemoryStore, verify};

fn create(text: &str) -> Command {
    Command::CreateNamespace { name: name(text), about: "a team".to_owned() }
}

fn submit(namespace: &str, key: &str) -> Command {
    let key = Some(IdempotencyKey::Given(name(key).into()));
    let prepared = Asked::single(name("echo"), None).prepare(&name(namespace), key, 1).unwrap();
    Command::Submit(submit_of(name(namespace), prepared, Until::Accepted))
}

fn send(namespace: &str) -> Command {
    let letter = Letter {
        namespace: name(namespace),
        thread: Some(ThreadId::new(1, 1)),
        message: Some(MessageId::new(1, 1)),
        from: name("asker"),
        to: name("reviewer"),
        priority: Priority::Normal,
        reply_to: None,
        asks: None,
        media: Media::Json,
        content: Content::Inline(b"1".to_vec()),
        trace_id: 7,
        ttl_ms: None,
        max_deliveries: 2,
    };
    Command::Message(MessageCommand::Send(Box::new(letter)))
}

fn acquire(namespace: &str) -> Command {
    Command::Lock(LockCommand::Acquire {
        namespace: name(namespace),
        repository: "app".parse().unwrap(),
        key: "a".parse().unwrap(),
        mode: Mode::Exclusive,
        case: Case::Sensitive,
        holder: name("ann"),
        token: None,
        ttl_ms: EDIT_TTL_MS,
        purpose: String::new(),
    })
}

fn puts(namespace: &str) -> [Command; 3] {
    [submit(namespace, "k"), send(namespace), acquire(namespace)]
}

fn made(text: &str, is_new: bool) -> Result<Answer, Error> {
    Ok(Answer::Namespace { name: name(text), is_new })
}

fn absent(text: &str, near: Option<&str>) -> Result<Answer, Error> {
    Err(Error::NoNamespace { name: name(text), near: near.map(name) })
}

fn full() -> StoreError {
    StoreError::Full { detail: "no space left".to_owned() }
}

/// The log verifies, and folds to the rows.
fn check(rig: &Rig) {
    let mut reader = rig.disk.reader();
    verify::chain(&mut reader, verify::Checked::default(), &mut |_| {}).unwrap();
    verify::rows(&mut reader, &mut |_| {}).unwrap();
    let mut rebuilt = MemoryStore::new(NodeId::new(9, 9));
    assert_eq!(verify::rebuild(&mut reader, &mut rebuilt, &mut |_| {}).unwrap().differences, []);
}

#[test]
fn r26_nothing_is_put_into_a_namespace_that_is_not_there() {
    let mut rig = Rig::new();
    for command in puts("team-a") {
        assert_eq!(rig.call(command), absent("team-a", None));
    }
    assert_eq!(rig.disk.reader().head().unwrap().pos, 0, "nothing was written");
    assert_eq!(rig.call(create("team-a")), made("team-a", true));
    for command in puts("team-a").into_iter().chain(puts("default").into_iter().skip(2)) {
        rig.call(command).unwrap();
    }
    assert_eq!(rig.call(submit("taem-a", "k")), absent("taem-a", Some("team-a")), "a slip of the finger");
    assert_eq!(rig.call(submit("defualt", "k")), absent("defualt", Some("default")));
    check(&rig);
}

#[test]
fn whoever_only_looks_or_speaks_of_what_is_there_is_answered_as_ever() {
    let mut rig = Rig::new();
    let (namespace, agent) = (name("nowhere"), name("reviewer"));
    let take = MessageCommand::Take { namespace, agent, worker: WorkerId::new(1, 1), lease_ms: 1_000, only: None };
    assert_eq!(rig.call(Command::Message(take)), Ok(Answer::Taken(None)));
    let held = HeldLock { token: LeaseToken::new(1, 1), fence: 1 };
    let release = LockCommand::Release { namespace: name("nowhere"), repository: "app".parse().unwrap(), held };
    assert!(matches!(rig.call(Command::Lock(release)), Err(Error::Lock(_))));
}

#[test]
fn a_second_creation_is_no_error_and_changes_nothing() {
    let mut rig = Rig::new();
    assert_eq!(rig.call(create("team-a")), made("team-a", true));
    let pos = rig.disk.reader().head().unwrap().pos;
    assert_eq!(rig.call(create("team-a")), made("team-a", false));
    let other = Command::CreateNamespace { name: name("team-a"), about: "another one".to_owned() };
    assert_eq!(rig.call(other), made("team-a", false));
    assert_eq!(rig.call(create("default")), made("default", false), "it is always there");
    assert_eq!(rig.disk.reader().head().unwrap().pos, pos, "nothing was written");
    assert_eq!(rig.engine.sizes().scopes, 0, "nothing of it stays in memory but its name");
}

#[test]
fn what_the_rules_refuse_is_not_there() {
    let mut rig = Rig::new();
    let long = Command::CreateNamespace { name: name("team-a"), about: "x".repeat(ABOUT_CHARS_MAX + 1) };
    let refusal = Refusal::TooLong { chars: ABOUT_CHARS_MAX + 1 };
    assert_eq!(rig.call(long), Err(Error::Namespace(refusal)));
    assert_eq!(rig.call(submit("team-a", "k")), absent("team-a", None));
}

#[test]
fn what_is_created_can_be_used_in_the_same_batch() {
    let mut rig = Rig::new();
    let too_early = rig.send(submit("team-a", "k"));
    let commands = std::iter::once(create("team-a")).chain(puts("team-a")).chain([create("team-a")]);
    let answers: Vec<Answered> = commands.map(|command| rig.send(command)).collect();
    assert!(rig.commit_one());
    let answers: Vec<_> = answers.iter().map(|answer| answer.try_recv().unwrap()).collect();
    assert_eq!(too_early.try_recv().unwrap(), absent("team-a", None), "it came first");
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!((&answers[0], &answers[4]), (&made("team-a", true), &made("team-a", false)));
    rig.settle();
    check(&rig);
}

#[test]
fn d32_a_creation_that_found_no_room_was_never_made() {
    let mut rig = Rig::new();
    rig.call(create("kept")).unwrap();
    let first = rig.send(create("team-a"));
    let batch = rig.engine.poll_batch().unwrap();
    // Decided on the batch that is on its way, and rejected with it.
    let on_it = [rig.send(submit("team-a", "k")), rig.send(create("team-a")), rig.send(create("team-b"))];
    rig.disk.fail_next_commit(full(), false);
    let result = relaymesh_store::Store::commit(rig.store.as_mut().unwrap(), &batch);
    rig.engine.handle_committed(result);
    rig.settle();
    for answered in std::iter::once(first).chain(on_it) {
        assert!(matches!(answered.try_recv().unwrap(), Err(Error::DiskFull(_))));
    }
    for text in ["team-a", "team-b"] {
        assert!(matches!(rig.call(submit(text, "k")), Err(Error::NoNamespace { .. })), "{text}");
    }
    rig.call(submit("kept", "k")).unwrap();
    assert_eq!(rig.call(create("team-a")), made("team-a", true), "room again");
    rig.call(submit("team-a", "k")).unwrap();
    check(&rig);
}

#[test]
fn a_restart_remembers_every_namespace() {
    let mut rig = Rig::new();
    for number in 0..300 {
        rig.send(create(&format!("team-{number}")));
    }
    rig.settle();
    let mut rig = rig.crash();
    for number in [0, 7, 255, 256, 299] {
        rig.call(submit(&format!("team-{number}"), "k")).unwrap();
    }
    assert_eq!(rig.call(create("team-9")), made("team-9", false));
    assert!(matches!(rig.call(submit("team-300", "k")), Err(Error::NoNamespace { near: Some(_), .. })));
}

#[test]
fn d2_whether_a_creation_is_there_after_a_poisoned_commit_the_disk_says() {
    for applied in [false, true] {
        let mut rig = Rig::new();
        rig.disk.fail_next_commit(StoreError::Poisoned { detail: "sync failed".to_owned() }, applied);
        assert!(matches!(rig.call(create("team-a")), Err(Error::Indeterminate(_))));
        let mut rig = rig.crash();
        assert_eq!(rig.call(submit("team-a", "k")).is_ok(), applied);
        assert_eq!(rig.call(create("team-a")), made("team-a", !applied));
    }
}

#[test]
fn d33_a_namespace_outlives_the_op_that_made_it() {
    let mut rig = Rig::new();
    rig.call(create("team-a")).unwrap();
    rig.call(Command::Life(LifeCommand::Checkpoint)).unwrap();
    let Ok(Answer::Compacted { ops: 1, .. }) = rig.call(Command::Life(LifeCommand::Compact)) else {
        panic!("the op may go")
    };
    check(&rig);
    let mut rig = rig.crash();
    rig.call(submit("team-a", "k")).unwrap();
    let scope = Scope::Namespace(NamespaceId::of(&name("team-a")));
    let purge = Command::Life(LifeCommand::Purge { scope });
    let error = rig.call(purge).unwrap_err();
    assert_eq!(error, Error::NotPurged(scope));
    assert!(error.to_string().contains("its tasks, threads and locks carry its name"), "{error}");
    check(&rig);
}

#[test]
fn what_repeats_something_that_is_there_is_answered_as_ever() {
    let mut rig = Rig::new();
    rig.call(create("team-a")).unwrap();
    let first = rig.call(submit("team-a", "k")).unwrap();
    rig.call(send("team-a")).unwrap();
    // As in a root from before namespaces were made: the things are there, and their namespace is not.
    rig.engine.live.forget_namespace(&name("team-a"));
    let Answer::Accepted { task, .. } = first else { panic!("not accepted") };
    let again = rig.call(submit("team-a", "k"));
    assert!(matches!(again, Ok(Answer::Accepted { task: same, merged: true, .. }) if same == task), "{again:?}");
    assert!(matches!(rig.call(send("team-a")), Ok(Answer::Message { .. })));
    assert_eq!(rig.call(submit("team-a", "other")), absent("team-a", None));
}

#[test]
fn so_many_namespaces_and_no_more() {
    let mut rig = Rig::new();
    for number in 1..NAMESPACES_MAX {
        rig.engine.live.note_namespace(name(&format!("n{number}")), &mut live::Share::default());
    }
    assert_eq!(rig.call(create("one-more")), Err(Error::TooManyNamespaces { count: NAMESPACES_MAX }));
    assert_eq!(rig.call(create("n7")), made("n7", false));
}
