//! Values that are one of a few, as schemas of their own: one class in a generated client, wherever they stand.

use crate::health;
use relaymesh_agents::tool::Tool;
use relaymesh_core::{
    content::Media,
    lanes::Priority,
    lock::{Case, Mode},
    message::{DeadReason, State},
    op::{CancelMode, Kind, WriteClass},
    task::{Outcome, Status},
};
use relaymesh_runtime::{
    settings::{Effect, Source},
    token::Scope,
};
use serde_json::{Value, json};

/// Every variant, as it is sent. It does not compile when one is missing.
macro_rules! every {
    ($type:ident: $($variant:ident),*) => { every!($type: $($variant),* => |value| json!(value)) };
    ($type:ident: $($variant:ident),* => $sent:expr) => {{
        fn _every(value: $type) {
            match value { $($type::$variant => {})* }
        }
        [$($type::$variant),*].into_iter().map($sent).collect::<Vec<Value>>()
    }};
}

/// Adds them.
pub(super) fn add(schemas: &mut Value) {
    for (name, about, values) in all() {
        schemas[name] = json!({ "type": "string", "description": about, "enum": values });
    }
}

/// Every enumeration: its name, its meaning, its values.
fn all() -> Vec<(&'static str, &'static str, Vec<Value>)> {
    let readiness = health::Trouble::ALL.map(health::Trouble::as_str);
    let readiness = readiness.into_iter().chain(["silent", "unreadable"]).map(Value::from);
    let tools = every!(Tool: Codex, Claude, Gemini, Opencode, Aider, Generic => |tool| tool.program().into());
    let agents = ["builtin", "script", "http", "inbox"].map(Value::from).into_iter().chain(tools);
    vec![
        ("AgentKind", "Kind of an agent; of one that runs an agent tool, the name of the tool.", agents.collect()),
        ("TaskStatus", "Status of a task or a step.", Status::ALL.iter().map(|value| json!(value)).collect()),
        ("MessageState", "State of a message.", State::ALL.iter().map(|value| json!(value)).collect()),
        ("Priority", "Priority of a step or a message.", Priority::ALL.iter().map(|value| json!(value)).collect()),
        ("OpKind", "Kind of an op.", Kind::ALL.iter().map(|value| format!("{value:?}").into()).collect()),
        ("TokenScope", "What a token may do.", Scope::ALL.iter().map(|value| json!(value)).collect()),
        (
            "AttemptOutcome",
            "How an attempt ended.",
            every!(Outcome: Success, Failed, Timeout, Abandoned, Yielded, Cancelled),
        ),
        ("CancelMode", "`hard` stops running steps; `soft` lets them finish.", every!(CancelMode: Hard, Soft)),
        (
            "WriteClass",
            "How a write was ordered: `strong` is agreed on before it is acknowledged.",
            every!(WriteClass: Strong, AppendOnly, Queued, Local),
        ),
        ("LockMode", "Whether a lock admits other locks of its mode.", every!(Mode: Shared, Exclusive)),
        ("LockCase", "How a lock compares upper and lower case.", every!(Case: Sensitive, Folded)),
        ("DeadReason", "Why a message is dead.", every!(DeadReason: Exhausted, Expired)),
        ("MediaType", "Media type of a content.", every!(Media: Json, Text)),
        ("LogStream", "Output of a process.", vec![json!("stderr"), json!("stdout")]),
        (
            "SettingSource",
            "Where the value of a setting comes from.",
            every!(Source: Default, File, Environment, Flag => |value| value.as_str().into()),
        ),
        (
            "SettingEffect",
            "When a change of a setting applies.",
            every!(Effect: AtOnce, NewWork, NextStart, NotYet => |value| value.as_str().into()),
        ),
        ("ReadinessProblemKind", "What keeps a daemon from its work.", readiness.collect()),
    ]
}
