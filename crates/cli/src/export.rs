//! A task or a message as one document.

pub(crate) use relaymesh_api::view::export::*;
