//! The benchmark of feeds: ops of a peer are verified and folded, beside the same ops written here.

use crate::measure::ms;
use rand::{SeedableRng as _, rngs::StdRng};
use relaymesh_api::error::{Code, Error};
use relaymesh_bus::sign::Signer;
use relaymesh_core::{
    backoff::Backoff,
    content::{ContentRef, Media},
    hash::Hash,
    hlc::Hlc,
    id::{LeaseToken, TaskId, WorkerId},
    lanes::Priority,
    name::Name,
    op::{Hold, Scope},
    task::{
        self,
        spec::{IdempotencyKey, RetryPolicy, Schedule, StepSpec},
    },
};
use relaymesh_mesh::{
    feed::{Admission, Branch, FeedId, FeedLog as _, MemoryFeedLog, Place, Run, SignedHead},
    fold::Fold,
    peer::{Command, Config, Peer, Start},
    rows::Rows,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Ops in a batch, and so in a run: one signature each.
const BATCH_OPS: usize = 256;
/// Ops of the task that is folded again.
const REFOLD_OPS: usize = 1_000;
/// Signatures that are made and checked.
const SIGNATURES: u32 = 2_000;
/// The share of local authoring that folding a peer's feed is to reach.
const SHARE_GOAL: f64 = 0.5;

/// Everything about feeds, with so many tasks of three ops each.
pub(crate) fn measure(tasks: u64) -> Result<Value, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::new(Code::Damaged, error.to_string());
    let mut shares = Vec::new();
    let mut last = (0.0, 0.0);
    for round in 1..=3u8 {
        eprintln!("round {round} of 3: {tasks} tasks written here, then taken from a peer …");
        let (peer, authored) = authored(tasks).map_err(|error| failed(&error))?;
        let (fold, folded) = folded(peer.log()).map_err(|error| failed(&error))?;
        if fold.state_hash() != peer.fold().state_hash() {
            return Err(Error::new(Code::Damaged, "the two folds differ: this is a bug"));
        }
        shares.push(folded / authored);
        last = (authored, folded);
    }
    shares.sort_by(f64::total_cmp);
    let (sign, verify) = signatures();
    let (upkeep_us, whole_ms) = state_hash(tasks).map_err(|error| failed(&error))?;
    Ok(json!({
        "ops": tasks * 3, "authored_ops_per_s": last.0, "folded_ops_per_s": last.1, "share": shares[1],
        "share_goal": SHARE_GOAL, "signs_per_s": sign, "verifies_per_s": verify,
        "late_op_in_1000_ms": late()?, "state_hash_upkeep_us_per_op": upkeep_us, "state_hash_whole_ms": whole_ms,
    }))
}

/// The figures for people.
pub(crate) fn print(found: &Value) {
    let number = |field: &str| found[field].as_f64().unwrap_or_default();
    let share = number("share");
    let verdict = if share >= SHARE_GOAL { "reached" } else { "MISSED" };
    println!("ops written here, tried, chained and signed   {:>10.0} a second", number("authored_ops_per_s"));
    println!("the same ops from a peer, verified and folded {:>10.0} a second", number("folded_ops_per_s"));
    println!("share, median of three rounds                 {share:>10.2} (goal {SHARE_GOAL}: {verdict})");
    println!("heads signed                                  {:>10.0} a second", number("signs_per_s"));
    println!("heads verified, strictly                      {:>10.0} a second", number("verifies_per_s"));
    println!("a late op into a task of 1,000 ops            {:>10.2} ms", number("late_op_in_1000_ms"));
    println!("state hash, kept up                           {:>10.2} µs an op", number("state_hash_upkeep_us_per_op"));
    println!("state hash, all of it                         {:>10.1} ms", number("state_hash_whole_ms"));
}

fn peer() -> Peer<StdRng> {
    let signer = Signer::from_seed(&[7; 32]);
    let rngs = [1, 2, 3].map(StdRng::seed_from_u64);
    let (root, log) = (signer.public_key(), MemoryFeedLog::default());
    Peer::open(Start { signer, root, origin_epoch: 1, life: 1, log, config: Config::default(), rngs }, 1)
}

fn name(text: &str) -> Name {
    text.parse().expect("a literal name")
}

