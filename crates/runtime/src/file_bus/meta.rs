//! What programs write, understood: names of files, and what a meta file asks for. Nothing here touches a disk.
//!
//! A file's name and its content come from anybody who may write in a folder, so both are read strictly: one spelling, no unknown field,
//! nothing said twice, and every refusal is short.

use crate::driver::Proof;
use relaymesh_core::{
    canonical,
    hash::Hash,
    id::{MessageId, ThreadId},
    lanes::Priority,
    name::Name,
    namespace::DEFAULT,
    task::key::{GivenKey, KeyError},
    trace,
};
use serde::Deserialize;
use std::fmt;

/// The end of a meta file's name.
pub const META: &str = ".meta.json";
/// The end of a payload's name.
pub const PAYLOAD: &str = ".payload.json";
/// The end of the name of what says that it was taken in.
pub const RECEIPT: &str = ".receipt.json";
/// The end of the name of what says why it was not.
pub const REASON: &str = ".reason.json";

/// The longest id.
pub const ID_BYTES_MAX: usize = 60;
/// The longest meta file.
pub const META_BYTES_MAX: u64 = 64 << 10;

/// What a program calls something that it puts on the bus: 1 to 60 of `a-z A-Z 0-9 _ -`, not starting with `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(String);

impl Id {
    /// The id in the name of a file with this end. `None`: it is no such name.
    pub fn of(file: &str, end: &str) -> Option<Self> {
        let id = file.strip_suffix(end)?;
        let fits = (1..=ID_BYTES_MAX).contains(&id.len()) && !id.starts_with('-');
        let plain = id.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'));
        (fits && plain).then(|| Self(id.to_owned()))
    }

    /// The name of a file with this end.
    pub fn file(&self, end: &str) -> String {
        format!("{}{end}", self.0)
    }

    /// The key that makes a repeated submit the same task.
    pub fn key(&self) -> Option<Name> {
        format!("bus.{}", self.0).parse().ok()
    }

    /// The names of the message that it becomes, and of the thread if it begins one. The same file again is the same message.
    pub fn names(&self, namespace: &Name) -> (ThreadId, MessageId) {
        let half = |what: &str| {
            let hash = Hash::sha256(format!("bus {what} {namespace} {}", self.0).as_bytes());
            let mut half = [0; 16];
            half.copy_from_slice(&hash.0[..16]);
            half
        };
        (ThreadId::from_bytes(half("thread")), MessageId::from_bytes(half("message")))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What a meta file asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The team or project it belongs to.
    pub namespace: Name,
    /// Which lane it waits in.
    pub priority: Priority,
    /// Where in a trace it is asked for, if that is said.
    pub asked_in: Option<trace::Context>,
    /// What is to be done.
    pub what: What,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A message to an agent.
    Send {
        /// Who says it.
        from: Name,
        /// Who is to hear it.
        to: Name,
        /// In which thread; without one, a new one.
        thread: Option<ThreadId>,
        /// After this time it is too old.
        ttl_ms: Option<u64>,
        /// How often it may be delivered.
        max_deliveries: u32,
    },
    /// A task of one step.
    Submit {
        /// Who is to do it.
        agent: Name,
        /// What makes a second submit the same one; without it the name of the file does.
        key: Option<GivenKey>,
    },
    /// The answer to a message that was delivered.
    Reply(Proof),
    /// A message that was delivered is dealt with.
    Acknowledge(Proof),
    /// A message that was delivered could not be dealt with.
    Fail {
        /// Which delivery.
        proof: Proof,
        /// Why, for people.
        error: String,
        /// Whether another delivery may help.
        retryable: bool,
    },
}

impl What {
    /// Whether there must be a payload.
    pub fn has_payload(&self) -> bool {
        match self {
            Self::Send { .. } | Self::Submit { .. } | Self::Reply(_) => true,
            Self::Acknowledge(_) | Self::Fail { .. } => false,
        }
    }
}

/// The fields of a meta file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    namespace: Option<Name>,
    priority: Option<Priority>,
    traceparent: Option<String>,
    to: Option<Name>,
    agent: Option<Name>,
    key: Option<String>,
    reply_to: Option<String>,
    ack: Option<String>,
    fail: Option<String>,
    from: Option<Name>,
    thread: Option<ThreadId>,
    ttl_ms: Option<u64>,
    max_deliveries: Option<u32>,
    error: Option<String>,
    r#final: Option<bool>,
}

/// The deliveries of a message that says nothing about it.
const DELIVERIES: u32 = 5;
/// The longest refusal.
const TOLD_CHARS: usize = 300;

/// Understands a meta file.
pub fn parse(bytes: &[u8]) -> Result<Order, String> {
    let short = |error: String| error.chars().take(TOLD_CHARS).collect::<String>();
    let value = canonical::parse(bytes).map_err(|error| short(format!("the meta file is not JSON: {error}")))?;
    let fields = serde_json::from_value::<Fields>(value);
    let fields = fields.map_err(|error| short(format!("the meta file is not valid: {error}")))?;
    let name = |text: &str| text.parse::<Name>().map_err(|error| error.to_string());
    let namespace = fields.namespace.clone().map_or_else(|| name(DEFAULT), Ok)?;
    let priority = fields.priority.unwrap_or_default();
    // One that cannot be read is as good as none: so the standard has it.
    let asked_in = fields.traceparent.as_ref().and_then(|text| text.parse().ok());
    let what = what(fields).map_err(short)?;
    Ok(Order { namespace, priority, asked_in, what })
}

