//! The text of a scrape.
//!
//! OpenMetrics and Prometheus' older form differ in how they announce a counter: the one without `_total`, the other with it. The encoder
//! writes the first; the second is made of it.

use super::{
    Counts, Kind, Scrape, TABLE,
    counts::{ALERTS, ENDS, OUTCOMES},
};
use crate::health::{Health, Trouble};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text},
    metrics::MetricType,
    registry::Registry,
};
use relaymesh_runtime::{driver::Meter, spread::Spread};
use std::{fmt, sync::atomic::Ordering::Relaxed};

/// In which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `text/plain; version=0.0.4`
    Prometheus,
    /// `application/openmetrics-text; version=1.0.0`
    OpenMetrics,
}

impl Form {
    /// What HTTP calls it.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// All metrics as text.
pub fn render(counts: &Counts, meter: &Meter, scrape: &Scrape, form: Form) -> String {
    let mut out = String::new();
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Samples(samples(counts, meter, scrape))));
    // Nothing here can fail but the writing, and a string takes everything.
    let _ = text::encode(&mut out, &registry);
    match form {
        Form::OpenMetrics => out,
        Form::Prometheus => classic(&out),
    }
}

/// The older form.
fn classic(open: &str) -> String {
    let mut out = String::with_capacity(open.len());
    let is_counter = |name: &str| {
        TABLE.iter().any(|known| known.kind == Kind::Counter && known.name.strip_suffix("_total") == Some(name))
    };
    for line in open.lines().filter(|line| *line != "# EOF") {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some(what), Some(name), Some(rest)) if is_counter(name) => {
                out += &format!("# {what} {name}_total {rest}\n");
            }
            _ => {
                out += line;
                out.push('\n');
            }
        }
    }
    out
}

/// In the order of [`relaymesh_core::lanes::Priority::ALL`].
const LANES: [&str; 3] = ["high", "normal", "low"];

type Labels = Vec<(&'static str, String)>;

/// The samples of one metric, as the table has it.
#[derive(Debug)]
struct Family {
    name: &'static str,
    samples: Vec<(Labels, Value)>,
}

#[derive(Debug)]
enum Value {
    Count(u64),
    Number(f64),
    /// Sum, how many, and how many under each bound.
    Spread(f64, u64, Vec<(f64, u64)>),
}

#[derive(Debug)]
struct Samples(Vec<Family>);

impl Collector for Samples {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for definition in TABLE {
            let kind = match definition.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Histogram => MetricType::Histogram,
            };
            let name = match definition.kind {
                Kind::Counter => definition.name.strip_suffix("_total").unwrap_or(definition.name),
                Kind::Gauge | Kind::Histogram => definition.name,
            };
            let mut metric = encoder.encode_descriptor(name, definition.help, None, kind)?;
            for family in self.0.iter().filter(|family| family.name == definition.name) {
                for (labels, value) in &family.samples {
                    let labels: &[(&str, String)] = labels;
                    if labels.is_empty() {
                        write(&mut metric, value)?
                    } else {
                        write(&mut metric.encode_family(&labels)?, value)?
                    }
                }
            }
        }
        Ok(())
    }
}

fn write(metric: &mut MetricEncoder<'_>, value: &Value) -> fmt::Result {
    match value {
        Value::Count(count) => metric.encode_counter::<NoLabelSet, _, u64>(count, None),
        Value::Number(number) => metric.encode_gauge(number),
        Value::Spread(sum, count, buckets) => metric.encode_histogram::<NoLabelSet>(*sum, *count, buckets, None),
    }
}

/// A histogram whose values were counted as `scale`th parts of what it shows.
fn spread(spread: &Spread, scale: f64) -> Value {
    let buckets: Vec<(f64, u64)> =
        spread.counts().map(|(bound, count)| (bound.map_or(f64::MAX, |bound| bound as f64 / scale), count)).collect();
    Value::Spread(spread.sum() as f64 / scale, buckets.iter().map(|(_, count)| count).sum(), buckets)
}

fn one(name: &'static str, value: Value) -> Family {
    Family { name, samples: vec![(Vec::new(), value)] }
}