fn schedule(number: u64) -> task::Body {
    let step = StepSpec {
        name: name("a"),
        agent: name("com.example.echo"),
        priority: Priority::Normal,
        depends_on: Vec::new(),
        compensates: None,
        input: None,
        retry: RetryPolicy { max_attempts: u32::MAX, backoff: Backoff { base_ms: 1, max_ms: 1 } },
        timeout_ms: None,
        approve: None,
        flow: None,
        terms: None,
    };
    let fingerprint = Hash::sha256(&number.to_be_bytes());
    let key = IdempotencyKey::Request(fingerprint);
    let schedule = Schedule { name: name("task"), key, fingerprint, trace_id: 1, input: None, steps: vec![step] };
    task::Body::ScheduleJob { schedule }
}

fn command(task: TaskId, body: task::Body) -> Command {
    let (author, source, namespace) = (name("bench"), name("bench"), name("default"));
    Command { author, source, namespace, scope: Scope::Task(task), causal_deps: Vec::new(), body: body.into() }
}

fn claim(peer: &Peer<StdRng>, task: TaskId, number: u64) -> (task::Body, LeaseToken) {
    let token = LeaseToken::new(number, u128::from(number));
    let seen =
        peer.fold().rows(Scope::Task(task)).map_or(Hlc { wall_ms: 0, logical: 0, node: peer.node() }, Rows::head);
    let worker = WorkerId::from_bytes(peer.node().to_bytes());
    (task::Body::ClaimWork { step: 0, owner: peer.node(), worker, token, lease_ms: 60_000, seen }, token)
}

/// Tasks submitted, claimed and completed here.
fn authored(tasks: u64) -> Result<(Peer<StdRng>, f64), relaymesh_mesh::peer::Refused> {
    let mut peer = peer();
    let result = ContentRef::of(Media::Text, b"done");
    let begun = Instant::now();
    let mut open = 0;
    for number in 0..tasks {
        let (task, now_ms) = (TaskId::new(1, u128::from(number)), 1_000 + number);
        peer.handle_command(command(task, schedule(number)), now_ms)?;
        let (body, token) = claim(&peer, task, number);
        peer.handle_command(command(task, body), now_ms)?;
        let held = Hold { step: 0, epoch: 1, token };
        peer.handle_command(command(task, task::Body::CompleteJob { held, result }), now_ms)?;
        open += 3;
        if open >= BATCH_OPS || number + 1 == tasks {
            if let Some(commit) = peer.poll_commit(now_ms) {
                peer.handle_committed(commit, now_ms);
            }
            open = 0;
        }
    }
    peer.fold_mut().sum_up();
    Ok((peer, (tasks * 3) as f64 / begun.elapsed().as_secs_f64()))
}

/// The same ops as they come from a peer: decoded, verified, kept, folded.
fn folded(log: &MemoryFeedLog) -> Result<(Fold, f64), relaymesh_mesh::feed::Refusal> {
    let (runs, ops) = runs(log);
    let mut fold = Fold::of_mesh(Signer::from_seed(&[7; 32]).public_key());
    let mut here = MemoryFeedLog::default();
    let begun = Instant::now();
    for bytes in &runs {
        let Ok(run) = Run::decode(bytes) else { continue };
        let Admission::News(news) = here.append(run)? else { continue };
        for linked in news.ops {
            fold.insert_linked(linked.op, linked.previous, linked.hash);
        }
    }
    fold.sum_up();
    Ok((fold, ops as f64 / begun.elapsed().as_secs_f64()))
}

/// A log as it travels.
fn runs(log: &MemoryFeedLog) -> (Vec<Vec<u8>>, u64) {
    let (mut runs, mut ops) = (Vec::new(), 0);
    for feed in log.feeds(None, usize::MAX) {
        let mut after = 0;
        while let Some(run) = log.run(feed, Branch::TRUNK, after, u64::MAX).filter(|run| !run.is_empty()) {
            (after, ops) = (run.head.seq, ops + run.len() as u64);
            runs.push(run.encode());
        }
    }
    (runs, ops)
}

