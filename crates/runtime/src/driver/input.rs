//! What a step is given to work on.

use super::{batch::content_of, engine::Engine};
use crate::world::{Hold, World};
use relaymesh_core::content::ContentRef;
use relaymesh_store::{Batch, Content, ContentKey, Reader};
use serde_json::{Map, Value};

/// Why an attempt cannot be given its input.
pub(super) struct Unusable {
    pub(super) error: String,
    /// Whether it may be there the next time.
    pub(super) retryable: bool,
}

impl Unusable {
    fn for_good(error: &str) -> Self {
        Self { error: error.to_owned(), retryable: false }
    }

    /// A disk that could not be read may be readable later; damage stays.
    fn for_now(error: &relaymesh_store::Error) -> Self {
        Self { error: error.to_string(), retryable: matches!(error, relaymesh_store::Error::Io { .. }) }
    }
}

impl<R: Reader, W: World> Engine<R, W> {
    /// Its own input, or `{step: result}` of the steps that it depends on, or `null`. Checked when read (D3). What was
    /// claimed together with its submit is still in the batch, and is not read back from the store.
    pub(super) fn input(&mut self, hold: Hold, batch: &Batch) -> Result<Content, Unusable> {
        let Some(rows) = self.cache.get(hold.step.task).and_then(|entry| entry.rows.as_ref()) else {
            return Err(Unusable::for_good("its rows are gone"));
        };
        let step = &rows.steps[usize::from(hold.step.index)];
        if let Some(input) = step.spec.input {
            return read(&mut self.reader, batch, ContentKey::new(rows.task.key, hold.step.index), input);
        }
        if step.spec.depends_on.is_empty() {
            return Ok(Content::Inline(b"null".to_vec()));
        }
        let mut results = Map::new();
        for of in &step.spec.depends_on {
            let done = &rows.steps[usize::from(*of)];
            let result =
                done.result.ok_or_else(|| Unusable::for_good(&format!("step `{}` has no result", done.spec.name)))?;
            let content = read(&mut self.reader, batch, ContentKey::new(done.result_pos, 0), result)?;
            results.insert(done.spec.name.to_string(), value(&mut self.reader, content, result)?);
        }
        Ok(Content::Inline(Value::Object(results).to_string().into_bytes()))
    }
}

fn read<R: Reader>(reader: &mut R, batch: &Batch, key: ContentKey, named: ContentRef) -> Result<Content, Unusable> {
    let content = match content_of(batch, key) {
        Some(content) => content.clone(),
        None => match reader.content(key).map_err(|error| Unusable::for_now(&error))? {
            Some(content) => content,
            None => return Err(Unusable::for_good("its input is missing")),
        },
    };
    content.check(&named).map_err(|damaged| Unusable::for_good(&damaged.to_string()))?;
    Ok(content)
}

/// JSON as it is, anything else as text.
fn value<R: Reader>(reader: &mut R, content: Content, named: ContentRef) -> Result<Value, Unusable> {
    let bytes = match content {
        Content::Inline(bytes) => bytes,
        Content::Blob(blob) => {
            let bytes = reader.blob(&blob.hash).map_err(|error| Unusable::for_now(&error))?;
            let bytes = bytes.ok_or_else(|| Unusable::for_good(&format!("the blob {} is missing", blob.hash)))?;
            named.check(&bytes).map_err(|damaged| Unusable::for_good(&damaged.to_string()))?;
            bytes
        }
    };
    Ok(serde_json::from_slice(&bytes).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned())))
}
