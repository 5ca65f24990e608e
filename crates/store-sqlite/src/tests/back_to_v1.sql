-- From the newest schema back to the first one, with what is in the store: what an older relaymesh left.
DROP VIEW messages; DROP VIEW tasks; DROP VIEW idempotency; DROP VIEW steps;
DROP INDEX idx_tasks_unsuccessful; DROP INDEX idx_tasks_namespace; DROP INDEX idx_steps_waiting;
DROP TABLE mesh_marks; DROP TABLE mesh_nonces; DROP TABLE mesh_own; DROP TABLE mesh_outbox;
DROP TABLE message_files; DROP TABLE spends; DROP TABLE scope_rows; DROP TABLE snapshot_rows; DROP TABLE log_life;
CREATE TABLE messages (msg_id TEXT PRIMARY KEY, state TEXT, priority TEXT, created_at_ms INTEGER);
CREATE INDEX idx_messages_state_priority_created ON messages (state, priority, created_at_ms);
DROP INDEX idx_content_blob;
ALTER TABLE content DROP COLUMN blob_hash;
ALTER TABLE content DROP COLUMN blob_bytes;
ALTER TABLE idempotency_rows ADD COLUMN status INTEGER NOT NULL DEFAULT 4;
ALTER TABLE idempotency_rows ADD COLUMN result_hash BLOB;
ALTER TABLE idempotency_rows ADD COLUMN processed_at_ms INTEGER;
UPDATE idempotency_rows SET result_hash = t.result_hash, processed_at_ms = t.updated_at_ms FROM task_rows t
    WHERE t.task_key = idempotency_rows.task_key;
DROP INDEX idx_idempotency_processed_at;
CREATE INDEX idx_idempotency_processed_at ON idempotency_rows (processed_at_ms) WHERE processed_at_ms IS NOT NULL;
ALTER TABLE task_rows DROP COLUMN result_hash;
ALTER TABLE step_rows DROP COLUMN artifact_pos;
ALTER TABLE step_rows DROP COLUMN lease_epoch;
ALTER TABLE task_rows DROP COLUMN given_up_key;
DELETE FROM schema_migrations WHERE version >= 2;
PRAGMA user_version = 1;
