//! Promises about content: bytes beside the log.

use super::{Backend, graph::Graph, world::World};
use crate::{Blobs as _, Content, ContentKey, Reader};
use relaymesh_core::{content::INLINE_BYTES_MAX, hash::Hash};

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
        let bytes = reader.bytes(ContentKey::new(rows.task.key, place)).unwrap().unwrap();
        rows.steps[usize::from(place)].spec.input.unwrap().check(&bytes).unwrap();
    }
    let bytes = reader.bytes(ContentKey::new(rows.steps[0].result_pos, 0)).unwrap().unwrap();
    rows.steps[0].result.unwrap().check(&bytes).unwrap();
}

/// Content without bytes is there, and is not the same as no content.
pub fn empty_content_is_content<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.submit(&Graph::single().input(0, b""));
    world.commit();
    assert_eq!(world.reader().bytes(ContentKey::new(1, 0)).unwrap(), Some(Vec::new()));
}

/// 8 KiB of every byte come back.
pub fn the_largest_inline_content_comes_back<B: Backend>() {
    let mut world = World::<B>::new();
    let bytes: Vec<u8> = (0..INLINE_BYTES_MAX).map(|index| (index % 256) as u8).collect();
    world.author.submit(&Graph::single().input(0, &bytes));
    world.commit();
    assert_eq!(world.reader().bytes(ContentKey::new(1, 0)).unwrap(), Some(bytes));
}

/// What is too long for a row is a blob, durable before the commit that names it, and comes back with its place.
pub fn a_blob_comes_back<B: Backend>() {
    let mut world = World::<B>::new();
    let bytes: Vec<u8> = (0..3 * INLINE_BYTES_MAX).map(|index| (index % 251) as u8).collect();
    let content = Content::stow(bytes.clone(), &world.blobs()).unwrap();
    assert!(matches!(&content, Content::Blob(blob) if blob.len as usize == bytes.len()));
    let task = world.author.submit(&Graph::single().content(0, content.clone()));
    world.commit();
    world.restart();
    let mut reader = world.reader();
    let input = reader.task(task).unwrap().unwrap().steps[0].spec.input.unwrap();
    assert_eq!(reader.content(ContentKey::new(1, 0)).unwrap(), Some(content));
    assert_eq!(reader.bytes(ContentKey::new(1, 0)).unwrap().as_ref(), Some(&bytes));
    assert_eq!(reader.blob(&input.hash).unwrap(), Some(bytes));
}

/// Blobs are named by their bytes: what is put twice is one blob.
pub fn equal_bytes_are_one_blob<B: Backend>() {
    let mut world = World::<B>::new();
    let bytes = vec![7; INLINE_BYTES_MAX + 1];
    let [first, second] = [0, 1].map(|_| world.blobs().put(&bytes).unwrap());
    assert_eq!(first, second);
    for blob in [first, second] {
        world.author.submit(&Graph::single().content(0, Content::Blob(blob)));
    }
    world.commit();
    for pos in [1, 2] {
        assert_eq!(world.reader().bytes(ContentKey::new(pos, 0)).unwrap().as_ref(), Some(&bytes));
    }
}

/// A blob that nobody put is not there, and nothing else is given out in its place.
pub fn an_unknown_blob_is_none<B: Backend>() {
    let world = World::<B>::new();
    world.blobs().put(b"short, and a blob all the same").unwrap();
    assert_eq!(world.reader().blob(&Hash::sha256(b"something else")).unwrap(), None);
}

/// Where nothing was put there is nothing.
pub fn unknown_content_is_none<B: Backend>() {
    let mut world = World::<B>::new();
    assert_eq!(world.reader().bytes(ContentKey::new(1, 0)).unwrap(), None);
    world.author.submit(&Graph::wide(2).input(1, b"1"));
    world.commit();
    let mut reader = world.reader();
    for key in [ContentKey::new(1, 0), ContentKey::new(1, 2), ContentKey::new(2, 1), ContentKey::new(0, 1)] {
        assert_eq!(reader.bytes(key).unwrap(), None, "{key:?}");
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
        assert_eq!(reader.bytes(ContentKey::new(pos, place)).unwrap().as_deref(), Some(bytes));
    }
}
