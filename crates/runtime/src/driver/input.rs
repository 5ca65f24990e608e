//! What a step is given to work on, and what a node works out about it before that.
//!
//! Expressions are evaluated here and nowhere else: what they come to depends on content, and the kernel has none. The outcome goes
//! on the log, so nobody has to evaluate them again to know what happened.

use super::{engine::Engine, pipeline::content_of};
use crate::world::{Hold, Outcome, Weighed, World};
use relaymesh_core::{
    content::{ContentRef, Media},
    expr::{EvalError, References, StepValue, Values, is_true, template},
    task::{Status, Step, TaskRows, fail::shortened, graph::STEPS_MAX, spec::INPUT_PLACE},
};
use relaymesh_store::{Batch, Content, ContentKey, Reader};
use serde_json::{Map, Value};

/// The most that is read for one attempt, in payloads of the longest kind: results that it refers to, or that are put together.
const READ_PAYLOADS_MAX: usize = 4;

/// Why an attempt cannot be given its input.
pub(super) struct Unusable {
    pub(super) error: String,
    /// Whether it may be there the next time.
    pub(super) retryable: bool,
}

impl Unusable {
    fn for_good(error: impl Into<String>) -> Self {
        Self { error: error.into(), retryable: false }
    }

    /// A disk that could not be read may be readable later; damage stays.
    fn for_now(error: &relaymesh_store::Error) -> Self {
        Self { error: error.to_string(), retryable: matches!(error, relaymesh_store::Error::Io { .. }) }
    }
}

impl From<EvalError> for Unusable {
    fn from(EvalError(error): EvalError) -> Self {
        Self::for_good(error)
    }
}

impl<R: Reader, W: World> Engine<R, W> {
    /// Its own input, filled in; or the item that it runs for; or `{step: result}` of the steps that it depends on; or `null`. Checked
    /// when read (D3). What was claimed together with its submit is still in the batch, and is not read back from the store.
    pub(super) fn input(&mut self, hold: Hold, batch: &Batch) -> Result<Content, Unusable> {
        let max = self.config.payload_max_bytes;
        let (mut source, index) = self.source(hold, batch)?;
        let step = source.step(index);
        let Some(named) = step.spec.input else {
            let value = match step.spec.item() {
                Some(item) => source.items(item.of)?.swap_remove(usize::from(item.index)),
                None if step.spec.depends_on.is_empty() => Value::Null,
                None => Value::Object(source.results(&step.spec.depends_on)?),
            };
            return Ok(Content::Inline(value.to_string().into_bytes()));
        };
        let key = ContentKey::new(source.rows.task.key, source.rows.input_place(index));
        let content = source.read(key, named)?;
        if !step.spec.is_templated() {
            return Ok(content);
        }
        let value = source.value(content, named)?;
        let mut found = References::default();
        template::references(&value, &mut found).map_err(|bad| Unusable::for_good(bad.to_string()))?;
        let mut values = source.values(&found)?;
        if let Some(item) = step.spec.item().filter(|_| found.item) {
            values.item = Some((item.index, source.items(item.of)?.swap_remove(usize::from(item.index))));
        }
        Ok(Content::Inline(template::fill(value, &values, max)?.to_string().into_bytes()))
    }

    /// Looks at the step's condition, or at its list, or puts together what the items of the list came to.
    pub(super) fn work_out(&mut self, hold: Hold, batch: &Batch) -> Outcome {
        let found = self.weigh(hold, batch).and_then(|found| match found {
            Found::Weighed(weighed) => Ok(Outcome::Weighed(weighed)),
            Found::Gathered(bytes) => {
                let stowed =
                    self.world.stow(bytes).map_err(|error| Unusable { error: error.to_string(), retryable: true });
                stowed.map(|result| Outcome::Done { media: Media::Json, result })
            }
        });
        found.unwrap_or_else(|Unusable { error, retryable }| Outcome::Failed { error, retryable })
    }

    fn weigh(&mut self, hold: Hold, batch: &Batch) -> Result<Found, Unusable> {
        let (mut source, index) = self.source(hold, batch)?;
        let step = source.step(index);
        if let Some(when) = step.spec.when().filter(|_| step.is_weighed()) {
            let weighed = match source.eval("when", when)? {
                value if is_true(&value) => Weighed::Passed,
                _ => Weighed::Skipped { reason: shortened(&format!("condition is false: {}", when.trim())) },
            };
            return Ok(Found::Weighed(weighed));
        }
        if step.fan.is_some() {
            return source.gather(index).map(Found::Gathered);
        }
        let items = source.items(index)?;
        let room = STEPS_MAX.saturating_sub(source.rows.steps.len());
        match u16::try_from(items.len()) {
            Ok(count) if usize::from(count) <= room => Ok(Found::Weighed(Weighed::Fanned { count })),
            Ok(_) | Err(_) => Err(Unusable::for_good(format!(
                "foreach: the list has {} items, but the task can have only {room} more steps. Group them into fewer items in an earlier step",
                items.len()
            ))),
        }
    }

