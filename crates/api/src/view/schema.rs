//! What values of other crates look like in answers, for the OpenAPI document alone.
//!
//! The kernel and the agents know nothing of documents, so their types cannot describe themselves. Nothing is ever made of the types here:
//! a test compares their fields with those of the real values.

use super::Shown;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// An attempt that has ended.
#[derive(Debug, ToSchema)]
pub struct Attempt {
    /// Epoch of the attempt, its fence.
    pub epoch: u32,
    /// Id of the worker.
    pub worker: String,
    /// Time of the claim, in milliseconds since 1970.
    pub started_ms: u64,
    /// Time of the end, in milliseconds since 1970.
    pub ended_ms: u64,
    /// How it ended.
    pub outcome: String,
    /// Error message; `null` after a success.
    pub error: Option<String>,
}

/// A process that ran for an attempt.
#[derive(Debug, ToSchema)]
#[schema(as = AgentProcess)]
pub struct Process {
    /// Process id. After the end, the system may have given it to another process.
    pub pid: u32,
    /// The file that was run.
    pub program: String,
    /// Its arguments. A prompt among them is shown as `<prompt>`.
    pub arguments: Vec<String>,
    /// Working directory.
    pub folder: String,
    /// Time of the start, in milliseconds since 1970.
    pub started_ms: u64,
    /// Time of the end, in milliseconds since 1970; `null` while it runs, or if the daemon died with it.
    pub ended_ms: Option<u64>,
    /// Exit code.
    pub exit_code: Option<i32>,
    /// Signal that ended it.
    pub signal: Option<i32>,
    /// Bytes written to stdout.
    pub stdout_bytes: u64,
    /// Bytes written to stderr.
    pub stderr_bytes: u64,
}

/// The HTTP request that made a write.
#[derive(Debug, ToSchema)]
#[schema(as = RequestOrigin)]
pub struct Via {
    /// HTTP method.
    pub method: String,
    /// Route, without ids.
    pub route: String,
    /// Address of the client.
    pub remote_addr: String,
    /// `User-Agent`, as the client sent it.
    pub user_agent: Option<String>,
    /// `X-Forwarded-For`, as the client sent it.
    pub x_forwarded_for: Option<String>,
    /// `Origin`, as the client sent it.
    pub origin: Option<String>,
    /// `Referer`, as the client sent it, without query and password.
    pub referer: Option<String>,
}

/// A load of the settings that changed some of them.
#[derive(Debug, ToSchema)]
pub struct SettingsChange {
    /// Time, in milliseconds since 1970.
    pub at_ms: u64,
    /// What made the daemon load them: `start`, `file` or `command`.
    pub source: String,
    /// Names of the changed settings.
    pub changed_fields: Vec<String>,
}

/// Details of an agent of agents.toml. Built-in agents have none of these fields.
#[derive(Debug, ToSchema)]
pub struct AgentDetails {
    /// Provider, whose rate limits it shares.
    pub provider: Option<String>,
    /// Command that is run.
    pub command: Option<Vec<String>>,
    /// URL of an agent that is reached over HTTP.
    pub url: Option<String>,
    /// Maximum number of concurrent attempts; `null` for an inbox agent.
    pub concurrency: Option<u64>,
    /// Labels of agents.toml.
    #[schema(value_type = Option<std::collections::BTreeMap<String, String>>)]
    pub labels: Option<Value>,
    /// Time until which it gets no work, in RFC 3339.
    pub held_until: Option<String>,
    /// The same, in milliseconds since 1970.
    pub held_until_ms: Option<u64>,
    /// Why it gets no work.
    pub held_because: Option<String>,
}

/// A task with its request, every attempt that is remembered, and its results.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskExport {
    /// The task.
    #[serde(flatten)]
    pub task: Shown,
    /// The request.
    pub request: ExportedRequest,
}

/// The request of an exported task.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExportedRequest {
    /// Name of the task.
    pub name: String,
    /// Every step as it was requested, with its input.
    #[schema(value_type = Vec<Object>)]
    pub steps: Vec<Value>,
}

/// A flow that was checked.
#[derive(Debug, ToSchema)]
pub struct CheckedFlow {
    /// Name.
    pub name: String,
    /// SHA-256 of the canonical request.
    pub fingerprint: String,
    /// JSON schema of the input, if the flow has one.
    pub input: Value,
    /// Steps, in the order of the flow.
    pub steps: Vec<CheckedStep>,
}

/// A step of a flow that was checked.
#[derive(Debug, ToSchema)]
pub struct CheckedStep {
    /// Name.
    pub step: String,
    /// Agent.
    pub agent: String,
    /// Steps that must succeed first.
    pub depends_on: Vec<String>,
    /// Condition under which it runs.
    pub when: Option<String>,
    /// List; the step runs once for each item.
    pub foreach: Option<String>,
    /// Question that must be approved.
    pub asks: Option<String>,
    /// Step that this one compensates.
    pub compensates: Option<String>,
}

/// A token of the HTTP API, without the token itself.
#[derive(Debug, ToSchema)]
#[schema(as = TokenDetails)]
pub struct Token {
    /// Name: the author of every write made with it.
    pub name: String,
    /// Scope.
    pub scope: String,
    /// Namespaces in which it is valid; `null` for all.
    pub namespaces: Option<Vec<String>>,
    /// Agent, with the scope `agent`.
    pub agent: Option<String>,
    /// Time of creation, in milliseconds since 1970.
    pub made_ms: u64,
    /// Expiry, in milliseconds since 1970, if any.
    pub until_ms: Option<u64>,
    /// Whether it is valid now.
    pub good: bool,
    /// Time of the last rotation, in milliseconds since 1970.
    pub rotated_ms: Option<u64>,
    /// Time until which the token before the rotation is valid, in milliseconds since 1970.
    pub previous_until_ms: Option<u64>,
}

/// Tokens with names.
#[derive(Debug, ToSchema)]
pub struct TokenList {
    /// The tokens, by name.
    pub tokens: Vec<Token>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use relaymesh_core::{id::WorkerId, op, task};
    use relaymesh_runtime::settings::history;
    use serde_json::json;
    use std::collections::BTreeSet;
    use utoipa::PartialSchema;

    fn described<T: PartialSchema>() -> BTreeSet<String> {
        let schema = json!(T::schema());
        schema["properties"].as_object().unwrap().keys().cloned().collect()
    }

    fn real(value: &Value) -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn what_is_described_is_what_is_sent() {
        let attempt = task::Attempt {
            epoch: 1,
            worker: WorkerId::new(1, 1),
            started_ms: 1,
            ended_ms: 2,
            outcome: task::Outcome::Failed,
            error: None,
        };
        assert_eq!(described::<Attempt>(), real(&json!(attempt)));
        assert_eq!(described::<Via>(), real(&json!(op::Via::default())));
        let change = history::Entry { at_ms: 1, source: String::new(), changed_fields: Vec::new() };
        assert_eq!(described::<SettingsChange>(), real(&json!(change)));
        let own = super::super::agent::Own {
            provider: String::new(),
            command: Vec::new(),
            url: None,
            concurrency: None,
            labels: std::collections::BTreeMap::new(),
            held_until: None,
            held_until_ms: None,
            held_because: None,
        };
        assert_eq!(described::<AgentDetails>(), real(&json!(own)));
    }
}
