//! Promises about content: bytes beside the log.

use super::{Backend, graph::Graph, world::World};
use crate::{ContentKey, Reader};
use relaymesh_core::content::INLINE_BYTES_MAX;

/// Inputs and results come back, each at its place, and match what the rows say of them.
pub fn content_comes_back<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::chain(3).input(0, b"{\"n\":0}").input(2, b"{\"n\":2}"));
    let held = world.author.claim(task, 0);
    world.author.complete(task, held, b"{\"r\":0}").unwrap();
    world.commit();
    let mut reader = world.reader();
    let rows = reader.task(task).unwrap().unwrap();
    for place in [0, 2] {
        let bytes = reader.content(ContentKey::new(rows.task.key, place)).unwrap().unwrap();
        rows.steps[usize::from(place)].spec.input.unwrap().check(&bytes).unwrap();
    }
    let bytes = reader.content(ContentKey::new(rows.steps[0].result_pos, 0)).unwrap().unwrap();
    rows.steps[0].result.unwrap().check(&bytes).unwrap();
}

/// Content without bytes is there, and is not the same as no content.
pub fn empty_content_is_content<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.submit(&Graph::single().input(0, b""));
    world.commit();
    assert_eq!(world.reader().content(ContentKey::new(1, 0)).unwrap(), Some(Vec::new()));
}

/// 8 KiB of every byte come back.
pub fn the_largest_inline_content_comes_back<B: Backend>() {
    let mut world = World::<B>::new();
    let bytes: Vec<u8> = (0..INLINE_BYTES_MAX).map(|index| (index % 256) as u8).collect();
    world.author.submit(&Graph::single().input(0, &bytes));
    world.commit();
    assert_eq!(world.reader().content(ContentKey::new(1, 0)).unwrap(), Some(bytes));
}

/// Where nothing was put there is nothing.
pub fn unknown_content_is_none<B: Backend>() {
    let mut world = World::<B>::new();
    assert_eq!(world.reader().content(ContentKey::new(1, 0)).unwrap(), None);
    world.author.submit(&Graph::wide(2).input(1, b"1"));
    world.commit();
    let mut reader = world.reader();
    for key in [ContentKey::new(1, 0), ContentKey::new(1, 2), ContentKey::new(2, 1), ContentKey::new(0, 1)] {
        assert_eq!(reader.content(key).unwrap(), None, "{key:?}");
    }
}

/// Content of neighbouring ops and of the last place of a task lies apart.
pub fn inputs_and_results_do_not_meet<B: Backend>() {
    let mut world = World::<B>::new();
    let first = world.author.submit(&Graph::wide(400).input(0, b"a").input(399, b"z"));
    let second = world.author.submit(&Graph::single().input(0, b"b"));
    for (task, bytes) in [(first, b"r1"), (second, b"r2")] {
        let held = world.author.claim(task, 0);
        world.author.complete(task, held, bytes).unwrap();
    }
    world.commit();
    let mut reader = world.reader();
    let expected: [(u64, u16, &[u8]); 5] = [(1, 0, b"a"), (1, 399, b"z"), (2, 0, b"b"), (4, 0, b"r1"), (6, 0, b"r2")];
    for (pos, place, bytes) in expected {
        assert_eq!(reader.content(ContentKey::new(pos, place)).unwrap().as_deref(), Some(bytes));
    }
}
