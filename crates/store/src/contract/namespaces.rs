//! Promises about namespaces: each is one row that comes once and stays.

use super::{Backend, author::Author, graph::name, plans::plan, scopes::repository, world::World};
use crate::{Reader, memory::MemoryStore, verify};
use relaymesh_core::{
    id::{NamespaceId, NodeId},
    kernel::{Refusal, Rows},
    namespace,
    op::Scope,
    row::StateHash,
};

/// The scope of a namespace.
pub fn namespace(text: &str) -> Scope {
    Scope::Namespace(NamespaceId::of(&name(text)))
}

impl Author {
    /// Makes a namespace.
    pub fn create_namespace(&mut self, text: &str, about: &str) -> Result<(), Refusal> {
        self.say_about_in(name(text), namespace(text), namespace::Body::CreateNamespace { about: about.to_owned() })
    }
}

fn about<R: Reader>(reader: &mut R, text: &str) -> Option<String> {
    let rows = reader.scope(namespace(text)).unwrap();
    rows.as_ref().and_then(Rows::namespace).map(|row| row.about.clone())
}

/// A namespace comes back with what was said about it, and is there after a restart.
pub fn a_namespace_comes_back<B: Backend>() {
    let mut world = World::<B>::new();
    assert_eq!(about(&mut world.reader(), "team-a"), None);
    world.author.create_namespace("team-a", "the first team: é").unwrap();
    assert!(world.author.create_namespace("team-a", "another one").is_err());
    world.commit();
    for _ in 0..2 {
        assert_eq!(about(&mut world.reader(), "team-a").as_deref(), Some("the first team: é"));
        assert_eq!(about(&mut world.reader(), "team-b"), None);
        let live = [namespace("team-a"), namespace("team-b")].map(|scope| world.reader().is_live(scope).unwrap());
        assert_eq!(live, [true, false]);
        world.restart();
    }
}

/// All namespaces are listed right after the scope of the log, before plans: that is how a start finds them.
pub fn namespaces_are_listed_right_after_the_log<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.lock("app", "x").unwrap();
    let names = ["a", "b", "c", "d", "e"];
    for text in names {
        world.author.create_namespace(text, "").unwrap();
    }
    world.author.begin_plan(plan(1)).unwrap();
    world.commit();
    let mut expected = names.map(namespace).to_vec();
    expected.sort_unstable();
    expected.push(plan(1));
    let mut found = vec![Scope::Log];
    for _ in 0..4 {
        found.extend(world.reader().scopes(found.last().copied(), 2).unwrap());
    }
    assert_eq!(found[1..], expected);
    assert_eq!(world.reader().scopes(None, 1).unwrap(), [repository("app")]);
}

/// The state hash is of these rows too, and nothing of them falls due or rests.
pub fn the_state_hash_covers_namespaces<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.create_namespace("team-a", "").unwrap();
    world.author.create_namespace("team-b", "").unwrap();
    world.commit();
    let mut reader = world.reader();
    let sum = |reader: &mut _, text| {
        let rows = Reader::scope(reader, namespace(text)).unwrap().unwrap();
        StateHash::of_rows(&rows).0
    };
    let expected = sum(&mut reader, "team-a").wrapping_add(sum(&mut reader, "team-b"));
    assert_eq!(reader.head().unwrap().state.0, expected);
    assert_eq!((reader.due_scopes(u64::MAX, 9).unwrap(), reader.rested(u64::MAX, 9).unwrap()), (vec![], vec![]));
    verify::rows(&mut reader, &mut |_| {}).unwrap();
}

/// A namespace that is there is not made again by a batch that says that it is new.
pub fn a_namespace_is_not_created_twice<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.create_namespace("team-a", "").unwrap();
    let first = world.commit();
    world.author.create_namespace("team-b", "").unwrap();
    let mut second = world.author.take();
    second.scopes.extend(first.scopes);
    world.refuse(&second);
}

/// The op that made it goes, the namespace stays: for readers, for a rebuild, and for a restart.
pub fn a_namespace_outlives_its_op<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.create_namespace("team-a", "made before the checkpoint").unwrap();
    world.author.checkpoint();
    world.commit();
    world.author.create_namespace("team-b", "made after it").unwrap();
    let mut reader = world.reader();
    assert_eq!(world.author.drop_ops(&mut reader, 99), 1);
    world.commit();
    world.restart();
    let mut reader = world.reader();
    assert!(reader.ops(0, 9).unwrap()[0].stub().is_some(), "the op is gone");
    let snapshot = reader.snapshot(None, 9).unwrap();
    assert_eq!(snapshot.iter().map(|(scope, _)| *scope).collect::<Vec<_>>(), [namespace("team-a")]);
    let mut rebuilt = MemoryStore::new(NodeId::new(7, 7));
    let report = verify::rebuild(&mut reader, &mut rebuilt, &mut |_| {}).unwrap();
    assert_eq!(report.differences, []);
    let mut copy = crate::Store::reader(&rebuilt).unwrap();
    for (text, said) in [("team-a", "made before the checkpoint"), ("team-b", "made after it")] {
        assert_eq!(about(&mut reader, text).as_deref(), Some(said));
        assert_eq!(about(&mut copy, text).as_deref(), Some(said));
    }
    assert!(world.author.create_namespace("team-a", "again").is_err(), "it is still there");
}
