//! Promises about scopes other than tasks: repositories and their locks, threads and their messages.

use super::{
    Backend,
    author::{Author, LEASE_MS, OWNERS, WORKERS},
    graph::{Graph, name},
    world::World,
};
use crate::{Content, ContentKey, Reader};
use relaymesh_core::{
    backoff::Backoff,
    content::Media,
    hlc::Hlc,
    id::{LeaseToken, MessageId, RepositoryId, ThreadId},
    kernel::{Refusal, Rows},
    lanes::Priority,
    lock::{self, Case, EDIT_TTL_MS, Mode, RepositoryRows},
    message::{self, Draft, State, ThreadRows},
    op::{Body, HeldLock, HeldMessage, Scope},
    row::StateHash,
};

/// The scope of a repository in the namespace `default`.
pub fn repository(text: &str) -> Scope {
    Scope::Repository(RepositoryId::of(&name("default"), text))
}

impl Author {
    /// Takes an exclusive lock for an edit.
    pub fn lock(&mut self, text: &str, key: &str) -> Result<HeldLock, Refusal> {
        let token = LeaseToken::new(self.now_ms, self.next());
        let scope = repository(text);
        let nothing = Hlc { wall_ms: 0, logical: 0, node: self.node() };
        let seen = self.scopes.get(&scope).and_then(|(rows, _)| rows.as_ref()).map_or(nothing, Rows::head);
        let body = Body::Lock(lock::Body::AcquireLock {
            repository: text.parse().unwrap(),
            key: key.parse().unwrap(),
            mode: Mode::Exclusive,
            case: Case::Sensitive,
            holder: name("tester"),
            owner: OWNERS[0],
            token,
            ttl_ms: EDIT_TTL_MS,
            purpose: "to edit".to_owned(),
            seen,
        });
        self.say_about(scope, body)?;
        Ok(HeldLock { token, fence: self.locks(text).repository.fence })
    }

    /// Gives a lock back.
    pub fn unlock(&mut self, text: &str, held: HeldLock) -> Result<(), Refusal> {
        self.say_about(repository(text), lock::Body::ReleaseLock { held })
    }

    /// A repository, as of the last command.
    pub fn locks(&self, text: &str) -> &RepositoryRows {
        self.scopes[&repository(text)].0.as_ref().and_then(Rows::repository).unwrap()
    }
}

impl Author {
    /// Sends a message in a thread, with content.
    pub fn send(&mut self, thread: ThreadId, to: &str, priority: Priority) -> MessageId {
        let (id, content) = (MessageId::new(self.now_ms, self.next()), Content::Inline(b"\"hello\"".to_vec()));
        let draft = Draft {
            id,
            from: name("tester"),
            to: name(to),
            priority,
            reply_to: None,
            asks: None,
            content: content.named(Media::Json),
            trace_id: 1,
            ttl_ms: Some(60_000),
            max_deliveries: 3,
            backoff: Backoff { base_ms: 1_000, max_ms: 60_000 },
        };
        self.say_about(Scope::Thread(thread), message::Body::SendMessage { draft }).unwrap();
        self.put_content(content);
        id
    }

    /// Hands a message to its recipient.
    pub fn deliver(&mut self, thread: ThreadId, message: MessageId) -> HeldMessage {
        let token = LeaseToken::new(self.now_ms, self.next());
        let (recipient, seen) = {
            let rows = self.thread(thread);
            (rows.messages[&message].draft.to.clone(), rows.thread.head)
        };
        let (owner, worker, lease_ms) = (OWNERS[0], WORKERS[0], LEASE_MS);
        let body =
            Body::Message(message::Body::DeliverMessage { message, recipient, owner, worker, token, lease_ms, seen });
        self.say_about(Scope::Thread(thread), body).unwrap();
        HeldMessage { message, epoch: self.thread(thread).messages[&message].epoch, token }
    }

    /// The recipient has dealt with a message.
    pub fn acknowledge(&mut self, thread: ThreadId, held: HeldMessage) {
        self.say_about(Scope::Thread(thread), message::Body::AcknowledgeMessage { held }).unwrap();
    }

    /// A thread, as of the last command.
    pub fn thread(&self, thread: ThreadId) -> &ThreadRows {
        match &self.scopes[&Scope::Thread(thread)].0 {
            Some(Rows::Thread(rows)) => rows,
            other => panic!("not a thread: {other:?}"),
        }
    }
}

const THREAD: ThreadId = ThreadId::new(1, 7);

