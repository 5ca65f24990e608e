//! The contract's tables as people know them (R17): views in text, for the plain `sqlite3` shell.
//!
//! The shell has none of our functions, so ids are spelled by SQL alone. A ULID is 128 bits in 26 characters of five
//! bits, the first of three; each is cut out of two neighbouring digits of `hex()`. That is slow (some ten microseconds
//! an id), which is fine for people; programs ask the reader.

use relaymesh_core::{
    id::{LeaseToken, MessageId, NodeId, RequestId, TaskId},
    message::State,
    task::Status,
};

const CROCKFORD: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const HEX: &str = "0123456789ABCDEF";

/// Name and text of each view.
pub(super) fn all() -> [(&'static str, String); 4] {
    [("tasks", tasks()), ("steps", steps()), ("idempotency", idempotency()), ("messages", messages())]
}

fn tasks() -> String {
    let (task, status, key) =
        (id(TaskId::PREFIX, "t.task_id"), status("t.status"), key("coalesce(i.key, t.given_up_key)"));
    format!(
        "CREATE VIEW tasks AS SELECT {task} AS task_id, {status} AS status, {key} AS idempotency_key, \
         lower(hex(t.trace_id)) AS trace_id, t.created_at_ms AS created_at_ms, t.updated_at_ms AS updated_at_ms, \
         t.namespace AS namespace FROM task_rows t LEFT JOIN idempotency_rows i ON i.task_key = t.task_key"
    )
}

fn steps() -> String {
    let (task, ulid, status) = (id(TaskId::PREFIX, "t.task_id"), ulid("t.task_id"), status("s.status"));
    let (owner, token) = (id(NodeId::PREFIX, "s.lease_owner"), id(LeaseToken::PREFIX, "s.lease_token"));
    let retrying = Status::Retrying as u8;
    format!(
        "CREATE VIEW steps AS SELECT 'stp_' || {ulid} || '_' || (s.step_key & 4095) AS step_id, {task} AS task_id, \
         s.agent AS agent_id, {status} AS status, s.attempt AS attempt, \
         CASE s.status WHEN {retrying} THEN s.due_ms END AS next_retry_at_ms, {owner} AS lease_owner, \
         {token} AS lease_token, s.lease_epoch AS lease_epoch, s.updated_at_ms AS updated_at_ms \
         FROM step_rows s LEFT JOIN task_rows t ON t.task_key = s.step_key >> 12"
    )
}

fn idempotency() -> String {
    let (key, status, task) = (key("i.key"), status("t.status"), id(TaskId::PREFIX, "i.task_id"));
    format!(
        "CREATE VIEW idempotency AS SELECT {key} AS idempotency_key, {status} AS status, \
         CASE WHEN t.result_hash IS NOT NULL THEN {task} END AS result_ref, \
         CASE WHEN t.result_hash IS NOT NULL THEN lower(hex(t.result_hash)) END AS result_hash, \
         'sha256' AS result_hash_algo, CASE WHEN t.status >= 4 THEN t.updated_at_ms END AS processed_at_ms, \
         i.namespace AS namespace FROM idempotency_rows i LEFT JOIN task_rows t ON t.task_key = i.task_key"
    )
}

/// A message that did not come by the file bus has no files.
fn messages() -> String {
    let (message, task) = (id(MessageId::PREFIX, "m.part"), id(TaskId::PREFIX, "m.task_id"));
    let states: String = State::ALL.iter().map(|state| format!(" WHEN {} THEN '{state}'", *state as u8)).collect();
    format!(
        "CREATE VIEW messages AS SELECT {message} AS msg_id, {task} AS task_id, m.from_agent AS from_agent, \
         m.to_agent AS to_agent, CASE m.lane WHEN 0 THEN 'high' WHEN 1 THEN 'normal' ELSE 'low' END AS priority, \
         CASE m.state{states} END AS state, f.meta_path AS meta_path, f.payload_path AS payload_path, \
         m.sent_at_ms AS created_at_ms, m.namespace AS namespace \
         FROM scope_rows m LEFT JOIN message_files f ON f.msg_id = m.part WHERE m.state IS NOT NULL"
    )
}

/// The text of the id in a column; NULL stays NULL.
fn id(prefix: &str, column: &str) -> String {
    format!("CASE WHEN {column} IS NOT NULL THEN '{prefix}' || {} END", ulid(column))
}

/// The name of a status number.
fn status(column: &str) -> String {
    let names: String = Status::ALL.iter().map(|status| format!(" WHEN {} THEN '{status}'", *status as u8)).collect();
    format!("CASE {column}{names} END")
}

/// The text of an idempotency key: a tag and what follows, see `IdempotencyKey::to_bytes`.
fn key(column: &str) -> String {
    let rest = format!("substr({column}, 2)");
    format!(
        "CASE hex(substr({column}, 1, 1)) WHEN '00' THEN lower(hex({rest})) WHEN '01' THEN '{}' || {} \
         WHEN '02' THEN CAST({rest} AS TEXT) END",
        RequestId::PREFIX,
        ulid(&rest)
    )
}

/// The 26 characters of the 16 bytes in `blob`. One expression for all of them: every connection keeps what it has parsed of a view, and a
/// separate one for each character took two megabytes.
pub(crate) fn ulid(blob: &str) -> String {
    // Two bits more than there are, so that every character has five; with a digit before the first, all are cut alike.
    let digit = |next: u8| format!("(instr('{HEX}', substr('0' || hex({blob}), (5 * i + 2) / 4 + 1 + {next}, 1)) - 1)");
    format!(
        "(WITH RECURSIVE p(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM p WHERE i < 25) SELECT group_concat(substr('{CROCKFORD}', \
         1 + (({} * 16 + {}) >> (3 - (5 * i + 2) % 4) & 31), 1), '') FROM p)",
        digit(0),
        digit(1)
    )
}
