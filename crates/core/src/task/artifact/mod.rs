//! Record an artifact: the holder of a step leaves something behind besides its result (L11).
//!
//! An artifact is content with a kind, a name and a few words about it, listed in the step's `output_artifacts`. It moves
//! nothing, and it is fenced like a completion: what a stale attempt recorded is not listed. Attempts share the list, so
//! that what an earlier one left can be found; within one attempt a name is used once. A step that starts over after a
//! redrive starts with an empty list, like with its result; the log still has what was there.

pub mod inference;

use super::{
    apply::{At, Refusal},
    lease::held_step,
    state::{Step, TaskRows},
};
use crate::{
    content::{ContentRef, Media},
    name::Name,
    op::Hold,
};
use serde::{Deserialize, Serialize};

/// How many artifacts a step may list.
pub const ARTIFACTS_MAX: usize = 64;
/// How many things may be said about an artifact.
pub const ABOUT_PAIRS_MAX: usize = 16;
/// How many bytes all of them may have, words and values.
pub const ABOUT_BYTES_MAX: usize = 512;

/// Something that a step left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Arrival number of the op that carried it; where its content lies. Of this node only.
    #[serde(skip)]
    pub pos: u64,
    /// The fence of the attempt that left it.
    pub epoch: u32,
    /// What sort of thing: `inference`, `file`, `log`, …
    pub kind: Name,
    /// What it is called; once in an attempt.
    pub name: Name,
    /// The thing itself.
    pub content: ContentRef,
    /// A few words about it, in the order of their names.
    pub about: Vec<(Name, String)>,
}

/// Why an artifact cannot be listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The list is full.
    #[error("step `{step}` already has {ARTIFACTS_MAX} artifacts, which is the maximum")]
    TooMany {
        /// The step.
        step: Name,
    },
    /// The attempt has left one with that name already.
    #[error("step `{step}` has already recorded `{name}` in this attempt: {found:?}")]
    Exists {
        /// The step.
        step: Name,
        /// The artifact's name.
        name: Name,
        /// What is listed.
        found: ContentRef,
    },
    /// Too much is said about it.
    #[error(
        "the artifact has {pairs} attributes with {bytes} bytes; the maximum is {ABOUT_PAIRS_MAX} with {ABOUT_BYTES_MAX} bytes"
    )]
    AboutTooLong {
        /// How many things.
        pairs: usize,
        /// How many bytes.
        bytes: usize,
    },
    /// The words are not in order, or one is there twice.
    #[error("the attribute `{word}` is out of order or occurs twice: sort the attributes")]
    AboutOrder {
        /// The word.
        word: Name,
    },
    /// An inference is one JSON document.
    #[error("an artifact of kind `{}` must be one JSON document, not {found:?}", inference::KIND)]
    NotJson {
        /// What it is.
        found: Media,
    },
}

pub(super) fn record(rows: &mut TaskRows, held: &Hold<u16>, artifact: Artifact, at: At) -> Result<(), Refusal> {
    let step = held_step(rows, held)?;
    check(step, &artifact)?;
    step.output_artifacts.push(artifact);
    step.rev += 1;
    step.updated_ms = at.now_ms;
    Ok(())
}

fn check(step: &Step, artifact: &Artifact) -> Result<(), Error> {
    let name = || step.spec.name.clone();
    let bytes = artifact.about.iter().map(|(word, value)| word.as_str().len() + value.len()).sum();
    let pairs = artifact.about.len();
    if pairs > ABOUT_PAIRS_MAX || bytes > ABOUT_BYTES_MAX {
        return Err(Error::AboutTooLong { pairs, bytes });
    }
    if let Some(pair) = artifact.about.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
        return Err(Error::AboutOrder { word: pair[1].0.clone() });
    }
    if artifact.kind.as_str() == inference::KIND && artifact.content.media != Media::Json {
        return Err(Error::NotJson { found: artifact.content.media });
    }
    let same = |other: &&Artifact| (other.epoch, &other.name) == (artifact.epoch, &artifact.name);
    if let Some(found) = step.output_artifacts.iter().find(same) {
        return Err(Error::Exists { step: name(), name: artifact.name.clone(), found: found.content });
    }
    if step.output_artifacts.len() >= ARTIFACTS_MAX {
        return Err(Error::TooMany { step: name() });
    }
    Ok(())
}
