//! Batches: the one that is being decided, the one that the store has, and the one that is durable and of which nobody has been told.
//! One batch at most is on its way. With them go the log's head and the clock that stamps ops.

use super::{
    attempts, audience,
    command::{Answer, Reply},
    effects::Effects,
    error::Error,
    live, ready,
    said::Said,
};
use relaymesh_core::{
    hlc::{self, Hlc, HlcClock},
    op::Op,
};
use relaymesh_store::{Batch, Content, ContentKey, Head, Spend, StoredOp};
use std::sync::Arc;

pub(super) struct Pipeline {
    /// Where the log stands, as far as it is durable.
    head: Head,
    hlc: HlcClock,
    open: Open,
    in_flight: Option<Decided>,
    durable: Option<Decided>,
    /// How many batches were given out.
    batches: u64,
    /// Why nothing more is accepted.
    poisoned: Option<String>,
}

/// What is decided and not yet given to the writer.
pub(super) struct Open {
    pub(super) batch: Batch,
    pub(super) after: After,
}

/// What happens once the batch is durable, and what is undone if it is rolled back: a share for each part of the engine.
#[derive(Default)]
pub(super) struct After {
    /// Answers, each decided in this batch or standing on it.
    pub(super) replies: Vec<(Reply, Result<Answer, Error>)>,
    pub(super) live: live::Share,
    pub(super) ready: ready::Share,
    pub(super) attempts: attempts::Share,
    pub(super) audience: audience::Share,
    pub(super) effects: Effects,
    /// Words that ended a hold.
    pub(super) said: Vec<Said>,
    /// The earliest time at which something in it falls due.
    pub(super) wake_ms: Option<u64>,
}

/// A batch that the writer has, or had: what follows from it is still to be done.
pub(super) struct Decided {
    pub(super) number: u64,
    pub(super) batch: Arc<Batch>,
    pub(super) after: After,
}

/// What a batch had that was never written.
pub(super) struct Lost {
    pub(super) after: After,
    pub(super) spends: Vec<Spend>,
}

impl Pipeline {
    pub(super) fn new(head: Head) -> Self {
        let node = head.chain.origin;
        Self {
            hlc: head.hlc().map_or_else(|| HlcClock::new(node), HlcClock::resume),
            open: Open::new(head.clone()),
            head,
            in_flight: None,
            durable: None,
            batches: 0,
            poisoned: None,
        }
    }

    /// Where the log stands, as far as it is durable.
    pub(super) fn head(&self) -> &Head {
        &self.head
    }

    /// Where the log will stand once the batch that is being decided is durable.
    pub(super) fn tip(&self) -> &Head {
        &self.open.batch.head
    }

    /// The batch that is being decided.
    pub(super) fn batch(&mut self) -> &mut Batch {
        &mut self.open.batch
    }

    /// What follows from the batch that is being decided.
    pub(super) fn after(&mut self) -> &mut After {
        &mut self.open.after
    }

    /// Both.
    pub(super) fn open(&mut self) -> &mut Open {
        &mut self.open
    }

    /// The number of the batch that is being decided.
    pub(super) fn number(&self) -> u64 {
        self.batches + 1
    }

    /// The newest batch that is settled: rows that no later batch has are as the store has them.
    pub(super) fn settled(&self) -> u64 {
        self.in_flight.as_ref().map_or(self.batches, |in_flight| in_flight.number - 1)
    }

    /// How many ops the batch that is being decided has.
    pub(super) fn ops(&self) -> usize {
        self.open.batch.ops.len()
    }

    /// How many ops no reader sees yet.
    pub(super) fn ops_on_their_way(&self) -> usize {
        self.in_flight.as_ref().map_or(0, |in_flight| in_flight.batch.ops.len()) + self.ops()
    }

