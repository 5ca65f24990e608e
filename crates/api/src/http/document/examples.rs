//! Examples: a request for each operation that takes one, and the answers that a reader looks for first.

use serde_json::{Value, json};

const TASK: &str = "tsk_01M7NG05E3BXGNSWJW7VBSE1Q3";
const THREAD: &str = "thr_01M7NG05E3BXGNSWJW7VBSE1Q3";
const MESSAGE: &str = "msg_01M7NG05E3BXGNSWJW7VBSE1Q4";
const LEASE: &str = "lse_01M7NG05E3BXGNSWJW7VBSE1Q5";
const WORKER: &str = "wrk_01M7NG05E3BXGNSWJW7VBSE1Q6";
const HASH: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const FLOW: &str = "name: report\nsteps:\n  - { id: draft, agent: echo, input: { topic: locks } }\n";
const NOW_MS: u64 = 1_794_400_000_000;

/// Adds those of an operation.
pub(super) fn add(operation: &str, definition: &mut Value) {
    if let Some(example) = request(operation) {
        let content = definition["requestBody"]["content"].as_object_mut();
        for (kind, media) in content.into_iter().flatten() {
            media["example"] = if kind == "application/yaml" { json!(FLOW) } else { example.clone() };
        }
    }
    for (status, answer) in definition["responses"].as_object_mut().into_iter().flatten() {
        let Some(example) = success(operation).filter(|_| status.starts_with('2')) else { continue };
        let content = answer.get_mut("content").and_then(Value::as_object_mut);
        content.into_iter().flatten().for_each(|(_, media)| media["example"] = example.clone());
    }
}

/// A body that the operation takes.
fn request(operation: &str) -> Option<Value> {
    let held = format!("{THREAD}:{MESSAGE}:1:{LEASE}");
    let lock = format!("{LEASE}:7");
    let steps = json!([
        { "id": "draft", "agent": "echo", "input": { "topic": "locks" } },
        { "id": "review", "agent": "echo", "input": "${{ steps.draft.result.topic }}", "timeout": "5m" },
    ]);
    let flow = json!({ "name": "report", "steps": steps });
    Some(match operation {
        "tasks_submit" => json!({ "agent": "echo", "input": { "text": "hello" }, "key": "order-7" }),
        "tasks_bulk" => json!("{\"agent\":\"echo\",\"input\":1}\n{\"agent\":\"echo\",\"input\":2}\n"),
        "flows_submit" => json!({ "flow": flow, "input": null }),
        "flows_check" => json!({ "flow": flow }),
        "tasks_cancel" => json!({ "reason": "not needed", "soft": true }),
        "tasks_retry" => json!({ "reason": "the service is back" }),
        "tasks_purge" | "tokens_revoke" => json!({}),
        "steps_claim" => json!({ "lease_ms": 60_000 }),
        "steps_heartbeat" => json!({ "worker": WORKER }),
        "steps_finish" => json!({ "epoch": 1, "lease": LEASE, "result": { "words": 3 } }),
        "messages_send" => json!({ "to": "reviewer", "content": { "text": "please look" }, "priority": "high" }),
        "messages_take" => json!({ "lease_ms": 120_000 }),
        "messages_acknowledge" => json!({ "held": held }),
        "messages_reply" => json!({ "held": held, "content": { "verdict": "good" } }),
        "messages_fail" => json!({ "held": held, "error": "the service is down" }),
        "messages_redrive" => json!({ "thread": THREAD, "message": MESSAGE, "reason": "the service is back" }),
        "agents_register" => json!({ "agent": "reviewer", "registration_token": "rmr_example" }),
        "approvals_decide" => json!({ "ask": HASH, "approve": true }),
        "dead_letters_redrive" | "dead_letters_purge" => json!({ "ids": [TASK], "reason": "the service is back" }),
        "locks_acquire" => json!({ "repository": "web", "key": "src/**", "ttl_ms": 60_000, "purpose": "refactoring" }),
        "locks_renew" => json!({ "repository": "web", "held": lock, "ttl_ms": 60_000 }),
        "locks_release" => json!({ "repository": "web", "held": lock }),
        "namespaces_create" => json!({ "name": "team-a", "about": "the web team" }),
        "settings_update" => json!({ "revision": HASH, "settings": { "thread_pool_max": 16, "http_hosts": null } }),
        "content_upload" => json!("{\"text\": \"hello\"}"),
        "tokens_create" => json!({ "name": "ci", "scope": "rw", "namespaces": ["team-a"] }),
        "tokens_rotate" => json!({ "overlap_ms": 3_600_000 }),
        "tokens_exchange" => json!({ "code": "0f0e0d0c0b0a09080706050403020100" }),
        _ => return None,
    })
}

