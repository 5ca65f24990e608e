//! Whether a run may be taken into a log, and where it goes.
//!
//! A run that goes on where a branch ends extends it. One that leaves a branch before its end is a fork: one more branch, and
//! proof that its author lies. What the log has already is skipped, so it does not matter that the sender went back
//! further than needed.
//!
//! An op that breaks a promise is proof as well, and is **kept**. To refuse it would be the tempting wrong answer: whoever never heard the
//! promise takes the op, and the two never hold the same ops again. Nothing rests on a promise but when a coordinator seals, and
//! what comes after a seal is sealed out whatever was promised.

use super::{
    error::Refusal,
    evidence::{Evidence, Lie},
    head::SignedHead,
    log::{BRANCHES_MAX, BRANCHES_UNSEALED_MAX, Branch, FEEDS_PER_ORIGIN_MAX, FEEDS_UNSEALED_MAX, FeedLog, Held, Tip},
    place::{FeedId, Place},
    run::{Linked, Run},
};
use relaymesh_core::hash::Hash;

/// Whether there is anything new in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// This is new.
    News(Box<Admitted>),
    /// All of it is here already, or it says less than what is here.
    Known,
}

/// What may be taken into a log. It was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// Which feed.
    pub feed: FeedId,
    /// Where it goes.
    pub attach: Attach,
    /// The new ops; none if only the promise is new.
    pub ops: Vec<Linked>,
    /// The head that they lead to.
    pub head: SignedHead,
    /// That its author lies, if this proves it for the first time.
    pub evidence: Option<Evidence>,
}

/// Where new ops go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attach {
    /// At the end of a branch.
    Extends(Branch),
    /// On a branch of their own.
    Forks {
        /// The branch that it leaves.
        from: Branch,
        /// The last place in common.
        at: u64,
    },
}

/// Verifies a run and says what of it is new. `sealed` gives the places of a feed that seals name: what leads to one of them finds room where
/// other runs find none any more.
pub fn admit(log: &impl FeedLog, run: Run, sealed: &dyn Fn(FeedId) -> Vec<Place>) -> Result<Admission, Refusal> {
    let feed = run.check()?;
    let site = Site { log, feed, tips: log.tips(feed), sealed };
    let has_start = |branch: &Branch| site.held(*branch, run.after.seq).is_some_and(|held| held.hash == run.after.hash);
    let branches: Vec<Branch> = site.branches().filter(has_start).collect();
    if branches.is_empty() {
        return Err(Refusal::Gap { feed, after: run.after.seq });
    }
    let hashes = run.hashes()?;
    if site.tips.is_empty() && !site.has_room(log.epochs(feed.origin), FEEDS, &run, &hashes) {
        return Err(Refusal::Feeds { origin: feed.origin });
    }
    let (mut branch, mut known) = (branches[0], 0);
    for candidate in branches {
        let common = site.common(candidate, run.after.seq, &hashes);
        if common > known {
            (branch, known) = (candidate, common);
        }
    }
    if known == hashes.len() { site.promise(branch, run.head) } else { site.ops(branch, known, &hashes, run) }
}

/// How many there may be: those that need no seal, and all.
type Bounds = (usize, usize);
const BRANCHES: Bounds = (BRANCHES_UNSEALED_MAX, BRANCHES_MAX);
const FEEDS: Bounds = (FEEDS_UNSEALED_MAX, FEEDS_PER_ORIGIN_MAX);

/// A feed as it is here.
struct Site<'a, L> {
    log: &'a L,
    feed: FeedId,
    tips: Vec<Tip>,
    sealed: &'a dyn Fn(FeedId) -> Vec<Place>,
}

