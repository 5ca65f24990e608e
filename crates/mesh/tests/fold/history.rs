//! Random histories: what two to four authors write, each on what it has heard, some of it nonsense and some of it lies.

use crate::{
    author::{ASK, Author, START_MS, name, namespace, plan, repository, result, scope, step, submit, thread, weighed},
    locking, naming, planning, talking,
};
use proptest::{collection::vec, prelude::*};
use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    id::{LeaseToken, OpId},
    kernel::Rows,
    op::{Body, CancelMode, ChainHead, ExpireReason, Hold, Op, Scope, log},
    row::StateHash,
    task::{self, Status, TaskRows},
};
use relaymesh_mesh::rows;

/// The machine of plans. Those below 4 are tasks, those below 6 locks, those below 8 messages.
pub(crate) const PLANS: u8 = 8;

/// One thing that happens, as numbers: who, what, and which one of those that fit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Move {
    pub(crate) who: usize,
    pub(crate) machine: u8,
    pub(crate) what: u8,
    pub(crate) pick: usize,
    pub(crate) gap_ms: u64,
}

pub(crate) fn moves(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Move>> {
    let one = (0..4usize, 0..=PLANS, 0..100u8, 0..1000usize, 0..60u64);
    vec(one.prop_map(|(who, machine, what, pick, gap_ms)| Move { who, machine, what, pick, gap_ms }), count)
}

/// All that was written, in the order of writing.
pub(crate) fn history(authors: usize, moves: &[Move]) -> Vec<Op> {
    let mut story = Story::begin(authors);
    moves.iter().for_each(|one| story.play(*one));
    (1u64..).zip(story.ops).map(|(pos, op)| Op { pos, ..op }).collect()
}

struct Story {
    authors: Vec<Author>,
    /// How many of `ops` each author has heard.
    heard: Vec<usize>,
    ops: Vec<Op>,
    now_ms: u64,
}

impl Story {
    /// Two tasks, known to all.
    fn begin(authors: usize) -> Self {
        let authors: Vec<Author> = (1..).take(authors).map(Author::new).collect();
        let heard = vec![0; authors.len()];
        let mut story = Self { authors, heard, ops: Vec::new(), now_ms: START_MS };
        let diamond = vec![
            step("a", &[], None, false),
            step("b", &[0], None, false),
            step("c", &[0], None, true),
            step("d", &[1, 2], None, false),
            step("undo-a", &[], Some(0), false),
            step("undo-b", &[], Some(1), false),
        ];
        let first = story.authors[0].say(scope(0), START_MS, submit(diamond));
        let second = story.authors[1].say(scope(1), START_MS, submit(vec![weighed(step("only", &[], None, false))]));
        story.ops.extend([first, second]);
        (0..story.authors.len()).for_each(|who| story.hear(who));
        story
    }

    fn play(&mut self, one: Move) {
        self.now_ms += one.gap_ms;
        let who = one.who % self.authors.len();
        if one.what < 25 {
            return self.hear(who);
        }
        self.authors[who].cites = self.cites(who, one);
        let op = if one.machine < 4 { self.about_a_task(who, one) } else { self.about_another(who, one) };
        self.ops.extend(op);
    }

    fn about_a_task(&mut self, who: usize, one: Move) -> Option<Op> {
        let scope = scope(u128::from(one.pick.is_multiple_of(3)));
        let Some(rows) = self.authors[who].view.rows(scope).and_then(rows::Rows::node).and_then(Rows::task).cloned()
        else {
            // Purged, or never heard of. Nonsense is welcome.
            return Some(self.authors[who].say(scope, self.now_ms, submit(vec![step("again", &[], None, false)])));
        };
        Some(match one.what {
            90..=92 => self.back_dated(who, scope, one.pick),
            93..=94 => self.at_a_copied_time(who, scope, one.pick),
            95 => self.forked(who, scope, one.pick),
            _ => {
                let body = self.body(who, &rows, scope, one);
                self.authors[who].say(scope, self.now_ms, body)
            }
        })
    }

    /// Something about the repository, the thread, the namespace or the plan. Liars date back and copy times here too.
    fn about_another(&mut self, who: usize, one: Move) -> Option<Op> {
        if one.pick.is_multiple_of(5) {
            self.now_ms += locking::TTL_MS; // or nothing would ever run out
        }
        let (scope, body) = if one.what == 99 {
            let head = ChainHead { origin: self.authors[who].node, origin_epoch: 1, seq: 1, hash: Hash::default() };
            let note =
                Body::Log(log::Body::AuditEvent { event: crate::author::name("token.create"), about: Vec::new() });
            let checkpoint = Body::Log(log::Body::Checkpoint { pos: 1, heads: vec![head], state: StateHash(1) });
            (Scope::Log, if one.pick.is_multiple_of(2) { note } else { checkpoint })
        } else if one.what == 97 {
            (namespace(), naming::body(one))
        } else if one.machine < 6 {
            (repository(), locking::body(&self.authors[who], self.now_ms, one))
        } else if one.machine < PLANS {
            (thread(), talking::body(&self.authors[who], self.now_ms, one))
        } else {
            (plan(), planning::body(&self.authors[who], one))
        };
        let author = &mut self.authors[who];
        let hlc = match one.what {
            90..=92 => author.oldest_time(),
            93..=94 => self.ops[one.pick % self.ops.len()].header.hlc,
            95 => return Some(self.forked(who, scope, one.pick)),
            _ => return Some(author.say(scope, self.now_ms, body)),
        };
        Some(author.say_at(scope, hlc.max(author.oldest_time()), body))
    }

    /// What the next op of an author cites: mostly nothing; what was written before, heard of or not; what is yet to be
    /// written, which can never be older; itself; what nobody ever writes.
    fn cites(&self, who: usize, one: Move) -> Vec<OpId> {
        let before = |back: usize| self.ops.iter().rev().nth(one.pick % back).map(|op| op.header.op_id);
        let author = &self.authors[who];
        let of = |author: &Author, ahead: u64| {
            OpId::new(author.chain.next_seq() + ahead, u128::from_be_bytes(author.node.to_bytes()))
        };
        match one.pick % 37 {
            0..=7 => before(4).into_iter().collect(),
            8..=11 => before(3).into_iter().chain(before(30)).collect(),
            12 => vec![of(&self.authors[(who + 1) % self.authors.len()], 0)],
            13 => before(5).into_iter().chain([of(author, 0)]).collect(),
            14 if one.gap_ms < 20 => vec![OpId::new(99, 99)],
            _ => Vec::new(),
        }
    }

    /// Hears everything that was written so far.
    fn hear(&mut self, who: usize) {
        let author = &mut self.authors[who];
        for op in &self.ops[self.heard[who]..] {
            if op.header.origin != author.node {
                author.hear(op, self.now_ms);
            }
        }
        self.heard[who] = self.ops.len();
    }

    /// What fits the rows as the author sees them, or nonsense when nothing fits.
    fn body(&self, who: usize, rows: &TaskRows, scope: Scope, one: Move) -> Body {
        let author = &self.authors[who];
        let any = (one.pick % rows.steps.len()) as u16;
        let with = |fits: &dyn Fn(&relaymesh_core::task::Step) -> bool| {
            let fitting: Vec<u16> = rows.indexed().filter(|(_, step)| fits(step)).map(|(index, _)| index).collect();
            if fitting.is_empty() { any } else { fitting[one.pick % fitting.len()] }
        };
        let running = with(&|step| step.status == Status::Running);
        let epoch = rows.steps[usize::from(running)].epoch;
        let lease = rows.steps[usize::from(running)].lease.as_ref();
        let held = Hold { step: running, epoch, token: lease.map_or(LeaseToken::new(0, 0), |lease| lease.token) };
        let waiting = with(&|step| step.status == Status::Waiting);
        let (ask, text, jitter_ms) = (Hash::sha256(ASK.as_bytes()), String::new, (one.pick % 5) as u32);
        let body = match one.what {
            25..=44 => author.claim(scope, with(&|step| step.is_claimable(self.now_ms))),
            45..=47 => author.claim(scope, any),
            48..=62 => match &rows.steps[usize::from(running)] {
                step if step.is_weighed() && one.gap_ms.is_multiple_of(4) => {
                    task::Body::SkipWork { held, reason: text() }
                }
                step if step.is_weighed() => task::Body::PassWork { held },
                step if step.spec.foreach().is_some() && step.fan.is_none() => {
                    task::Body::FanOut { held, count: (one.gap_ms % 3) as u16 }
                }
                _ => task::Body::CompleteJob { held, result: result(&one.pick.to_string()) },
            },
            63..=66 => task::Body::FailJob { held, retryable: true, jitter_ms, error: text() },
            67..=68 => task::Body::FailJob { held, retryable: false, jitter_ms, error: text() },
            69..=70 => task::Body::YieldWork { held, reason: text() },
            71..=74 => task::Body::ExpireWork { step: running, epoch, reason: ExpireReason::DeadlinePassed, jitter_ms },
            75 => task::Body::ExpireWork { step: running, epoch, reason: ExpireReason::OwnerGone, jitter_ms },
            76..=77 => task::Body::TimeoutWork { step: running, epoch, jitter_ms },
            78 => task::Body::CancelTask { mode: CancelMode::Hard, reason: text() },
            79 => task::Body::CancelTask { mode: CancelMode::Soft, reason: text() },
            80..=83 => task::Body::RedriveTask { reason: text() },
            84..=86 => task::Body::ApproveStep { step: waiting, ask },
            87 => task::Body::DenyStep { step: waiting, ask, reason: text() },
            88 => task::Body::ApproveStep { step: any, ask: Hash::default() },
            96 => task::Body::RecordArtifact {
                held,
                kind: name("log"),
                name: name("out"),
                content: result("log"),
                about: Vec::new(),
            },
            97 => return Body::PurgeScope {},
            89 => submit(vec![step("other", &[], None, false)]),
            _ => self.stale(who, scope, one.pick),
        };
        body.into()
    }

    /// The word of some lease that it heard of, whoever held it and however long ago.
    fn stale(&self, who: usize, scope: Scope, pick: usize) -> task::Body {
        let leases: Vec<Hold<u16>> =
            self.authors[who].leases.iter().filter(|(of, _)| *of == scope).map(|(_, h)| *h).collect();
        let nobody = Hold { step: 0, epoch: 1, token: LeaseToken::new(0, 0) };
        let held = if leases.is_empty() { nobody } else { leases[pick % leases.len()] };
        task::Body::CompleteJob { held, result: result("stale") }
    }

    /// A claim dated right after the author's last op. It cites what the author saw, or lies about that too.
    fn back_dated(&mut self, who: usize, scope: Scope, pick: usize) -> Op {
        let author = &mut self.authors[who];
        let hlc = author.oldest_time();
        let seen =
            if pick.is_multiple_of(2) { author.head(scope) } else { Hlc { wall_ms: 0, logical: 0, node: author.node } };
        let body = author.claim_citing((pick % 4) as u16, seen);
        author.say_at(scope, hlc, body)
    }

    /// An op at exactly the time of another author's, if the chain allows it.
    fn at_a_copied_time(&mut self, who: usize, scope: Scope, pick: usize) -> Op {
        let last = self.authors[who].chain.hlc;
        let later: Vec<Hlc> = self.ops.iter().map(|op| op.header.hlc).filter(|hlc| Some(*hlc) > last).collect();
        let author = &mut self.authors[who];
        let body = author.claim(scope, (pick % 4) as u16);
        match later.get(pick % later.len().max(1)) {
            Some(hlc) => author.say_at(scope, *hlc, body),
            None => author.say(scope, self.now_ms, body),
        }
    }

    /// Another op in the place of one that the author wrote before: with another id, or even with the same one.
    fn forked(&mut self, who: usize, scope: Scope, pick: usize) -> Op {
        let author = &self.authors[who];
        let own: Vec<&Op> = self.ops.iter().filter(|op| op.header.origin == author.node).collect();
        let body = Body::Task(task::Body::CancelTask { mode: CancelMode::Hard, reason: format!("fork {pick}") });
        let mut header = author.header(scope, author.oldest_time());
        if let Some(place) = own.iter().rev().nth(pick % 3) {
            header.seq = place.header.seq;
            header.op_id = if pick.is_multiple_of(2) { place.header.op_id } else { OpId::new(9, pick as u128) };
            header.hlc = if pick.is_multiple_of(4) { place.header.hlc } else { header.hlc };
        }
        Op { pos: 1, header, body }
    }
}
