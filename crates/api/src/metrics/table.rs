//! Every metric there is: its name, its kind, its labels, and what it says.

/// What kind of number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows while the daemon runs.
    Counter,
    /// Goes up and down.
    Gauge,
    /// How many were how long, or how many.
    Histogram,
}

/// One metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// As it is scraped. A counter's ends in `_total`.
    pub name: &'static str,
    /// Counter, gauge or histogram.
    pub kind: Kind,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// What it says.
    pub help: &'static str,
}

macro_rules! metrics {
    ($($kind:ident $name:literal [$($label:literal),*] $help:literal;)*) => {
        /// Every metric. The first eighteen are those of the contract, by its names (R29).
        pub const TABLE: &[Definition] = &[
            $(Definition { name: $name, kind: Kind::$kind, labels: &[$($label),*], help: $help },)*
        ];
    };
}

metrics! {
    Gauge "relaymesh_queue_depth" [] "Steps that could run now and wait, in memory and in the store";
    Gauge "relaymesh_active_tasks" [] "Tasks with a step under way";
    Counter "relaymesh_retry_total" [] "Steps that failed and are tried again";
    Counter "relaymesh_dead_total" [] "Steps that used up their attempts";
    Counter "relaymesh_abandoned_total" [] "Attempts whose worker was lost";
    Gauge "relaymesh_low_starvation_count" [] "How often a lower lane had to be forced";
    Gauge "relaymesh_workflow_latency_p95" [] "Seconds from submit to end that 95 of 100 of the last 1024 tasks did not exceed";
    Counter "relaymesh_anti_entropy_merge_total" [] "Merges with other nodes; there are none yet";
    Counter "relaymesh_web_write_get_compat_total" [] "Writes by GET that were let through";
    Counter "relaymesh_web_write_rate_limited_total" [] "Writes that were turned away because there were too many";
    Counter "relaymesh_dead_owner_reclaimed_total" [] "Leases of other nodes that were dead; there are none yet";
    Counter "relaymesh_membership_recovery_suppressed_total" [] "Nodes that came back too soon; there are none yet";
    Counter "relaymesh_mesh_nodes_pruned_total" [] "Nodes that were forgotten; there are none yet";
    Counter "relaymesh_worker_paused_total" [] "How often this node stopped taking work because the mesh thought it dead";
    Gauge "relaymesh_mesh_nodes_total" ["status"] "Nodes by what they are thought to be; this one alone so far";
    Gauge "relaymesh_running_steps_by_owner_status" ["owner_status"] "Steps under way, by what the node is thought to be that answers for them";
    Gauge "relaymesh_oldest_dead_node_age_ms" [] "For how long the oldest dead node is dead; there is none yet";
    Gauge "relaymesh_gossip_convergence_seconds" [] "How far apart the news of the nodes are; there is one node so far";

    Gauge "relaymesh_build_info" ["version"] "1, and which program it is";
    Gauge "relaymesh_start_time_seconds" [] "When the daemon started, in seconds since 1970";
    Gauge "relaymesh_ready" [] "1 when work is taken and done";
    Gauge "relaymesh_trouble" ["trouble"] "1 for each thing that is not as it should be";
    Counter "relaymesh_alerts_total" ["kind"] "What an operator should have seen";
    Counter "relaymesh_tasks_submitted_total" [] "Tasks that were accepted";
    Counter "relaymesh_tasks_ended_total" ["status"] "Tasks that came to an end";
    Histogram "relaymesh_task_duration_seconds" [] "From submit to end";
    Counter "relaymesh_attempts_total" ["agent", "outcome"] "Attempts that ended";
    Histogram "relaymesh_attempt_duration_seconds" ["agent"] "From claim to end of an attempt";
    Histogram "relaymesh_queue_wait_seconds" ["lane"] "From ready to the first claim of a step";
    Gauge "relaymesh_queue_ready_steps" ["lane"] "Steps that could run now";
    Gauge "relaymesh_queue_retry_steps" ["lane"] "Steps that are tried again later";
    Gauge "relaymesh_queue_oldest_seconds" ["lane"] "Age of the oldest task with a ready step; 0 when nothing waits";
    Gauge "relaymesh_window_steps" [] "Ready steps in memory";
    Gauge "relaymesh_window_capacity_steps" [] "Ready steps that fit in memory: queue_capacity";
    Gauge "relaymesh_parked_steps" [] "Ready steps in memory whose agent has no place";
    Gauge "relaymesh_running_attempts" [] "Attempts under way, those of workers from outside as well";
    Gauge "relaymesh_approvals_waiting" [] "Steps that wait for a person's decision with a deadline";
    Gauge "relaymesh_waiting_callers" [] "Callers that wait for the end of a task";
    Gauge "relaymesh_clients" [] "Connections to the local socket";
    Gauge "relaymesh_held_agents" [] "Providers and agents that get no work for a while";
    Gauge "relaymesh_used_today_tokens" [] "Tokens that models used today, by UTC";
    Gauge "relaymesh_used_today_dollars" [] "Money that models cost today, where anybody knows it";
    Gauge "relaymesh_used_today_seconds" [] "Time for which agents that are counted ran today";
    Gauge "relaymesh_outbox_messages" [] "Messages that nobody has taken yet";
    Gauge "relaymesh_log_position" [] "The newest durable op";
    Counter "relaymesh_ops_total" [] "Ops that were committed";
    Histogram "relaymesh_commit_duration_seconds" [] "Writing and syncing a batch";
    Histogram "relaymesh_commit_batch_ops" [] "Ops in a batch";
    Counter "relaymesh_commit_failures_total" ["reason"] "Batches that were not committed";
    Gauge "relaymesh_fold_lag_ops" [] "Ops that wait to be folded; on one node they never do";
    Gauge "relaymesh_database_bytes" [] "Length of the database";
    Gauge "relaymesh_wal_bytes" [] "Length of the write-ahead log";
    Gauge "relaymesh_blobs" [] "Contents that lie in files";
    Gauge "relaymesh_blob_bytes" [] "Bytes of contents that lie in files";
    Gauge "relaymesh_disk_free_bytes" [] "Room on the disk of the root";
    Gauge "relaymesh_disk_needed_bytes" [] "With less room than this nothing is written";
    Counter "relaymesh_spans_sent_total" [] "Spans of traces that a collector took";
    Counter "relaymesh_spans_dropped_total" [] "Spans of traces that nobody took, or that there was no room for";
    Counter "relaymesh_log_lines_dropped_total" [] "Lines of the daemon's log that were left out";
    Gauge "relaymesh_resident_memory_bytes" [] "Memory of the daemon, without its agents";
}
