//! What is counted, what is written, and whether whoever reads it can.

use super::{
    counts::{AGENTS_MAX, OTHERS, Watcher},
    *,
};
use crate::local::Status as Daemon;
use relaymesh_core::{
    budget::Amount,
    id::{NodeId, TaskId},
    lanes::Priority,
    op::Kind as Op,
    task::Status,
};
use relaymesh_runtime::driver::{Event, Meter, StepEvent};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

fn scrape() -> Scrape {
    let lane = LaneGauge { ready: 2, later: 1, oldest_ms: Some(5_000) };
    Scrape {
        status: Daemon { started_ms: 1_000, running: 3, pos: 99, ..Daemon::new(NodeId::new(1, 1)) },
        now_ms: 65_000,
        lanes: [LaneGauge::default(), lane, LaneGauge::default()],
        window: (2, 100, 1),
        approvals: 4,
        leased_steps: 3,
        active_tasks: 2,
        messages_waiting: 5,
        blobs: (6, 7_000),
        fenced: 12,
        database_bytes: 8_192,
        wal_bytes: 4_096,
        used_today: Amount { tokens: 10, turns: 1, wall_ms: 2_500, cost_micros: 1_500_000 },
        log_dropped: 1,
        resident_bytes: 1 << 20,
    }
}

fn event(kind: Op, task: u8, agent: &str, step: Status, status: Status) -> Event {
    let step = StepEvent {
        index: 0,
        name: "a".parse().unwrap(),
        agent: agent.parse().unwrap(),
        lane: Priority::Low,
        status: step,
        attempt: 1,
        epoch: 1,
        error: None,
    };
    Event { pos: 1, kind, task: TaskId::from_bytes([task; 16]), trace_id: 0, asked_in: None, status, steps: vec![step] }
}

