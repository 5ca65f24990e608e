//! A rebuild on two threads: one reads and folds, the other one writes.

use relaymesh_store::{
    Batch, Error, Reader, Store,
    verify::{Problem, Rebuilding, Rebuilt},
};
use std::{
    sync::mpsc::{self, SyncSender},
    thread,
};

/// Batches that are folded and not yet written.
const AHEAD: usize = 4;

/// A batch for the writer, and whom to tell when it is there.
type Order = (Batch, Option<mpsc::Sender<()>>);

/// The same as [`relaymesh_store::verify::rebuild()`].
pub fn rebuild<R: Reader, S: Store>(
    source: &mut R,
    target: &mut S,
    progress: &mut dyn FnMut(u64),
) -> Result<Rebuilt, Problem> {
    let mut reader = target.reader()?;
    let mut rebuilding = Rebuilding::begin(source, &mut reader)?;
    let (orders, to_write) = mpsc::sync_channel::<Order>(AHEAD);
    thread::scope(|scope| {
        let writer = scope.spawn(move || to_write.iter().try_for_each(|(batch, done)| write(target, &batch, done)));
        let folded = fold(&mut rebuilding, source, &mut reader, orders, progress);
        match writer.join() {
            Ok(written) => written?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        folded
    })?;
    rebuilding.end(source, &mut reader)
}

/// Folds everything, and hands it over.
fn fold<R: Reader, T: Reader>(
    rebuilding: &mut Rebuilding,
    source: &mut R,
    target: &mut T,
    orders: SyncSender<Order>,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Problem> {
    while let Some(batch) = rebuilding.next_batch(source, target)? {
        let pos = batch.head.pos;
        let must_settle = rebuilding.must_settle();
        if !hand_over(batch, &orders, must_settle) {
            return Ok(()); // the writer has failed, and says why
        }
        if must_settle {
            rebuilding.settled();
        }
        progress(pos);
    }
    Ok(())
}

/// Gives a batch to the writer, and waits for it if asked to. False when there is no writer any more.
fn hand_over(batch: Batch, orders: &SyncSender<Order>, wait: bool) -> bool {
    if !wait {
        return orders.send((batch, None)).is_ok();
    }
    let (done, is_done) = mpsc::channel();
    orders.send((batch, Some(done))).is_ok() && is_done.recv().is_ok()
}

fn write<S: Store>(target: &mut S, batch: &Batch, done: Option<mpsc::Sender<()>>) -> Result<(), Error> {
    target.commit(batch)?;
    if let Some(done) = done {
        // Whoever asked and does not listen any more has failed, and says so.
        let _ = done.send(());
    }
    Ok(())
}