/// A thread and its messages come back, each with the place of its content.
pub fn a_thread_comes_back_with_its_messages<B: Backend>() {
    let mut world = World::<B>::new();
    let first = world.author.send(THREAD, "reviewer", Priority::Normal);
    world.author.send(THREAD, "writer", Priority::High);
    world.author.deliver(THREAD, first);
    world.commit();
    for _ in 0..2 {
        let found = world.reader().scope(Scope::Thread(THREAD)).unwrap();
        assert_eq!(found, Some(Rows::Thread(world.author.thread(THREAD).clone())));
        let message = &world.author.thread(THREAD).messages[&first];
        let bytes = world.reader().bytes(ContentKey::new(message.content_pos, 0)).unwrap().unwrap();
        message.draft.content.check(&bytes).unwrap();
        world.restart();
    }
}

/// An inbox has what waits for that agent, in that lane and namespace, and is due: longest waiting first.
pub fn an_inbox_is_in_order_and_holds_nothing_else<B: Backend>() {
    let mut world = World::<B>::new();
    let (lane, other) = (Priority::Normal, ThreadId::new(1, 8));
    let mut sent = Vec::new();
    for thread in [THREAD, other, THREAD] {
        sent.push((thread, world.author.send(thread, "reviewer", lane)));
        world.author.now_ms += 10;
    }
    world.author.send(THREAD, "reviewer", Priority::High);
    world.author.send(THREAD, "writer", lane);
    world.commit();
    let now_ms = world.author.now_ms;
    let inbox = |world: &World<B>, namespace: &str, limit| {
        world.reader().inbox(&name(namespace), &name("reviewer"), lane, now_ms, limit).unwrap()
    };
    assert_eq!(inbox(&world, "default", 9), sent);
    assert_eq!(inbox(&world, "default", 2), sent[..2]);
    assert_eq!(inbox(&world, "other", 9), []);
    assert_eq!(world.reader().inbox(&name("default"), &name("reviewer"), lane, 1, 9).unwrap(), [], "nothing is due");
    let held = world.author.deliver(sent[0].0, sent[0].1);
    world.commit();
    assert_eq!(inbox(&world, "default", 9), sent[1..]);
    world.author.acknowledge(sent[0].0, held);
    world.commit();
    world.restart();
    assert_eq!(inbox(&world, "default", 9), sent[1..]);
}

/// A delivery is due when its lease ends, and a message when it becomes too old, whichever comes first.
pub fn messages_fall_due_by_lease_and_by_age<B: Backend>() {
    let mut world = World::<B>::new();
    let from_ms = world.author.now_ms;
    let message = world.author.send(THREAD, "reviewer", Priority::Normal);
    world.commit();
    assert_eq!(world.reader().next_due(from_ms).unwrap(), Some(from_ms + 60_000));
    world.author.deliver(THREAD, message);
    world.commit();
    assert_eq!(world.reader().next_due(from_ms).unwrap(), Some(from_ms + LEASE_MS));
    assert_eq!(world.reader().due_scopes(u64::MAX, 9).unwrap(), [(from_ms + LEASE_MS, Scope::Thread(THREAD))]);
}

/// A thread is found by the state of any of its messages, once, and in pages.
pub fn threads_are_found_by_the_state_of_a_message<B: Backend>() {
    let mut world = World::<B>::new();
    let other = ThreadId::from_bytes([0xee; 16]);
    let first = world.author.send(THREAD, "reviewer", Priority::Normal);
    world.author.send(THREAD, "reviewer", Priority::High);
    world.author.send(other, "reviewer", Priority::Normal);
    world.commit();
    let threads = |world: &mut World<B>, state, after| world.reader().threads(state, after, 9).unwrap();
    let mut both = [THREAD, other];
    both.sort();
    assert_eq!(threads(&mut world, State::Queued, None), both);
    assert_eq!(threads(&mut world, State::Queued, Some(both[0])), both[1..]);
    assert_eq!(world.reader().threads(State::Queued, None, 1).unwrap(), both[..1]);
    assert_eq!(threads(&mut world, State::Processing, None), []);
    world.author.deliver(THREAD, first);
    world.commit();
    assert_eq!(threads(&mut world, State::Processing, None), [THREAD]);
    assert_eq!(threads(&mut world, State::Queued, None), both);
}

