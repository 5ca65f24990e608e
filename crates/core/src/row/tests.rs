//! What the bytes and sums of rows promise.

use super::*;
use crate::{
    backoff::Backoff,
    content::{ContentRef, Media},
    hash::Hash,
    hlc::Hlc,
    id::{LeaseToken, NodeId, OpId, StepId, WorkerId},
    lanes::Priority,
    lock::{Case, Mode},
    message::{DeadReason, Draft, State},
    name::Name,
    op::Hold,
    plan,
    task::{
        Artifact, Attempt, Lease, Outcome, Status,
        spec::{Ask, Flow, IdempotencyKey, RetryPolicy, StepSpec, Terms, Workspace},
        state::Failing,
    },
};
use std::collections::BTreeMap;

/// Rows with something in every field.
fn rows(number: u128) -> TaskRows {
    let name = |text: &str| text.parse::<Name>().unwrap();
    let spec = StepSpec {
        name: name("a"),
        agent: name("x"),
        priority: Priority::High,
        depends_on: vec![1],
        compensates: Some(2),
        input: Some(ContentRef::of(Media::Text, b"input")),
        retry: RetryPolicy { max_attempts: 3, backoff: Backoff::default() },
        timeout_ms: Some(7),
        approve: Some(Ask { text: "ok?".to_owned(), deadline_ms: Some(8) }),
        flow: Some(Box::new(Flow { when: Some("input".to_owned()), ..Flow::default() })),
        terms: Some(Box::new(Terms {
            result_schema: Some("true".to_owned()),
            workspace: Some(Workspace { git: "/r".to_owned(), reference: None, branch: None }),
        })),
    };
    let worker = WorkerId::new(1, 2);
    let lease = Lease { owner: NodeId::new(1, 1), worker, token: LeaseToken::new(1, 3), claimed_ms: 4, deadline_ms: 5 };
    let attempt = Attempt {
        epoch: 1,
        worker,
        started_ms: 2,
        ended_ms: 3,
        outcome: Outcome::Timeout,
        error: Some("slow".to_owned()),
    };
    let about = vec![(name("model"), "m".to_owned())];
    let content = ContentRef::of(Media::Json, b"{}");
    let artifact = Artifact { pos: 12, epoch: 1, kind: name("inference"), name: name("call"), content, about };
    let step = Step {
        result_pos: 9,
        rev: 2,
        spec,
        status: Status::Running,
        ready: true,
        passed: true,
        fan: Some(3),
        attempt: 2,
        epoch: 4,
        due_ms: 6,
        lease: Some(lease),
        result: Some(ContentRef::of(Media::Json, b"1")),
        output_artifacts: vec![artifact],
        success: 1,
        error: Some("late".to_owned()),
        decided_by: Some(name("alice")),
        history: vec![attempt],
        updated_ms: 11,
    };
    let task = Task {
        key: 5,
        rev: 3,
        id: TaskId::new(1, number),
        namespace: name("default"),
        name: name("task"),
        status: Status::Running,
        idempotency_key: IdempotencyKey::Given(name("key").into()),
        fingerprint: Hash::sha256(b"request"),
        trace_id: 77,
        created_ms: 1,
        updated_ms: 11,
        head: Hlc { wall_ms: 11, logical: 0, node: NodeId::new(1, 1) },
        successes: 1,
        failing: Some(Failing { step: 0, status: Status::Failed }),
        cancel: Some(crate::op::CancelMode::Soft),
        input: Some(ContentRef::of(Media::Json, b"2")),
        result_hash: Some(Hash::sha256(b"1")),
    };
    TaskRows { task, steps: vec![step.clone(), Step { epoch: 5, ..step }] }
}

#[test]
fn rows_come_back_without_what_is_of_this_node_only() {
    let TaskRows { task, steps } = rows(1);
    let mut bytes = b"left over from the row before".to_vec();
    let sum = encode_task(&task, &mut bytes);
    assert_eq!(decode(RowKey::Task(task.id), &bytes, sum), Ok(Task { key: 0, ..task.clone() }));
    let sum = encode_step(task.id, 1, &steps[1], &mut bytes);
    let mut here_only = Step { result_pos: 0, ..steps[1].clone() };
    here_only.output_artifacts[0].pos = 0;
    assert_eq!(decode(RowKey::Step(task.id, 1), &bytes, sum), Ok(here_only));
    assert_eq!(StateHash::of(&rows(1)), StateHash::of(&TaskRows { task: Task { key: 99, ..task }, steps }));
}

