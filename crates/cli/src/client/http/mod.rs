//! A daemon elsewhere: everything goes over its HTTP API. Its events are a bell; the task itself says what is new.

mod audit;
mod bell;
mod dead;
mod follow;
mod locks;
mod messages;
mod root;
mod tasks;

use crate::{args::Context, remote::Remote};
use std::{cell::Cell, sync::Arc};

/// A daemon elsewhere.
pub(super) struct Http<'a> {
    context: &'a Context,
    remote: &'a Arc<Remote>,
    /// How often the events have ended.
    ends: Cell<u32>,
}

impl<'a> Http<'a> {
    /// Nothing is sent yet.
    pub(super) fn new(context: &'a Context, remote: &'a Arc<Remote>) -> Self {
        Self { context, remote, ends: Cell::default() }
    }

    /// The namespace that the command is about, for a query.
    fn namespace(&self) -> (&'static str, Option<String>) {
        ("namespace", Some(self.context.namespace.to_string()))
    }
}
