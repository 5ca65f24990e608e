//! The feeds of a node, in memory: for tests, the simulator and benchmarks.

use super::{
    admit::{Admission, Admitted, Attach, admit},
    error::Refusal,
    head::SignedHead,
    log::{BRANCHES_MAX, Branch, FEEDS_PER_ORIGIN_MAX, FeedLog, Held, Tip},
    place::{FeedId, Place},
    run::{Linked, RUN_BYTES_MAX, RUN_OPS_MAX, Run},
};
use relaymesh_bus::sign::Signer;
use relaymesh_core::{
    hlc::Hlc,
    id::NodeId,
    op::{Break, Chain, Op, link_hash},
};
use std::{collections::BTreeMap, ops::Bound};

/// Feeds with their branches and heads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryFeedLog {
    feeds: BTreeMap<FeedId, Vec<Strand>>,
}

/// One branch beyond the place where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Strand {
    /// The branch that it leaves; of the trunk itself.
    from: Branch,
    /// The place before its first op; 0 for the trunk.
    since: u64,
    ops: Vec<Linked>,
    /// The newest head at each place that has one.
    heads: BTreeMap<u64, SignedHead>,
}

impl Strand {
    fn leaving(from: Branch, since: u64) -> Self {
        Self { from, since, ops: Vec::new(), heads: BTreeMap::new() }
    }

    /// The last place.
    fn end(&self) -> u64 {
        self.since + self.ops.len() as u64
    }
}

/// Every branch with its strand.
fn numbered(strands: &[Strand]) -> impl Iterator<Item = (Branch, &Strand)> {
    (0..=u8::MAX).map(Branch).zip(strands)
}

impl MemoryFeedLog {
    /// Takes in a run, if it may.
    pub fn append(&mut self, run: Run) -> Result<Admission, Refusal> {
        let admission = admit(self, run, &|_| Vec::new())?;
        if let Admission::News(admitted) = &admission {
            self.take((**admitted).clone())?;
        }
        Ok(admission)
    }

    /// Takes in what was admitted, if it still fits.
    pub fn take(&mut self, admitted: Admitted) -> Result<(), Refusal> {
        let Admitted { feed, attach, ops, head, .. } = admitted;
        let moved = Refusal::Moved { feed, seq: head.seq };
        let after = head.seq - ops.len() as u64;
        let previous = ops.first().map_or(head.hash, |first| first.previous);
        let (branch, ends) = match attach {
            Attach::Extends(branch) => (branch, true),
            Attach::Forks { from, .. } => (from, false),
        };
        let start = Place { seq: after, hash: previous };
        let held = if after == 0 { feed.start() == start } else { self.has(feed, branch, start) };
        let tip = self.tips(feed).iter().find(|tip| tip.branch == branch).map_or(0, |tip| tip.head.seq);
        if !held || (tip == after) != ends {
            return Err(moved);
        }
        let strands = self.feeds.entry(feed).or_default();
        let strand = match attach {
            Attach::Forks { from, at } if strands.len() < BRANCHES_MAX => {
                strands.push(Strand::leaving(from, at));
                strands.last_mut()
            }
            Attach::Forks { .. } => None,
            Attach::Extends(branch) => {
                if strands.is_empty() {
                    strands.push(Strand::leaving(Branch::TRUNK, 0));
                }
                strands.get_mut(usize::from(branch.0))
            }
        };
        let strand = strand.ok_or(moved)?;
        strand.ops.extend(ops);
        strand.heads.insert(head.seq, head);
        Ok(())
    }