    fn source<'a>(&'a mut self, hold: Hold, batch: &'a Batch) -> Result<(Source<'a, R>, u16), Unusable> {
        let rows = self.live.task(hold.step.task).ok_or_else(|| Unusable::for_good("the task was purged"))?;
        let room = READ_PAYLOADS_MAX * self.config.payload_max_bytes;
        Ok((Source { reader: &mut self.reader, batch, rows, room, room_max: room }, hold.step.index))
    }
}

enum Found {
    Weighed(Weighed),
    /// The bytes of a result.
    Gathered(Vec<u8>),
}

/// Where the content of one task is read from, and how much more of it.
struct Source<'a, R> {
    reader: &'a mut R,
    batch: &'a Batch,
    rows: &'a TaskRows,
    room: usize,
    room_max: usize,
}

impl<'a, R: Reader> Source<'a, R> {
    fn step(&self, index: u16) -> &'a Step {
        &self.rows.steps[usize::from(index)]
    }

    /// The list of the step at `of`.
    fn items(&mut self, of: u16) -> Result<Vec<Value>, Unusable> {
        let step = self.step(of);
        let text = step.spec.foreach().ok_or_else(|| Unusable::for_good("there is no list"))?;
        let Value::Array(items) = self.eval("foreach", text)? else {
            return Err(Unusable::for_good(format!("foreach: {} is not a list", shortened(text))));
        };
        match step.fan {
            Some(count) if usize::from(count) != items.len() => {
                Err(Unusable::for_good(format!("foreach: the list had {count} items, but now it has {}", items.len())))
            }
            Some(_) | None => Ok(items),
        }
    }

    fn eval(&mut self, field: &str, text: &str) -> Result<Value, Unusable> {
        let expr = template::bare(text).map_err(|bad| Unusable::for_good(format!("{field}: {bad}")))?;
        let values = self.values(&expr.references())?;
        expr.eval(&values).map_err(|EvalError(error)| Unusable::for_good(format!("{field}: {error}")))
    }

    fn values(&mut self, found: &References) -> Result<Values, Unusable> {
        let mut values = Values::default();
        if let Some(named) = self.rows.task.input.filter(|_| !found.input.is_empty()) {
            let content = self.read(ContentKey::new(self.rows.task.key, INPUT_PLACE), named)?;
            values.input = self.value(content, named)?;
        }
        let rows = self.rows;
        for (index, step) in rows.indexed().filter(|(_, step)| found.steps.contains(&step.spec.name)) {
            let value = StepValue { result: self.result(index)?, status: step.status };
            values.steps.insert(step.spec.name.clone(), value);
        }
        Ok(values)
    }

    /// What the steps at these places delivered, by name.
    fn results(&mut self, of: &[u16]) -> Result<Map<String, Value>, Unusable> {
        of.iter().map(|of| Ok((self.step(*of).spec.name.to_string(), self.result(*of)?))).collect()
    }

    /// What a step delivered. One that was skipped has nothing, and so has, for a compensation, one that never ran.
    fn result(&mut self, index: u16) -> Result<Value, Unusable> {
        let step = self.step(index);
        match step.result {
            Some(named) => {
                let content = self.read(ContentKey::new(step.result_pos, 0), named)?;
                self.value(content, named)
            }
            None => Ok(Value::Null),
        }
    }

    /// The list of what the items of the step at `of` came to.
    fn gather(&mut self, of: u16) -> Result<Vec<u8>, Unusable> {
        let rows = self.rows;
        let mut results = Vec::new();
        for (index, step) in rows.items(of) {
            if step.status != Status::Success {
                return Err(Unusable::for_good(format!("`{}` has not succeeded", step.spec.name)));
            }
            results.push(self.result(index)?);
        }
        Ok(Value::Array(results).to_string().into_bytes())
    }

    fn read(&mut self, key: ContentKey, named: ContentRef) -> Result<Content, Unusable> {
        let content = match content_of(self.batch, key) {
            Some(content) => content.clone(),
            None => match self.reader.content(key).map_err(|error| Unusable::for_now(&error))? {
                Some(content) => content,
                None => return Err(Unusable::for_good("its input is missing")),
            },
        };
        content.check(&named).map_err(|damaged| Unusable::for_good(damaged.to_string()))?;
        Ok(content)
    }

    /// JSON as it is, anything else as text.
    fn value(&mut self, content: Content, named: ContentRef) -> Result<Value, Unusable> {
        let room_max = self.room_max;
        self.room = self.room.checked_sub(content.len()).ok_or_else(|| {
            Unusable::for_good(format!(
                "the results that the step refers to have more than {room_max} bytes in total: pass the paths of files instead"
            ))
        })?;
        let bytes = match content {
            Content::Inline(bytes) => bytes,
            Content::Blob(blob) => {
                let bytes = self.reader.blob(&blob.hash).map_err(|error| Unusable::for_now(&error))?;
                let bytes = bytes.ok_or_else(|| Unusable::for_good(format!("the blob {} is missing", blob.hash)))?;
                named.check(&bytes).map_err(|damaged| Unusable::for_good(damaged.to_string()))?;
                bytes
            }
        };
        Ok(serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned())))
    }
}
