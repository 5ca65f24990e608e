//! Time for people.

pub(crate) use relaymesh_api::time::*;