/// A repository and its locks come back, and are there after a restart.
pub fn a_repository_comes_back_with_its_locks<B: Backend>() {
    let mut world = World::<B>::new();
    assert_eq!(world.reader().scope(repository("app")).unwrap(), None);
    for key in ["src/**", "README.md", "docs/*.md"] {
        world.author.lock("app", key).unwrap();
    }
    world.commit();
    for _ in 0..2 {
        let found = world.reader().scope(repository("app")).unwrap();
        assert_eq!(found.as_ref().and_then(Rows::repository), Some(world.author.locks("app")));
        assert_eq!(world.reader().scope(repository("other")).unwrap(), None);
        world.restart();
    }
}

/// A lock that is given back is gone; the fence stays (D22).
pub fn a_released_lock_is_gone_and_the_fence_stays<B: Backend>() {
    let mut world = World::<B>::new();
    let held = world.author.lock("app", "a").unwrap();
    world.commit();
    world.author.unlock("app", held).unwrap();
    world.commit();
    world.restart();
    assert!(world.author.locks("app").locks.is_empty());
    assert_eq!(world.author.lock("app", "a").unwrap().fence, held.fence + 1);
    world.commit();
}

/// A lock may come, go and come again in one batch.
pub fn rows_may_come_and_go_within_a_batch<B: Backend>() {
    let mut world = World::<B>::new();
    for _ in 0..3 {
        let held = world.author.lock("app", "a").unwrap();
        world.author.put_rows();
        world.author.unlock("app", held).unwrap();
        world.author.put_rows();
    }
    world.author.lock("app", "b").unwrap();
    world.commit();
    world.restart();
    assert_eq!(world.author.locks("app").locks.len(), 1);
    assert_eq!(world.author.locks("app").repository.fence, 4);
}

/// Scopes are listed in order, in pages, each once; tasks are none of them.
pub fn scopes_are_listed_in_pages<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.submit(&Graph::single());
    let mut expected: Vec<Scope> = Vec::new();
    for text in ["a", "b", "c", "d", "e"] {
        world.author.lock(text, "x").unwrap();
        world.author.lock(text, "y").unwrap();
        expected.push(repository(text));
    }
    world.commit();
    expected.sort_unstable();
    let mut found: Vec<Scope> = Vec::new();
    for _ in 0..4 {
        found.extend(world.reader().scopes(found.last().copied(), 2).unwrap());
    }
    assert_eq!(found, expected);
}

/// What runs out is due at its deadline, the first of all first, and wakes whoever asks what comes next.
pub fn locks_fall_due_at_their_deadlines<B: Backend>() {
    let mut world = World::<B>::new();
    let from_ms = world.author.now_ms;
    for text in ["a", "b"] {
        world.author.lock(text, "x").unwrap();
        world.author.now_ms += 1_000;
    }
    world.commit();
    let mut reader = world.reader();
    let deadlines = [from_ms + EDIT_TTL_MS, from_ms + 1_000 + EDIT_TTL_MS];
    assert_eq!(reader.next_due(from_ms).unwrap(), Some(deadlines[0]));
    assert_eq!(reader.next_due(deadlines[0]).unwrap(), Some(deadlines[1]));
    assert_eq!(reader.due_scopes(deadlines[0] - 1, 9).unwrap(), []);
    assert_eq!(reader.due_scopes(deadlines[0], 9).unwrap(), [(deadlines[0], repository("a"))]);
    let both = [(deadlines[0], repository("a")), (deadlines[1], repository("b"))];
    assert_eq!(reader.due_scopes(u64::MAX, 9).unwrap(), both);
    assert_eq!(reader.due_scopes(u64::MAX, 1).unwrap(), both[..1]);
}

/// The state hash is of these rows too.
pub fn the_state_hash_covers_scopes<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::single());
    let held = world.author.lock("app", "a").unwrap();
    world.author.lock("app", "b").unwrap();
    world.commit();
    world.author.unlock("app", held).unwrap();
    world.commit();
    let rows = world.reader().scope(repository("app")).unwrap().unwrap();
    let expected = StateHash::of(world.author.rows(task)).0.wrapping_add(StateHash::of_rows(&rows).0);
    assert_eq!(world.reader().head().unwrap().state.0, expected);
}

/// A row that should be new and is there, or should be there and is not, is a conflict, and nothing changes.
pub fn rows_that_do_not_fit_are_refused<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.lock("app", "a").unwrap();
    let first = world.author.take();
    world.try_commit(&first).unwrap();
    world.author.lock("app", "b").unwrap();
    let mut second = world.author.take();
    let again = first.scopes.iter().filter(|put| put.part.is_some()).cloned();
    second.scopes.extend(again);
    world.refuse(&second);
    second.scopes.truncate(1);
    second.scopes.iter_mut().for_each(|put| put.part = Some([9; 16]));
    world.refuse(&second);
}
