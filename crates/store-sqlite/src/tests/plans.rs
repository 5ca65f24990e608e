//! The hot reads use their index, and nothing scans a table (R14, R15, R17).

use super::World;
use crate::reader;
use relaymesh_core::task::Status;
use relaymesh_store::TaskFilter;

fn plan(world: &mut World, sql: &str) -> String {
    let connection = &world.store().connection;
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let rows = statement.raw_query().mapped(|row| row.get::<_, String>(3)).collect::<Result<Vec<_>, _>>();
    rows.unwrap().join("; ")
}

#[test]
fn queues_are_searched_by_their_index() {
    let mut world = World::new();
    let at = plan(&mut world, reader::DUE_AT);
    assert_eq!(
        at,
        "SEARCH step_rows USING COVERING INDEX idx_steps_status_next_retry (queue=? AND due_ms=? AND rowid>?)"
    );
    let after = plan(&mut world, reader::DUE_AFTER);
    assert_eq!(
        after,
        "SEARCH step_rows USING COVERING INDEX idx_steps_status_next_retry (queue=? AND due_ms>? AND due_ms<?)"
    );
    let next = plan(&mut world, reader::NEXT_DUE);
    assert!(next.starts_with("SEARCH step_rows USING COVERING INDEX idx_steps_status_next_retry"), "{next}");
}

#[test]
fn leases_are_searched_by_their_index() {
    let mut world = World::new();
    let found = plan(&mut world, reader::LEASED);
    assert!(found.starts_with("SEARCH step_rows USING COVERING INDEX idx_steps_lease_owner_updated"), "{found}");
}

#[test]
fn idempotency_is_searched_by_key_and_cleaned_up_by_time() {
    let mut world = World::new();
    let found = plan(&mut world, "SELECT task_key FROM idempotency_rows WHERE key = ?1 AND namespace = ?2");
    assert_eq!(found, "SEARCH idempotency_rows USING PRIMARY KEY (key=? AND namespace=?)");
    let found = plan(&mut world, crate::life::ENDED);
    assert!(found.starts_with("SEARCH task_rows USING INDEX idx_idempotency_processed_at"), "{found}");
    assert!(!found.contains("TEMP B-TREE"), "{found}");
    let found = plan(&mut world, crate::life::RESTED);
    assert!(found.starts_with("SEARCH scope_rows USING COVERING INDEX idx_threads_rested"), "{found}");
}

#[test]
fn lists_walk_the_table_from_its_newest_end() {
    let mut world = World::new();
    let found = plan(&mut world, &reader::tasks_sql(&TaskFilter::default()));
    assert_eq!(found, "SEARCH task_rows USING INTEGER PRIMARY KEY (rowid<?)");
}

#[test]
fn lists_of_what_may_be_rare_use_an_index() {
    let mut world = World::new();
    let filter = |namespace: &str, status| TaskFilter { namespace: Some(namespace.parse().unwrap()), status };
    for (namespace, status) in [("default", Status::Failed), ("team", Status::DeadLetter), ("team", Status::Cancelled)]
    {
        let found = plan(&mut world, &reader::tasks_sql(&filter(namespace, Some(status))));
        let expected = "SEARCH task_rows USING INDEX idx_tasks_unsuccessful (namespace=? AND status=? AND rowid<?)";
        assert_eq!(found, expected, "{namespace} {status}");
    }
    for status in [None, Some(Status::Success)] {
        let found = plan(&mut world, &reader::tasks_sql(&filter("team", status)));
        assert_eq!(found, "SEARCH task_rows USING INDEX idx_tasks_namespace (namespace=? AND rowid<?)", "{status:?}");
    }
    for namespace in ["default", "team"] {
        let found = plan(&mut world, &reader::tasks_sql(&filter(namespace, Some(Status::Running))));
        assert!(found.starts_with("SEARCH task_rows USING INTEGER PRIMARY KEY (rowid=?); LIST SUBQUERY"), "{found}");
        assert_eq!(found.matches("SEARCH step_rows USING COVERING INDEX").count(), 3, "{found}");
        assert!(!found.contains("SCAN"), "{found}");
    }
    let found = plan(&mut world, reader::WAITING);
    assert_eq!(found, "SEARCH step_rows USING COVERING INDEX idx_steps_waiting (status=? AND rowid>?)");
    let found = plan(&mut world, crate::scopes::THREADS);
    assert!(found.starts_with("SEARCH scope_rows USING COVERING INDEX idx_messages_state_priority_created"), "{found}");
}

#[test]
fn the_contracts_indexes_have_their_names() {
    let mut world = World::new();
    let mut names = Vec::new();
    let connection = &world.store().connection;
    let mut statement =
        connection.prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'idx%' ORDER BY name").unwrap();
    let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    rows.for_each(|name| names.push(name.unwrap()));
    assert_eq!(
        names,
        [
            "idx_content_blob",
            "idx_idempotency_processed_at",
            "idx_messages_inbox",
            "idx_messages_state_priority_created",
            "idx_scopes_due",
            "idx_spends_task",
            "idx_steps_lease_owner_updated",
            "idx_steps_status_next_retry",
            "idx_steps_waiting",
            "idx_tasks_namespace",
            "idx_tasks_unsuccessful",
            "idx_threads_rested"
        ]
    );
}