fn signatures() -> (f64, f64) {
    let signer = Signer::from_seed(&[7; 32]);
    let feed = FeedId { origin: signer.public_key().node(), origin_epoch: 1 };
    let as_of = Hlc { wall_ms: 1, logical: 0, node: feed.origin };
    let begun = Instant::now();
    let heads: Vec<SignedHead> = (1..=u64::from(SIGNATURES))
        .map(|seq| SignedHead::sign(&signer, 1, Place { seq, hash: Hash::default() }, as_of))
        .collect();
    let signed = begun.elapsed();
    let begun = Instant::now();
    let good = heads.iter().filter(|head| head.verify().is_ok()).count();
    assert_eq!(good, heads.len(), "what was signed verifies");
    let rate = |took: Duration| f64::from(SIGNATURES) / took.as_secs_f64();
    (rate(signed), rate(begun.elapsed()))
}

/// A step that is claimed and given back again and again, and a word that comes after all of that and is dated before it.
fn late() -> Result<f64, Error> {
    let failed = |error: relaymesh_mesh::peer::Refused| Error::new(Code::Damaged, error.to_string());
    let mut peer = peer();
    let task = TaskId::new(1, 1);
    peer.handle_command(command(task, schedule(1)), 1_000).map_err(failed)?;
    for number in 1..=(REFOLD_OPS as u64 / 2) {
        let (body, token) = claim(&peer, task, number);
        peer.handle_command(command(task, body), 2_000 + number).map_err(failed)?;
        let held = Hold { step: 0, epoch: u32::try_from(number).unwrap_or(u32::MAX), token };
        let body = task::Body::YieldWork { held, reason: String::new() };
        peer.handle_command(command(task, body), 2_000 + number).map_err(failed)?;
    }
    // The first claim with an earlier date: then the one that was the first renews it, and everything after that is as it was.
    let (mut claimed, _) = claim(&peer, task, 1);
    if let task::Body::ClaimWork { seen, .. } = &mut claimed {
        seen.wall_ms = 1_000;
    }
    let mut late = peer.fold().rows(Scope::Task(task)).map(Rows::head).unwrap_or(peer.now());
    late = Hlc { wall_ms: 1_500, ..late };
    let mut took: Vec<f64> = (0..21)
        .map(|number| {
            let mut fold = peer.fold().clone();
            let mut op = relaymesh_core::op::Op {
                pos: 0,
                header: peer_header(&peer, late, number),
                body: claimed.clone().into(),
            };
            op.header.scope = Scope::Task(task);
            let id = op.header.op_id;
            let begun = Instant::now();
            fold.insert(op);
            let took = ms(begun.elapsed());
            assert_eq!(fold.no_effect(Scope::Task(task), id), None, "it counts");
            let epoch = fold.rows(Scope::Task(task)).and_then(Rows::task).map(|rows| rows.steps[0].epoch);
            assert_eq!(epoch, Some(REFOLD_OPS as u32 / 2), "and so does everything after it");
            took
        })
        .collect();
    took.sort_by(f64::total_cmp);
    Ok(took[took.len() / 2])
}

fn peer_header(peer: &Peer<StdRng>, hlc: Hlc, number: u64) -> relaymesh_core::op::Header {
    relaymesh_core::op::Header {
        op_id: relaymesh_core::id::OpId::new(1, u128::from(number)),
        origin: peer.node(),
        origin_epoch: 2,
        seq: 1,
        hlc,
        author: name("bench"),
        source: name("bench"),
        namespace: name("default"),
        scope: Scope::Log,
        write_class: relaymesh_core::op::WriteClass::AppendOnly,
        causal_deps: Vec::new(),
        via: None,
    }
}

/// What it costs to keep the hash of all rows, an op, and to make all of it.
fn state_hash(tasks: u64) -> Result<(f64, f64), relaymesh_mesh::peer::Refused> {
    let (mut peer, _) = authored(tasks)?;
    let rounds = 200u64;
    let mut spent = Duration::ZERO;
    for number in 0..rounds {
        peer.handle_command(command(TaskId::new(2, u128::from(number)), schedule(tasks + number)), 9_000_000)?;
        let begun = Instant::now();
        peer.fold_mut().sum_up();
        spent += begun.elapsed();
    }
    let upkeep_us = spent.as_secs_f64() * 1e6 / rounds as f64;
    let again = peer.fold().again();
    let begun = Instant::now();
    let whole = again.state_hash();
    let took = ms(begun.elapsed());
    assert_eq!(whole, peer.fold().state_hash(), "kept up or made anew, it is the same");
    Ok((upkeep_us, took))
}
