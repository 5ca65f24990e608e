//! The tables. Text of a released migration never changes: its checksum lies in every store.
//!
//! Rows have integer keys, ids are 16-byte blobs: half the bytes of their text and no hashing on the way. What is looked
//! up stands in columns; the rest of a row is one blob with a sum, so a bent bit is found when the row is read.
//!
//! New rows land at the right edge of every tree: arrival numbers and ULIDs only grow, also in `idempotency_rows`, whose
//! keys start with the caller's key (a ULID on the hot path). The indexes on steps are partial: a step that is done
//! is in none of them, so they stay as small as the work that is open.

/// Migration 1.
pub(super) const V1: &str = "
CREATE TABLE log_head (
    id             INTEGER PRIMARY KEY CHECK (id = 1),
    pos            INTEGER NOT NULL,
    origin         BLOB    NOT NULL,
    origin_epoch   INTEGER NOT NULL,
    seq            INTEGER NOT NULL,
    hash           BLOB    NOT NULL,
    hlc_wall_ms    INTEGER,
    hlc_logical    INTEGER,
    hlc_node       BLOB,
    state          BLOB    NOT NULL
) STRICT;

CREATE TABLE op_log (
    pos            INTEGER PRIMARY KEY,
    bytes          BLOB    NOT NULL,
    hash           BLOB    NOT NULL
) STRICT;

CREATE TABLE task_rows (
    task_key       INTEGER PRIMARY KEY,
    task_id        BLOB    NOT NULL UNIQUE,
    namespace      TEXT    NOT NULL,
    status         INTEGER NOT NULL,
    trace_id       BLOB    NOT NULL,
    created_at_ms  INTEGER NOT NULL,
    updated_at_ms  INTEGER NOT NULL,
    sum            BLOB    NOT NULL,
    row            BLOB    NOT NULL
) STRICT;

CREATE TABLE step_rows (
    step_key       INTEGER PRIMARY KEY,
    agent          TEXT    NOT NULL,
    status         INTEGER NOT NULL,
    attempt        INTEGER NOT NULL,
    queue          INTEGER,
    due_ms         INTEGER,
    lease_owner    BLOB,
    lease_token    BLOB,
    result_pos     INTEGER NOT NULL,
    updated_at_ms  INTEGER NOT NULL,
    sum            BLOB    NOT NULL,
    row            BLOB    NOT NULL
) STRICT;
CREATE INDEX idx_steps_status_next_retry ON step_rows (queue, due_ms) WHERE queue IS NOT NULL;
CREATE INDEX idx_steps_lease_owner_updated ON step_rows (lease_owner, updated_at_ms) WHERE lease_owner IS NOT NULL;

