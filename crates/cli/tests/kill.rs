//! THE KILL TEST: the process is killed at one writing call after the other, and nothing that it said was a lie.
//!
//! For each flow a trial run records every call that changes a file: the root's files, and stdout, where the
//! acknowledgements go. Then, for each recorded call, the flow runs on a fresh copy of the start state and gets SIGKILL on
//! the way into exactly that call. After that, plain runs of the binary must find what `harness/check.rs` says.
//!
//! Who watches and kills is the striker: `strace` where it is installed, elsewhere fail points (`harness/failpoint.c`).
//! So that the fail points are known to work where they are needed, one flow is always struck by them.
//!
//! What a kill cannot show is a power cut: what a killed process wrote stays in the page cache. So one more test looks at
//! the order of the calls: each commit is synced before it is acknowledged.
//!
//! `strace` counts by thread. Where two threads make the same call on the same file, only the first to get to a number is
//! killed there; the calls of the other are told as "shared". They are a handful of syncs, which change nothing that a
//! killed process leaves, and in a submit the writer's first word in the sidecar, which the other two flows do strike.
//! Fail points count by process, and share none.
//!
//! The number of calls varies a little between runs, because a thread syncs the sidecar in its own time. A number beyond
//! the end of a run lets it finish; then it must have ended well, and passes the same checks.

#[allow(dead_code, reason = "the torture tests use the rest")]
use crate::harness::{
    case::Case, check::Depth, failpoints, flow::Flow, point::Point, story::Story, strace, striker::Striker,
    struck::Struck, trial,
};
use std::{collections::BTreeMap, time::Instant};

/// One in so many checks folds the whole log again.
const REBUILD_EVERY: usize = 8;
/// How many failures are told in full.
const TOLD_MAX: usize = 5;

#[test]
fn a_kill_at_any_write_of_a_submit_loses_nothing() {
    kill_everywhere(Striker::chosen("the kill test"), Flow::Submit, 100);
}

#[test]
fn a_kill_at_any_write_of_a_claim_and_its_completion_loses_nothing() {
    kill_everywhere(Striker::chosen("the kill test"), Flow::Complete, 60);
}

#[test]
fn a_kill_at_any_write_of_a_retry_to_the_dead_letter_loses_nothing() {
    kill_everywhere(Striker::chosen("the kill test"), Flow::DeadLetter, 60);
}

#[test]
fn a_kill_at_any_write_of_a_message_loses_nothing() {
    kill_everywhere(Striker::chosen("the kill test"), Story::Letter, 100);
}

#[test]
fn a_kill_at_any_write_of_a_lock_loses_nothing() {
    kill_everywhere(Striker::chosen("the kill test"), Story::Lock, 30);
}

#[test]
fn a_kill_at_any_write_of_a_purge_loses_nothing() {
    kill_everywhere(Striker::chosen("the kill test"), Story::Purge, 30);
}

#[test]
fn a_kill_at_any_write_of_a_compaction_loses_nothing() {
    kill_everywhere(Striker::chosen("the kill test"), Story::Compact, 40);
}

#[test]
fn a_kill_at_any_write_of_a_backup_leaves_none_or_all_of_it() {
    kill_everywhere(Striker::chosen("the kill test"), Story::Backup, 80);
}

#[test]
fn a_kill_at_any_write_of_a_restore_leaves_no_root_or_a_whole_one() {
    kill_everywhere(Striker::chosen("the kill test"), Story::Restore, 70);
}

#[test]
fn a_kill_at_any_write_of_a_migration_leaves_a_store_that_the_next_start_brings_up_to_date() {
    kill_everywhere(Striker::chosen("the kill test"), Story::Upgrade, 120);
}

/// The same as the first, whatever else is installed: nobody else would try the fail points before they are needed.
#[test]
fn a_kill_at_any_fail_point_of_a_submit_loses_nothing() {
    let striker = Striker::FailPoints;
    kill_everywhere(striker.is_there("the kill test by fail points").then_some(striker), Flow::Submit, 100);
}

