//! The snapshot of an inference: what a model was given, with which parameters, and what it said (L11).
//!
//! It is one JSON document in canonical form, so the same inference has the same hash wherever it was recorded:
//!
//! ```json
//! {"model": "…", "output": …, "parameters": {…}, "prompt": …, "schema": "relaymesh.inference.v1",
//!  "source_job": {"epoch": 1, "step": 0, "task": "tsk_…"}}
//! ```
//!
//! The kernel never reads content; whoever records or audits a snapshot reads it with [`Inference::parse`].

use crate::{
    canonical,
    content::{ContentRef, Media},
    id::TaskId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The kind of artifact that a snapshot is.
pub const KIND: &str = "inference";
/// What the document says it is.
pub const SCHEMA: &str = "relaymesh.inference.v1";

/// What a model was given, and what it said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inference {
    schema: String,
    /// What it was given: a text, or messages in the form of its maker.
    pub prompt: Value,
    /// Which model, as its maker names it, version included.
    pub model: String,
    /// Temperature, seed, limits, tools: whatever changes what it says.
    pub parameters: Map<String, Value>,
    /// What it said.
    pub output: Value,
    /// The attempt that asked.
    pub source_job: SourceJob,
}

/// The attempt that a snapshot comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceJob {
    /// The task.
    pub task: TaskId,
    /// The step's place in its task.
    pub step: u16,
    /// The attempt's fence.
    pub epoch: u32,
}

/// Why a document is not a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No JSON that everybody reads alike.
    #[error(transparent)]
    Json(#[from] canonical::Error),
    /// A field is missing, unknown or of another type.
    #[error("not an inference snapshot: {detail}")]
    Shape {
        /// What the decoder said.
        detail: String,
    },
    /// Another version, or something else.
    #[error("the document says it is `{found}`, not `{SCHEMA}`")]
    Schema {
        /// What it says.
        found: String,
    },
    /// The model is not named.
    #[error("the snapshot does not say which model it is of")]
    NoModel,
    /// The bytes are not in canonical form, so their hash is not the inference's.
    #[error("the snapshot is not in canonical form (RFC 8785)")]
    NotCanonical,
}

impl Inference {
    /// The snapshot of one call.
    pub fn new(
        prompt: Value,
        model: impl Into<String>,
        parameters: Map<String, Value>,
        output: Value,
        source_job: SourceJob,
    ) -> Self {
        Self { schema: SCHEMA.to_owned(), prompt, model: model.into(), parameters, output, source_job }
    }

    /// The document, and the reference that an op names it by.
    pub fn to_content(&self) -> Result<(Vec<u8>, ContentRef), Error> {
        if self.model.is_empty() {
            return Err(Error::NoModel);
        }
        let value = serde_json::to_value(self).map_err(|error| Error::Shape { detail: error.to_string() })?;
        let bytes = canonical::to_vec(&value)?;
        let reference = ContentRef::of(Media::Json, &bytes);
        Ok((bytes, reference))
    }

    /// The snapshot in these bytes, if they are one, whole and in canonical form.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let value = canonical::parse(bytes)?;
        let schema = value.get("schema").and_then(Value::as_str).unwrap_or_default();
        if schema != SCHEMA {
            return Err(Error::Schema { found: schema.chars().take(60).collect() });
        }
        // The decoder repeats what it found, however long; its beginning is enough.
        let shape = |error: serde_json::Error| Error::Shape { detail: error.to_string().chars().take(300).collect() };
        let inference: Self = serde_json::from_value(value).map_err(shape)?;
        let (canonical, _) = inference.to_content()?;
        if canonical == bytes { Ok(inference) } else { Err(Error::NotCanonical) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sample() -> Inference {
        let parameters = json!({"temperature": 0.2, "seed": 7}).as_object().unwrap().clone();
        let source_job = SourceJob { task: TaskId::new(5, 6), step: 1, epoch: 2 };
        let prompt = json!([{"role": "user", "content": "2+2?"}]);
        Inference::new(prompt, "acme/large-2", parameters, json!("4"), source_job)
    }

    #[test]
    fn a_snapshot_says_everything_that_the_contract_wants_and_comes_back() {
        let (bytes, reference) = sample().to_content().unwrap();
        assert_eq!(Inference::parse(&bytes), Ok(sample()));
        assert_eq!(reference, ContentRef::of(Media::Json, &bytes));
        let expected = "{\"model\":\"acme/large-2\",\"output\":\"4\",\"parameters\":{\"seed\":7,\"temperature\":0.2},\
                        \"prompt\":[{\"content\":\"2+2?\",\"role\":\"user\"}],\"schema\":\"relaymesh.inference.v1\",\
                        \"source_job\":{\"epoch\":2,\"step\":1,\"task\":\"tsk_00000000050000000000000006\"}}";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }

    #[test]
    fn what_lacks_a_field_or_says_more_is_no_snapshot() {
        let whole = serde_json::to_value(sample()).unwrap();
        for field in ["prompt", "model", "parameters", "output", "source_job"] {
            let mut value = whole.clone();
            value.as_object_mut().unwrap().remove(field);
            let error = Inference::parse(&canonical::to_vec(&value).unwrap()).unwrap_err();
            assert!(matches!(&error, Error::Shape { detail } if detail.contains(field)), "{field}: {error}");
        }
        let change = |field: &str, with: Value| {
            let mut value = whole.clone();
            value[field] = with;
            Inference::parse(&canonical::to_vec(&value).unwrap()).unwrap_err()
        };
        assert!(matches!(change("extra", json!(1)), Error::Shape { .. }));
        assert!(matches!(change("parameters", json!([])), Error::Shape { .. }));
        assert_eq!(change("model", json!("")), Error::NoModel);
        assert_eq!(change("schema", json!("other.v9")), Error::Schema { found: "other.v9".to_owned() });
        assert!(matches!(Inference::parse(b"not json"), Err(Error::Json(_))));
    }

    #[test]
    fn a_long_document_makes_no_long_error() {
        let mut value = serde_json::to_value(sample()).unwrap();
        value["x".repeat(100_000)] = json!(1);
        let error = Inference::parse(&canonical::to_vec(&value).unwrap()).unwrap_err();
        assert!(matches!(error, Error::Shape { .. }) && error.to_string().len() < 400);
    }

    #[test]
    fn one_inference_has_one_hash() {
        let (bytes, _) = sample().to_content().unwrap();
        let spaced = serde_json::to_vec_pretty(&serde_json::from_slice::<Value>(&bytes).unwrap()).unwrap();
        assert_eq!(Inference::parse(&spaced), Err(Error::NotCanonical));
    }

    #[test]
    fn a_number_that_others_would_round_is_refused() {
        let mut inference = sample();
        inference.parameters.insert("seed".to_owned(), json!(u64::MAX));
        assert!(matches!(inference.to_content(), Err(Error::Json(canonical::Error::Integer { .. }))));
    }
}
