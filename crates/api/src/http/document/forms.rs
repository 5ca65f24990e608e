//! What texts and numbers look like, by the name of their field.

use super::reference;
use crate::http::{
    query::WHOLE_MAX,
    routes::{AUDIT_MAX, INBOX_MAX, TASKS_MAX, WAIT_MS_MAX},
};
use relaymesh_core::{
    id::{LeaseToken, MessageId, NodeId, OpId, RequestId, TaskId, ThreadId, WorkerId},
    lock::{TTL_MS_MAX, TTL_MS_MIN},
    message::DELIVERIES_MAX,
    op::Kind,
    task::LEASE_MS_MAX,
};
use relaymesh_runtime::settings::history::ENTRIES_MAX;
use serde_json::{Value, json};

/// What nobody sees in a key, as part of a pattern.
const INVISIBLE: &str = r"\u0000-\u001f\u007f-\u00a0\u00ad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff";
/// Everything but what is visible in ASCII, and a space.
const NOT_ASCII: &str = r"\u0000-\u001f\u007f-\uffff";
/// One backslash, in a pattern.
const BACKSLASH: &str = r"\\";
/// A number with its unit.
const DURATION: &str = "^ *([0-9]{1,15}|[0-9]{1,8} *(ms|s|m|h|d)) *$";

/// What a value looks like.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// A name: of a namespace, an agent, a task, a token.
    Name,
    /// An idempotency key.
    Key,
    /// The same as a header.
    HeaderKey,
    /// An id with this prefix.
    Id(&'static str),
    /// An id with one of these prefixes.
    AnyId(&'static [&'static str]),
    /// Such ids, separated by commas.
    Ids(&'static [&'static str], usize),
    /// 64 hexadecimal digits.
    Hash,
    /// Kinds of ops, separated by commas.
    Kinds,
    /// A text of this pattern, such as this.
    Text(&'static str, &'static str),
    /// Milliseconds within these bounds, as a number or as a text with a unit.
    Duration(u64, u64),
    /// One of these: the name of an enumeration.
    OneOf(&'static str),
    /// A whole number.
    Whole(u64, u64),
    /// Any text.
    Free,
}

/// A part of a lock's key.
macro_rules! lock_part {
    () => {
        r"(?:\*\*|\.{3,}|\.*(?:[^\x00-\x1f\x7f-\x9f\\\[{/*.](?:\*?[^\x00-\x1f\x7f-\x9f\\\[{/*])*\*?|\*(?:[^\x00-\x1f\x7f-\x9f\\\[{/*]\*?)*))"
    };
}

/// What comes after the prefix of an id.
const ULID: &str = "[0-7][0-9A-HJKMNP-TV-Z]{25}";
const ULID_EXAMPLE: &str = "01M7NG05E3BXGNSWJW7VBSE1Q3";
const NAME: &str = "[a-zA-Z0-9_][a-zA-Z0-9._-]{0,63}";
/// A lock's key: parts between slashes, where `**` is only a whole part, and `..` none. Without a look ahead, which not every validator
/// knows: a part is `**`, or three dots and more, or has something else after its dots.
const LOCK_KEY: &str = concat!(r"^(?:\./)*", lock_part!(), r"(?:/(?:\.|", lock_part!(), r"))*$");
const ONE_LINE: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";
/// What has failed: a task, a message, or a thread for all its failed messages.
const DEAD: &[&str] = &[TaskId::PREFIX, MessageId::PREFIX, ThreadId::PREFIX];