#[test]
fn every_flipped_bit_and_every_truncation_is_found() {
    let TaskRows { task, steps } = rows(1);
    let mut bytes = Vec::new();
    let sum = encode_step(task.id, 0, &steps[0], &mut bytes);
    let read = |bytes: &[u8], sum| decode::<Step>(RowKey::Step(task.id, 0), bytes, sum);
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(read(&flipped, sum), Err(Error::Sum), "bit {bit}");
    }
    for bit in 0..128 {
        assert_eq!(read(&bytes, RowSum(sum.0 ^ (1 << bit))), Err(Error::Sum), "bit {bit} of the sum");
    }
    for len in 0..bytes.len() {
        assert_eq!(read(&bytes[..len], sum), Err(Error::Sum), "cut to {len}");
    }
}

#[test]
fn a_row_in_the_place_of_another_is_found() {
    let TaskRows { task, steps } = rows(1);
    let mut bytes = Vec::new();
    let sum = encode_step(task.id, 0, &steps[0], &mut bytes);
    for key in [RowKey::Step(task.id, 1), RowKey::Step(TaskId::new(1, 2), 0), RowKey::Task(task.id)] {
        assert_eq!(decode::<Step>(key, &bytes, sum), Err(Error::Sum), "{key:?}");
    }
}

#[test]
fn bytes_that_match_their_sum_and_cannot_be_read_are_refused_by_name() {
    let key = RowKey::Task(TaskId::new(1, 1));
    let read = |bytes: &[u8]| decode::<Task>(key, bytes, sum_of(key, bytes)).unwrap_err();
    assert_eq!(read(&[1, 0, 0]), Error::Version { found: 1 }, "a row of before there were artifacts");
    assert_eq!(read(&[2, 0, 0]), Error::Version { found: 2 }, "a row of before attempts had reasons");
    assert_eq!(read(&[3, 0, 0]), Error::Version { found: 3 }, "a row of before there were conditions and lists");
    assert_eq!(read(&[4, 0, 0]), Error::Version { found: 4 }, "a row of before steps had terms");
    assert_eq!(read(&[6, 0, 0]), Error::Version { found: 6 });
    assert!(matches!(read(&[]), Error::Damaged { .. }));
    assert!(matches!(read(&[VERSION, 1]), Error::Damaged { .. }));
}

#[test]
fn bytes_after_a_row_are_not_passed_over() {
    let task = rows(1).task;
    let mut bytes = Vec::new();
    encode_task(&task, &mut bytes);
    bytes.push(0);
    let key = RowKey::Task(task.id);
    let error = decode::<Task>(key, &bytes, sum_of(key, &bytes)).unwrap_err();
    assert_eq!(error, Error::Damaged { detail: "1 bytes too many".to_owned() });
}

#[test]
fn the_state_hash_does_not_depend_on_the_order_of_rows() {
    let mut bytes = Vec::new();
    let mut sums = Vec::new();
    for rows in [rows(1), rows(2)] {
        sums.push(encode_task(&rows.task, &mut bytes));
        sums.extend(rows.indexed().map(|(index, step)| encode_step(rows.task.id, index, step, &mut bytes)));
    }
    let total = |sums: &mut dyn Iterator<Item = &RowSum>| {
        let mut hash = StateHash::default();
        sums.for_each(|sum| hash.change(RowSum::default(), *sum));
        hash
    };
    let forward = total(&mut sums.iter());
    assert_eq!(forward, total(&mut sums.iter().rev()));
    assert_eq!(forward.0, StateHash::of(&rows(1)).0.wrapping_add(StateHash::of(&rows(2)).0));
    assert_ne!(forward, total(&mut sums[1..].iter()), "a lost row is found");
    assert_ne!(forward, total(&mut sums.iter().chain(&sums[..1])), "a doubled row is found");
}

#[test]
fn a_change_back_undoes_a_change() {
    let (old, new) = (RowSum(u128::MAX - 3), RowSum(17));
    let mut hash = StateHash(5);
    hash.change(old, new);
    assert_ne!(hash, StateHash(5));
    hash.change(new, old);
    assert_eq!(hash, StateHash(5));
}

