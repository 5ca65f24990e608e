//! Answers about namespaces.

use super::{
    super::{Verdict, ensure},
    wrote,
};
use crate::{call::Call, ledger::Ledger};
use relaymesh_core::{
    id::NamespaceId,
    name::Name,
    namespace::{ABOUT_CHARS_MAX, Refusal},
    op::{Kind, Scope},
};
use relaymesh_runtime::driver::{Answer, Command, LockCommand, MessageCommand, Submit};

pub(super) fn done(call: &Call, name: &Name, about: &str, answer: &Answer, ledger: &Ledger) -> Verdict {
    let Answer::Namespace { name: told, is_new } = answer else {
        return Err("which is no answer to this command".to_owned());
    };
    ensure(told == name && ledger.has_namespace(name), || "but it is not durable".to_owned())?;
    if *is_new {
        wrote(call, &[Kind::CreateNamespace], ledger)?;
        let row = ledger.namespaces.get(&NamespaceId::of(name));
        return ensure(row.is_some_and(|row| row.about == about), || format!("but the durable one is {row:?}"));
    }
    let written = ledger.by_call.get(&call.id);
    ensure(written.is_none(), || format!("but it was made for this call: {written:?}"))
}

pub(super) fn refused(about: &str, refusal: &Refusal) -> Verdict {
    let chars = about.chars().count();
    // The rest is not for those who say one line about a namespace that is not there.
    let agrees = *refusal == Refusal::TooLong { chars } && chars > ABOUT_CHARS_MAX;
    ensure(agrees, || format!("but it says {chars} characters"))
}

/// Something was to be put there, and when that was asked nobody had made it. What is called almost the same is there.
pub(super) fn not_there(call: &Call, name: &Name, near: Option<&Name>, ledger: &Ledger) -> Verdict {
    let asked = if let Command::Submit(Submit { namespace, .. })
    | Command::Lock(LockCommand::Acquire { namespace, .. }) = &call.command
    {
        Some(namespace)
    } else if let Command::Message(MessageCommand::Send(letter)) = &call.command {
        Some(&letter.namespace)
    } else {
        None
    };
    ensure(asked == Some(name), || format!("but it asked for {asked:?}"))?;
    let scope = Scope::Namespace(NamespaceId::of(name));
    let was_there = name.as_str() == relaymesh_core::namespace::DEFAULT || ledger.past.was_there(scope, call.sent);
    ensure(!was_there, || "but it was there".to_owned())?;
    ensure(near.is_none_or(|near| ledger.has_namespace(near)), || format!("but {near:?} is not there either"))
}
