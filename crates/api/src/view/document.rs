//! A task, a step or a message as JSON that is written part by part.
//!
//! The tempting answer makes one value of everything and writes that: as long as its reader takes, all of it is held, several times over.
//! Here nobody holds more than a part:
//!
//! ```text
//!  fill ─► rows are read ─► text, until there is a part of it ─► pieces ─► the writer asks for more, and rows are read again
//!                        └► long content ─► a piece that only names it ─► read from its blob while it is written
//! ```
//!
//! Between two parts the rows may change. Each part is of one moment, and a short answer is one part; a task that was purged meanwhile ends
//! in an error.

use super::{
    export,
    results::{Delivery, Plan, RESULT_BYTES_MAX, Results},
    task::{self, bytes, ran, shown, shown_step},
};
use crate::error::{Code, Error};
use relaymesh_core::{
    content::{ContentRef, Media},
    id::{MessageId, TaskId, ThreadId},
    kernel::Rows,
    op::Scope,
    task::TaskRows,
};
use relaymesh_store::{Content, ContentKey, Reader};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::{collections::VecDeque, path::PathBuf};

/// Text of one part.
const PART_BYTES: usize = 64 << 10;

/// What is written.
#[derive(Debug)]
enum What {
    Task(TaskId),
    Step(TaskId, u16),
    Message(ThreadId, MessageId),
    Around(Around),
}

/// An object with one field that is content.
#[derive(Debug)]
pub struct Around {
    /// The object without that field.
    pub object: Value,
    /// The name of that field.
    pub field: &'static str,
    /// Where its content lies.
    pub key: ContentKey,
    /// What names it.
    pub named: ContentRef,
    /// What it is, for people.
    pub what: String,
}

/// How it is written.
#[derive(Debug, Clone, Default)]
pub struct Form {
    /// Which results stand in it.
    pub results: Results,
    /// Whether the attempts of each step do.
    pub history: bool,
    /// Whether it says if the task has ended.
    pub ended: bool,
    /// Whether the request does, with the inputs of its steps.
    pub request: bool,
    /// Where what is known of processes is kept.
    pub root: Option<PathBuf>,
}

impl Form {
    /// Everything that is known.
    pub fn export() -> Self {
        Self { results: Results::Full, history: true, request: true, ..Self::default() }
    }
}

/// How far it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Head,
    /// What the task delivered: the next of its last steps.
    Delivered(usize),
    Step(u16),
    Request(u16),
    End,
}

/// A task, a step or a message, to be written part by part.
#[derive(Debug)]
pub struct Document {
    what: What,
    form: Form,
    at: At,
    pieces: VecDeque<Piece>,
    /// Bytes of text in the pieces of this part.
    filled: usize,
}

/// A piece of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text as it is.
    Text(Vec<u8>),
    /// Content of a blob, to be written as [`Written`] says.
    Blob(ContentRef),
}

impl Document {
    /// A task with its steps.
    pub fn task(task: TaskId, form: Form) -> Self {
        Self::new(What::Task(task), form)
    }

    /// A task with everything that is known of it.
    pub fn export(task: TaskId) -> Self {
        Self::task(task, Form::export())
    }

    /// The step at this place.
    pub fn step(task: TaskId, index: u16, form: Form) -> Self {
        Self::new(What::Step(task, index), form)
    }

    /// A message with its content.
    pub fn message(thread: ThreadId, message: MessageId) -> Self {
        Self::new(What::Message(thread, message), Form::default())
    }

    /// An object with one field that is content.
    pub fn around(around: Around) -> Self {
        Self::new(What::Around(around), Form::default())
    }

    fn new(what: What, form: Form) -> Self {
        Self { what, form, at: At::Head, pieces: VecDeque::new(), filled: 0 }
    }

