//! Whether a list of steps is a graph that can be run (R3).

use super::spec::StepSpec;
use crate::name::{NAME_BYTES_MAX, Name};
use petgraph::graphmap::DiGraphMap;
use std::collections::BTreeSet;

/// The most steps that a task may have.
pub const STEPS_MAX: usize = 1024;

/// The longest name of a step with a list: what is added for an item must fit.
const ITEM_OF_BYTES_MAX: usize = NAME_BYTES_MAX - ".1023".len();

/// The most steps of a circle that an error names.
const CIRCLE_TOLD_MAX: usize = 16;

/// Why a graph is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is nothing to do.
    #[error("the task has no steps; give it at least one")]
    Empty,
    /// There is too much to do.
    #[error("the task has {found} steps; the maximum is {STEPS_MAX}. Split it into several tasks")]
    TooMany {
        /// How many there are.
        found: usize,
    },
    /// Two steps have one name.
    #[error("two steps have the id `{name}`; ids must be unique")]
    Duplicate {
        /// Their name.
        name: Name,
    },
    /// A step refers to one that is not there.
    #[error("step `{name}` refers to step number {unknown}, which does not exist")]
    Unknown {
        /// The step.
        name: Name,
        /// What it refers to.
        unknown: u16,
    },
    /// Steps wait for each other.
    #[error("the steps depend on each other in a circle: {}", told(circle))]
    Cycle {
        /// The steps of the circle, the first one again at the end.
        circle: Vec<Name>,
    },
    /// A compensating step is used as a step of the graph, or the other way round.
    #[error(
        "step `{name}` compensates another step: it cannot have dependencies, be depended on, need an approval, have a condition, be compensated, compensate two steps, or share its target"
    )]
    Compensation {
        /// The step.
        name: Name,
    },
    /// The steps for the items of a list could not be called what they are called.
    #[error(
        "step `{name}` has a `foreach`: its id can have at most {ITEM_OF_BYTES_MAX} characters, it cannot compensate another step, and no other step can have an id such as `{name}.0`"
    )]
    Foreach {
        /// The step.
        name: Name,
    },
    /// A step could never be tried.
    #[error("step `{name}` allows no attempt; `max_attempts` must be at least 1")]
    NoAttempt {
        /// The step.
        name: Name,
    },
}

/// The circle in few words: a long one is told by its beginning and its end.
fn told(circle: &[Name]) -> String {
    let joined = |names: &[Name]| names.iter().map(Name::as_str).collect::<Vec<_>>().join(" → ");
    match circle.len().checked_sub(CIRCLE_TOLD_MAX) {
        None | Some(0) => joined(circle),
        Some(more) => {
            let (first, last) = (&circle[..CIRCLE_TOLD_MAX - 1], &circle[circle.len() - 1..]);
            format!("{} → … {more} more … → {}", joined(first), joined(last))
        }
    }
}

/// Checks all rules; the first broken one is the answer.
pub fn check(steps: &[StepSpec]) -> Result<(), Error> {
    match steps {
        [] => return Err(Error::Empty),
        [only]
            if only.depends_on.is_empty()
                && only.compensates.is_none()
                && only.flow.is_none()
                && only.retry.max_attempts > 0 =>
        {
            return Ok(());
        }
        many if many.len() > STEPS_MAX => return Err(Error::TooMany { found: many.len() }),
        _ => {}
    }
    let mut names = BTreeSet::new();
    for step in steps {
        let name = || step.name.clone();
        if !names.insert(&step.name) {
            return Err(Error::Duplicate { name: name() });
        }
        if step.retry.max_attempts == 0 {
            return Err(Error::NoAttempt { name: name() });
        }
        if let Some(unknown) =
            step.depends_on.iter().chain(&step.compensates).find(|of| usize::from(**of) >= steps.len())
        {
            return Err(Error::Unknown { name: name(), unknown: *unknown });
        }
    }
    compensations(steps)?;
    lists(steps)?;
    acyclic(steps)
}

/// What the step for an item of this one is called.
pub(super) fn item_name(of: &Name, index: u16) -> String {
    format!("{of}.{index}")
}

fn lists(steps: &[StepSpec]) -> Result<(), Error> {
    let is_item = |of: &Name, other: &StepSpec| {
        let index = other.name.as_str().strip_prefix(of.as_str()).and_then(|rest| rest.strip_prefix('.'));
        index.is_some_and(|index| index.bytes().all(|digit| digit.is_ascii_digit()))
    };
    for step in steps {
        let is_list = step.foreach().is_some();
        let misnamed =
            step.name.as_str().len() > ITEM_OF_BYTES_MAX || steps.iter().any(|other| is_item(&step.name, other));
        if step.item().is_some() || (is_list && (misnamed || step.compensates.is_some())) {
            return Err(Error::Foreach { name: step.name.clone() });
        }
    }
    Ok(())
}

fn compensations(steps: &[StepSpec]) -> Result<(), Error> {
    let mut targets = BTreeSet::new();
    for step in steps {
        let depends_on_one = step.depends_on.iter().any(|of| steps[usize::from(*of)].compensates.is_some());
        let misused = step.compensates.is_some_and(|of| {
            steps[usize::from(of)].compensates.is_some()
                || !step.depends_on.is_empty()
                || step.approve.is_some()
                || step.when().is_some()
                || !targets.insert(of)
        });
        if misused || depends_on_one {
            return Err(Error::Compensation { name: step.name.clone() });
        }
    }
    Ok(())
}

fn acyclic(steps: &[StepSpec]) -> Result<(), Error> {
    let edges = (0u16..).zip(steps).flat_map(|(index, step)| step.depends_on.iter().map(move |of| (*of, index)));
    let graph = DiGraphMap::<u16, ()>::from_edges(edges);
    let Err(cycle) = petgraph::algo::toposort(&graph, None) else { return Ok(()) };
    Err(Error::Cycle { circle: circle(steps, cycle.node_id()) })
}

/// Walks backwards along dependencies that lie on the circle until a step comes round again.
fn circle(steps: &[StepSpec], start: u16) -> Vec<Name> {
    let edges = (0u16..).zip(steps).flat_map(|(index, step)| step.depends_on.iter().map(move |of| (*of, index)));
    let graph = DiGraphMap::<u16, ()>::from_edges(edges);
    let parts = petgraph::algo::tarjan_scc(&graph);
    let part: BTreeSet<u16> = parts.into_iter().find(|part| part.contains(&start)).into_iter().flatten().collect();
    let mut path = vec![start];
    let mut at = start;
    loop {
        let back = steps[usize::from(at)].depends_on.iter().copied().find(|of| part.contains(of));
        let Some(before) = back else { break };
        if let Some(seen) = path.iter().position(|p| *p == before) {
            path.drain(..seen);
            path.push(before);
            break;
        }
        path.push(before);
        at = before;
    }
    path.reverse();
    path.iter().map(|index| steps[usize::from(*index)].name.clone()).collect()
}