    /// Words of batches of which nobody has been told, that ended a hold.
    pub(super) fn said(&self) -> impl Iterator<Item = &Said> {
        let decided = self.durable.iter().chain(&self.in_flight).map(|decided| &decided.after);
        decided.chain([&self.open.after]).flat_map(|after| &after.said)
    }

    /// Why nothing more is accepted.
    pub(super) fn poisoned(&self) -> Option<&str> {
        self.poisoned.as_deref()
    }

    /// Nothing more is accepted.
    pub(super) fn poison(&mut self, why: &str) {
        self.poisoned = Some(why.to_owned());
    }

    /// Whether a batch can be given out.
    pub(super) fn is_free(&self) -> bool {
        self.in_flight.is_none() && self.poisoned.is_none()
    }

    /// Whether there is nothing to commit and nobody to answer.
    pub(super) fn is_idle(&self) -> bool {
        self.open.batch.is_empty() && self.open.after.replies.is_empty()
    }

    /// Whether there is nothing on its way, either.
    pub(super) fn is_settled(&self) -> bool {
        self.in_flight.is_none() && self.durable.is_none() && self.is_idle()
    }

    /// The time of the next op. It is used up, whether the op takes effect or not.
    pub(super) fn tick(&mut self, wall_ms: u64) -> Result<Hlc, hlc::Error> {
        self.hlc.tick(wall_ms)
    }

    /// Puts an op that took effect on the chain.
    pub(super) fn append(&mut self, op: &Op) {
        let batch = &mut self.open.batch;
        let link = batch.head.chain.append(&op.header, &op.body);
        batch.head.pos = op.pos;
        batch.ops.push(StoredOp { pos: op.pos, bytes: link.bytes, hash: link.hash });
    }

    /// The answer waits for the batch that is being decided.
    pub(super) fn reply(&mut self, reply: Reply, answer: Result<Answer, Error>) {
        self.open.after.replies.push((reply, answer));
    }

    /// Gives out the batch that was being decided. The next one stands on it.
    pub(super) fn give_out(&mut self) -> Arc<Batch> {
        let next = Open::new(self.open.batch.head.clone());
        let Open { batch, after } = std::mem::replace(&mut self.open, next);
        let batch = Arc::new(batch);
        self.batches += 1;
        self.in_flight = Some(Decided { number: self.batches, batch: Arc::clone(&batch), after });
        batch
    }

    /// What is to be done once the batch that the store has is durable.
    #[cfg(test)]
    pub(super) fn effects_in_flight(&self) -> &Effects {
        &self.in_flight.as_ref().expect("a batch on its way").after.effects
    }

    /// Whether the store has a batch.
    pub(super) fn is_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }

    /// The batch that the store has is durable.
    pub(super) fn settle(&mut self) {
        let Some(in_flight) = self.in_flight.take() else { return };
        self.head = in_flight.batch.head.clone();
        self.durable = Some(in_flight);
    }

    /// The batch that is durable and of which nobody has been told.
    pub(super) fn take_durable(&mut self) -> Option<Decided> {
        self.durable.take()
    }

    /// The batch that the store has was never written, and the one that is being decided stands on it: both are lost, in this order.
    pub(super) fn undo(&mut self) -> impl Iterator<Item = Lost> + use<> {
        let Open { batch, after } = std::mem::replace(&mut self.open, Open::new(self.head.clone()));
        let open = Lost { after, spends: batch.spends };
        let in_flight = self.in_flight.take().map(|Decided { batch, after, .. }| {
            let spends = batch.spends.clone();
            Lost { after, spends }
        });
        in_flight.into_iter().chain([open])
    }
}

impl Open {
    fn new(head: Head) -> Self {
        Self { batch: Batch::new(head), after: After::default() }
    }
}

/// Content that a batch carries. Content is pushed in the order of its ops, so its keys are sorted.
pub(super) fn content_of(batch: &Batch, key: ContentKey) -> Option<&Content> {
    let found = batch.content.binary_search_by_key(&key, |put| put.key).ok()?;
    Some(&batch.content[found].content)
}