fn what(fields: Fields) -> Result<What, String> {
    let Fields { to, agent, key, reply_to, ack, fail, from, thread, ttl_ms, max_deliveries, error, r#final, .. } =
        fields;
    let for_messages = from.is_some() || thread.is_some() || ttl_ms.is_some() || max_deliveries.is_some();
    let for_failures = error.is_some() || r#final.is_some();
    let is_submit = agent.is_some();
    let has_key = key.is_some();
    let proof = |text: String| text.parse::<Proof>().map_err(|error| error.to_string());
    let (what, allowed) = match (to, agent, reply_to, ack, fail) {
        (Some(to), None, None, None, None) => {
            let from = from.ok_or("`from` is missing: it names the agent that gets the answer")?;
            let max_deliveries = max_deliveries.unwrap_or(DELIVERIES);
            (What::Send { from, to, thread, ttl_ms, max_deliveries }, !for_failures)
        }
        (None, Some(agent), None, None, None) => {
            let key = key.map(|text| text.parse()).transpose().map_err(|error: KeyError| format!("`key`: {error}"))?;
            (What::Submit { agent, key }, !for_messages && !for_failures)
        }
        (None, None, Some(held), None, None) => (What::Reply(proof(held)?), !for_messages && !for_failures),
        (None, None, None, Some(held), None) => (What::Acknowledge(proof(held)?), !for_messages && !for_failures),
        (None, None, None, None, Some(held)) => {
            let (error, retryable) = (error.unwrap_or_default(), !r#final.unwrap_or_default());
            (What::Fail { proof: proof(held)?, error, retryable }, !for_messages)
        }
        _ => return Err("give exactly one of `to`, `agent`, `reply_to`, `ack` and `fail`".to_owned()),
    };
    if has_key && !is_submit {
        return Err("`key` is only for `agent`".to_owned());
    }
    if allowed {
        Ok(what)
    } else {
        Err("`from`, `thread`, `ttl_ms` and `max_deliveries` are only for `to`; `error` and `final` are only for `fail`"
            .to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HELD: &str = "thr_0000000001000000000000000A:msg_0000000001000000000000000B:1:lse_0000000001000000000000000C";

    #[test]
    fn names_of_files_have_one_spelling() {
        let good = ["a", "A-1_z", "0", "_", &"x".repeat(60)];
        for id in good {
            let file = format!("{id}{META}");
            assert_eq!(Id::of(&file, META).unwrap().file(META), file);
        }
        let bad = [
            "",
            "-a",
            ".a",
            "..",
            "../a",
            "a/b",
            "/a",
            "a.b",
            "a b",
            "é",
            "a\0",
            "a\n",
            "ａ",
            "a\u{202e}",
            &"x".repeat(61),
        ];
        for id in bad {
            assert_eq!(Id::of(&format!("{id}{META}"), META), None, "{id:?}");
        }
        assert_eq!(Id::of("a.payload.json", META), None);
        assert_eq!(Id::of("a.META.JSON", META), None);
    }

    #[test]
    fn r30_a_meta_file_may_say_where_in_a_trace_it_is_asked_for() {
        let asked_in = |text: &str| {
            let text = format!(r#"{{"to":"b","from":"a","traceparent":"{text}"}}"#);
            parse(text.as_bytes()).unwrap().asked_in.map(|context| context.to_string())
        };
        let context = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(asked_in(context).as_deref(), Some(context));
        assert_eq!(asked_in("nonsense"), None);
    }

    #[test]
    fn a_meta_file_is_one_thing() {
        let good = [
            (r#"{"to":"b","from":"a"}"#.to_owned(), true),
            (r#"{"agent":"echo","priority":"high","namespace":"team"}"#.to_owned(), true),
            (format!(r#"{{"reply_to":"{HELD}"}}"#), true),
            (format!(r#"{{"ack":"{HELD}"}}"#), false),
            (format!(r#"{{"fail":"{HELD}","error":"no","final":true}}"#), false),
        ];
        for (text, has_payload) in good {
            assert_eq!(parse(text.as_bytes()).unwrap().what.has_payload(), has_payload, "{text}");
        }
        let bad = [
            "",
            "{",
            "[]",
            "{}",
            "null",
            r#"{"to":"b"}"#,
            r#"{"to":"b","from":"a","agent":"c"}"#,
            r#"{"to":"../b","from":"a"}"#,
            r#"{"to":"b","from":"a","colour":1}"#,
            r#"{"to":"b","to":"c","from":"a"}"#,
            r#"{"to":"b","from":"a","error":"x"}"#,
            r#"{"to":"b","from":"a","ttl_ms":-1}"#,
            r#"{"agent":"echo","from":"a"}"#,
            r#"{"agent":"echo","priority":"urgent"}"#,
            r#"{"reply_to":"msg_1"}"#,
            r#"{"ack":"x","fail":"y"}"#,
        ];
        for text in bad {
            let why = parse(text.as_bytes()).unwrap_err();
            assert!(!why.is_empty() && why.chars().count() <= TOLD_CHARS, "{text}: {why}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_given_is_understood_or_refused_shortly(bytes: Vec<u8>, file in ".{0,80}") {
            if let Err(why) = parse(&bytes) {
                prop_assert!(why.chars().count() <= TOLD_CHARS);
            }
            for end in [META, PAYLOAD, RECEIPT, REASON] {
                if let Some(id) = Id::of(&file, end) {
                    prop_assert_eq!(id.file(end), file.clone());
                    prop_assert!(id.key().is_some());
                }
            }
        }
    }
}