CREATE TABLE idempotency_rows (
    key             BLOB    NOT NULL,
    namespace       TEXT    NOT NULL,
    task_key        INTEGER NOT NULL,
    task_id         BLOB    NOT NULL,
    status          INTEGER NOT NULL,
    fingerprint     BLOB    NOT NULL,
    result_hash     BLOB,
    processed_at_ms INTEGER,
    PRIMARY KEY (key, namespace)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_idempotency_processed_at ON idempotency_rows (processed_at_ms) WHERE processed_at_ms IS NOT NULL;

CREATE TABLE content (
    content_key    INTEGER PRIMARY KEY,
    bytes          BLOB    NOT NULL
) STRICT;

CREATE TABLE messages (
    msg_id         TEXT    PRIMARY KEY,
    task_id        TEXT    NOT NULL,
    from_agent     TEXT    NOT NULL,
    to_agent       TEXT    NOT NULL,
    priority       TEXT    NOT NULL,
    state          TEXT    NOT NULL,
    meta_path      TEXT    NOT NULL,
    payload_path   TEXT    NOT NULL,
    created_at_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_messages_state_priority_created ON messages (state, priority, created_at_ms);

CREATE TABLE lease_conflicts (
    conflict_key   INTEGER PRIMARY KEY,
    at_ms          INTEGER NOT NULL,
    task_id        BLOB    NOT NULL,
    place          INTEGER NOT NULL,
    verb           TEXT    NOT NULL,
    found          INTEGER NOT NULL,
    epoch          INTEGER NOT NULL,
    given          INTEGER NOT NULL
) STRICT;

CREATE TABLE worker_heartbeats (
    worker         BLOB    PRIMARY KEY,
    at_ms          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

/// Migration 2. Content that lies in a blob has no bytes in its row. Scopes other than tasks share one table: the part of
/// a scope's own row is empty, and so it is the first of its rows. What a key's task has come to stands with the task, so
/// that nothing but the task's rows changes at its end; a status of 4 or more is an end.
pub(super) const V2: &str = "
CREATE TABLE scope_rows (
    scope          BLOB    NOT NULL,
    part           BLOB    NOT NULL,
    namespace      TEXT    NOT NULL,
    name           TEXT    NOT NULL,
    due_ms         INTEGER,
    from_agent     TEXT,
    to_agent       TEXT,
    state          INTEGER,
    lane           INTEGER,
    sent_at_ms     INTEGER,
    queued_ms      INTEGER,
    task_id        BLOB,
    content_pos    INTEGER NOT NULL,
    rested_ms      INTEGER,
    sum            BLOB    NOT NULL,
    row            BLOB    NOT NULL,
    PRIMARY KEY (scope, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_threads_rested ON scope_rows (rested_ms) WHERE rested_ms IS NOT NULL;
CREATE TABLE snapshot_rows (
    scope          BLOB    NOT NULL,
    part           BLOB    NOT NULL,
    sum            BLOB    NOT NULL,
    row            BLOB    NOT NULL,
    PRIMARY KEY (scope, part)
) STRICT, WITHOUT ROWID;

CREATE TABLE log_life (
    id             INTEGER PRIMARY KEY CHECK (id = 1),
    horizon        INTEGER NOT NULL,
    swept_at_ms    INTEGER NOT NULL
) STRICT;
INSERT INTO log_life VALUES (1, 0, 0);

DROP VIEW IF EXISTS tasks;
DROP VIEW IF EXISTS idempotency;
ALTER TABLE task_rows ADD COLUMN result_hash BLOB;
UPDATE task_rows SET result_hash = i.result_hash FROM idempotency_rows i WHERE i.task_key = task_rows.task_key;
DROP INDEX idx_idempotency_processed_at;
CREATE INDEX idx_idempotency_processed_at ON task_rows (updated_at_ms) WHERE status >= 4;
ALTER TABLE idempotency_rows DROP COLUMN status;
ALTER TABLE idempotency_rows DROP COLUMN result_hash;
ALTER TABLE idempotency_rows DROP COLUMN processed_at_ms;
ALTER TABLE step_rows ADD COLUMN artifact_pos BLOB;
CREATE INDEX idx_scopes_due ON scope_rows (due_ms) WHERE due_ms IS NOT NULL;
CREATE INDEX idx_messages_inbox ON scope_rows (to_agent, lane, queued_ms, scope, part) WHERE queued_ms IS NOT NULL;
DROP TABLE messages;
CREATE INDEX idx_messages_state_priority_created ON scope_rows (state, lane, sent_at_ms) WHERE state IS NOT NULL;

ALTER TABLE content ADD COLUMN blob_hash BLOB;
ALTER TABLE content ADD COLUMN blob_bytes INTEGER;
CREATE INDEX idx_content_blob ON content (blob_hash) WHERE blob_hash IS NOT NULL;
";

/// Migration 3.
pub(super) const V3: &str = "
CREATE TABLE spends (
    day            INTEGER NOT NULL,
    namespace      TEXT    NOT NULL,
    agent          TEXT    NOT NULL,
    task_id        BLOB    NOT NULL,
    tokens         INTEGER NOT NULL,
    turns          INTEGER NOT NULL,
    wall_ms        INTEGER NOT NULL,
    cost_micros    INTEGER NOT NULL,
    PRIMARY KEY (day, namespace, agent, task_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_spends_task ON spends (task_id);
";

/// Migration 4. Traffic with other nodes: journals, of this node only. Messages in the outbox are as they were given, in the clear.
pub(super) const V4: &str = "
CREATE TABLE mesh_marks (
    peer           BLOB    PRIMARY KEY,
    epoch          INTEGER NOT NULL,
    sequence       INTEGER NOT NULL,
    sum            BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE mesh_nonces (
    number         INTEGER PRIMARY KEY,
    peer           BLOB    NOT NULL,
    nonce          BLOB    NOT NULL,
    UNIQUE (peer, nonce)
) STRICT;

CREATE TABLE mesh_own (
    id             INTEGER PRIMARY KEY CHECK (id = 1),
    epoch          INTEGER NOT NULL,
    reserved       INTEGER NOT NULL,
    outbox_last    INTEGER NOT NULL,
    sum            BLOB
) STRICT;
INSERT INTO mesh_own VALUES (1, 0, 0, 0, NULL);

CREATE TABLE mesh_outbox (
    outbox_id      INTEGER PRIMARY KEY,
    peer           BLOB    NOT NULL,
    message        BLOB    NOT NULL,
    not_before_ms  INTEGER NOT NULL,
    expires_ms     INTEGER NOT NULL,
    attempts       INTEGER NOT NULL,
    reason         TEXT,
    sum            BLOB    NOT NULL
) STRICT;
";

/// Migration 5. What lists look for. None of these costs anything while a task goes well in the default namespace: no row of such a task is
/// in them. A condition with `IN` would cost something: it opens a table of its values for each statement that writes.
pub(super) const V5: &str = "
CREATE INDEX idx_tasks_unsuccessful ON task_rows (namespace, status) WHERE status > 4;
CREATE INDEX idx_tasks_namespace ON task_rows (namespace) WHERE namespace <> 'default';
CREATE INDEX idx_steps_waiting ON step_rows (status) WHERE status = 1;
";

/// Migration 6. For the views alone: the epoch of a step's newest lease, the key of an ended task whose time to live is over, and where the
/// files of a message of the file bus lie (a journal).
pub(super) const V6: &str = "
ALTER TABLE step_rows ADD COLUMN lease_epoch INTEGER;
ALTER TABLE task_rows ADD COLUMN given_up_key BLOB;
CREATE TABLE message_files (
    msg_id         BLOB    PRIMARY KEY,
    meta_path      TEXT    NOT NULL,
    payload_path   TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
";
