//! What must be true after a restart, whatever ended the run before it.
//!
//! What counts as acknowledged is what stood on the stdout of the ended run, complete lines only. Before anything is
//! repeated, every acknowledged task is there; the repeat is the same task; it comes to the same end, with each step's
//! result applied once; and nobody else's task is touched.

use super::{case::Case, flow::Flow, process::json_lines};
use serde_json::Value;

/// Whether a rebuild is part of the check; it costs as much as all the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    Verify,
    Rebuild,
}

/// The exit code for a task that ended badly.
const TASK_FAILED: i32 = 10;

/// Starts again on what an ended run left behind, and goes on to the end.
pub(crate) fn restart(case: &Case, flow: Flow, depth: Depth) -> Result<(), String> {
    let said = case.said();
    let acknowledged = acknowledged(&said);
    if acknowledged.is_empty() && !case.has_database() {
        // The root was not made yet: the repeat makes it.
        return finish(case, flow, depth, &said, None);
    }
    case.run(&["log", "verify"]).expect(0)?;
    let listed = case.tasks()?;
    let others = flow.others().len();
    if listed.len() < others || listed.len() > flow.tasks() {
        return Err(format!("{others} older task(s) and at most one more wanted, found {listed:?}"));
    }
    if let Some(lost) = acknowledged.iter().find(|id| ids(&listed).filter(|found| found == *id).count() != 1) {
        return Err(format!("{lost} was acknowledged and is not there once: {listed:?}"));
    }
    // The newest comes first.
    let known = (listed.len() == flow.tasks()).then(|| ids(&listed).next()).flatten();
    finish(case, flow, depth, &said, known)
}

/// The ids that a run has acknowledged: `submit` says one line, `run` begins with `accepted`.
pub(crate) fn acknowledged(said: &[Value]) -> Vec<String> {
    let is_accepted = |line: &&Value| line.get("event").is_none_or(|event| event == "accepted" || event == "ended");
    let mut found: Vec<String> = said.iter().filter(is_accepted).filter_map(|line| text(line, "task")).collect();
    found.dedup();
    found
}

/// The repeat, and what it comes to. `known` is the flow's task, if it was there before.
fn finish(case: &Case, flow: Flow, depth: Depth, said: &[Value], known: Option<String>) -> Result<(), String> {
    let repeated = case.run(&flow.command(case));
    let first = repeated.expect(flow.exit())?.lines().into_iter().next().ok_or("the repeat said nothing")?;
    let id = text(&first, "task").ok_or("the repeat named no task")?;
    if known.is_some() && (known.as_ref() != Some(&id) || first["merged"] != true) {
        return Err(format!("{known:?} was there, and the repeat says {first}"));
    }
    for task in ids(&case.tasks()?) {
        let waited = case.run(&["task", "wait", &task, "--timeout-s", "20"]);
        if !matches!(waited.code(), Some(0 | TASK_FAILED)) {
            return Err(format!("a task that does not end: {waited}"));
        }
    }
    ended(&case.task(&id)?, flow, said)?;
    let listed = case.tasks()?;
    let older = listed.iter().filter(|task| task["task"] != id.as_str()).map(|task| &task["status"]);
    if listed.len() != flow.tasks() || !older.eq(flow.others()) {
        return Err(format!("{:?} and the flow's task wanted in the end, found {listed:?}", flow.others()));
    }
    case.run(&["log", "verify"]).expect(0)?;
    if depth == Depth::Rebuild {
        case.run(&["log", "rebuild"]).expect(0)?;
    }
    Ok(())
}

/// The task as it must be in the end, and no younger than what the ended run has said about it.
fn ended(task: &Value, flow: Flow, said: &[Value]) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{what}: {task}\n    after: {said:?}"));
    if task["status"] != flow.status() || task["result"] != flow.result() {
        return wrong("another end");
    }
    for step in task["steps"].as_array().into_iter().flatten() {
        let history: Vec<&Value> = step["history"].as_array().into_iter().flatten().collect();
        let epochs: Vec<u64> = history.iter().filter_map(|attempt| attempt["epoch"].as_u64()).collect();
        let successes = history.iter().filter(|attempt| attempt["outcome"] == "SUCCESS").count();
        let wanted = usize::from(flow != Flow::DeadLetter);
        if step["status"] != flow.status() || successes != wanted {
            return wrong("a result that was not applied once");
        }
        if !epochs.is_sorted_by(|one, next| one < next) || epochs.last().copied() != step["epoch"].as_u64() {
            return wrong("epochs that do not grow");
        }
        for told in said.iter().filter(|line| line["event"] == "step" && line["step"] == step["step"]) {
            let is_older = told["attempt"].as_u64() > step["attempt"].as_u64();
            let is_undone = told["status"] == "SUCCESS" && told["attempt"] != step["attempt"];
            if is_older || is_undone {
                return wrong(&format!("younger than what was told ({told})"));
            }
        }
    }
    Ok(())
}

fn ids(listed: &[Value]) -> impl Iterator<Item = String> + '_ {
    listed.iter().filter_map(|task| text(task, "task"))
}

fn text(value: &Value, field: &str) -> Option<String> {
    value[field].as_str().map(str::to_owned)
}

#[test]
fn only_complete_lines_are_acknowledged() {
    let said = json_lines(
        "{\"event\":\"accepted\",\"task\":\"tsk_1\"}\n{\"event\":\"step\",\"task\":\"tsk_1\"}\n{\"task\":\"tsk_2",
    );
    assert_eq!(acknowledged(&said), ["tsk_1"]);
    assert_eq!(acknowledged(&json_lines("{\"task\":\"tsk_3\",\"merged\":false}\n")), ["tsk_3"]);
    assert!(acknowledged(&json_lines("{\"task\":\"tsk_3\"}")).is_empty());
}
