//! What a user may say about how a step is done: what its result must be like, and where it works.

use super::{Error, StepRequest};
use crate::{
    canonical,
    task::spec::{Terms, Workspace},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A working tree of a repository, as a user asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceRequest {
    /// The repository: a path, or an address that git understands.
    pub git: String,
    /// What it begins from: a branch, a tag or a commit.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The branch that its work is put on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// The terms of a step, if it has any.
pub(super) fn of(step: &StepRequest) -> Result<Option<Box<Terms>>, Error> {
    if step.result_schema.is_none() && step.workspace.is_none() {
        return Ok(None);
    }
    let result_schema = step.result_schema.as_ref().map(|schema| text(step, schema)).transpose()?;
    let workspace = step.workspace.as_ref().map(|asked| workspace(step, asked)).transpose()?;
    Ok(Some(Box::new(Terms { result_schema, workspace })))
}

fn wrong(step: &StepRequest, field: &'static str, why: String) -> Error {
    Error::Terms { step: step.id.clone(), field, why }
}

/// The schema as it stands on the log. Whether it is one is for those to say who know JSON schemas.
fn text(step: &StepRequest, schema: &Value) -> Result<String, Error> {
    if !schema.is_object() && !schema.is_boolean() {
        let why = "a JSON schema is an object, or `true`, or `false`".to_owned();
        return Err(wrong(step, "result_schema", why));
    }
    match canonical::to_vec(schema) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        // A bound such as `"maximum": 18446744073709551615`. Keys are sorted in this form as well.
        Err(canonical::Error::Integer { .. }) => Ok(schema.to_string()),
        Err(error) => Err(wrong(step, "result_schema", error.to_string())),
    }
}

/// These words are given to git: none of them may be taken for an option, and none may hold what a path or a name cannot.
fn workspace(step: &StepRequest, asked: &WorkspaceRequest) -> Result<Workspace, Error> {
    let words = [("git", Some(&asked.git)), ("ref", asked.reference.as_ref()), ("branch", asked.branch.as_ref())];
    for (name, word) in words.into_iter().filter_map(|(name, word)| Some((name, word?))) {
        let why = if word.trim().is_empty() {
            "is empty"
        } else if word.starts_with('-') {
            "begins with `-`, and git would take it for an option"
        } else if word.contains(char::is_control) {
            "has a character in it that cannot be written"
        } else if word.contains("${{") {
            "cannot refer to anything: where a step works must be known when it is submitted"
        } else {
            continue;
        };
        return Err(wrong(step, "workspace", format!("`{name}` {why}")));
    }
    let WorkspaceRequest { git, reference, branch } = asked.clone();
    Ok(Workspace { git, reference, branch })
}
