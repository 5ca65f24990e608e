//! The one list of all settings.

use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt, net::SocketAddr};

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
    /// It is taken and checked, but what it is for does not exist yet.
    NotYet,
}

impl Effect {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AtOnce => "at once",
            Self::NewWork => "for new work",
            Self::NextStart => "at the next start",
            Self::NotYet => "no effect yet",
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
            (_, Some((min, max))) => format!("a whole number from {min} to {max}"),
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
                ("an address with its port such as 127.0.0.1:8080 (port 0: any that is free), or `off`", |text| {
                    text == OFF || text.parse::<SocketAddr>().is_ok()
                })
            }
            "http_hosts" => ("names of hosts without ports, with commas between them", |text| {
                let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
                text.is_empty() || text.split(',').all(|host| !host.is_empty() && host.chars().all(allowed))
            }),
            "otlp_endpoint" => {
                ("an address that begins with http:// or https:// and holds no password, or nothing", |text| {
                    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
                    // A password in an address would be shown with it.
                    text.is_empty() || rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(['@', ' ']))
                })
            }
            "otlp_headers_secret" => ("the name of a secret, or nothing", |text| {
                text.is_empty() || text.parse::<relaymesh_core::name::Name>().is_ok()
            }),
            _ => ("the path of a file, or nothing", |_| true),
        }
    }
}

/// What `http_addr` is when there is to be no listener.
pub const OFF: &str = "off";

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
    max_attempts: u64 = 3, Some((1, 1_000)), NewWork, "Attempts of a step that says nothing about it; after the last one it is a dead letter.";
    base_backoff_ms: u64 = 1_000, Some((0, DAY_MS)), NewWork, "The pause before the second attempt of a step that says nothing about it.";
    max_backoff_ms: u64 = 60_000, Some((0, 30 * DAY_MS)), NewWork, "The longest pause between two attempts of a step that says nothing about it.";
    reclaim_scan_interval_ms: u64 = 5_000, Some((100, DAY_MS)), AtOnce, "One round of reclaim: how long it is put off after the clock jumped, and until what could not be read is tried again.";
    lease_heartbeat_ms: u64 = 2_000, Some((100, DAY_MS)), NotYet, "How often a worker from outside renews its leases.";
    lease_timeout_ms: u64 = 15_000, Some((1_000, 7 * DAY_MS)), NewWork, "How long the lease on a step of this node's own agents runs on the log.";
    suspect_recover_min_ms: u64 = 5_000, Some((0, DAY_MS)), NotYet, "How long a SUSPECT node stays so at least.";
    dead_recover_min_ms: u64 = 30_000, Some((0, DAY_MS)), NotYet, "How long a DEAD node stays so at least.";
    pause_worker_when_local_not_alive: bool = true, None, NotYet, "Whether a node that is itself SUSPECT or DEAD stops taking work.";
    mesh_prune_older_than_ms: u64 = 604_800_000, Some((60_000, 3_650 * DAY_MS)), NotYet, "DEAD members older than this are forgotten.";
    mesh_prune_limit: u64 = 256, Some((1, 65_536)), NotYet, "Members forgotten in one round.";
    mesh_prune_interval_ms: u64 = 3_600_000, Some((1_000, 30 * DAY_MS)), NotYet, "How often members are forgotten.";
    payload_max_bytes: u64 = 10_485_760, Some((1_024, 10_485_760)), NewWork, "The longest input, result or message.";
    done_retention_days: u64 = 7, Some((0, 36_500)), AtOnce, "How long tasks and threads are kept that are over, but at least as long as their keys.";
    idempotency_ttl_days: u64 = 7, Some((0, 36_500)), AtOnce, "How long an idempotency key is kept after the end of its task.";
    queue_capacity: u64 = 100, Some((1, 100_000)), AtOnce, "Ready steps that are held in memory; the others wait in the store.";
    thread_pool_core: u64 = 4, Some((1, 1_024)), NotYet, "Processes that are kept ready. Processes are started when they are needed, so there are none.";
    thread_pool_max: u64 = 8, Some((1, 1_024)), AtOnce, "Processes of agents at once.";
    llm_parallel_limit: u64 = 4, Some((1, 1_024)), AtOnce, "Attempts at once of all agents with `llm = true` together.";
    gossip_sync_sample_size: u64 = 32, Some((1, 4_096)), NotYet, "Members named in one packet of anti-entropy.";
    max_consecutive_high: u64 = 100, Some((1, 1_000_000)), NextStart, "Urgent steps in a row before a less urgent one must run.";
    graceful_timeout_ms: u64 = 15_000, Some((1_000, 600_000)), AtOnce, "How long the daemon takes to stop; agents have two thirds of it to end.";
    min_free_disk_bytes: u64 = 16_777_216, Some((0, 1_099_511_627_776)), NextStart, "With less than this free on the disk nothing more is written.";
    bus_orphan_ms: u64 = 3_600_000, Some((0, 30 * DAY_MS)), AtOnce, "How long a payload on the file bus may wait for its meta file.";
    http_addr: String = "127.0.0.1:0", None, NextStart, "Where the HTTP API listens. Any address but loopback needs `http_tls_cert` and `http_tls_key`; daemon.json says which port it got.";
    http_tls_cert: String = "", None, NextStart, "The certificate of the HTTP API with its chain, in PEM. A file that changes is read again at once.";
    http_tls_key: String = "", None, NextStart, "The key of that certificate, in PEM.";
    http_hosts: String = "", None, AtOnce, "Names besides its address and localhost under which the HTTP API may be asked.";
    http_get_writes: bool = false, None, AtOnce, "Whether writes by GET are taken for a while, for programs that know no better; each is audited as web.write.get_compat.";
    http_writes_per_second: u64 = 10_000, Some((1, 1_000_000)), AtOnce, "Writes a second and token by HTTP; whoever asks for more is told when to come again.";
    http_body_max_bytes: u64 = 12_582_912, Some((1_024, 67_108_864)), AtOnce, "The longest body of a request, and the longest line of one that is streamed.";
    http_connections_max: u64 = 768, Some((8, 65_536)), NextStart, "Connections at once to the HTTP API. When there is no room, the one that was idle longest goes.";
    otlp_endpoint: String = "", None, NextStart, "Where traces are sent by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces. Without one there are none.";
    otlp_headers_secret: String = "", None, NextStart, "The secret with headers for that, such as `authorization=Bearer xyz`, with commas between them.";
    trace_sample_per_mille: u64 = 1_000, Some((0, 1_000)), NextStart, "How many of a thousand traces are kept. Which ones follows from their ids, so all nodes keep the same.";
    max_clock_drift_ms: u64 = 60_000, Some((100, DAY_MS)), NotYet, "How far the clock of another node may be ahead.";
}
