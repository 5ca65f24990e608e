//! What the steps of a request refer to, checked before anything is accepted: a misspelt reference costs nobody an hour of
//! agents' work.
//!
//! A step that refers to another depends on it, whether it says so or not. A compensation depends on nothing; it may refer to
//! whatever there is, and what never ran is `null` to it.

use super::{BadReference, Error, Request, StepRequest, unknown_step};
use crate::{
    expr::{EvalError, Key, References, Values, template},
    name::Name,
    task::spec::Flow,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// What was found in one step.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Steps that it refers to.
    steps: Vec<Name>,
    /// What goes on the log of it.
    pub(super) flow: Option<Flow>,
}

impl Found {
    /// The places of the steps that it depends on: those it names, and those it refers to.
    pub(super) fn depends_on(&self, step: &StepRequest, places: &BTreeMap<&Name, u16>) -> Result<Vec<u16>, Error> {
        let place = |name| places.get(name).copied().ok_or_else(|| unknown_step(step, "depends_on", name));
        let mut on: Vec<u16> = step.depends_on.iter().map(place).collect::<Result<_, _>>()?;
        for name in &self.steps {
            let of = place(name)?;
            if !on.contains(&of) {
                on.push(of);
            }
        }
        Ok(on)
    }
}

/// Checks every expression; what was found, by the step's place.
pub(super) fn check(request: &Request) -> Result<Vec<Found>, Error> {
    let mut mistakes = Vec::new();
    let found = request.steps.iter().map(|step| check_step(request, step, &mut mistakes)).collect();
    mistakes.into_iter().next().map_or(Ok(found), Err)
}

/// What a step refers to. Everything that is wrong with it is added to `mistakes`.
pub(super) fn check_step(request: &Request, step: &StepRequest, mistakes: &mut Vec<Error>) -> Found {
    let templated = step.input.as_ref().is_some_and(template::is_template);
    if let Some(ask) = step.approve.as_ref().filter(|ask| ask.text.contains("${{")) {
        let why = "a question cannot refer to anything: it must be known when the flow is submitted. Refer to results in the step's `input`, which is shown with the question".to_owned();
        let bad = BadReference { step: step.id.clone(), field: "approve", why, text: ask.text.clone(), unknown: None };
        mistakes.push(bad.into());
    }
    if !templated && step.when.is_none() && step.foreach.is_none() {
        return Found::default();
    }
    let mut all = References::default();
    if let Some(text) = &step.when {
        when(request, step, text, &mut all).unwrap_or_else(|error| mistakes.push(error));
    }
    let foreach = step.foreach.as_ref().and_then(|list| {
        let found = foreach(request, step, list, &mut all);
        found.map_err(|error| mistakes.push(error)).ok()
    });
    if let Some(given) = step.input.as_ref().filter(|_| templated) {
        input(request, step, given, &mut all).unwrap_or_else(|error| mistakes.push(error));
    }
    let undoes = request.steps.iter().any(|other| other.compensate.as_ref() == Some(&step.id));
    let steps = if undoes { Vec::new() } else { all.steps.into_iter().collect() };
    Found { steps, flow: Some(Flow { when: step.when.clone(), foreach, templated, item: None }) }
}

fn when(request: &Request, step: &StepRequest, text: &str, all: &mut References) -> Result<(), Error> {
    let found = template::bare(text).map_err(|bad| wrong(step, "when", &bad))?.references();
    known(request, step, "when", text, &found)?;
    no_item(step, "when", text, &found)?;
    all.extend(found);
    Ok(())
}

fn input(request: &Request, step: &StepRequest, given: &Value, all: &mut References) -> Result<(), Error> {
    let mut found = References::default();
    template::references(given, &mut found).map_err(|bad| wrong(step, "input", &bad))?;
    let text = found.steps.first().map_or_else(|| "${{".to_owned(), ToString::to_string);
    known(request, step, "input", &text, &found)?;
    if step.foreach.is_none() {
        no_item(step, "input", "item", &found)?;
    }
    all.extend(found);
    Ok(())
}

fn foreach(request: &Request, step: &StepRequest, list: &Value, all: &mut References) -> Result<String, Error> {
    let text = match list {
        Value::String(text) => text.clone(),
        Value::Array(items) if !template::is_template(list) && items.iter().all(is_plain) => list.to_string(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            let why = "write an expression such as ${{ steps.find.result }}, or a list of texts and numbers".to_owned();
            let text = other.to_string().chars().take(40).collect();
            return Err(BadReference { step: step.id.clone(), field: "foreach", why, text, unknown: None }.into());
        }
    };
    let found = template::bare(&text).map_err(|bad| wrong(step, "foreach", &bad))?.references();
    known(request, step, "foreach", &text, &found)?;
    no_item(step, "foreach", &text, &found)?;
    all.extend(found);
    Ok(text)
}

/// Whether the value is written the same in an expression.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')),
        Value::Array(items) => items.iter().all(is_plain),
        Value::Object(_) => false,
    }
}

/// Whether everything that is referred to is there.
fn known(
    request: &Request,
    step: &StepRequest,
    field: &'static str,
    text: &str,
    found: &References,
) -> Result<(), Error> {
    let failed = |why: String, unknown: Option<(String, Vec<String>)>| BadReference {
        step: step.id.clone(),
        field,
        why,
        text: text.to_owned(),
        unknown,
    };
    for name in &found.steps {
        if *name == step.id {
            return Err(failed(format!("`{name}` cannot refer to itself"), None).into());
        }
        if !request.steps.iter().any(|other| other.id == *name) {
            let others = request.steps.iter().filter(|other| other.id != step.id).map(|other| other.id.to_string());
            let why = format!("it refers to step `{name}`, but no step has that id");
            return Err(failed(why, Some((name.to_string(), others.collect()))).into());
        }
    }
    for path in &found.input {
        if let Err((why, unknown)) = given(request, path) {
            return Err(failed(why, unknown).into());
        }
    }
    Ok(())
}

type Unknown = Option<(String, Vec<String>)>;

/// Whether the task's input has this, as far as the schema or the input itself can tell.
fn given(request: &Request, path: &[Key]) -> Result<(), (String, Unknown)> {
    let properties = request.input.as_ref().and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    if let (Some(properties), Some(Key::Field(field))) = (properties, path.first())
        && !properties.contains_key(field)
    {
        let shown: String = field.chars().take(40).collect();
        let why = format!("it refers to input.{shown}, which the flow's input does not have");
        return Err((why, Some((field.clone(), properties.keys().cloned().collect()))));
    }
    let Some(input) = &request.given else { return Ok(()) };
    let values = Values { input: input.clone(), ..Values::default() };
    crate::expr::input_at(path, &values).map(drop).map_err(|EvalError(why)| (why, None))
}

fn no_item(step: &StepRequest, field: &'static str, text: &str, found: &References) -> Result<(), Error> {
    if !found.item {
        return Ok(());
    }
    let why = "`item` and `index` have a meaning only in the input of a step with `foreach`".to_owned();
    Err(BadReference { step: step.id.clone(), field, why, text: text.to_owned(), unknown: None }.into())
}

fn wrong(step: &StepRequest, field: &'static str, bad: &template::BadTemplate) -> BadReference {
    BadReference { step: step.id.clone(), field, why: bad.to_string(), text: bad.text.clone(), unknown: None }
}

impl From<BadReference> for Error {
    fn from(bad: BadReference) -> Self {
        Self::Reference(Box::new(bad))
    }
}
