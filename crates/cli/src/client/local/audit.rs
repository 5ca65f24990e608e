//! The log of the root on this machine.

use super::Local;
use crate::{
    client::{Audit, Found, Newest, Wanted},
    error::{Code, Error},
    lookup,
    progress::Progress,
};
use relaymesh_api::view::{entry, fenced};
use relaymesh_core::{
    id::TaskId,
    op::{Op, Scope},
};
use relaymesh_store::{Proven, Reader, proven};

/// Ops that are read at once.
const PAGE: usize = 500;

impl Audit for Local<'_> {
    fn audited(&self, text: &str) -> Result<(TaskId, u64), Error> {
        match (self.read(|reader| lookup::task(reader, text)), text.parse::<TaskId>().ok()) {
            // A task's key is the position of the op that made it.
            (Ok(rows), _) => Ok((rows.task.id, rows.task.key - 1)),
            // Its rows may be gone, and its ops still there.
            (Err(error), Some(id)) if error.code == Code::NoTask => Ok((id, 0)),
            (Err(error), _) => Err(error),
        }
    }

    fn fenced(&self, task: Option<&str>, limit: usize) -> Result<fenced::Page, Error> {
        let task = task.map(|text| self.audited(text)).transpose()?.map(|(task, _)| task);
        self.read(|reader| fenced::newest(reader, task, limit, &mut |_, _| Ok(true)))
    }

    fn newest(&self, wanted: &Wanted, limit: usize) -> Result<Newest, Error> {
        self.read(|reader| {
            let head = reader.head()?.pos;
            let all = wanted.is_all();
            let after = if all { head.saturating_sub(limit as u64) } else { wanted.after };
            let mut progress = Progress::new("looked at ops:", head);
            let mut newest = Newest::new(if all { after } else { 0 }, after);
            let tell = &mut |found| newest.add(found, limit);
            let reached = each(reader, wanted, after, &mut |pos| progress.tell(pos), tell)?;
            newest.reached = reached;
            Ok(newest)
        })
    }

    fn after(&self, wanted: &Wanted, after: u64, tell: &mut dyn FnMut(Found)) -> Result<u64, Error> {
        self.read(|reader| each(reader, wanted, after, &mut |_| {}, tell))
    }
}

/// Tells of every op after `after` that fits, in order, and gives the position of the last one that was looked at. `looked` hears
/// of each position.
fn each(
    reader: &mut impl Reader,
    wanted: &Wanted,
    after: u64,
    looked: &mut dyn FnMut(u64),
    tell: &mut dyn FnMut(Found),
) -> Result<u64, Error> {
    let mut after = after;
    loop {
        let page = proven::ops(reader, after, PAGE)?;
        let Some(last) = page.last() else { return Ok(after) };
        after = last.pos();
        for proven in page {
            match proven {
                // Who wrote what is gone cannot be told any more.
                Proven::Gone(pos, chain) if wanted.is_all() => tell(Found::Gone(pos, chain.head)),
                Proven::Gone(..) => {}
                // Nobody knows whether it would fit.
                Proven::Damaged(pos, why) => tell(Found::Damaged(pos, why)),
                Proven::Op(op, hash) if fits(wanted, &op) => tell(Found::Op(Box::new(entry::shown(&op, hash)))),
                Proven::Op(..) => {}
            }
        }
        looked(after);
    }
}

fn fits(wanted: &Wanted, op: &Op) -> bool {
    let header = &op.header;
    let Wanted { namespace, author, source, kind, task, since_ms, until_ms, after: _ } = wanted;
    let about = |task: &TaskId| header.scope == Scope::Task(*task);
    author.as_ref().is_none_or(|author| *author == header.author)
        && source.as_ref().is_none_or(|source| *source == header.source)
        && namespace.as_ref().is_none_or(|namespace| *namespace == header.namespace)
        && kind.is_none_or(|kind| kind == op.body.kind())
        && task.as_ref().is_none_or(about)
        && since_ms.is_none_or(|since| since <= header.hlc.wall_ms)
        && until_ms.is_none_or(|until| header.hlc.wall_ms < until)
}
