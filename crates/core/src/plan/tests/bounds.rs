//! How much there may be, and of what.

use super::world::{World, id, item};
use crate::{
    id::{ItemId, OpId, TaskId},
    op::{self, BODY_BYTES_MAX, Op, SeenItem},
    plan::{Body, ITEMS_MAX, Item, ItemKind, NOTES_CHARS_MAX, NewItem, Refusal, TITLE_CHARS_MAX},
};

#[test]
fn f15_a_plan_has_so_many_items_and_no_more() {
    let mut world = World::new();
    for number in 6..=ITEMS_MAX as u128 {
        let more = Item { id: id(number), ..world.item(5).clone() };
        world.rows.as_mut().unwrap().items.insert(more.id, more);
    }
    assert_eq!(world.rows().items.len(), ITEMS_MAX);
    let next = item(9_999, ItemKind::Task, 4);
    assert_eq!(world.add(next.clone()), Err(Refusal::Full { count: ITEMS_MAX }));
    world.remove(77).unwrap();
    world.add(next).unwrap();
}

#[test]
fn titles_are_one_line_and_notes_are_text() {
    let long = |chars: usize| "é".repeat(chars);
    let too_long = |what, max| Err(Refusal::TooLong { what, chars: max + 1, max });
    let not_text = |what, found| Err(Refusal::NotText { what, found });
    let table: Vec<(String, String, Result<(), Refusal>)> = vec![
        (long(TITLE_CHARS_MAX), long(NOTES_CHARS_MAX), Ok(())),
        ("x".to_owned(), "two\nlines,\tand a tab".to_owned(), Ok(())),
        (String::new(), String::new(), Err(Refusal::NoTitle)),
        (" \t ".to_owned(), String::new(), Err(Refusal::NoTitle)),
        (long(TITLE_CHARS_MAX + 1), String::new(), too_long("title", TITLE_CHARS_MAX)),
        ("x".to_owned(), long(NOTES_CHARS_MAX + 1), too_long("notes", NOTES_CHARS_MAX)),
        ("two\nlines".to_owned(), String::new(), not_text("title", '\n')),
        ("x".to_owned(), "\u{1b}[31mred".to_owned(), not_text("notes", '\u{1b}')),
    ];
    for (title, notes, expected) in table {
        let added = NewItem { title: title.clone(), notes: notes.clone(), ..item(9, ItemKind::Task, 4) };
        assert_eq!(World::new().add(added), expected, "add {title:?}");
        let begun = NewItem { title: title.clone(), notes: notes.clone(), ..item(9, ItemKind::Mission, 0) };
        assert_eq!(World::empty().add(begun), expected, "begin {title:?}");
        let mut world = World::new();
        let changed = Body::ChangeItem { seen: world.seen(5), title: title.clone(), notes, task: None };
        assert_eq!(world.say(changed), expected, "change {title:?}");
    }
}

#[test]
fn the_longest_words_fit_into_an_op() {
    let (title, notes) = ("\u{10FFFF}".repeat(TITLE_CHARS_MAX), "\u{10FFFF}".repeat(NOTES_CHARS_MAX));
    let task = Some(TaskId::new(u64::MAX, u128::MAX));
    let far = ItemId::new(u64::MAX, u128::MAX);
    let (kind, parent, place) = (ItemKind::Task, Some(far), u64::MAX);
    let item = NewItem { id: far, kind, parent, place, title: title.clone(), notes: notes.clone(), task };
    let seen = SeenItem { item: far, rev: u32::MAX, by: OpId::new(u64::MAX, u128::MAX) };
    let header = World::empty().header();
    for body in [Body::AddItem { item }, Body::ChangeItem { seen, title, notes, task }].map(op::Body::from) {
        let mut bytes = Vec::new();
        Op::encode(&header, &body, &mut bytes);
        assert!(bytes.len() < BODY_BYTES_MAX, "{} bytes", bytes.len());
        assert_eq!(Op::decode(1, &bytes).unwrap().body, body);
    }
}