/// Every sample by its name and labels.
fn values(text: &str) -> BTreeMap<String, f64> {
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

#[test]
fn a_life_of_a_task_is_counted_and_measured() {
    let counts = Arc::new(Counts::default());
    let mut watcher = Watcher::new(Arc::clone(&counts));
    let began = Instant::now();
    let story = [
        (0, Op::ScheduleJob, Status::Pending, Status::Pending),
        (40, Op::ClaimWork, Status::Running, Status::Running),
        (240, Op::FailJob, Status::Retrying, Status::Running),
        (1_240, Op::ClaimWork, Status::Running, Status::Running),
        (1_340, Op::ExpireWork, Status::Retrying, Status::Running),
        (2_340, Op::ClaimWork, Status::Running, Status::Running),
        (2_440, Op::CompleteJob, Status::Success, Status::Success),
    ];
    for (at_ms, kind, step, task) in story {
        watcher.take(&event(kind, 7, "coder", step, task), began + Duration::from_millis(at_ms));
    }
    watcher.take(&event(Op::TimeoutWork, 8, "coder", Status::DeadLetter, Status::DeadLetter), began);
    let found = values(&render(&counts, &Meter::default(), &scrape(), Form::Prometheus));
    let expected = [
        ("relaymesh_tasks_submitted_total", 1.0),
        ("relaymesh_tasks_ended_total{status=\"SUCCESS\"}", 1.0),
        ("relaymesh_tasks_ended_total{status=\"DEAD_LETTER\"}", 1.0),
        ("relaymesh_retry_total", 2.0),
        ("relaymesh_dead_total", 1.0),
        ("relaymesh_abandoned_total", 1.0),
        ("relaymesh_attempts_total{agent=\"coder\",outcome=\"success\"}", 1.0),
        ("relaymesh_attempts_total{agent=\"coder\",outcome=\"failed\"}", 1.0),
        ("relaymesh_attempts_total{agent=\"coder\",outcome=\"abandoned\"}", 1.0),
        ("relaymesh_attempt_duration_seconds_count{agent=\"coder\"}", 3.0),
        ("relaymesh_attempt_duration_seconds_sum{agent=\"coder\"}", 0.4),
        ("relaymesh_attempt_duration_seconds_bucket{le=\"0.1\",agent=\"coder\"}", 2.0),
        ("relaymesh_queue_wait_seconds_sum{lane=\"low\"}", 0.04),
        ("relaymesh_queue_wait_seconds_count{lane=\"low\"}", 1.0),
        ("relaymesh_task_duration_seconds_sum", 2.44),
        ("relaymesh_workflow_latency_p95", 2.44),
        ("relaymesh_queue_depth", 2.0),
        ("relaymesh_queue_oldest_seconds{lane=\"normal\"}", 60.0),
        ("relaymesh_used_today_dollars", 1.5),
        ("relaymesh_mesh_nodes_total{status=\"ALIVE\"}", 1.0),
        ("relaymesh_running_steps_by_owner_status{owner_status=\"ALIVE\"}", 3.0),
    ];
    for (name, value) in expected {
        let found = found.get(name).unwrap_or_else(|| panic!("{name} is not there: {:?}", found.keys()));
        assert!((found - value).abs() < 1e-9, "{name} is {found}, wanted {value}");
    }
}

#[test]
fn agents_beyond_the_limit_share_one_name() {
    let counts = Arc::new(Counts::default());
    let mut watcher = Watcher::new(Arc::clone(&counts));
    let now = Instant::now();
    for number in 0..AGENTS_MAX + 100 {
        let agent = format!("agent-{number}");
        watcher.take(&event(Op::ClaimWork, 7, &agent, Status::Running, Status::Running), now);
        watcher.take(&event(Op::CompleteJob, 7, &agent, Status::Success, Status::Running), now);
    }
    let agents = counts.agents();
    assert_eq!(agents.len(), AGENTS_MAX + 1);
    let found = values(&render(&counts, &Meter::default(), &scrape(), Form::Prometheus));
    let others = format!("relaymesh_attempts_total{{agent=\"{OTHERS}\",outcome=\"success\"}}");
    assert_eq!(found[&others], 100.0);
}

#[test]
fn the_percentile_is_of_the_newest_tasks() {
    let counts = Arc::new(Counts::default());
    let mut watcher = Watcher::new(Arc::clone(&counts));
    let began = Instant::now();
    for (count, ms) in [(2_000, 9_000), (960, 10), (64, 70)] {
        for _ in 0..count {
            watcher.take(&event(Op::ScheduleJob, 1, "a", Status::Pending, Status::Pending), began);
            let ended = began + Duration::from_millis(ms);
            watcher.take(&event(Op::CompleteJob, 1, "a", Status::Success, Status::Success), ended);
        }
    }
    assert_eq!(counts.p95_ms(), 70);
}

/// The names of the contract, in its order (R29).
#[test]
fn r29_all_eighteen_metrics_of_the_contract_are_there() {
    let contract = [
        "queue_depth",
        "active_tasks",
        "retry_total",
        "dead_total",
        "abandoned_total",
        "low_starvation_count",
        "workflow_latency_p95",
        "anti_entropy_merge_total",
        "web_write_get_compat_total",
        "web_write_rate_limited_total",
        "dead_owner_reclaimed_total",
        "membership_recovery_suppressed_total",
        "mesh_nodes_pruned_total",
        "worker_paused_total",
        "mesh_nodes_total",
        "running_steps_by_owner_status",
        "oldest_dead_node_age_ms",
        "gossip_convergence_seconds",
    ];
    let found: Vec<&str> = TABLE[..contract.len()].iter().map(|known| &known.name["relaymesh_".len()..]).collect();
    assert_eq!(found, contract);
    assert_eq!(TABLE[14].labels, ["status"]);
    assert_eq!(TABLE[15].labels, ["owner_status"]);
}

/// What `promtool check metrics` looks for, where it is not installed: every name of the table is written with its kind, its help and its labels,
/// nothing else is, and only names of the contract break the rules of naming.
#[test]
fn both_forms_say_what_the_table_says() {
    let counts = Arc::new(Counts::default());
    let mut watcher = Watcher::new(Arc::clone(&counts));
    let now = Instant::now();
    watcher.take(&event(Op::ClaimWork, 7, "a\"b".replace('"', "-").as_str(), Status::Running, Status::Running), now);
    watcher.take(&event(Op::CompleteJob, 7, "a-b", Status::Success, Status::Running), now);
    for form in [Form::Prometheus, Form::OpenMetrics] {
        let text = render(&counts, &Meter::default(), &scrape(), form);
        assert_eq!(text.ends_with("# EOF\n"), form == Form::OpenMetrics);
        let mut announced = BTreeSet::new();
        for definition in TABLE {
            let bare = definition.name.strip_suffix("_total").filter(|_| definition.kind == Kind::Counter);
            let name = if form == Form::Prometheus { definition.name } else { bare.unwrap_or(definition.name) };
            let kind = format!("{:?}", definition.kind).to_lowercase();
            for line in [format!("# HELP {name} {}", definition.help), format!("# TYPE {name} {kind}")] {
                assert_eq!(text.lines().filter(|found| *found == line).count(), 1, "{line}\n{text}");
            }
            assert!(announced.insert(name), "{name} is there twice");
            let of = |line: &&str| {
                let sample = line.split(['{', ' ']).next().unwrap_or_default();
                let parts = ["", "_bucket", "_sum", "_count", "_total"].map(|part| format!("{name}{part}"));
                parts.iter().any(|part| part == sample) && !line.starts_with('#')
            };
            let samples: Vec<&str> = text.lines().filter(of).collect();
            assert!(!samples.is_empty(), "{name} has no value");
            for label in definition.labels {
                assert!(samples.iter().all(|sample| sample.contains(&format!("{label}=\""))), "{name} has no {label}");
            }
        }
        let odd = ["_total", "_count", "_ms"];
        for definition in TABLE.iter().skip(18) {
            let is_counter = definition.kind == Kind::Counter;
            assert_eq!(definition.name.ends_with("_total"), is_counter, "{}", definition.name);
            assert!(is_counter || !odd.iter().any(|end| definition.name.ends_with(end)), "{}", definition.name);
        }
    }
}

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every word that looks like a metric.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("relaymesh_")).map(str::to_owned).collect()
}

#[test]
fn the_dashboard_and_the_alerts_name_metrics_that_there_are() {
    for name in ["deploy/dashboard.json", "deploy/alerts.yml"] {
        let named = named(&file(name));
        assert!(named.len() >= 8, "{name} names {named:?}");
        for metric in named {
            let is_known = |known: &Definition| {
                let parts: &[&str] = if known.kind == Kind::Histogram { &["_bucket", "_sum", "_count"] } else { &[""] };
                parts.iter().any(|part| format!("{}{part}", known.name) == metric)
            };
            assert!(TABLE.iter().any(is_known), "{name} names {metric}, which is no metric");
        }
    }
    serde_json::from_str::<serde_json::Value>(&file("deploy/dashboard.json")).unwrap();
}

#[test]
fn the_page_of_metrics_has_every_one() {
    let page = file("docs/how-to/metrics.md");
    for Definition { name, kind, labels, help } in TABLE {
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        let kind = format!("{kind:?}").to_lowercase();
        let row = format!("| `{name}` | {kind} | {} | {help} |", labels.join(", "));
        assert!(page.contains(&row), "docs/how-to/metrics.md has no row\n{row}");
    }
    let rows = page.lines().filter(|line| line.starts_with("| `relaymesh_")).count();
    assert_eq!(rows, TABLE.len());
}
