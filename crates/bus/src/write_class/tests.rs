//! The table against the source's matrix, row by row, and what no input may do.

use super::*;
use WriteClass::{AppendOnly, Local, Queued, Strong};
use relaymesh_core::register::Register;
use relaymesh_core::{
    id::{NamespaceId, PlanId, RepositoryId, TaskId, ThreadId},
    op::{Scope, WriteClass},
};

/// Data class, mode, and what we call it.
type MatrixRow = (&'static str, &'static str, &'static [(EntityType, Mode)]);

/// The source's section 4 in its own words, and the entity types that each row is about. A row in two modes is two types.
const MATRIX: [MatrixRow; 10] = [
    (
        "Tasks (core fields, deps, steps, column transitions)",
        "Strongly coordinated",
        &[(EntityType::Task, Mode::StronglyCoordinated)],
    ),
    (
        "Task metadata (priority, model overrides, docs metadata refs)",
        "Strongly coordinated",
        &[(EntityType::TaskMetadata, Mode::StronglyCoordinated)],
    ),
    (
        "Missions/milestones/slices/features",
        "Strongly coordinated",
        &[(EntityType::Mission, Mode::StronglyCoordinated)],
    ),
    (
        "Agent definitions/configuration",
        "Strongly coordinated",
        &[(EntityType::AgentConfig, Mode::StronglyCoordinated)],
    ),
    (
        "Agent runtime state (heartbeat ticks, local process internals, worktree paths)",
        "Node-local only",
        &[(EntityType::AgentRuntime, Mode::NodeLocalOnly)],
    ),
    ("Project settings", "Strongly coordinated", &[(EntityType::ProjectSettings, Mode::StronglyCoordinated)]),
    (
        "Auth material / provider credentials",
        "Queued-for-later (secured transport only)",
        &[(EntityType::AuthMaterial, Mode::QueuedForLater)],
    ),
    (
        "Execution runs / live activity streams",
        "Node-local + queued summary",
        &[(EntityType::ExecutionRun, Mode::QueuedForLater), (EntityType::LiveActivity, Mode::NodeLocalOnly)],
    ),
    (
        "Audit / event streams (activityLog, runAuditEvents)",
        "Append-only replicated",
        &[(EntityType::AuditEvent, Mode::AppendOnlyReplicated)],
    ),
    (
        "Filesystem blobs (.fusion/tasks/* prompts/logs/attachments)",
        "Queued-for-later",
        &[(EntityType::FilesystemBlob, Mode::QueuedForLater)],
    ),
];

const OURS: [EntityType; 3] = [EntityType::Message, EntityType::Lock, EntityType::Namespace];

#[test]
fn f2_every_row_of_the_sources_matrix_has_its_class_in_every_order() {
    let mut seen = Vec::new();
    for (words, mode_words, entities) in MATRIX {
        for &(entity, mode) in entities {
            let (said, class) = match mode {
                Mode::StronglyCoordinated => ("Strongly coordinated", Strong),
                Mode::AppendOnlyReplicated => ("Append-only replicated", AppendOnly),
                Mode::QueuedForLater => ("ueued", Queued),
                Mode::NodeLocalOnly => ("Node-local", Local),
            };
            assert!(mode_words.contains(said), "{words}: the source says {mode_words}");
            let row = ROWS[entity as usize];
            assert_eq!((row.entity, row.mode), (entity, mode), "{words}");
            assert_eq!(class_of(entity, Order::Direct), class, "{words}, direct");
            assert_eq!(class_of(entity, Order::Quorum), class, "{words}, quorum");
            let feed = if class == Strong { AppendOnly } else { class };
            assert_eq!(class_of(entity, Order::Feed), feed, "{words}, feed (D34)");
            seen.push(entity);
        }
    }
    seen.extend(OURS);
    assert_eq!(seen, EntityType::ALL, "every entity type is of one row of the matrix, or one of ours");
}

#[test]
fn every_type_stands_in_the_table_once_and_in_its_place() {
    for (place, row) in ROWS.iter().enumerate() {
        assert_eq!((row.entity, row.entity as usize), (EntityType::ALL[place], place));
    }
}

#[test]
fn names_are_those_of_the_wire_and_come_back() {
    for entity in EntityType::ALL {
        assert_eq!(entity.to_string().parse(), Ok(entity));
        assert_eq!(serde_json::to_value(entity).unwrap(), entity.as_str());
    }
    let refused = "tasks".parse::<EntityType>().unwrap_err().to_string();
    assert!(refused.starts_with("`tasks` is no entity type; there are task, task-metadata, "), "{refused}");
}

#[test]
fn f3_a_strong_write_is_strong_or_queued_whatever_happens_and_never_local() {
    for entity in EntityType::ALL {
        for order in Order::ALL {
            for ordering in [Ordering::Agreed, Ordering::Unreachable, Ordering::TimedOut] {
                let got = settle(entity, order, ordering);
                let expected = match (class_of(entity, order), ordering) {
                    (Strong, Ordering::Agreed) => (Strong, false),
                    (Strong, Ordering::Unreachable) => (Queued, false),
                    (Strong, Ordering::TimedOut) => (Queued, true),
                    (Queued, ordering) => (Queued, ordering == Ordering::TimedOut),
                    (class @ (AppendOnly | Local), _) => (class, false),
                };
                assert_eq!((got.class, got.indeterminate), expected, "{entity} {order} {ordering:?}");
                assert_eq!(got.class == Local, got.declared == Local, "local comes of local alone");
            }
        }
    }
}

#[test]
fn d34_an_answer_says_which_class_the_write_got() {
    for (order, ordering, said) in [
        (Order::Direct, Ordering::Agreed, "strong"),
        (Order::Feed, Ordering::Unreachable, "append-only"),
        (Order::Quorum, Ordering::Agreed, "strong"),
        (Order::Quorum, Ordering::Unreachable, "queued instead of strong"),
        (Order::Quorum, Ordering::TimedOut, "queued instead of strong, indeterminate"),
    ] {
        assert_eq!(settle(EntityType::Task, order, ordering).to_string(), said);
    }
    let json = serde_json::to_string(&settle(EntityType::Task, Order::Quorum, Ordering::TimedOut)).unwrap();
    assert_eq!(json, r#"{"entity":"task","declared":"strong","class":"queued","indeterminate":true}"#);
}

#[test]
fn a_class_that_is_not_the_tables_is_refused_with_both() {
    for entity in EntityType::ALL {
        for order in Order::ALL {
            for asked in [Strong, AppendOnly, Queued, Local] {
                let declared = class_of(entity, order);
                let expected =
                    if asked == declared { Ok(declared) } else { Err(Refusal { entity, order, declared, asked }) };
                assert_eq!(check(entity, order, asked), expected);
            }
        }
    }
    let refused = check(EntityType::Task, Order::Quorum, Local).unwrap_err().to_string();
    assert_eq!(refused, "a write of `task` is strong in a quorum mesh and cannot be made local");
}

#[test]
fn every_scope_of_an_op_is_about_a_type_of_the_table() {
    for (scope, entity) in [
        (Scope::Task(TaskId::new(1, 1)), EntityType::Task),
        (Scope::Thread(ThreadId::new(1, 1)), EntityType::Message),
        (Scope::Repository(RepositoryId::new(1, 1)), EntityType::Lock),
        (Scope::Log, EntityType::AuditEvent),
        (Scope::Namespace(NamespaceId::new(1, 1)), EntityType::Namespace),
        (Scope::Plan(PlanId::new(1, 1)), EntityType::Mission),
        (Scope::Register(Register::Level), EntityType::ProjectSettings),
    ] {
        assert_eq!(EntityType::of_scope(&scope), entity);
    }
}
