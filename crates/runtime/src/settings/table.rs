//! The one list of all settings.

use relaymesh_core::{content::CONTENT_BYTES_MAX, lanes::Weights};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt, net::SocketAddr};

/// The most that a namespace may weigh.
const WEIGHT_MAX: u32 = 1_000;

/// Weights of namespaces in the form of the setting; `None` if that is not what it says.
pub(super) fn weights(text: &str) -> Option<Weights> {
    let pairs = text.split(',').filter(|_| !text.is_empty()).map(|pair| {
        let (namespace, weight) = pair.trim().split_once('=')?;
        let weight = weight.trim().parse().ok().filter(|weight| (1..=WEIGHT_MAX).contains(weight))?;
        Some((namespace.trim().parse().ok()?, weight))
    });
    pairs.collect()
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Value {
    /// A whole number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// A few words.
    Text(Cow<'static, str>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// From when on a change counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// For everything, as soon as it is loaded.
    AtOnce,
    /// For what begins after it was loaded: claims, submits, attempts.
    NewWork,
    /// When the daemon starts the next time.
    NextStart,
    /// It is taken and checked, but what it is for does not exist yet: several nodes.
    NotYet,
}

impl Effect {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AtOnce => "at once",
            Self::NewWork => "for new work",
            Self::NextStart => "at the next start",
            Self::NotYet => "no effect yet: for several nodes",
        }
    }
}

/// What is known about a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name in the file; the variable is `RELAYMESH_` and the name in capitals.
    pub name: &'static str,
    /// What it is when nobody says anything.
    pub default: Value,
    /// The least and the greatest number it may be; a flag and a text have none.
    pub bound: Option<(u64, u64)>,
    /// From when on a change counts.
    pub effect: Effect,
    /// What it is for.
    pub about: &'static str,
}

impl Setting {
    /// The variable that sets it.
    pub fn variable(&self) -> String {
        format!("{}{}", super::VARIABLE_PREFIX, self.name.to_ascii_uppercase())
    }

    /// What it may be, in words.
    pub fn allowed(&self) -> String {
        match (&self.default, self.bound) {
            (_, Some((min, max))) => format!("an integer from {min} to {max}"),
            (Value::Text(_), None) => self.form().0.to_owned(),
            (Value::Number(_) | Value::Flag(_), None) => "true or false".to_owned(),
        }
    }

    /// Whether a text will do.
    pub fn fits(&self, text: &str) -> bool {
        text.len() <= TEXT_BYTES_MAX && !text.contains(char::is_control) && (self.form().1)(text)
    }

    /// What a text must be: in words, and as a check.
    fn form(&self) -> (&'static str, fn(&str) -> bool) {
        match self.name {
            "http_addr" => {
                ("an address with a port such as 127.0.0.1:8080 (port 0: the root's own port), or `off`", |text| {
                    text == OFF || text.parse::<SocketAddr>().is_ok()
                })
            }
            "synchronous" => ("`full` or `normal`", |text| text == FULL || text == NORMAL),
            "http_hosts" => ("host names without ports, separated by commas", |text| {
                let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
                text.is_empty() || text.split(',').all(|host| !host.is_empty() && host.chars().all(allowed))
            }),
            "namespace_weights" => {
                ("namespaces with numbers from 1 to 1000, such as team-a=3,team-b=2, or empty", |text| {
                    weights(text).is_some()
                })
            }
            "otlp_endpoint" => {
                ("an http:// or https:// URL without a password, or empty", |text| {
                    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
                    // A password in an address would be shown with it.
                    text.is_empty() || rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(['@', ' ']))
                })
            }
            "otlp_headers_secret" => ("the name of a secret, or empty", |text| {
                text.is_empty() || text.parse::<relaymesh_core::name::Name>().is_ok()
            }),
            _ => ("the path of a file, or empty", |_| true),
        }
    }
}

/// What `http_addr` is when there is to be no listener.
pub const OFF: &str = "off";

/// What `synchronous` is when a commit is synced before it is acknowledged.
const FULL: &str = "full";
/// What `synchronous` is when it is not.
pub const NORMAL: &str = "normal";

/// The longest text.
const TEXT_BYTES_MAX: usize = 1_024;

/// A type that a setting may have.
trait Field: Sized {
    fn value(&self) -> Value;
    fn of(value: Value) -> Option<Self>;
}

