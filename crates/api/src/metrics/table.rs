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
    Gauge "relaymesh_queue_depth" [] "Ready steps that wait for a free place, in memory and in the store";
    Gauge "relaymesh_active_tasks" [] "Tasks with a running step";
    Counter "relaymesh_retry_total" [] "Failed attempts that are retried";
    Counter "relaymesh_dead_total" [] "Steps that used up their attempts";
    Counter "relaymesh_abandoned_total" [] "Attempts that ended because their worker was lost";
    Gauge "relaymesh_low_starvation_count" [] "Times that a step of lower priority was forced to run";
    Gauge "relaymesh_workflow_latency_p95" [] "95th percentile of the time from submit to end, over the last 1024 tasks, in seconds";
    Counter "relaymesh_anti_entropy_merge_total" [] "Merges with other nodes. For several nodes, which this version does not run: always 0";
    Counter "relaymesh_web_write_get_compat_total" [] "Writes by GET that were accepted";
    Counter "relaymesh_web_write_rate_limited_total" [] "HTTP writes refused by the rate limit";
    Counter "relaymesh_dead_owner_reclaimed_total" [] "Leases taken over from dead nodes. For several nodes, which this version does not run: always 0";
    Counter "relaymesh_membership_recovery_suppressed_total" [] "Nodes that came back too early. For several nodes, which this version does not run: always 0";
    Counter "relaymesh_mesh_nodes_pruned_total" [] "Nodes that were removed. For several nodes, which this version does not run: always 0";
    Counter "relaymesh_worker_paused_total" [] "Times that this node stopped taking work because the others considered it dead. For several nodes, which this version does not run: always 0";
    Gauge "relaymesh_mesh_nodes_total" ["status"] "Nodes by status. For several nodes, which this version does not run: always 1 ALIVE";
    Gauge "relaymesh_running_steps_by_owner_status" ["owner_status"] "Running steps by the status of the node that owns their lease. For several nodes, which this version does not run: always ALIVE";
    Gauge "relaymesh_oldest_dead_node_age_ms" [] "Time for which the oldest dead node has been dead. For several nodes, which this version does not run: always 0";
    Gauge "relaymesh_gossip_convergence_seconds" [] "Time by which the news of nodes differ. For several nodes, which this version does not run: always 0";

    Gauge "relaymesh_build_info" ["version"] "Always 1; the label has the version";
    Gauge "relaymesh_start_time_seconds" [] "Start time of the daemon, in seconds since 1970";
    Gauge "relaymesh_ready" [] "1 if the daemon accepts and runs work, else 0";
    Gauge "relaymesh_trouble" ["trouble"] "1 for each current problem";
    Counter "relaymesh_alerts_total" ["kind"] "Alerts by kind";
    Counter "relaymesh_tasks_submitted_total" [] "Accepted tasks";
    Counter "relaymesh_tasks_ended_total" ["status"] "Ended tasks by status";
    Histogram "relaymesh_task_duration_seconds" [] "Time from submit to end of a task";
    Counter "relaymesh_attempts_total" ["agent", "outcome"] "Ended attempts by agent and outcome";
    Histogram "relaymesh_attempt_duration_seconds" ["agent"] "Time from claim to end of an attempt";
    Histogram "relaymesh_queue_wait_seconds" ["lane"] "Time from ready to the first claim of a step";
    Counter "relaymesh_fenced_total" [] "Reports of workers that were rejected because their lease was over, since the root was made";
    Gauge "relaymesh_queue_ready_steps" ["lane"] "Ready steps";
    Gauge "relaymesh_queue_retry_steps" ["lane"] "Steps that wait for a retry";
    Gauge "relaymesh_queue_oldest_seconds" ["lane"] "Age of the oldest task with a ready step; 0 if there is none";
    Gauge "relaymesh_window_steps" [] "Ready steps in memory";
    Gauge "relaymesh_window_capacity_steps" [] "Maximum number of ready steps in memory: queue_capacity";
    Gauge "relaymesh_parked_steps" [] "Ready steps in memory whose agent has no free place";
    Gauge "relaymesh_running_attempts" [] "Running attempts, including those of external workers";
    Gauge "relaymesh_approvals_waiting" [] "Steps that wait for an approval with a deadline";
    Gauge "relaymesh_waiting_callers" [] "Clients that wait for the end of a task";
    Gauge "relaymesh_clients" [] "Connections to the local socket";
    Gauge "relaymesh_held_agents" [] "Providers and agents that are held";
    Gauge "relaymesh_used_today_tokens" [] "Tokens that models used today (UTC)";
    Gauge "relaymesh_used_today_dollars" [] "Cost of models today (UTC), as far as it is known";
    Gauge "relaymesh_used_today_seconds" [] "Running time of agents with a model or a budget today (UTC)";
    Gauge "relaymesh_outbox_messages" [] "Messages that are not yet taken";
    Gauge "relaymesh_log_position" [] "Position of the newest durable op";
    Counter "relaymesh_ops_total" [] "Committed ops";
    Histogram "relaymesh_commit_duration_seconds" [] "Time to write and sync a batch";
    Histogram "relaymesh_commit_batch_ops" [] "Ops per batch";
    Counter "relaymesh_commit_failures_total" ["reason"] "Batches that were not committed, by reason";
    Gauge "relaymesh_fold_lag_ops" [] "Ops that are not yet applied to the tables. For several nodes, which this version does not run: always 0";
    Gauge "relaymesh_database_bytes" [] "Size of the database file";
    Gauge "relaymesh_wal_bytes" [] "Size of the write-ahead log";
    Gauge "relaymesh_blobs" [] "Contents stored as files";
    Gauge "relaymesh_blob_bytes" [] "Total size of contents stored as files";
    Gauge "relaymesh_disk_free_bytes" [] "Free space on the disk of the root";
    Gauge "relaymesh_disk_needed_bytes" [] "Free space below which all writes are refused";
    Counter "relaymesh_spans_sent_total" [] "Trace spans accepted by the collector";
    Counter "relaymesh_spans_dropped_total" [] "Trace spans that were dropped or not accepted";
    Counter "relaymesh_log_lines_dropped_total" [] "Lines of the daemon's log that were dropped";
    Gauge "relaymesh_resident_memory_bytes" [] "Resident memory of the daemon, without its agents";
}