    /// Takes in a batch of the signer's own ops, made with [`MemoryFeedLog::chain`], signs its end, and promises `as_of`. A batch that is longer
    /// than a run is signed in between as well.
    pub fn author(
        &mut self,
        signer: &Signer,
        origin_epoch: u32,
        ops: Vec<Vec<u8>>,
        as_of: Hlc,
    ) -> Result<SignedHead, Refusal> {
        let feed = FeedId { origin: signer.public_key().node(), origin_epoch };
        let mut ops = ops.into_iter().peekable();
        loop {
            let chain = self.chain(feed);
            let after = Place { seq: chain.seq, hash: chain.head };
            let (mut batch, mut bytes) = (Vec::new(), 0);
            while let Some(op) = ops.next_if(|op| batch.len() < RUN_OPS_MAX && bytes + op.len() <= RUN_BYTES_MAX) {
                bytes += op.len();
                batch.push(op);
            }
            let hash = batch.iter().fold(after.hash, |previous, op| link_hash(&previous, op));
            let end = Place { seq: after.seq + batch.len() as u64, hash };
            let is_last = ops.peek().is_none();
            let dated = match batch.last() {
                Some(last) if !is_last => {
                    Op::decode(0, last).map_err(|error| Break::Decode { pos: 0, error })?.header.hlc
                }
                Some(_) | None => as_of,
            };
            let head = SignedHead::sign(signer, origin_epoch, end, dated);
            self.append(Run::new(after, batch, head))?;
            if is_last {
                return Ok(head);
            }
        }
    }

    /// Every op of every branch, feed by feed, in the order of each.
    pub fn all(&self) -> impl Iterator<Item = &Linked> {
        self.feeds.values().flatten().flat_map(|strand| &strand.ops)
    }

    /// Where the trunk of a feed stands: what the next own op goes on from.
    pub fn chain(&self, feed: FeedId) -> Chain {
        let last = self.feeds.get(&feed).and_then(|strands| strands.first()?.ops.last());
        last.map_or_else(
            || feed.chain(),
            |last| Chain { seq: last.op.header.seq, head: last.hash, hlc: Some(last.op.header.hlc), ..feed.chain() },
        )
    }

    /// The ops of a branch beyond the place where it begins.
    pub fn ops(&self, feed: FeedId, branch: Branch) -> &[Linked] {
        self.strand(feed, branch).map_or(&[], |strand| &strand.ops)
    }

    /// Checks every rule by verifying everything again; the first broken one is the answer.
    pub fn validate(&self) -> Result<(), &'static str> {
        for (feed, strands) in &self.feeds {
            if strands.is_empty() || strands.len() > BRANCHES_MAX || self.epochs(feed.origin) > FEEDS_PER_ORIGIN_MAX {
                return Err("a feed has a branch and not too many, and an origin not too many feeds");
            }
            for (branch, strand) in numbered(strands) {
                self.validate_strand(*feed, branch, strand)?;
            }
        }
        Ok(())
    }

    fn validate_strand(&self, feed: FeedId, branch: Branch, strand: &Strand) -> Result<(), &'static str> {
        let end = strand.end();
        if strand.heads.last_key_value().map(|(seq, _)| *seq) != Some(end) {
            return Err("a branch ends at a head");
        }
        let parent = self.strand(feed, strand.from).ok_or("a branch leaves one that is there")?;
        let leaves = strand.from < branch && parent.since <= strand.since && strand.since < parent.end();
        if branch != Branch::TRUNK && !leaves {
            return Err("a branch leaves an earlier one, of which it has something, before its end");
        }
        let mut chain = self.chain_at(feed, strand.from, strand.since).ok_or("a branch begins on another one")?;
        for linked in &strand.ops {
            let previous = chain.head;
            let op = chain.verify(0, &linked.bytes, linked.hash).map_err(|_| "a branch is a chain")?;
            if op != linked.op || linked.previous != previous || op.header.hlc.node != feed.origin {
                return Err("an op is what its bytes say, and dated by its author");
            }
        }
        for (seq, head) in &strand.heads {
            let held = self.held(feed, branch, *seq).ok_or("a head is on its branch")?;
            if head.verify() != Ok(feed) || head.place() != (Place { seq: *seq, hash: held.hash }) {
                return Err("a head is signed and names what lies in its place");
            }
            if held.hlc.is_some_and(|op| head.as_of < op) {
                return Err("a head promises no less than its last op");
            }
        }
        let mut from = strand.since;
        while let Some(run) = self.run(feed, branch, from, u64::MAX).filter(|run| !run.is_empty()) {
            from = run.head.seq;
        }
        if from != end {
            return Err("there is a run from every head to the next one");
        }
        Ok(())
    }

    fn chain_at(&self, feed: FeedId, branch: Branch, seq: u64) -> Option<Chain> {
        let held = self.held(feed, branch, seq)?;
        Some(Chain { seq, head: held.hash, hlc: held.hlc, ..feed.chain() })
    }

    fn has(&self, feed: FeedId, branch: Branch, place: Place) -> bool {
        self.held(feed, branch, place.seq).is_some_and(|held| held.hash == place.hash)
    }

    fn strand(&self, feed: FeedId, branch: Branch) -> Option<&Strand> {
        self.feeds.get(&feed)?.get(usize::from(branch.0))
    }

    /// The op in a place of a branch.
    fn linked(&self, feed: FeedId, branch: Branch, seq: u64) -> Option<&Linked> {
        let mut strand = self.strand(feed, branch)?;
        while seq <= strand.since && strand.since > 0 {
            strand = self.strand(feed, strand.from)?;
        }
        strand.ops.get(usize::try_from(seq.checked_sub(strand.since + 1)?).ok()?)
    }

    /// The heads of a branch after a place, in order.
    fn heads_after(&self, feed: FeedId, branch: Branch, after: u64) -> impl Iterator<Item = SignedHead> {
        let (mut parts, mut next, mut upto) = (Vec::new(), self.strand(feed, branch), Bound::Unbounded);
        while let Some(strand) = next {
            parts.push(strand.heads.range((Bound::Excluded(after.max(strand.since)), upto)));
            upto = Bound::Included(strand.since);
            next = self.strand(feed, strand.from).filter(|_| strand.since > after);
        }
        parts.into_iter().rev().flatten().map(|(_, head)| *head)
    }
}