impl Field for u64 {
    fn value(&self) -> Value {
        Value::Number(*self)
    }

    fn of(value: Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(number),
            Value::Flag(_) | Value::Text(_) => None,
        }
    }
}

impl Field for bool {
    fn value(&self) -> Value {
        Value::Flag(*self)
    }

    fn of(value: Value) -> Option<Self> {
        match value {
            Value::Flag(flag) => Some(flag),
            Value::Number(_) | Value::Text(_) => None,
        }
    }
}

impl Field for String {
    fn value(&self) -> Value {
        Value::Text(Cow::Owned(self.clone()))
    }

    fn of(value: Value) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.into_owned()),
            Value::Number(_) | Value::Flag(_) => None,
        }
    }
}

macro_rules! settings {
    ($($name:ident: $type:ident = $default:literal, $bound:expr, $effect:ident, $about:literal;)*) => {
        /// All settings.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Settings {
            $(#[doc = $about] pub $name: $type,)*
        }

        /// Everything that is known about each setting, in the order of the contract.
        pub const TABLE: &[Setting] = &[$(Setting {
            name: stringify!($name),
            default: settings!(@value $type, $default),
            bound: $bound,
            effect: Effect::$effect,
            about: $about,
        }),*];

        impl Default for Settings {
            fn default() -> Self {
                Self { $($name: settings!(@field $type, $default),)* }
            }
        }

        impl Settings {
            /// The values, in the order of [`TABLE`].
            pub fn values(&self) -> Vec<Value> {
                vec![$(self.$name.value()),*]
            }

            /// Sets the one of this name; `false` when there is none, or it is of another kind.
            pub(super) fn set(&mut self, name: &str, value: Value) -> bool {
                match name {
                    $(stringify!($name) => Field::of(value).map(|value| self.$name = value).is_some(),)*
                    _ => false,
                }
            }
        }
    };
    (@value u64, $default:literal) => { Value::Number($default) };
    (@value bool, $default:literal) => { Value::Flag($default) };
    (@value String, $default:literal) => { Value::Text(Cow::Borrowed($default)) };
    (@field String, $default:literal) => { $default.to_owned() };
    (@field $type:ident, $default:literal) => { $default };
}

const DAY_MS: u64 = 86_400_000;