/// Fail points see the calls of the C library's functions, `strace` those of the kernel. A write that goes past the
/// library would never be struck by a fail point; here it is found. Both watch the same run, so nothing may differ.
#[test]
fn strace_and_fail_points_see_the_same_calls() {
    let what = "the comparison of strace and fail points";
    if !strace::is_there() {
        // No failure anywhere: all that is struck is struck without it.
        eprintln!("SKIPPED: {what} needs strace that may trace: not here");
        return;
    }
    if !Striker::FailPoints.is_there(what) {
        return;
    }
    for flow in [Flow::Submit, Flow::Complete, Flow::DeadLetter] {
        let start = flow.start(Striker::FailPoints);
        let case = start.copy();
        let (record, by_strace) = (start.path().join("record"), start.path().join("by-strace"));
        let ran = failpoints::trial_under_strace(&case, &flow.command(&case), &record, &by_strace);
        ran.expect(flow.exit()).unwrap();
        let seen = trial::calls(&case, &record);
        assert_eq!(seen, trial::calls(&case, &by_strace), "{flow:?}: fail points on the left, strace on the right");
        println!("{flow:?}: {} calls of {} threads", seen.values().flatten().count(), seen.len());
    }
}

/// What no kill can show, because the page cache outlives the process: the order of the calls. With `synchronous=NORMAL`
/// every other test here passes, and a power cut loses what was acknowledged (D1).
#[test]
fn d1_every_commit_is_synced_before_it_is_acknowledged() {
    let Some(striker) = Striker::chosen("the order of syncs") else { return };
    for (flow, commits_min) in [(Flow::Submit, 1), (Flow::Complete, 3)] {
        let case = flow.start(striker);
        let record = case.path().join("record");
        striker.trial(&case, &flow.command(&case), &record).expect(flow.exit()).unwrap();
        let commits = trial::synced_commits(&case, &record).unwrap();
        assert!(commits >= commits_min, "only {commits} commit(s) of {flow:?} were seen");
    }
}

/// Nothing where there is no striker, and that was said. `points_min` guards against a trial that recorded next to
/// nothing: then the test would pass without testing.
fn kill_everywhere(striker: Option<Striker>, flow: impl Struck, points_min: usize) {
    let Some(striker) = striker else { return };
    let begun = Instant::now();
    let start = flow.start(striker);
    let (points, shared) = recorded(striker, &start, flow);
    assert!(points.len() >= points_min, "the trial of {flow:?} has only {} points", points.len());
    let mut reached: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let depth = if index % REBUILD_EVERY == 0 { Depth::Rebuild } else { Depth::Verify };
        let killed = reached.entry((point.path.clone(), point.call.clone())).or_default();
        match kill_at(striker, &start, flow, point, depth) {
            Ok(was_killed) => *killed += usize::from(was_killed),
            Err(failure) => failures.push(failure),
        }
    }
    let kills: usize = reached.values().sum();
    println!(
        "{flow:?} by {striker:?}: {} points ({shared} calls shared), {kills} killed, {} failed, {:.1} s",
        points.len(),
        failures.len(),
        begun.elapsed().as_secs_f64()
    );
    failures.truncate(TOLD_MAX);
    assert!(failures.is_empty(), "\n{}", failures.join("\n\n"));
    let missed: Vec<_> = reached.iter().filter(|(_, kills)| **kills == 0).collect();
    assert!(missed.is_empty(), "recorded, and never reached again: {missed:?}");
    assert!(kills * 20 >= points.len() * 19, "only {kills} of {} points were reached", points.len());
}

/// The points of a run that nobody disturbs. That run, too, must pass.
fn recorded(striker: Striker, start: &Case, flow: impl Struck) -> (Vec<Point>, usize) {
    let case = start.copy();
    let record = start.path().join("record");
    let ran = striker.trial(&case, &flow.command(&case), &record);
    ran.expect(flow.exit()).unwrap_or_else(|why| panic!("{why}"));
    let found = trial::points(&case, &record, striker);
    flow.restart(&case, Depth::Rebuild).unwrap_or_else(|why| panic!("without a kill: {why}"));
    found
}

/// Kills a run at the point, and checks what it left. Says whether it was killed.
fn kill_at(striker: Striker, start: &Case, flow: impl Struck, point: &Point, depth: Depth) -> Result<bool, String> {
    let case = start.copy();
    let ran = striker.kill(&case, &flow.command(&case), point);
    let was_killed = ran.is_killed();
    let ended_well = if was_killed { Ok(()) } else { ran.expect(flow.exit()).map(drop) };
    match ended_well.and_then(|()| flow.restart(&case, depth)) {
        Ok(()) => Ok(was_killed),
        Err(why) => Err(format!(
            "{flow:?} killed at {point}: {why}\n  evidence: {}\n  run: {}",
            case.keep().display(),
            ran.command
        )),
    }
}
