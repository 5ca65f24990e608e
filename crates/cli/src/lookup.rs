//! From what a person typed to a task or a step.

pub(crate) use relaymesh_api::lookup::*;
