//! Rows: bytes of our own tables. A sum guards them, so the target makes the sum right and looks behind it.

use crate::{
    samples::{self, scopes},
    say,
};
use relaymesh_core::{
    lock::{Lock, Repository},
    message::{Message, Thread},
    namespace::Namespace,
    plan::{Item, Plan},
    row::{self, RowKey, RowSum},
    task::{Step, Task},
};
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// The first byte says which row the rest is.
pub fn target(data: &[u8]) {
    let Some((&which, bytes)) = data.split_first() else { return };
    let task = samples::task_id();
    let (thread, repository, plan) = (scopes::thread_id(), scopes::repository_id(), scopes::plan_id());
    match which % 9 {
        0 => check::<Task>(RowKey::Task(task), bytes, |row, out| (RowKey::Task(row.id), row::encode_task(row, out))),
        1 => {
            let key = RowKey::Step(task, u16::from(which));
            check::<Step>(key, bytes, |row, out| (key, row::encode_step(task, u16::from(which), row, out)));
        }
        2 => check::<Thread>(RowKey::Thread(thread), bytes, |row, out| {
            (RowKey::Thread(row.id), row::encode_thread(row, out))
        }),
        3 => check::<Message>(RowKey::Message(thread, scopes::message_id()), bytes, |row, out| {
            (RowKey::Message(thread, row.draft.id), row::encode_message(thread, row, out))
        }),
        4 => check::<Repository>(RowKey::Repository(repository), bytes, |row, out| {
            (RowKey::Repository(row.id), row::encode_repository(row, out))
        }),
        5 => check::<Lock>(RowKey::Lock(repository, scopes::token()), bytes, |row, out| {
            (RowKey::Lock(repository, row.token), row::encode_lock(repository, row, out))
        }),
        6 => check::<Namespace>(RowKey::Namespace(scopes::namespace_id()), bytes, |row, out| {
            (RowKey::Namespace(row.id), row::encode_namespace(row, out))
        }),
        7 => check::<Plan>(RowKey::Plan(plan), bytes, |row, out| (RowKey::Plan(row.id), row::encode_plan(row, out))),
        _ => check::<Item>(RowKey::PlanItem(plan, scopes::item_id()), bytes, |row, out| {
            (RowKey::PlanItem(plan, row.id), row::encode_plan_item(plan, row, out))
        }),
    }
}

fn check<T>(key: RowKey, bytes: &[u8], encode: impl Fn(&T, &mut Vec<u8>) -> (RowKey, RowSum))
where
    T: DeserializeOwned + PartialEq + Debug,
{
    let sum = row::sum_of(key, bytes);
    assert_eq!(row::decode::<T>(key, bytes, RowSum(sum.0 ^ 1)), Err(row::Error::Sum));
    let read: T = match row::decode(key, bytes, sum) {
        Ok(read) => read,
        Err(error) => return say(&error),
    };
    let mut again = Vec::new();
    let (own_key, sum) = encode(&read, &mut again);
    assert_eq!(row::decode::<T>(own_key, &again, sum).as_ref(), Ok(&read));
    assert!(again.len() <= bytes.len(), "{} bytes became {}", bytes.len(), again.len());
    // A varint has longer spellings, which no encoder of ours writes. Bytes after the row are something else: two rows
    // that are equal would have different sums.
    assert!(!bytes.starts_with(&again) || bytes.len() == again.len(), "bytes after a row are passed over");
}

/// One row of each kind.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut rows = vec![Vec::new(); 9];
    row::encode_task(&samples::task(), &mut rows[0]);
    row::encode_step(samples::task_id(), 1, &samples::step(), &mut rows[1]);
    row::encode_thread(&scopes::thread(), &mut rows[2]);
    row::encode_message(scopes::thread_id(), &scopes::message(), &mut rows[3]);
    row::encode_repository(&scopes::repository(), &mut rows[4]);
    row::encode_lock(scopes::repository_id(), &scopes::lock(), &mut rows[5]);
    row::encode_namespace(&scopes::namespace(), &mut rows[6]);
    row::encode_plan(&scopes::plan(), &mut rows[7]);
    row::encode_plan_item(scopes::plan_id(), &scopes::item(), &mut rows[8]);
    (0u8..).zip(rows).map(|(which, row)| [vec![which], row].concat()).collect()
}