/// What a value looks like, by the schema or the operation that it belongs to (none: all others) and by its name.
const FORMS: &[(&str, &str, Form)] = &[
    // Names
    ("", "namespace", Form::Name),
    ("", "namespaces", Form::Name),
    ("", "agent", Form::Name),
    ("", "to", Form::Name),
    ("", "from", Form::Name),
    ("", "holder", Form::Name),
    ("", "author", Form::Name),
    ("", "decided_by", Form::Name),
    ("", "flow", Form::Name),
    ("", "step", Form::Name),
    (
        "AskingStep",
        "step",
        Form::Text("^stp_[0-7][0-9A-HJKMNP-TV-Z]{25}_[0-9]{1,5}$", "stp_01M7NG05E3BXGNSWJW7VBSE1Q3_0"),
    ),
    ("", "depends_on", Form::Name),
    ("", "compensates", Form::Name),
    ("", "failed_step", Form::Name),
    ("", "name", Form::Name),
    ("DeadLetter", "name", Form::Free),
    ("", "key", Form::Key),
    ("LockRequest", "key", Form::Text(LOCK_KEY, "src/**")),
    ("Lock", "key", Form::Text(LOCK_KEY, "src/**")),
    ("", "Idempotency-Key", Form::HeaderKey),
    ("AuditEntry", "source", Form::Name),
    ("audit_query", "source", Form::Name),
    ("Approval", "source", Form::Name),
    ("", "repository", Form::Text(r"^[^\x00-\x1f\x7f-\x9f]{0,256}$", "web")),
    // Ids and hashes
    ("", "id", Form::Id(TaskId::PREFIX)),
    ("dead_letters_show", "id", Form::AnyId(DEAD)),
    ("NewMessage", "id", Form::Id(MessageId::PREFIX)),
    ("DeadLetterSelection", "ids", Form::AnyId(DEAD)),
    ("dead_letters_list", "ids", Form::Ids(DEAD, 200)),
    ("", "task", Form::Id(TaskId::PREFIX)),
    ("", "thread", Form::Id(ThreadId::PREFIX)),
    ("", "message", Form::Id(MessageId::PREFIX)),
    ("", "reply_to", Form::Id(MessageId::PREFIX)),
    ("", "answered_by", Form::Id(MessageId::PREFIX)),
    ("ThreadMessage", "asks", Form::Id(TaskId::PREFIX)),
    ("", "request_id", Form::Id(RequestId::PREFIX)),
    ("", "worker", Form::Id(WorkerId::PREFIX)),
    ("", "lease", Form::Id(LeaseToken::PREFIX)),
    ("LockRequest", "token", Form::Id(LeaseToken::PREFIX)),
    ("AcquiredLock", "token", Form::Id(LeaseToken::PREFIX)),
    ("", "node", Form::Id(NodeId::PREFIX)),
    ("Lock", "owner", Form::Id(NodeId::PREFIX)),
    ("AuditEntry", "op", Form::Id(OpId::PREFIX)),
    ("", "hash", Form::Hash),
    ("", "sha256", Form::Hash),
    ("", "input_hash", Form::Hash),
    ("", "result_hash", Form::Hash),
    ("", "fingerprint", Form::Hash),
    ("", "ask", Form::Hash),
    ("", "trace_id", Form::Text("^[0-9a-f]{32}$", "4bf92f3577b34da6a3ce929d0e0e4736")),
    (
        "",
        "traceparent",
        Form::Text(
            "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ),
    ),
    // Proofs
    (
        "",
        "held",
        Form::Text(
            "^thr_[0-7][0-9A-HJKMNP-TV-Z]{25}:msg_[0-7][0-9A-HJKMNP-TV-Z]{25}:(?:0|[1-9][0-9]{0,8}):lse_[0-7][0-9A-HJKMNP-TV-Z]{25}$",
            "thr_01M7NG05E3BXGNSWJW7VBSE1Q3:msg_01M7NG05E3BXGNSWJW7VBSE1Q4:1:lse_01M7NG05E3BXGNSWJW7VBSE1Q5",
        ),
    ),
    ("LockProof", "held", LOCK_HELD),
    ("AcquiredLock", "held", LOCK_HELD),
    // One of a few
    ("", "status", Form::OneOf("TaskStatus")),
    ("Liveness", "status", Form::Text("^live$", "live")),
    ("", "state", Form::OneOf("MessageState")),
    ("", "priority", Form::OneOf("Priority")),
    ("Task", "cancel", Form::OneOf("CancelMode")),
    ("AcceptedTask", "class", Form::OneOf("WriteClass")),
    ("Lock", "mode", Form::OneOf("LockMode")),
    ("Lock", "case", Form::OneOf("LockCase")),
    ("", "media", Form::OneOf("MediaType")),
    ("ThreadMessage", "dead", Form::OneOf("DeadReason")),
    ("NewToken", "scope", Form::OneOf("TokenScope")),
    ("TokenDetails", "scope", Form::OneOf("TokenScope")),
    ("Agent", "kind", Form::OneOf("AgentKind")),
    ("AuditEntry", "kind", Form::OneOf("OpKind")),
    ("audit_query", "kind", Form::OneOf("OpKind")),
    ("events_follow", "kind", Form::Kinds),
    ("Attempt", "outcome", Form::OneOf("AttemptOutcome")),
    ("", "stream", Form::OneOf("LogStream")),
    ("Setting", "source", Form::OneOf("SettingSource")),
    ("Setting", "effect", Form::OneOf("SettingEffect")),
    ("ReadinessProblem", "trouble", Form::OneOf("ReadinessProblemKind")),
    // Numbers
    ("tasks_list", "limit", Form::Whole(1, TASKS_MAX)),
    ("tasks_list", "cursor", Form::Text("^(?:[0-9]{1,15}|tsk_[0-7][0-9A-HJKMNP-TV-Z]{25})$", "42")),
    ("audit_query", "limit", Form::Whole(1, AUDIT_MAX)),
    ("audit_fenced", "limit", Form::Whole(1, AUDIT_MAX)),
    ("messages_inbox", "limit", Form::Whole(1, INBOX_MAX)),
    ("settings_history", "limit", Form::Whole(1, ENTRIES_MAX as u64)),
    ("tasks_submit", "wait_ms", Form::Whole(0, WAIT_MS_MAX)),
    ("tasks_wait", "timeout_ms", Form::Whole(0, WAIT_MS_MAX)),
    ("TakeRequest", "lease_ms", Form::Duration(0, LEASE_MS_MAX)),
    ("StepClaim", "lease_ms", Form::Duration(1_000, 3_600_000)),
    ("LockRequest", "ttl_ms", Form::Duration(TTL_MS_MIN, TTL_MS_MAX)),
    ("LockProof", "ttl_ms", Form::Duration(TTL_MS_MIN, TTL_MS_MAX)),
    ("NewMessage", "ttl_ms", Form::Duration(1, WHOLE_MAX)),
    ("NewToken", "ttl_ms", Form::Duration(0, WHOLE_MAX)),
    ("TokenRotation", "overlap_ms", Form::Duration(0, WHOLE_MAX)),
    ("TaskSubmission", "timeout_ms", Form::Duration(0, WHOLE_MAX)),
    ("NewMessage", "max_deliveries", Form::Whole(1, DELIVERIES_MAX as u64)),
    // Texts of people and programs, and secrets: any
    ("", "reason", Form::Free),
    ("", "purpose", Form::Free),
    ("", "error", Form::Free),
    ("", "registration_token", Form::Free),
    ("", "code", Form::Free),
    ("health_explain", "code", Form::Text("^[a-zA-Z0-9_-]{1,64}$", "unknown_agent")),
    ("", "revision", Form::Free),
    ("NewNamespace", "about", Form::Text(ONE_LINE, "the web team")),
];

const LOCK_HELD: Form =
    Form::Text("^lse_[0-7][0-9A-HJKMNP-TV-Z]{25}:(?:0|[1-9][0-9]{0,17})$", "lse_01M7NG05E3BXGNSWJW7VBSE1Q5:7");

/// The form of a value; its own before the common one.
fn form(owner: &str, name: &str) -> Option<Form> {
    let find = |owner: &str| FORMS.iter().find(|(of, known, _)| *of == owner && *known == name);
    find(owner).or_else(|| find("")).map(|(.., form)| *form)
}

impl Form {
    /// The pattern of a text, and an example.
    fn pattern(self) -> Option<(String, String)> {
        let any = |prefixes: &[&str]| format!("(?:{}){ULID}", prefixes.join("|"));
        let example = |prefixes: &[&str]| format!("{}{ULID_EXAMPLE}", prefixes.first().copied().unwrap_or_default());
        Some(match self {
            Self::Name => (format!("^{NAME}$"), "team-a".to_owned()),
            Self::Key => (given_key(INVISIBLE, INVISIBLE), "order-7".to_owned()),
            // Bytes beyond ASCII are UTF-8, which few clients write in a header.
            Self::HeaderKey => (given_key(NOT_ASCII, NOT_ASCII), "order-7".to_owned()),
            Self::Id(prefix) => (format!("^{prefix}{ULID}$"), example(&[prefix])),
            Self::AnyId(prefixes) => (format!("^{}$", any(prefixes)), example(prefixes)),
            Self::Ids(prefixes, max) => {
                let one = any(prefixes);
                (format!("^{one}(?:,{one}){{0,{}}}$", max - 1), example(prefixes))
            }
            Self::Hash => (
                "^[0-9a-fA-F]{64}$".to_owned(),
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned(),
            ),
            Self::Kinds => {
                let kinds = Kind::ALL.iter().map(|kind| format!("{kind:?}")).collect::<Vec<_>>().join("|");
                (format!("^(?:{kinds})(?:,(?:{kinds}))*$"), "ScheduleJob,CompleteJob".to_owned())
            }
            Self::Text(pattern, example) => (pattern.to_owned(), example.to_owned()),
            Self::OneOf(_) | Self::Whole(..) | Self::Duration(..) | Self::Free => return None,
        })
    }
}

/// Says what the fields of a schema look like.
pub(super) fn shape(owner: &str, schema: &mut Value) {
    let parts = schema.get_mut("allOf").and_then(Value::as_array_mut);
    parts.into_iter().flatten().for_each(|part| shape(owner, part));
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        value(owner, name, property);
    }
}