fn repository() -> RepositoryRows {
    let (namespace, token) = ("default".parse::<Name>().unwrap(), LeaseToken::new(1, 3));
    let repository = Repository {
        rev: 3,
        id: RepositoryId::of(&namespace, "app"),
        namespace: namespace.clone(),
        name: "app".parse().unwrap(),
        fence: 7,
        head: Hlc { wall_ms: 11, logical: 0, node: NodeId::new(1, 1) },
        updated_ms: 11,
    };
    let lock = Lock {
        rev: 2,
        key: "src/**".parse().unwrap(),
        mode: Mode::Exclusive,
        case: Case::Folded,
        holder: namespace,
        owner: NodeId::new(1, 1),
        token,
        fence: 6,
        acquired_ms: 4,
        deadline_ms: 5,
        purpose: "edit".to_owned(),
    };
    RepositoryRows { repository, locks: BTreeMap::from([(token, lock)]) }
}

#[test]
fn a_repository_and_its_locks_come_back_and_are_all_in_the_hash() {
    let rows = repository();
    let (id, lock) = (rows.repository.id, rows.locks.values().next().unwrap());
    let mut bytes = Vec::new();
    let first = encode_repository(&rows.repository, &mut bytes);
    assert_eq!(decode(RowKey::Repository(id), &bytes, first), Ok(rows.repository.clone()));
    let second = encode_lock(id, lock, &mut bytes);
    assert_eq!(decode(RowKey::Lock(id, lock.token), &bytes, second), Ok(lock.clone()));
    assert_eq!(decode::<Lock>(RowKey::Lock(id, LeaseToken::new(9, 9)), &bytes, second), Err(Error::Sum));
    let whole = StateHash::of_rows(&Rows::Repository(rows.clone()));
    assert_eq!(whole.0, first.0.wrapping_add(second.0));
    let without = RepositoryRows { locks: BTreeMap::new(), ..rows };
    assert_ne!(StateHash::of_rows(&Rows::Repository(without)), whole, "a lost lock is found");
}

fn thread() -> ThreadRows {
    let (name, at) = ("default".parse::<Name>().unwrap(), Hlc { wall_ms: 11, logical: 0, node: NodeId::new(1, 1) });
    let thread =
        Thread { rev: 3, id: ThreadId::new(1, 1), namespace: name.clone(), created_ms: 1, updated_ms: 11, head: at };
    let id = MessageId::new(1, 2);
    let token = LeaseToken::new(1, 3);
    let draft = Draft {
        id,
        from: name.clone(),
        to: name,
        priority: Priority::Low,
        reply_to: Some(id),
        asks: Some(Hold { step: StepId { task: TaskId::new(1, 1), index: 1 }, epoch: 2, token }),
        content: ContentRef::of(Media::Json, b"1"),
        trace_id: u128::MAX,
        ttl_ms: Some(9),
        max_deliveries: 3,
        backoff: Backoff::default(),
    };
    let worker = WorkerId::new(1, 2);
    let lease = Lease { owner: NodeId::new(1, 1), worker, token, claimed_ms: 4, deadline_ms: 5 };
    let message = Message {
        content_pos: 77,
        rev: 2,
        draft,
        state: State::Processing,
        due_ms: 3,
        expires_ms: 10,
        deliveries: 1,
        epoch: 2,
        lease: Some(lease),
        answered_by: Some(id),
        dead: Some(DeadReason::Expired),
        error: Some("late".to_owned()),
        sent_ms: 1,
        updated_ms: 11,
    };
    ThreadRows { thread, messages: BTreeMap::from([(id, message)]) }
}

#[test]
fn a_thread_and_its_messages_come_back_and_are_all_in_the_hash() {
    let rows = thread();
    let (id, message) = (rows.thread.id, rows.messages.values().next().unwrap());
    let mut bytes = Vec::new();
    let first = encode_thread(&rows.thread, &mut bytes);
    assert_eq!(decode(RowKey::Thread(id), &bytes, first), Ok(rows.thread.clone()));
    let second = encode_message(id, message, &mut bytes);
    let there = decode(RowKey::Message(id, message.draft.id), &bytes, second);
    assert_eq!(there, Ok(Message { content_pos: 0, ..message.clone() }), "where content lies is of this node only");
    assert_eq!(decode::<Message>(RowKey::Message(id, MessageId::new(9, 9)), &bytes, second), Err(Error::Sum));
    let whole = StateHash::of_rows(&Rows::Thread(rows.clone()));
    assert_eq!(whole.0, first.0.wrapping_add(second.0));
    let without = ThreadRows { messages: BTreeMap::new(), ..rows };
    assert_ne!(StateHash::of_rows(&Rows::Thread(without)), whole, "a lost message is found");
}

