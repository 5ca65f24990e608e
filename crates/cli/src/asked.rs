//! What a step asks of a person, with all that one should know before deciding.

use crate::{
    error::{Code, Error},
    export, lookup, output, time,
};
use relaymesh_core::{
    hash::Hash,
    id::StepId,
    name::Name,
    op::Op,
    task::{Status, Step, Task, TaskRows, spec::Ask},
};
use relaymesh_store::Reader;
use serde_json::{Value, json};

/// How much of an input people are shown. Programs get all of it.
const INPUT_CHARS_MAX: usize = 2_000;

/// What a step asks.
pub(crate) struct Asked {
    pub(crate) step: StepId,
    pub(crate) name: Name,
    /// What a decision must cite.
    pub(crate) hash: Hash,
    pub(crate) ask: Ask,
    /// When it is denied unless somebody decides; 0 for never.
    pub(crate) due_ms: u64,
    pub(crate) task: Task,
    agent: Name,
    /// What the step will be given, and what is known of it only when it runs.
    input: (Value, Option<String>),
    /// Who submitted the task and from where, unless the log has let go of it.
    submitter: Option<(Name, Name)>,
}

impl Asked {
    /// What the step at this place asks. It must wait for a decision.
    pub(crate) fn load(reader: &mut impl Reader, rows: &TaskRows, index: u16) -> Result<Self, Error> {
        let step = &rows.steps[usize::from(index)];
        let ask = waiting(step)?;
        Ok(Self {
            step: rows.step_id(index),
            name: step.spec.name.clone(),
            hash: ask.hash(),
            ask: ask.clone(),
            due_ms: step.due_ms,
            task: rows.task.clone(),
            agent: step.spec.agent.clone(),
            input: export::given(reader, rows, index)?,
            submitter: submitter(reader, rows.task.key)?,
        })
    }

    /// The same for people.
    pub(crate) fn to_text(&self) -> String {
        let Task { id, name, namespace, created_ms, .. } = &self.task;
        let from = self.submitter.as_ref().map_or_else(String::new, |(who, from)| format!("{who}/{from}, "));
        let facts = [
            ("task", format!("{id} ({name}, namespace {namespace})")),
            ("from", format!("{from}submitted {}", time::rfc3339(*created_ms))),
            ("agent", self.agent.to_string()),
            ("input", self.shown_input()),
            ("until", self.until()),
            ("hash", self.hash.to_string()),
        ];
        let asks = output::clean(&self.ask.text).replace('\n', "\n  ");
        let facts = output::table(&facts.map(|(name, value)| vec![name.to_owned(), value]));
        format!("step `{}` of {id} asks:\n  {asks}\n{facts}", self.name)
    }

    /// The same for programs.
    pub(crate) fn to_json(&self) -> Value {
        let Task { id, name, namespace, created_ms, .. } = &self.task;
        let (author, source) = self.submitter.as_ref().map(|(who, from)| (who, from)).unzip();
        json!({
            "task": id, "name": name, "namespace": namespace, "step": self.name, "agent": self.agent,
            "asks": self.ask.text, "ask": self.hash, "deadline_ms": (self.due_ms > 0).then_some(self.due_ms),
            "input": self.input.0, "input_note": self.input.1, "author": author, "source": source, "created_ms": created_ms,
        })
    }

    fn shown_input(&self) -> String {
        let input = shortened(&self.input.0.to_string());
        self.input.1.as_ref().map_or_else(|| input.clone(), |note| format!("{input} ({note})"))
    }

    /// Until when somebody has to decide.
    pub(crate) fn until(&self) -> String {
        match self.due_ms {
            0 => "-".to_owned(),
            due_ms => format!("{}, then it is denied", time::rfc3339(due_ms)),
        }
    }
}

/// The step of this name or place; without one, the only one that asks.
pub(crate) fn choose(rows: &TaskRows, step: Option<&str>) -> Result<u16, Error> {
    if let Some(text) = step {
        return lookup::step(rows, text).map(|(index, _)| index);
    }
    let asking: Vec<(u16, &Step)> = rows.indexed().filter(|(_, step)| step.status == Status::Waiting).collect();
    match asking[..] {
        [(index, _)] => Ok(index),
        [] => {
            let message = format!("no step of {} asks for anything: it is {}", rows.task.id, rows.task.status);
            Err(Error::new(Code::Refused, message).hint("`relaymesh approvals list` shows what is asked"))
        }
        _ => {
            let names: Vec<&str> = asking.iter().map(|(_, step)| step.spec.name.as_str()).collect();
            let message = format!("{} steps of {} ask: name one", names.len(), rows.task.id);
            Err(Error::new(Code::Usage, message).hint(format!("they are: {}", names.join(", "))))
        }
    }
}

fn waiting(step: &Step) -> Result<&Ask, Error> {
    let name = &step.spec.name;
    match &step.spec.approve {
        Some(ask) if step.status == Status::Waiting => Ok(ask),
        Some(_) => {
            let decided = step.decided_by.as_ref().map_or_else(String::new, |who| format!(" ({who} has decided)"));
            let message = format!("step `{name}` does not wait for approval: it is {}{decided}", step.status);
            Err(Error::new(Code::Refused, message))
        }
        None => Err(Error::new(Code::Refused, format!("step `{name}` asks for nothing"))),
    }
}

/// A task's key is the position of the op that submitted it.
fn submitter(reader: &mut impl Reader, key: u64) -> Result<Option<(Name, Name)>, Error> {
    let ops = reader.ops(key.saturating_sub(1), 1)?;
    let submit = ops.first().filter(|stored| stored.pos == key && stored.stub().is_none());
    let op = submit.and_then(|stored| Op::decode(stored.pos, &stored.bytes).ok());
    Ok(op.map(|op| (op.header.author, op.header.source)))
}

fn shortened(text: &str) -> String {
    let total = text.chars().count();
    let start: String = output::clean(text).replace('\n', " ").chars().take(INPUT_CHARS_MAX).collect();
    match total {
        0..=INPUT_CHARS_MAX => start,
        _ => format!("{start}… ({total} characters; --json shows all)"),
    }
}