/// Says what a parameter looks like. In an address there is no `null`: a parameter that is not needed is left out.
pub(super) fn parameter(operation: &str, parameter: &mut Value) {
    let name = parameter["name"].as_str().unwrap_or_default().to_owned();
    let schema = &mut parameter["schema"];
    if let Some(kinds) = schema["type"].as_array() {
        let kind = kinds.iter().find(|kind| *kind != "null").cloned();
        schema["type"] = kind.unwrap_or_default();
    }
    let other = schema["oneOf"].as_array().and_then(|ways| ways.iter().find(|way| way["type"] != "null").cloned());
    if let Some(other) = other {
        *schema = other;
    }
    value(operation, &name, schema);
}

fn value(owner: &str, name: &str, schema: &mut Value) {
    if is(schema, "array") {
        return value(owner, name, &mut schema["items"]);
    }
    if is(schema, "integer") {
        let form = form(owner, name);
        whole(form, schema);
        if let Some(Form::Duration(..)) = form {
            or_text(schema);
        }
        return;
    }
    if !is(schema, "string") {
        return;
    }
    let Some(form) = form(owner, name) else { return };
    if let Some((pattern, example)) = form.pattern() {
        schema["pattern"] = json!(pattern);
        schema["examples"] = json!([example]);
    }
    if let Form::OneOf(name) = form {
        let about = schema.get("description").cloned();
        let is_nullable = is(schema, "null");
        *schema = if is_nullable { json!({ "oneOf": [reference(name), { "type": "null" }] }) } else { reference(name) };
        if let Some(about) = about {
            schema["description"] = about;
        }
    }
}