fn namespace() -> Namespace {
    let name: Name = "team-a".parse().unwrap();
    Namespace {
        rev: 1,
        id: NamespaceId::of(&name),
        name,
        author: "ann".parse().unwrap(),
        about: "the first team".to_owned(),
        created_ms: 11,
        head: Hlc { wall_ms: 11, logical: 0, node: NodeId::new(1, 1) },
    }
}

#[test]
fn a_namespace_comes_back_and_is_in_the_hash() {
    let row = namespace();
    let mut bytes = Vec::new();
    let sum = encode_namespace(&row, &mut bytes);
    assert_eq!(decode(RowKey::Namespace(row.id), &bytes, sum), Ok(row.clone()));
    assert_eq!(decode::<Namespace>(RowKey::Namespace(NamespaceId::new(9, 9)), &bytes, sum), Err(Error::Sum));
    assert_eq!(StateHash::of_rows(&Rows::Namespace(row)).0, sum.0);
}

fn plan() -> PlanRows {
    let (mission, name) = (ItemId::new(1, 1), |text: &str| text.parse::<Name>().unwrap());
    let head = Hlc { wall_ms: 11, logical: 0, node: NodeId::new(1, 1) };
    let plan = Plan {
        rev: 3,
        id: PlanId::new(1, 1),
        namespace: name("default"),
        mission,
        author: name("ann"),
        created_ms: 4,
        updated_ms: 11,
        head,
    };
    let item = Item {
        rev: 2,
        by: OpId::new(1, 5),
        id: ItemId::new(1, 2),
        kind: plan::ItemKind::Task,
        parent: Some(mission),
        place: 6,
        title: "sign it".to_owned(),
        notes: "with the key".to_owned(),
        status: plan::Status::Blocked,
        task: Some(TaskId::new(1, 1)),
        author: name("ben"),
        created_ms: 7,
        updated_ms: 11,
    };
    PlanRows { plan, items: BTreeMap::from([(item.id, item)]) }
}

#[test]
fn a_plan_and_its_items_come_back_and_are_all_in_the_hash() {
    let rows = plan();
    let (id, item) = (rows.plan.id, rows.items.values().next().unwrap());
    let mut bytes = Vec::new();
    let first = encode_plan(&rows.plan, &mut bytes);
    assert_eq!(decode(RowKey::Plan(id), &bytes, first), Ok(rows.plan.clone()));
    let second = encode_plan_item(id, item, &mut bytes);
    assert_eq!(decode(RowKey::PlanItem(id, item.id), &bytes, second), Ok(item.clone()));
    for other in [RowKey::PlanItem(id, ItemId::new(9, 9)), RowKey::PlanItem(PlanId::new(9, 9), item.id)] {
        assert_eq!(decode::<Item>(other, &bytes, second), Err(Error::Sum), "{other:?}");
    }
    let whole = StateHash::of_rows(&Rows::Plan(rows.clone()));
    assert_eq!(whole.0, first.0.wrapping_add(second.0));
    let without = PlanRows { items: BTreeMap::new(), ..rows };
    assert_ne!(StateHash::of_rows(&Rows::Plan(without)), whole, "a lost item is found");
}

/// The bytes of rows as they are on disks. Another sum here means that stores have to fold their rows again: give the rows
/// the next version, so that a store that was not folded again says so.
#[test]
fn rows_have_the_bytes_of_their_version() {
    let sums = [
        StateHash::of(&rows(1)),
        StateHash::of_rows(&Rows::Thread(thread())),
        StateHash::of_rows(&Rows::Repository(repository())),
        StateHash::of_rows(&Rows::Namespace(namespace())),
        StateHash::of_rows(&Rows::Plan(plan())),
    ];
    let found = sums.map(|sum| format!("{:032x}", sum.0));
    assert_eq!(
        (VERSION, found.each_ref().map(String::as_str)),
        (
            5,
            [
                "45888382ce0e4face498bce3622ce5b3",
                "705292ec6e30dcde8dc9a8d1be37ad12",
                "6dd3b0cd92355e5d0254096a766835ac",
                "fcc7a3c80b2e90e90e76196486a6ee3c",
                "45e019acaa8381911e41898c8ce1b57a"
            ]
        )
    );
}
