//! Random graphs, written the way a user writes them.

use crate::{
    node::REMOTE_AGENT,
    rng::Rng,
    share::{ASKED, COUNTED},
};
use relaymesh_core::task::request::Request;
use serde_json::{Value, json};

/// A graph of one to five steps; some with compensations, approvals, time limits, conditions, lists.
pub(super) fn random(rng: &mut Rng) -> Request {
    let count = 1 + rng.weighted(&[40, 25, 20, 10, 5]);
    let mut steps: Vec<Value> = Vec::new();
    let mut undo: Vec<Value> = Vec::new();
    for place in 0..count {
        let mut step = random_step(&format!("s{place}"), rng);
        let before: Vec<String> = (0..place).filter(|_| rng.chance(500)).map(|of| format!("s{of}")).collect();
        step["depends_on"] = json!(before);
        if rng.chance(80) {
            let deadline = rng.chance(600).then(|| rng.between(3_000, 30_000));
            step["approve"] = json!({ "text": format!("may s{place} run?"), "deadline_ms": deadline });
        }
        if rng.chance(200) {
            let name = format!("u{place}");
            step["compensate"] = json!(name);
            undo.push(random_step(&name, rng));
        }
        if rng.chance(120) {
            let of = if place > 0 && rng.chance(700) { format!("s{}", rng.index(place)) } else { String::new() };
            let least = rng.between(0, 2_000);
            let known = || format!("default(steps.{of}.result.n, 0) < {least}");
            step["when"] = json!(if of.is_empty() { (least < 1_400).to_string() } else { known() });
        }
        if rng.chance(100) {
            let items: Vec<u64> = (0..rng.between(0, 3)).map(|index| index * 10).collect();
            step["foreach"] = json!(items);
            step["input"] = json!({ "is": "${{ item }}", "text": "number ${{ index }}" });
        }
        steps.push(step);
    }
    steps.extend(undo);
    let flow = json!({ "name": format!("flow-{}", rng.between(0, 9)), "steps": steps });
    serde_json::from_value(flow).expect("a flow that a user could have written")
}

/// What the agent of a random list is given for the item at this place.
pub(crate) fn item_input(index: u16) -> String {
    json!({ "is": index * 10, "text": format!("number {index}") }).to_string()
}

fn random_step(name: &str, rng: &mut Rng) -> Value {
    let agent = match rng.weighted(&[30, 24, 22, 8, 10, 6]) {
        0 => "quick",
        1 => "work",
        2 => REMOTE_AGENT,
        3 => "stuck",
        4 => COUNTED[rng.index(COUNTED.len())].0,
        _ => ASKED[rng.index(ASKED.len())],
    };
    let priority = ["high", "normal", "low"][rng.index(3)];
    let mut step = json!({
        "id": name,
        "agent": agent,
        "priority": priority,
        "retry": {
            "max_attempts": rng.between(1, 4),
            "base_backoff_ms": rng.between(50, 1_000),
            "max_backoff_ms": rng.between(1_000, 6_000),
        },
    });
    if rng.chance(700) {
        step["input"] = json!({ "n": rng.between(0, 1_000_000) });
    }
    if ASKED.contains(&agent) {
        step["timeout_ms"] = json!(rng.spread(1_000, 30_000)); // an answer may come too late, or never
    } else if agent == "stuck" || rng.chance(150) {
        step["timeout_ms"] = json!(rng.between(300, 6_000));
    }
    step
}