impl<L: FeedLog> Site<'_, L> {
    /// Its branches, the one that others leave before them; of one that is not here yet, the trunk to be.
    fn branches(&self) -> impl Iterator<Item = Branch> {
        let unknown = self.tips.is_empty().then_some(Branch::TRUNK);
        self.tips.iter().map(|tip| tip.branch).chain(unknown)
    }

    /// Whether there may be one more of so many. A run that holds a sealed place leads there, whoever sends it; of one that does not nobody can tell.
    fn has_room(&self, there: usize, (unsealed_max, max): Bounds, run: &Run, hashes: &[Hash]) -> bool {
        let is_on_it = |place: &Place| {
            let index = place.seq.checked_sub(run.after.seq + 1).and_then(|index| usize::try_from(index).ok());
            index.and_then(|index| hashes.get(index)).is_some_and(|hash| *hash == place.hash)
        };
        there < unsealed_max || (there < max && (self.sealed)(self.feed).iter().any(is_on_it))
    }

    fn held(&self, branch: Branch, seq: u64) -> Option<Held> {
        if seq == 0 {
            return Some(Held { hash: self.feed.start().hash, hlc: None });
        }
        self.log.held(self.feed, branch, seq)
    }

    fn tip(&self, branch: Branch) -> Option<&Tip> {
        self.tips.iter().find(|tip| tip.branch == branch)
    }

    /// How many of these hashes after `after` are on the branch. Once two chains differ they differ for ever, so it can be searched.
    fn common(&self, branch: Branch, after: u64, hashes: &[Hash]) -> usize {
        let (mut same, mut end) = (0, hashes.len());
        while same < end {
            let middle = usize::midpoint(same, end);
            let held = self.held(branch, after + middle as u64 + 1);
            if held.is_some_and(|held| held.hash == hashes[middle]) {
                same = middle + 1;
            } else {
                end = middle;
            }
        }
        same
    }

    /// A head at a place that the branch has.
    fn promise(&self, branch: Branch, head: SignedHead) -> Result<Admission, Refusal> {
        let here = self.held(branch, head.seq).and_then(|held| held.hlc);
        if let Some(op) = here.filter(|op| head.as_of < *op) {
            self.verify(&head)?;
            return Err(Refusal::AsOf { as_of: head.as_of, op });
        }
        let tip = self.tip(branch);
        match tip {
            Some(tip) if tip.head.seq == head.seq && head.as_of <= tip.head.as_of => return Ok(Admission::Known),
            Some(tip) if tip.head.seq > head.seq => {
                let next = self.held(branch, head.seq + 1).and_then(|held| held.hlc);
                let Some(found) = next.filter(|next| *next <= head.as_of) else { return Ok(Admission::Known) };
                self.verify(&head)?;
                let evidence = Box::new(self.evidence(Lie::Promise, head.seq + 1, tip, head));
                return Err(Refusal::Promise { promised: head.as_of, found, evidence });
            }
            Some(_) | None => {}
        }
        self.verify(&head)?;
        Ok(self.news(Attach::Extends(branch), Vec::new(), head, None))
    }

    /// A run whose first `known` ops are on the branch, and the next one is not.
    fn ops(&self, branch: Branch, known: usize, hashes: &[Hash], run: Run) -> Result<Admission, Refusal> {
        let (head, at) = (run.head, run.after.seq + known as u64);
        let before = self.held(branch, at).and_then(|held| held.hlc);
        let tip = self.tip(branch);
        let leaves = tip.filter(|tip| tip.head.seq > at);
        self.verify(&head)?;
        let evidence = leaves.map(|tip| self.evidence(Lie::Fork, at + 1, tip, head));
        if let Some(evidence) = evidence
            && !self.has_room(self.tips.len(), BRANCHES, &run, hashes)
        {
            return Err(Refusal::Branches { evidence: Box::new(evidence) });
        }
        let ops = run.linked(known, hashes, before)?;
        let first = ops.first().map(|first| first.op.header.hlc);
        let broken = tip.filter(|tip| leaves.is_none() && first.is_some_and(|first| first <= tip.head.as_of));
        let evidence = evidence.or_else(|| broken.map(|tip| self.evidence(Lie::Promise, at + 1, tip, head)));
        let attach = if leaves.is_some() { Attach::Forks { from: branch, at } } else { Attach::Extends(branch) };
        Ok(self.news(attach, ops, head, evidence))
    }

    fn verify(&self, head: &SignedHead) -> Result<(), Refusal> {
        head.verify_beside(self.tips.first().map(|tip| &tip.head)).map(drop)
    }

    fn evidence(&self, lie: Lie, from_seq: u64, tip: &Tip, other: SignedHead) -> Evidence {
        Evidence { feed: self.feed, lie, from_seq, known: tip.head, other }
    }

    fn news(&self, attach: Attach, ops: Vec<Linked>, head: SignedHead, evidence: Option<Evidence>) -> Admission {
        Admission::News(Box::new(Admitted { feed: self.feed, attach, ops, head, evidence }))
    }
}
