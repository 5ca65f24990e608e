//! HONEST: every failure is one of three. *Done*: it is durable at the moment of the answer, exactly as told. *Rejected*:
//! nothing was or will ever be written for this command, and the reason agrees with the rows. *Unknown*: the command is
//! in the log or not, and either is fine.
//!
//! A command's number stands on the log, so "nothing was written" can be checked for ever after.

mod locks;
mod messages;
mod namespaces;
mod tasks;

use super::{Invariant, Look, Verdict, ensure};
use crate::{
    call::{Call, CallId, call_of},
    ledger::{Ledger, OpSeen},
    time::{MS, Ns},
};
use relaymesh_core::op::{Kind, Scope};
use relaymesh_runtime::{
    driver::{Answer, Command, Config, Error, LifeCommand, MessageCommand},
    world::Work,
};
use std::collections::BTreeSet;

#[derive(Debug)]
pub(crate) struct Honest {
    rejected: BTreeSet<CallId>,
    /// Until when nothing runs out, because the clock has jumped.
    put_off_until: Ns,
    round: Ns,
}

impl Honest {
    pub(crate) fn new(config: &Config) -> Self {
        let round = config.reclaim_scan_interval_ms * MS;
        Self { rejected: BTreeSet::new(), put_off_until: 0, round }
    }
}

impl Invariant for Honest {
    fn name(&self) -> &'static str {
        "HONEST"
    }

    fn op(&mut self, seen: &OpSeen<'_>) -> Verdict {
        let Some(call) = call_of(seen.op).filter(|call| self.rejected.contains(call)) else { return Ok(()) };
        Err(format!("call {call} was rejected and is now on the log as op {}", seen.op.pos))
    }

    fn answer(&mut self, call: &Call, result: &Result<Answer, Error>, look: &mut Look<'_>) -> Verdict {
        let said = |found: String| format!("call {} ({}) was told {result:?}: {found}", call.id, call.verb());
        match result {
            Ok(answer) => done(call, answer, look).map_err(said),
            Err(Error::Indeterminate(_)) => Ok(()),
            Err(error) => {
                let written = look.ledger.by_call.get(&call.id);
                ensure(written.is_none(), || said(format!("but it is on the log: {written:?}")))?;
                self.rejected.insert(call.id);
                if call.sent > self.put_off_until {
                    locks::still_runs(call, error).map_err(said)?;
                }
                rejected(call, error, look.ledger).map_err(said)
            }
        }
    }

    fn clock_alert(&mut self, now: Ns, _wall_ms: u64) {
        self.put_off_until = now + self.round;
    }

    /// Work begins only once its claim is durable.
    fn work(&mut self, work: &Work, ledger: &Ledger) -> Verdict {
        let claim = ledger.by_token.get(&work.hold.token);
        let durable = claim.is_some_and(|claim| (claim.step, claim.epoch) == (work.hold.step, work.hold.epoch));
        ensure(durable, || format!("work on {} epoch {} began before its claim", work.hold.step, work.hold.epoch))
    }
}

/// The answer is durable, exactly as told.
fn done(call: &Call, answer: &Answer, look: &mut Look<'_>) -> Verdict {
    match &call.command {
        Command::Lock(command) => locks::done(call, command, answer, look.ledger),
        Command::Message(command) => messages::done(call, command, answer, look.ledger),
        Command::CreateNamespace { name, about } => namespaces::done(call, name, about, answer, look.ledger),
        // For the eyes of people: no op and no row follows.
        Command::Filed { .. } => Ok(()),
        Command::Note { .. } => wrote(call, &[Kind::AuditEvent], look.ledger),
        Command::Life(command) => match (command, answer) {
            (LifeCommand::Purge { .. }, Answer::Swept { count: 1, .. }) => {
                wrote(call, &[Kind::PurgeScope], look.ledger)
            }
            (LifeCommand::Sweep { .. }, Answer::Swept { count, .. }) if *count > 0 => {
                wrote(call, &[Kind::PurgeScope], look.ledger)
            }
            (LifeCommand::Sweep { .. } | LifeCommand::SweepKeys { .. }, Answer::Swept { .. })
            | (LifeCommand::Checkpoint | LifeCommand::Compact, Answer::Compacted { .. }) => Ok(()),
            _ => Err("which is no answer to this command".to_owned()),
        },
        Command::Submit(_)
        | Command::Record { .. }
        | Command::Wait { .. }
        | Command::Claim { .. }
        | Command::Heartbeat { .. }
        | Command::Finish { .. }
        | Command::Yield { .. }
        | Command::Cancel { .. }
        | Command::Redrive { .. }
        | Command::Approve { .. }
        | Command::Deny { .. } => tasks::done(call, answer, look),
    }
}

/// The reason agrees with the rows.
fn rejected(call: &Call, error: &Error, ledger: &Ledger) -> Verdict {
    match (error, &call.command) {
        (Error::Lock(refusal), Command::Lock(command)) => locks::refused(call, command, refusal, ledger),
        (Error::Message(refusal), Command::Message(command)) => messages::refused(call, command, refusal, ledger),
        (Error::Namespace(refusal), Command::CreateNamespace { about, .. }) => namespaces::refused(about, refusal),
        (Error::NoNamespace { name, near }, _) => namespaces::not_there(call, name, near.as_ref(), ledger),
        (Error::Namespace(_) | Error::TooManyNamespaces { .. }, _) => {
            Err("but nobody asked for another namespace".to_owned())
        }
        (Error::NotPurged(scope), _) => Err(format!("but nobody asked to purge {scope}")),
        (Error::Message(_), Command::Life(LifeCommand::Purge { scope: Scope::Thread(_) })) => Ok(()),
        (Error::Lock(_) | Error::Message(_), _) => Err("but nobody asked about a lock or a message".to_owned()),
        (Error::Refused(refusal), command) => {
            if let Command::Message(MessageCommand::Send(letter)) = command {
                messages::is_new(call, letter, ledger)?;
            }
            tasks::refused(call, refusal, ledger)
        }
        (Error::KeyReused { task, .. }, _) => {
            let holder = call.key().and_then(|key| ledger.by_key.get(key));
            let is_its = ledger.ever(*task).is_some_and(|seen| Some(&seen.rows.task.idempotency_key) == call.key());
            ensure(holder == Some(task) || is_its, || format!("but the key belongs to {holder:?}"))
        }
        (Error::TooLong { found, .. }, command) => messages::too_long(command, *found),
        (Error::NotAsAsked(why), _) => Err(format!("but no step here has a schema for its result: {why}")),
        (Error::DiskFull(_) | Error::Busy { .. } | Error::Indeterminate(_) | Error::Stopped | Error::Store(_), _) => {
            Ok(())
        }
    }
}

/// The same for a word that ends a hold: an op was written for the call, or for an earlier one that said the same. Gives the call that it was written for.
fn said(call: &Call, kinds: &[Kind], ledger: &Ledger) -> Result<CallId, String> {
    match (ledger.by_call.get(&call.id), ledger.words.said(call)) {
        (None, Some(first)) => Ok(first.unwrap_or(call.id)),
        (Some(_), _) | (None, None) => wrote(call, kinds, ledger).map(|()| call.id),
    }
}

/// An op of one of these kinds was written for the call.
fn wrote(call: &Call, kinds: &[Kind], ledger: &Ledger) -> Verdict {
    let written = ledger.by_call.get(&call.id);
    ensure(written.is_some_and(|written| kinds.contains(&written.kind)), || {
        format!("but nothing of the kind is durable: {written:?}")
    })
}
