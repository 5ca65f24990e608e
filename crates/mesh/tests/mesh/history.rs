//! Random histories of a mesh: an owner, a coordinator, workers, and a liar.

use crate::author::{
    Author, LEASE_MS, Linked, START_MS, complete, everything, first_hand, give, link, mesh, name, only, scope, submit,
};
use proptest::{collection::vec, prelude::*};
use relaymesh_core::{
    hlc::Hlc,
    op::{Body, CancelMode, ExpireReason, Hold, Scope},
    register,
    task::{self, Status},
};
use relaymesh_mesh::{
    capability::{Action, Chain as Ucan, Resource},
    register::Register,
    rows::Rows,
};

/// One thing that happens, as numbers: who, what, and which one of those that fit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Move {
    who: usize,
    what: u8,
    pick: usize,
    gap_ms: u64,
}

pub(crate) fn moves(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Move>> {
    let one = (0..8usize, 0..100u8, 0..1_000usize, 0..60u64);
    vec(one.prop_map(|(who, what, pick, gap_ms)| Move { who, what, pick, gap_ms }), count)
}

/// All that was written, in the order of writing.
pub(crate) fn history(count: u8, moves: &[Move]) -> Vec<Linked> {
    let (authors, ops) = mesh(count);
    let heard = vec![ops.len(); authors.len()];
    let liar = authors.last().cloned().expect("somebody is there");
    let mut story = Story { authors, liar, heard, ops, now_ms: START_MS + 1 };
    moves.iter().for_each(|one| story.play(*one));
    story.ops
}

struct Story {
    authors: Vec<Author>,
    /// Another branch of what the last author writes.
    liar: Author,
    heard: Vec<usize>,
    ops: Vec<Linked>,
    now_ms: u64,
}

impl Story {
    fn play(&mut self, one: Move) {
        self.now_ms += one.gap_ms;
        let who = one.who % self.authors.len();
        // Words that cite are refused, so few do.
        let every = if matches!(one.what, 30..=47) { 24 } else { 4 };
        let cites = one.pick.is_multiple_of(every).then(|| self.ops.iter().rev().nth(one.pick % 7)).flatten();
        self.authors[who].cites = cites.map(|linked| linked.op.header.op_id).into_iter().collect();
        let said = match one.what {
            0..=29 => return self.hear(who),
            30..=44 => self.word(one),
            45..=47 => self.seal(who, one),
            48 => self.fork(one),
            49..=52 => self.back_dated(who, one),
            _ => self.about_a_task(who, one),
        };
        self.ops.push(said);
    }

    fn hear(&mut self, who: usize) {
        let author = &mut self.authors[who];
        for linked in &self.ops[self.heard[who]..] {
            if linked.op.header.origin != author.node {
                author.hear(linked, self.now_ms);
            }
        }
        self.heard[who] = self.ops.len();
    }

    /// Mostly the owner's; now and then somebody tries who may not.
    fn word(&mut self, one: Move) -> Linked {
        let count = self.authors.len();
        let who = if one.pick.is_multiple_of(5) { one.who % count } else { 0 };
        let node = self.authors[one.pick % count].node;
        let target = (!one.pick.is_multiple_of(3)).then_some(node);
        let number = (one.pick % 3) as u8 + 1;
        let first = link(0, number, everything(), None);
        let body = match one.what {
            30..=32 => register::Body::RouteKind {
                pattern: ["x.*", "x.a", "x.b"][one.pick % 3].parse().expect("a pattern"),
                target,
            },
            33..=34 => register::Body::DesignateCoordinator { coordinator: node },
            35..=36 => register::Body::FreezeNode { node, frozen: one.pick.is_multiple_of(2) },
            37 => register::Body::SetSetting { name: name("a"), value: Some(one.pick.to_string()) },
            38 => register::Body::SetFeatureLevel { level: (one.pick % 4) as u32 },
            39..=40 => register::Body::RevokeUcan { ucan_cid: first.cid() },
            41 => give(&first_hand(number, vec![only(Resource::Mesh, Action::Write, None)])),
            42 => give(
                &Ucan::new(vec![first.clone(), link(number, 9, everything(), Some(&first))])
                    .expect("two links are a chain"),
            ),
            _ => give(&first_hand(number, vec![only(Resource::Job, Action::Claim, Some("x.a"))])),
        };
        self.authors[who].word(self.now_ms, body)
    }

    /// Of everything that its author has heard of, up to some time in the past.
    fn seal(&mut self, who: usize, one: Move) -> Linked {
        let (ops, heard) = (&self.ops, self.heard[who]);
        let author = &mut self.authors[who];
        let known: Vec<Linked> = ops
            .iter()
            .enumerate()
            .filter(|(at, linked)| *at < heard || linked.op.header.origin == author.node)
            .map(|(_, linked)| linked.clone())
            .collect();
        let back = (one.pick % 150) as u64;
        let upto = Hlc { wall_ms: self.now_ms.saturating_sub(back), logical: 0, node: author.node };
        let body = author.seal(upto, &known);
        author.word(self.now_ms, body)
    }

    fn fork(&mut self, one: Move) -> Linked {
        self.liar.say(scope(one.pick as u128 % 4), self.now_ms, submit("fork", &["x.a"]))
    }

    /// A claim dated right after the author's last op.
    fn back_dated(&mut self, who: usize, one: Move) -> Linked {
        let author = &mut self.authors[who];
        let last = author.chain.hlc.unwrap_or(Hlc { wall_ms: START_MS, logical: 0, node: author.node });
        let body = author.claim(one.pick as u128 % 4, 0);
        author.say_at(scope(one.pick as u128 % 4), Hlc { logical: last.logical + 1, ..last }, body)
    }

    fn about_a_task(&mut self, who: usize, one: Move) -> Linked {
        let number = one.pick as u128 % 4;
        let now_ms = self.now_ms;
        let author = &mut self.authors[who];
        let Some(rows) = author.view.rows(scope(number)).and_then(Rows::task).cloned() else {
            let key = ["k", "l", "m"][one.pick % 3];
            return author.say(scope(number), now_ms, submit(key, &["x.a", "x.b"]));
        };
        let running = rows.indexed().find(|(_, step)| step.status == Status::Running);
        let held = running.and_then(|(step, row)| {
            row.lease.as_ref().map(|lease| Hold { step, epoch: row.epoch, token: lease.token })
        });
        let claimable = rows.indexed().find(|(_, step)| step.is_claimable(now_ms)).map_or(0, |(index, _)| index);
        let body = match (one.what, held) {
            (53..=70, _) => author.claim(number, claimable),
            (71..=84, Some(held)) => {
                task::Body::CompleteJob { held, result: crate::author::result(&one.pick.to_string()) }
            }
            (85..=88, Some(held)) => {
                self.now_ms += LEASE_MS;
                let reason = ExpireReason::DeadlinePassed;
                task::Body::ExpireWork { step: held.step, epoch: held.epoch, reason, jitter_ms: 1 }
            }
            (89..=91, Some(held)) => task::Body::YieldWork { held, reason: String::new() },
            (92..=93, _) => task::Body::CancelTask { mode: CancelMode::Hard, reason: String::new() },
            (94..=95, _) => task::Body::RedriveTask { reason: String::new() },
            (96..=97, _) => return author.say(scope(number), self.now_ms, Body::PurgeScope {}),
            _ => return author.say(scope(number + 4), now_ms, submit(["k", "l", "m"][one.pick % 3], &["x.b"])),
        };
        author.say(scope(number), self.now_ms, body)
    }
}

/// What the registers and all tasks of a history are about.
pub(crate) fn scopes() -> Vec<Scope> {
    Register::ALL.map(Scope::Register).into_iter().chain((0..8).map(scope)).collect()
}

#[test]
fn what_is_claimed_can_be_completed_in_a_mesh() {
    let (mut authors, _) = mesh(2);
    let submitted = authors[1].say(scope(1), START_MS + 1, submit("k", &["x.a"]));
    let claim = authors[1].claim(1, 0);
    let claim = authors[1].say(scope(1), START_MS + 2, claim);
    authors[1].say(scope(1), START_MS + 3, complete(&claim, 1, "x"));
    let rows = authors[1].view.rows(submitted.op.header.scope).and_then(Rows::task).unwrap();
    assert_eq!(rows.task.status, Status::Success);
}
