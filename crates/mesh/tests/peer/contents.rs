//! Content between two peers: fetched by hash, checked, withheld where no capability shows it, and gone on with after a cut.

use super::{START_MS, converse, enrol, enrol_with, name, node, open, turn, word};
use rand_pcg::Pcg64Mcg;
use relaymesh_core::{
    backoff::Backoff,
    content::{ContentRef, Media},
    hash::Hash,
    id::TaskId,
    lanes::Priority,
    op::{Body, Scope},
    task::{
        self,
        spec::{IdempotencyKey, RetryPolicy, Schedule, StepSpec},
    },
};
use relaymesh_mesh::{
    capability::{Action, Caveats, Resource},
    feed::MemoryFeedLog,
    peer::{Channel, Command, Peer},
    sync::{Fetched, Frame, Outcome, PART_BYTES_MAX},
};

const SCOPE: Scope = Scope::Task(TaskId::new(1, 1));

fn bytes(parts: usize) -> Vec<u8> {
    (0..parts * PART_BYTES_MAX).map(|at| (at * 7 % 251) as u8).collect()
}

/// A task of one step of this kind, with this input.
fn submit(agent: &str, input: ContentRef) -> Command {
    let step = StepSpec {
        name: name("step"),
        agent: name(agent),
        priority: Priority::Normal,
        depends_on: Vec::new(),
        compensates: None,
        input: None,
        retry: RetryPolicy { max_attempts: 1, backoff: Backoff { base_ms: 1, max_ms: 1 } },
        timeout_ms: None,
        approve: None,
        flow: None,
        terms: None,
    };
    let schedule = Schedule {
        name: name("task"),
        fingerprint: Hash::sha256(b"request"),
        key: IdempotencyKey::Given(name("key").into()),
        trace_id: 1,
        input: Some(input),
        steps: vec![step],
    };
    Command { scope: SCOPE, body: Body::Task(task::Body::ScheduleJob { schedule }), ..word() }
}

/// The owner with a task and its content, and a node with this right, after they have met.
fn two(right: Command, agent: &str, bytes: &[u8]) -> (Peer<Pcg64Mcg>, Peer<Pcg64Mcg>, ContentRef) {
    let mut owner = open(MemoryFeedLog::default(), 1, START_MS);
    let mut other = node(1, 1, (MemoryFeedLog::default(), 1), START_MS);
    let content = owner.keep_content(Media::Text, bytes.to_vec());
    for command in [right, submit(agent, content)] {
        owner.handle_command(command, START_MS).expect("it is there");
    }
    owner.remember([other.node()], START_MS);
    other.remember([owner.node()], START_MS);
    converse(&mut owner, &mut other, START_MS..START_MS + 10_000);
    assert!(other.fold().rows(SCOPE).is_some(), "every op is for everybody");
    (owner, other, content)
}

fn reads(prefix: Option<&str>) -> Command {
    let kind_prefix = prefix.map(|prefix| prefix.parse().expect("it is there"));
    enrol_with(1, Resource::Job, Action::Read, Caveats { kind_prefix, ..Caveats::default() })
}

fn fetch(owner: &mut Peer<Pcg64Mcg>, other: &mut Peer<Pcg64Mcg>, content: ContentRef, scope: Scope) -> Outcome {
    assert!(other.want_content(content, scope, Vec::new(), START_MS + 10_000));
    converse(owner, other, START_MS + 10_000..START_MS + 15_000);
    let Fetched { content: ended, outcome } = other.poll_fetched().expect("it is there");
    assert_eq!((ended, other.poll_fetched()), (content, None));
    outcome
}

#[test]
fn f16_content_is_fetched_by_hash_and_kept_for_others() {
    let bytes = bytes(2);
    let (mut owner, mut other, content) = two(reads(None), "x.a", &bytes);
    assert_eq!(other.content(&content.hash), None);
    assert_eq!(fetch(&mut owner, &mut other, content, SCOPE), Outcome::Complete(bytes.clone()));
    assert_eq!(other.content(&content.hash), Some(&bytes[..]));
    other.drop_content(&content.hash);
    assert_eq!(other.content(&content.hash), None);
}