/// An answer of the operation.
fn success(operation: &str) -> Option<Value> {
    let accepted = json!({ "task": TASK, "status": "RUNNING", "merged": false, "class": "strong" });
    let deadline_ms = NOW_MS + 60_000;
    Some(match operation {
        "tasks_submit" | "flows_submit" => accepted,
        "tasks_list" => json!({
            "next": null,
            "tasks": [{
                "task": TASK, "key": 42, "name": "echo", "namespace": "default", "status": "SUCCESS", "created_ms": NOW_MS,
                "updated_ms": NOW_MS, "steps_done": 1, "steps": 1,
            }],
        }),
        "tasks_cancel" => json!({ "task": TASK, "status": "CANCELLED" }),
        "tasks_retry" => json!({ "task": TASK, "status": "PENDING" }),
        "messages_send" => json!({ "thread": THREAD, "message": MESSAGE, "state": "QUEUED" }),
        "messages_acknowledge" => json!({ "thread": THREAD, "message": MESSAGE, "state": "DONE" }),
        "locks_acquire" | "locks_renew" => {
            json!({ "held": format!("{LEASE}:7"), "token": LEASE, "fence": 7, "deadline_ms": deadline_ms })
        }
        "locks_release" => json!({ "released": true }),
        "namespaces_create" => json!({ "namespace": "team-a", "created": true }),
        "tokens_create" => json!({ "name": "ci", "token": "rmt_example", "until_ms": null }),
        "content_upload" => json!({ "hash": HASH, "bytes": 17, "until_ms": deadline_ms }),
        "health_live" => json!({ "status": "live" }),
        "health_ready" => json!({ "ready": true, "pos": 42, "why": [] }),
        _ => return None,
    })
}

/// An error with this status.
pub(super) fn problem(status: &str) -> Value {
    let (code, number, title, detail) = match status {
        "400" => ("usage", "RM0001", "Bad Request", "query string: limit: must be a whole number from 1 to 500"),
        "401" => ("not_authenticated", "RM0041", "Unauthorized", "a valid token is required"),
        "403" => ("forbidden", "RM0042", "Forbidden", "this needs the scope rw; the token has ro"),
        "404" => ("no_task", "RM0009", "Not Found", "there is no task tsk_01M7NG05E3BXGNSWJW7VBSE1Q3 in this root"),
        "405" => ("wrong_method", "RM0048", "Method Not Allowed", "this route allows POST"),
        "408" => ("too_slow", "RM0050", "Request Timeout", "the body did not arrive in time"),
        "409" => ("refused", "RM0011", "Conflict", "the task has already ended: SUCCESS"),
        "413" => ("too_long", "RM0019", "Payload Too Large", "the body is longer than 12582912 bytes"),
        "415" => (
            "wrong_media",
            "RM0045",
            "Unsupported Media Type",
            "the body must be application/json, but it has no `Content-Type`",
        ),
        "421" => ("wrong_host", "RM0043", "Misdirected Request", "`relay.example` is not a host name of this daemon"),
        "422" => ("unknown_agent", "RM0005", "Unprocessable Entity", "there is no agent `ecko`"),
        "429" => ("too_many", "RM0046", "Too Many Requests", "this token sent more than 10000 writes per second"),
        "503" => ("busy", "RM0027", "Service Unavailable", "the driver does not answer"),
        "507" => ("disk_full", "RM0025", "Insufficient Storage", "12 MiB are free; writes stop below 16 MiB"),
        _ => ("store_io", "RM0028", "Internal Server Error", "the store cannot be read"),
    };
    let status: u16 = status.parse().unwrap_or(500);
    json!({
        "type": format!("/api/v1/errors/{code}"), "title": title, "status": status, "detail": detail, "code": code, "number": number,
        "hints": [],
    })
}