fn number(name: &'static str, number: f64) -> Family {
    one(name, Value::Number(number))
}

fn gauge(name: &'static str, value: u64) -> Family {
    number(name, value as f64)
}

fn by<T>(name: &'static str, label: &'static str, all: impl IntoIterator<Item = (T, Value)>) -> Family
where
    T: ToString,
{
    Family { name, samples: all.into_iter().map(|(word, value)| (vec![(label, word.to_string())], value)).collect() }
}

fn samples(counts: &Counts, meter: &Meter, scrape: &Scrape) -> Vec<Family> {
    let mut all = of_the_contract(counts, scrape);
    all.extend(of_the_daemon(counts, scrape));
    all.extend(of_work(counts, scrape));
    all.extend(of_the_store(meter, scrape));
    all
}

fn of_the_contract(counts: &Counts, scrape: &Scrape) -> Vec<Family> {
    let count = |name, value: &std::sync::atomic::AtomicU64| one(name, Value::Count(value.load(Relaxed)));
    let none = |name| one(name, Value::Count(0));
    let nodes = |alive: f64| {
        [("ALIVE", alive), ("SUSPECT", 0.0), ("DEAD", 0.0)].map(|(word, value)| (word, Value::Number(value)))
    };
    vec![
        gauge("relaymesh_queue_depth", scrape.lanes.iter().map(|lane| lane.ready).sum()),
        gauge("relaymesh_active_tasks", scrape.active_tasks),
        count("relaymesh_retry_total", &counts.retries),
        count("relaymesh_dead_total", &counts.dead),
        count("relaymesh_abandoned_total", &counts.abandoned),
        gauge("relaymesh_low_starvation_count", scrape.status.low_starvation_count),
        number("relaymesh_workflow_latency_p95", f64::from(counts.p95_ms()) / 1e3),
        none("relaymesh_anti_entropy_merge_total"),
        count("relaymesh_web_write_get_compat_total", &counts.web_write_get_compat),
        count("relaymesh_web_write_rate_limited_total", &counts.web_write_rate_limited),
        count("relaymesh_spans_sent_total", &counts.spans_sent),
        count("relaymesh_spans_dropped_total", &counts.spans_dropped),
        none("relaymesh_dead_owner_reclaimed_total"),
        none("relaymesh_membership_recovery_suppressed_total"),
        none("relaymesh_mesh_nodes_pruned_total"),
        none("relaymesh_worker_paused_total"),
        by("relaymesh_mesh_nodes_total", "status", nodes(1.0)),
        by("relaymesh_running_steps_by_owner_status", "owner_status", nodes(scrape.leased_steps as f64)),
        gauge("relaymesh_oldest_dead_node_age_ms", 0),
        gauge("relaymesh_gossip_convergence_seconds", 0),
    ]
}

fn of_the_daemon(counts: &Counts, scrape: &Scrape) -> Vec<Family> {
    let status = &scrape.status;
    let Health { is_ready, reasons } = status.health();
    let has = |trouble: Trouble| f64::from(u8::from(reasons.iter().any(|reason| reason.trouble == trouble)));
    let alerts = ALERTS.iter().zip(&counts.alerts).map(|(kind, count)| (*kind, Value::Count(count.load(Relaxed))));
    vec![
        by("relaymesh_build_info", "version", [(&status.version, Value::Number(1.0))]),
        number("relaymesh_start_time_seconds", status.started_ms as f64 / 1e3),
        gauge("relaymesh_ready", u64::from(is_ready)),
        by("relaymesh_trouble", "trouble", Trouble::ALL.map(|trouble| (trouble.as_str(), Value::Number(has(trouble))))),
        by("relaymesh_alerts_total", "kind", alerts),
        gauge("relaymesh_clients", status.clients),
        gauge("relaymesh_waiting_callers", status.waiting),
        gauge("relaymesh_held_agents", status.held.len() as u64),
        one("relaymesh_log_lines_dropped_total", Value::Count(scrape.log_dropped)),
        gauge("relaymesh_resident_memory_bytes", scrape.resident_bytes),
    ]
}