    /// Writes all of it for a reader in this process: part by part, and long content one at a time.
    pub fn write(
        mut self,
        reader: &mut (impl Reader + ?Sized),
        out: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        while !self.is_over() {
            self.fill(reader)?;
            while let Some(piece) = self.piece() {
                match piece {
                    Piece::Text(text) => out(&text)?,
                    Piece::Blob(named) => {
                        let damaged = |why: &dyn std::fmt::Display| Error::new(Code::Damaged, format!("a blob: {why}"));
                        let bytes = reader.blob(&named.hash)?.ok_or_else(|| damaged(&"it is missing"))?;
                        named.check(&bytes).map_err(|why| damaged(&why))?;
                        out(&as_json(bytes, named.media))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The next piece of this part.
    pub fn piece(&mut self) -> Option<Piece> {
        self.pieces.pop_front()
    }

    /// Gives back a piece that was not written.
    pub fn put_back(&mut self, piece: Piece) {
        self.pieces.push_front(piece);
    }

    /// Whether its first part was read.
    pub fn has_begun(&self) -> bool {
        self.at != At::Head
    }

    /// Whether there is nothing after this part.
    pub fn is_over(&self) -> bool {
        self.at == At::End
    }

    /// Reads the next part.
    pub fn fill(&mut self, reader: &mut (impl Reader + ?Sized)) -> Result<(), Error> {
        let missing = |what: &dyn std::fmt::Display| Error::new(Code::NoTask, format!("{what} was purged"));
        match &self.what {
            What::Task(task) | What::Step(task, _) => {
                let task = *task;
                let rows = reader.task(task)?.ok_or_else(|| missing(&task))?;
                self.fill_with(reader, &rows)
            }
            What::Message(thread, message) => {
                let Some(Rows::Thread(rows)) = reader.scope(Scope::Thread(*thread))? else {
                    return Err(missing(message));
                };
                let row = rows.messages.get(message).ok_or_else(|| missing(message))?;
                let (key, named) = (ContentKey::new(row.content_pos, 0), row.draft.content);
                let (object, what) = (export::message(&rows.thread, row), format!("the content of {message}"));
                self.fill_around(reader, Around { object, field: "content", key, named, what })
            }
            What::Around(around) => {
                let Around { object, field, key, named, what } = around;
                let (object, what) = (object.clone(), what.clone());
                self.fill_around(reader, Around { object, field, key: *key, named: *named, what })
            }
        }
    }

    fn fill_around(&mut self, reader: &mut (impl Reader + ?Sized), around: Around) -> Result<(), Error> {
        let Around { object, field, key, named, what } = around;
        self.object(object, field);
        self.content(reader, key, named, &|| what.clone())?;
        self.text("}");
        self.at = At::End;
        Ok(())
    }

    /// The same with rows that were read already.
    pub fn fill_with(&mut self, reader: &mut (impl Reader + ?Sized), rows: &TaskRows) -> Result<(), Error> {
        self.filled = 0;
        if let What::Step(_, index) = self.what {
            self.at = At::End;
            return self.one_step(reader, (rows, &Plan::alone(rows, index, self.form.results)), index);
        }
        let plan = Plan::new(rows, self.form.results);
        while self.at != At::End && self.filled < PART_BYTES {
            self.at = match self.at {
                At::Head => self.head(rows, &plan),
                At::Delivered(next) => self.delivered(reader, (rows, &plan), next)?,
                At::Step(index) => self.next_step(reader, (rows, &plan), index)?,
                At::Request(index) => self.request(reader, rows, index)?,
                At::End => At::End,
            };
        }
        Ok(())
    }

    fn head(&mut self, rows: &TaskRows, plan: &Plan) -> At {
        let mut head = json!(shown(rows, plan));
        if let Value::Object(fields) = &mut head {
            fields.remove("steps");
            if self.form.ended {
                fields.insert("ended".to_owned(), json!(rows.task.status.is_terminal()));
            }
        }
        if let Delivery::Here(last) = &plan.task {
            self.object(head, "result");
            self.text(if last.len() > 1 { "{" } else { "" });
            return At::Delivered(0);
        }
        self.object(head, "steps");
        self.text("[");
        At::Step(0)
    }

    /// The result of the next of the last steps, as a part of what the task delivered.
    fn delivered(
        &mut self,
        reader: &mut (impl Reader + ?Sized),
        (rows, plan): (&TaskRows, &Plan),
        next: usize,
    ) -> Result<At, Error> {
        // Tried again meanwhile, it has delivered nothing any more.
        let Delivery::Here(last) = &plan.task else { return Err(changed()) };
        if let Some(index) = last.get(next) {
            if last.len() > 1 {
                let comma = if next > 0 { "," } else { "" };
                self.text(&format!("{comma}{}:", json!(task::name(rows, *index))));
            }
            self.result(reader, rows, *index)?;
            return Ok(At::Delivered(next + 1));
        }
        self.text(match last.len() {
            0 => "null",
            1 => "",
            _ => "}",
        });
        self.text(",\"steps\":[");
        Ok(At::Step(0))
    }

    fn next_step(
        &mut self,
        reader: &mut (impl Reader + ?Sized),
        (rows, plan): (&TaskRows, &Plan),
        index: u16,
    ) -> Result<At, Error> {
        if usize::from(index) < rows.steps.len() {
            self.text(if index > 0 { "," } else { "" });
            self.one_step(reader, (rows, plan), index)?;
            return Ok(At::Step(index + 1));
        }
        if self.form.request {
            self.text(&format!("],\"request\":{{\"name\":{},\"steps\":[", json!(rows.task.name)));
            return Ok(At::Request(0));
        }
        self.text("]}");
        Ok(At::End)
    }

    fn one_step(
        &mut self,
        reader: &mut (impl Reader + ?Sized),
        (rows, plan): (&TaskRows, &Plan),
        index: u16,
    ) -> Result<(), Error> {
        let step = rows.steps.get(usize::from(index)).ok_or_else(changed)?;
        let mut written = shown_step(rows, plan, (index, step), self.form.history);
        written.ran = self.form.root.as_ref().and_then(|root| ran(root, rows, step));
        if !plan.is_here(index) {
            self.text(&json!(written).to_string());
            return Ok(());
        }
        self.object(json!(written), "result");
        self.result(reader, rows, index)?;
        self.text("}");
        Ok(())
    }

    /// What was asked of the next step. The input of an item is that of its list, and stands there.
    fn request(&mut self, reader: &mut (impl Reader + ?Sized), rows: &TaskRows, index: u16) -> Result<At, Error> {
        let Some(step) = rows.steps.get(usize::from(index)) else {
            self.text("]}}");
            return Ok(At::End);
        };
        self.text(if index > 0 { "," } else { "" });
        self.object(export::request_step(step), "input");
        match step.spec.input.filter(|_| step.spec.item().is_none()) {
            Some(named) => {
                let key = ContentKey::new(rows.task.key, rows.input_place(index));
                self.content(reader, key, named, &|| format!("the input of step `{}`", step.spec.name))?;
            }
            None => self.text("null"),
        }
        self.text("}");
        Ok(At::Request(index + 1))
    }

    fn result(&mut self, reader: &mut (impl Reader + ?Sized), rows: &TaskRows, index: u16) -> Result<(), Error> {
        let step = rows.steps.get(usize::from(index)).ok_or_else(changed)?;
        let named = step.result.ok_or_else(changed)?;
        let what = || format!("the result of step `{}`", step.spec.name);
        self.content(reader, ContentKey::new(step.result_pos, 0), named, &what)
    }

    /// Content as JSON: short content as text, long content as a piece of its own.
    fn content(
        &mut self,
        reader: &mut (impl Reader + ?Sized),
        key: ContentKey,
        named: ContentRef,
        what: &dyn Fn() -> String,
    ) -> Result<(), Error> {
        if u64::from(named.len) > RESULT_BYTES_MAX
            && let Some(content @ Content::Blob(_)) = reader.content(key)?
        {
            content.check(&named).map_err(|why| Error::new(Code::Damaged, format!("{}: {why}", what())))?;
            self.pieces.push_back(Piece::Blob(named));
            return Ok(());
        }
        let bytes = bytes(reader, key, named, what)?;
        self.push(as_json(bytes, named.media));
        Ok(())
    }

    /// An object without one of its fields, up to the value of that.
    fn object(&mut self, mut object: Value, field: &str) {
        if let Value::Object(fields) = &mut object {
            fields.remove(field);
        }
        let text = object.to_string();
        let open = text.strip_suffix('}').unwrap_or(&text);
        let comma = if open.len() > 1 { "," } else { "" };
        self.text(&format!("{open}{comma}\"{field}\":"));
    }

    fn text(&mut self, text: &str) {
        self.push(text.as_bytes().to_vec());
    }

    fn push(&mut self, text: Vec<u8>) {
        self.filled += text.len();
        match self.pieces.back_mut() {
            Some(Piece::Text(last)) => last.extend(text),
            Some(Piece::Blob(_)) | None => self.pieces.push_back(Piece::Text(text)),
        }
    }
}

fn changed() -> Error {
    Error::new(Code::Busy, "the task changed while it was read: read it again")
}

/// Content of this type as JSON, in one line.
pub fn as_json(bytes: Vec<u8>, media: Media) -> Vec<u8> {
    let is_json = media == Media::Json && serde_json::from_slice::<IgnoredAny>(&bytes).is_ok();
    let mut written = Written::new(if is_json { Media::Json } else { Media::Text });
    [written.part(bytes), written.end()].concat()
}

/// Turns content into JSON, in parts of any length: JSON stays as it is, in one line; text becomes a string.
#[derive(Debug)]
pub struct Written {
    media: Media,
    has_begun: bool,
    /// The beginning of a character whose end is in the next part.
    rest: Vec<u8>,
}

impl Written {
    /// Of this type. What is called JSON must be JSON.
    pub fn new(media: Media) -> Self {
        Self { media, has_begun: false, rest: Vec::new() }
    }

    /// The next part.
    pub fn part(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        if self.media == Media::Json {
            // Ends of lines stand between its values alone: in a string they are escaped. Long content seldom has one.
            if bytes.contains(&b'\n') || bytes.contains(&b'\r') {
                bytes.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
            }
            return bytes;
        }
        let mut all = std::mem::take(&mut self.rest);
        all.extend(bytes);
        if let Some(cut) = cut(&all) {
            self.rest = all.split_off(cut);
        }
        self.string(&all)
    }

    /// What comes after the last part.
    pub fn end(&mut self) -> Vec<u8> {
        if self.media == Media::Json {
            return Vec::new();
        }
        let rest = std::mem::take(&mut self.rest);
        let mut last = self.string(&rest);
        last.push(b'"');
        last
    }

    fn string(&mut self, bytes: &[u8]) -> Vec<u8> {
        let text = Value::String(String::from_utf8_lossy(bytes).into_owned()).to_string();
        let inner = text.as_bytes().get(1..text.len().saturating_sub(1)).unwrap_or_default();
        let mut out = Vec::with_capacity(inner.len() + 1);
        if !std::mem::replace(&mut self.has_begun, true) {
            out.push(b'"');
        }
        out.extend_from_slice(inner);
        out
    }
}

/// Where the last character begins, if only its beginning is here.
fn cut(bytes: &[u8]) -> Option<usize> {
    let from = bytes.len().saturating_sub(3);
    let tail = &bytes[from..];
    let start = tail.iter().rposition(|byte| byte & 0b1100_0000 == 0b1100_0000)?;
    let wanted = match tail[start] {
        0b1100_0000..=0b1101_1111 => 2,
        0b1110_0000..=0b1110_1111 => 3,
        _ => 4,
    };
    (tail.len() - start < wanted).then_some(from + start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_comes_in_parts_becomes_one_string_wherever_it_is_cut() {
        let text = "a \"quoted\" \\ line\nwith é, € and 😀\u{1}";
        let whole = Value::String(text.to_owned()).to_string().into_bytes();
        let bytes = text.as_bytes();
        for cut in 0..=bytes.len() {
            let mut written = Written::new(Media::Text);
            let all =
                [written.part(bytes[..cut].to_vec()), written.part(bytes[cut..].to_vec()), written.end()].concat();
            assert_eq!(all, whole, "cut at {cut}");
        }
        let mut by_byte = Written::new(Media::Text);
        let mut all: Vec<u8> = bytes.iter().flat_map(|byte| by_byte.part(vec![*byte])).collect();
        all.extend(by_byte.end());
        assert_eq!(all, whole);
        assert_eq!(as_json(Vec::new(), Media::Text), b"\"\"");
    }

    #[test]
    fn what_is_no_text_or_no_json_is_replaced_and_json_stays_in_one_line() {
        let mut written = Written::new(Media::Text);
        let all = [written.part(b"a\xff".to_vec()), written.part(b"\xe2\x82".to_vec()), written.end()].concat();
        assert_eq!(String::from_utf8(all).unwrap(), "\"a\u{fffd}\u{fffd}\"");
        assert_eq!(as_json(b"{\"a\":\n 1}\r\n".to_vec(), Media::Json), b"{\"a\":  1}  ");
        assert_eq!(as_json(b"{not json".to_vec(), Media::Json), b"\"{not json\"");
        let digits = b"123456789012345678901234567890".to_vec();
        assert_eq!(as_json(digits.clone(), Media::Json), digits, "numbers stay as they are");
    }
}
