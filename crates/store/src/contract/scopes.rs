//! Promises about scopes other than tasks: repositories and their locks.

use super::{
    Backend,
    author::{Author, OWNERS},
    graph::{Graph, name},
    world::World,
};
use crate::Reader;
use relaymesh_core::{
    hlc::Hlc,
    id::{LeaseToken, RepositoryId},
    kernel::{Refusal, Rows},
    lock::{Case, EDIT_TTL_MS, Mode, RepositoryRows},
    op::{Body, HeldLock, Scope},
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
        let body = Body::AcquireLock {
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
        };
        self.say_about(scope, body)?;
        Ok(HeldLock { token, fence: self.locks(text).repository.fence })
    }

    /// Gives a lock back.
    pub fn unlock(&mut self, text: &str, held: HeldLock) -> Result<(), Refusal> {
        self.say_about(repository(text), Body::ReleaseLock { held })
    }

    /// A repository, as of the last command.
    pub fn locks(&self, text: &str) -> &RepositoryRows {
        self.scopes[&repository(text)].0.as_ref().and_then(Rows::repository).unwrap()
    }
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
