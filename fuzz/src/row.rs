//! Rows: bytes of our own tables. A sum guards them, so the target makes the sum right and looks behind it.

use crate::{samples, say};
use relaymesh_core::{
    row::{self, RowKey, RowSum},
    task::{Step, Task},
};

/// The first byte says whether the rest is a task's row or a step's.
pub fn target(data: &[u8]) {
    let Some((&which, bytes)) = data.split_first() else { return };
    let (id, place) = (samples::task_id(), u16::from(which >> 1));
    let key = if which & 1 == 0 { RowKey::Task(id) } else { RowKey::Step(id, place) };
    let sum = row::sum_of(key, bytes);
    let bent = RowSum(sum.0 ^ 1);
    assert_eq!(row::decode::<Task>(key, bytes, bent), Err(row::Error::Sum));
    let mut again = Vec::new();
    let sum = if which & 1 == 0 {
        let task: Task = match row::decode(key, bytes, sum) {
            Ok(task) => task,
            Err(error) => return say(&error),
        };
        let sum = row::encode_task(&task, &mut again);
        assert_eq!(row::decode::<Task>(RowKey::Task(task.id), &again, sum).as_ref(), Ok(&task));
        sum
    } else {
        let step: Step = match row::decode(key, bytes, sum) {
            Ok(step) => step,
            Err(error) => return say(&error),
        };
        let sum = row::encode_step(id, place, &step, &mut again);
        assert_eq!(row::decode::<Step>(key, &again, sum).as_ref(), Ok(&step));
        sum
    };
    assert!(again.len() <= bytes.len(), "{} bytes became {}", bytes.len(), again.len());
    // A varint has longer spellings, which no encoder of ours writes. Bytes after the row are something else: two rows
    // that are equal would have different sums.
    assert!(!bytes.starts_with(&again) || bytes.len() == again.len(), "bytes after a row are passed over");
    assert_ne!(sum, RowSum::default());
}

/// A task's row and a step's.
pub fn seeds() -> Vec<Vec<u8>> {
    let (mut task, mut step) = (Vec::new(), Vec::new());
    row::encode_task(&samples::task(), &mut task);
    row::encode_step(samples::task_id(), 1, &samples::step(), &mut step);
    vec![[vec![0], task].concat(), [vec![3], step].concat()]
}