settings! {
    max_attempts: u64 = 3, Some((1, 1_000)), NewWork, "Default maximum number of attempts of a step. After the last one, the step is in DEAD_LETTER.";
    base_backoff_ms: u64 = 1_000, Some((0, DAY_MS)), NewWork, "Default delay before the second attempt of a step.";
    max_backoff_ms: u64 = 60_000, Some((0, 30 * DAY_MS)), NewWork, "Default maximum delay between two attempts of a step.";
    reclaim_scan_interval_ms: u64 = 5_000, Some((100, DAY_MS)), AtOnce, "Interval of the scan for expired leases: its delay after a clock jump, and before a retry of a failed read.";
    lease_heartbeat_ms: u64 = 2_000, Some((100, DAY_MS)), NewWork, "Interval at which external workers renew their leases, at most a third of the lease. The answer to a claim tells it as `heartbeat_ms`.";
    lease_timeout_ms: u64 = 15_000, Some((1_000, 7 * DAY_MS)), NewWork, "Lease duration for steps that the daemon's own agents run.";
    suspect_recover_min_ms: u64 = 5_000, Some((0, DAY_MS)), NotYet, "Minimum time that a node stays SUSPECT.";
    dead_recover_min_ms: u64 = 30_000, Some((0, DAY_MS)), NotYet, "Minimum time that a node stays DEAD.";
    pause_worker_when_local_not_alive: bool = true, None, NotYet, "Stop taking work while this node is SUSPECT or DEAD.";
    mesh_prune_older_than_ms: u64 = 604_800_000, Some((60_000, 3_650 * DAY_MS)), NotYet, "Age at which DEAD members are removed.";
    mesh_prune_limit: u64 = 256, Some((1, 65_536)), NotYet, "Maximum number of members removed in one round.";
    mesh_prune_interval_ms: u64 = 3_600_000, Some((1_000, 30 * DAY_MS)), NotYet, "Interval of the removal of members.";
    payload_max_bytes: u64 = 10_485_760, Some((1_024, CONTENT_BYTES_MAX as u64)), NewWork, "Maximum length of an input, a result or a message. To send more than 10 MiB by HTTP, raise `http_body_max_bytes` as well; for longer results, `output_bytes_max` of the agent.";
    done_retention_days: u64 = 7, Some((0, 36_500)), AtOnce, "Days for which ended tasks and threads are kept, and files in done/ and dead/ of the file bus; at least as long as idempotency keys.";
    idempotency_ttl_days: u64 = 7, Some((0, 36_500)), AtOnce, "Days for which an idempotency key is kept after the end of its task.";
    queue_capacity: u64 = 100, Some((1, 100_000)), AtOnce, "Maximum number of ready steps in memory; the others wait in the store.";
    thread_pool_core: u64 = 4, Some((1, 1_024)), AtOnce, "Number of idle threads that are kept for agent processes. More are started on demand, and end after a minute without work.";
    thread_pool_max: u64 = 8, Some((1, 1_024)), AtOnce, "Maximum number of concurrent agent processes.";
    llm_parallel_limit: u64 = 4, Some((1, 1_024)), AtOnce, "Maximum number of concurrent attempts of all agents with `llm = true`.";
    gossip_sync_sample_size: u64 = 32, Some((1, 4_096)), NotYet, "Number of members in one anti-entropy packet.";
    max_consecutive_high: u64 = 100, Some((1, 1_000_000)), NextStart, "Maximum number of steps of higher priority in a row before one of lower priority must run.";
    namespace_weights: String = "", None, AtOnce, "Weights of namespaces that have steps of one priority waiting, such as `team-a=3,team-b=2`; those not named weigh 1.";
    graceful_timeout_ms: u64 = 15_000, Some((1_000, 600_000)), AtOnce, "Time limit for stopping the daemon; running agents get two thirds of it.";
    min_free_disk_bytes: u64 = 16_777_216, Some((0, 1_099_511_627_776)), NextStart, "Minimum free disk space; below it, all writes are refused.";
    synchronous: String = "full", None, NextStart, "When a commit is acknowledged: `full`, after it is synced to the disk; `normal`, before. With `normal`, a power cut loses acknowledged writes, and the store then refuses to start until `relaymesh log recover` accepts the loss.";
    bus_orphan_ms: u64 = 3_600_000, Some((0, 30 * DAY_MS)), AtOnce, "Time for which a payload on the file bus may wait for its meta file.";
    http_addr: String = "127.0.0.1:0", None, NextStart, "Address of the HTTP API. With port 0, the port of the last start is tried first. Any address but loopback needs `http_tls_cert` and `http_tls_key`; daemon.json has the actual port.";
    http_tls_cert: String = "", None, NextStart, "Certificate file of the HTTP API with its chain, in PEM. It is reloaded when it changes.";
    http_tls_key: String = "", None, NextStart, "Key file of that certificate, in PEM.";
    http_hosts: String = "", None, AtOnce, "Host names that the HTTP API accepts besides its address and localhost.";
    http_get_writes: bool = false, None, AtOnce, "Accept writes by GET, for programs that cannot send POST; each is audited as web.write.get_compat.";
    http_writes_per_second: u64 = 10_000, Some((1, 1_000_000)), AtOnce, "Maximum HTTP writes per second and token; beyond it, the answer is 429 with Retry-After. A bulk submit counts as one write: its lines wait for room instead.";
    http_body_max_bytes: u64 = 12_582_912, Some((1_024, 67_108_864)), AtOnce, "Maximum length of a request body, and of one line of a streamed body.";
    http_connections_max: u64 = 768, Some((8, 65_536)), NextStart, "Maximum number of HTTP connections. At the limit, the one that was idle longest is closed.";
    otlp_endpoint: String = "", None, NextStart, "URL to which traces are sent by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces. Without one, no traces are sent.";
    otlp_headers_secret: String = "", None, NextStart, "Secret with the headers for `otlp_endpoint`, such as `authorization=Bearer xyz`, separated by commas.";
    trace_sample_per_mille: u64 = 1_000, Some((0, 1_000)), NextStart, "Number of traces to keep out of every thousand. The choice depends on the trace id, so all nodes keep the same.";
    max_clock_drift_ms: u64 = 60_000, Some((100, DAY_MS)), NotYet, "Maximum time by which the clock of another node may be ahead.";
}