impl FeedLog for MemoryFeedLog {
    fn feeds(&self, after: Option<FeedId>, limit: usize) -> Vec<FeedId> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.feeds.range((start, Bound::Unbounded)).take(limit).map(|(feed, _)| *feed).collect()
    }

    fn epochs(&self, origin: NodeId) -> usize {
        let epoch = |origin_epoch| FeedId { origin, origin_epoch };
        self.feeds.range(epoch(0)..=epoch(u32::MAX)).count()
    }

    fn tips(&self, feed: FeedId) -> Vec<Tip> {
        let strands = self.feeds.get(&feed).map_or(&[][..], Vec::as_slice);
        let tip = |(branch, strand): (Branch, &Strand)| {
            let (_, head) = strand.heads.last_key_value()?;
            Some(Tip { branch, since: strand.since, head: *head })
        };
        numbered(strands).filter_map(tip).collect()
    }

    fn held(&self, feed: FeedId, branch: Branch, seq: u64) -> Option<Held> {
        self.strand(feed, branch)?;
        if seq == 0 {
            return Some(Held { hash: feed.start().hash, hlc: None });
        }
        self.linked(feed, branch, seq).map(|linked| Held { hash: linked.hash, hlc: Some(linked.op.header.hlc) })
    }

    fn run(&self, feed: FeedId, branch: Branch, after: u64, until_ms: u64) -> Option<Run> {
        let start = Place { seq: after, hash: self.held(feed, branch, after)?.hash };
        let tip = self.tips(feed).into_iter().find(|tip| tip.branch == branch)?;
        if tip.head.seq == after {
            return Some(Run::promise(tip.head));
        }
        let (mut chosen, mut ops, mut bytes) = (None, Vec::new(), 0);
        for head in self.heads_after(feed, branch, after) {
            if head.seq - after > RUN_OPS_MAX as u64 {
                break;
            }
            for seq in after + ops.len() as u64 + 1..=head.seq {
                let linked = self.linked(feed, branch, seq)?;
                bytes += linked.bytes.len();
                ops.push(linked);
            }
            let late = head.as_of.wall_ms > until_ms;
            if bytes > RUN_BYTES_MAX || (late && chosen.is_some()) {
                break;
            }
            chosen = Some(head);
            if late {
                break;
            }
        }
        let head = chosen?;
        let count = usize::try_from(head.seq - after).ok()?;
        let bytes = ops.iter().take(count).map(|linked| linked.bytes.clone()).collect();
        Some(Run::new(start, bytes, head))
    }
}