fn of_work(counts: &Counts, scrape: &Scrape) -> Vec<Family> {
    let agents = counts.agents();
    let ended = ENDS.iter().zip(&counts.ended).map(|(end, count)| (end.as_str(), Value::Count(count.load(Relaxed))));
    let mut attempts = Vec::new();
    for (agent, counted) in &agents {
        for (outcome, count) in OUTCOMES.iter().zip(&counted.outcomes) {
            let labels = vec![("agent", agent.clone()), ("outcome", (*outcome).to_owned())];
            attempts.push((labels, Value::Count(count.load(Relaxed))));
        }
    }
    let lanes = |value: fn(&super::LaneGauge, u64) -> f64| {
        LANES.iter().zip(&scrape.lanes).map(move |(lane, gauge)| (*lane, Value::Number(value(gauge, scrape.now_ms))))
    };
    let age = |lane: &super::LaneGauge, now_ms: u64| {
        lane.oldest_ms.map_or(0.0, |since| now_ms.saturating_sub(since) as f64 / 1e3)
    };
    let waits = LANES.iter().zip(&counts.waits_ms).map(|(lane, waits)| (*lane, spread(waits, 1e3)));
    vec![
        one("relaymesh_tasks_submitted_total", Value::Count(counts.submitted.load(Relaxed))),
        by("relaymesh_tasks_ended_total", "status", ended),
        one("relaymesh_task_duration_seconds", spread(&counts.task_ms, 1e3)),
        Family { name: "relaymesh_attempts_total", samples: attempts },
        by(
            "relaymesh_attempt_duration_seconds",
            "agent",
            agents.iter().map(|(agent, counted)| (agent, spread(&counted.attempt_ms, 1e3))),
        ),
        by("relaymesh_queue_wait_seconds", "lane", waits),
        one("relaymesh_fenced_total", Value::Count(scrape.fenced)),
        by("relaymesh_queue_ready_steps", "lane", lanes(|lane, _| lane.ready as f64)),
        by("relaymesh_queue_retry_steps", "lane", lanes(|lane, _| lane.later as f64)),
        by("relaymesh_queue_oldest_seconds", "lane", lanes(age)),
        gauge("relaymesh_window_steps", scrape.window.0),
        gauge("relaymesh_window_capacity_steps", scrape.window.1),
        gauge("relaymesh_parked_steps", scrape.window.2),
        gauge("relaymesh_running_attempts", scrape.status.running),
        gauge("relaymesh_approvals_waiting", scrape.approvals),
        gauge("relaymesh_outbox_messages", scrape.messages_waiting),
        gauge("relaymesh_used_today_tokens", scrape.used_today.tokens),
        number("relaymesh_used_today_dollars", scrape.used_today.cost_micros as f64 / 1e6),
        number("relaymesh_used_today_seconds", scrape.used_today.wall_ms as f64 / 1e3),
    ]
}

fn of_the_store(meter: &Meter, scrape: &Scrape) -> Vec<Family> {
    let failures = [("disk_full", &meter.full), ("other", &meter.failed)];
    let failures = failures.map(|(reason, count)| (reason, Value::Count(count.load(Relaxed))));
    vec![
        gauge("relaymesh_log_position", scrape.status.pos),
        one("relaymesh_ops_total", Value::Count(meter.commit_ops.sum())),
        one("relaymesh_commit_duration_seconds", spread(&meter.commit_micros, 1e6)),
        one("relaymesh_commit_batch_ops", spread(&meter.commit_ops, 1.0)),
        by("relaymesh_commit_failures_total", "reason", failures),
        gauge("relaymesh_fold_lag_ops", 0),
        gauge("relaymesh_database_bytes", scrape.database_bytes),
        gauge("relaymesh_wal_bytes", scrape.wal_bytes),
        gauge("relaymesh_blobs", scrape.blobs.0),
        gauge("relaymesh_blob_bytes", scrape.blobs.1),
        gauge("relaymesh_disk_free_bytes", scrape.status.disk_free_bytes),
        gauge("relaymesh_disk_needed_bytes", scrape.status.disk_needed_bytes),
    ]
}