/// What a number may be. Unsigned ones of 32 bits do not fit into a signed one of as many, and beyond the other bound readers round.
fn whole(form: Option<Form>, schema: &mut Value) {
    let is_short = schema["format"] == "int32";
    if is_short && schema.get("minimum").is_none() {
        return;
    }
    let most = if is_short { u64::from(u32::MAX) } else { WHOLE_MAX };
    let (min, max) =
        if let Some(Form::Whole(min, max) | Form::Duration(min, max)) = form { (min, max) } else { (0, most) };
    schema["format"] = json!("int64");
    schema["minimum"] = json!(min);
    schema["maximum"] = json!(max);
}

/// A duration may be a text with a unit, too. Whether that is within the bounds no pattern can say.
fn or_text(schema: &mut Value) {
    let about = schema.as_object_mut().and_then(|fields| fields.remove("description"));
    let mut ways = vec![schema.take(), json!({ "type": "string", "pattern": DURATION, "examples": ["10m"] })];
    if is(&ways[0], "null") {
        ways[0]["type"] = json!("integer");
        ways.push(json!({ "type": "null" }));
    }
    *schema = json!({ "anyOf": ways });
    if let Some(about) = about {
        schema["description"] = about;
    }
}

/// A key of the caller's own, bare or in quotes: up to 255 of the characters that are not among these, of which spaces at either end do not count.
fn given_key(not_bare: &str, not_quoted: &str) -> String {
    let bare = format!("[^\" {not_bare}](?:[^{not_bare}]{{0,253}}[^ {not_bare}])?");
    let plain = format!("[^\" {BACKSLASH}{not_quoted}]");
    let escaped = format!("{BACKSLASH}[\"{BACKSLASH}]");
    let any = format!("(?: |{plain}|{escaped})");
    let quoted = format!("\" *(?:{plain}|{BACKSLASH}{BACKSLASH})(?:{any}{{0,253}}(?:{plain}|{escaped}))? *\"");
    format!("^ *(?:{bare}|{quoted}) *$")
}

/// Whether the values may be of this type.
fn is(schema: &Value, kind: &str) -> bool {
    let kinds = &schema["type"];
    kinds == kind || kinds.as_array().is_some_and(|kinds| kinds.iter().any(|known| known == kind))
}

/// Whether something is said about the texts and numbers of this name.
#[cfg(test)]
pub(super) fn is_known(owner: &str, name: &str) -> bool {
    form(owner, name).is_some()
}