#[test]
fn f16_other_bytes_than_the_hash_says_are_not_taken() {
    let (mut owner, mut other, content) = two(reads(None), "x.a", &bytes(1));
    // Another content of the same length and name: the giver's disk is damaged, or it lies.
    let false_part = Frame::ContentPart { content: content.hash, offset: 0, bytes: vec![0; content.len as usize] };
    assert!(other.want_content(content, SCOPE, Vec::new(), START_MS + 10_000));
    other.handle_bytes(owner.node(), Channel::Sync, &false_part.encode(), START_MS + 10_001);
    converse(&mut owner, &mut other, START_MS + 10_100..START_MS + 15_000);
    let outcome = other.poll_fetched().expect("it is there").outcome;
    assert_eq!(outcome, Outcome::Unavailable { withheld: 0, failed: 1, held: Vec::new() });
    assert_eq!(other.content(&content.hash), None);
}

#[test]
fn l13_content_is_withheld_where_no_capability_shows_it() {
    let withheld = Outcome::Unavailable { withheld: 1, failed: 0, held: Vec::new() };
    let short = b"short".as_slice();
    for (right, agent, shown) in [
        (reads(None), "x.a", true),
        (reads(Some("x")), "x.a", true),
        (reads(Some("x")), "y.a", false),
        (enrol_with(1, Resource::Job, Action::Claim, Caveats::default()), "x.a", false),
        (enrol(1), "x.a", false),
    ] {
        let found = format!("{right:?} of {agent}");
        let (mut owner, mut other, content) = two(right, agent, short);
        let expected = if shown { Outcome::Complete(short.to_vec()) } else { withheld.clone() };
        assert_eq!(fetch(&mut owner, &mut other, content, SCOPE), expected, "{found}");
    }
}

#[test]
fn l13_only_what_a_task_names_is_shown_with_it() {
    let withheld = Outcome::Unavailable { withheld: 1, failed: 0, held: Vec::new() };
    let (mut owner, mut other, content) = two(reads(None), "x.a", b"named");
    let secret = owner.keep_content(Media::Text, b"another".to_vec());
    assert_eq!(fetch(&mut owner, &mut other, secret, SCOPE), withheld, "the task does not name it");
    let elsewhere = Scope::Task(TaskId::new(1, 2));
    assert_eq!(fetch(&mut owner, &mut other, content, elsewhere), withheld, "there is no such task");
    assert_eq!(fetch(&mut owner, &mut other, content, Scope::Log), withheld, "the log names no content");
}

/// Both go on, and the other one hears only so many parts.
fn converse_until(owner: &mut Peer<Pcg64Mcg>, other: &mut Peer<Pcg64Mcg>, from_ms: u64, parts_max: usize) -> usize {
    let mut parts = 0;
    for now_ms in (from_ms..from_ms + 40_000).step_by(100) {
        let sent = turn(owner, now_ms);
        for (_, channel, bytes) in sent {
            let is_part = channel == Channel::Sync && matches!(Frame::decode(&bytes), Ok(Frame::ContentPart { .. }));
            parts += usize::from(is_part && parts < parts_max);
            // The link breaks with the last part that gets through.
            if parts < parts_max || is_part {
                other.handle_bytes(owner.node(), channel, &bytes, now_ms);
            }
        }
        let is_cut = parts >= parts_max;
        for (_, channel, bytes) in turn(other, now_ms) {
            if !is_cut {
                owner.handle_bytes(other.node(), channel, &bytes, now_ms);
            }
        }
    }
    parts
}

#[test]
fn f16_fetching_goes_on_after_a_cut_where_it_stopped() {
    let bytes = bytes(5);
    let (mut owner, mut other, content) = two(reads(None), "x.a", &bytes);
    assert!(other.want_content(content, SCOPE, Vec::new(), START_MS + 10_000));
    assert_eq!(converse_until(&mut owner, &mut other, START_MS + 10_000, 2), 2);
    let Outcome::Unavailable { held, .. } = other.poll_fetched().expect("it is there").outcome else {
        panic!("nobody is there who could have given the rest")
    };
    assert_eq!(held, bytes[..2 * PART_BYTES_MAX]);

    // They meet again, which takes a while, because each has given the other up.
    converse(&mut owner, &mut other, START_MS + 50_000..START_MS + 150_000);
    assert!(other.want_content(content, SCOPE, held, START_MS + 150_000));
    assert_eq!(converse_until(&mut owner, &mut other, START_MS + 150_000, usize::MAX), 3, "the rest, and no more");
    assert_eq!(other.poll_fetched().expect("it is there").outcome, Outcome::Complete(bytes));
}
