//! DURABLE: what was acknowledged is there after every restart, with the content that was acknowledged.
//!
//! What is compared is the disk, not anybody's memory of it: rows, ops and the bytes of inputs, results and messages.

use super::{Invariant, Look, Rest, Verdict, ensure};
use crate::{
    call::Call,
    ledger::{Ledger, stored_rows},
};
use relaymesh_core::{
    content::ContentRef,
    id::{MessageId, TaskId, ThreadId},
    op::Scope,
};
use relaymesh_runtime::{
    driver::{Answer, Command, Delivery, Error, MessageCommand},
    world::{Outcome, Work},
};
use relaymesh_store::{Content, ContentKey, Reader as _, StoredOp, life::in_snapshot};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct Durable {
    /// Acknowledged tasks with the bytes of their inputs.
    tasks: BTreeMap<TaskId, Vec<(u16, Content)>>,
    /// Acknowledged results, by the op that carried them.
    results: BTreeMap<u64, Content>,
    /// Acknowledged messages with what they say.
    messages: BTreeMap<(ThreadId, MessageId), ContentRef>,
}

impl Invariant for Durable {
    fn name(&self) -> &'static str {
        "DURABLE"
    }

    fn answer(&mut self, call: &Call, result: &Result<Answer, Error>, look: &mut Look<'_>) -> Verdict {
        match (&call.command, result) {
            (Command::Submit(submit), Ok(Answer::Accepted { task, .. } | Answer::Ended { task, .. })) => {
                self.tasks.insert(*task, submit.inputs.clone());
                self.task(*task, look)
            }
            (Command::Finish { outcome: Outcome::Done { result, .. }, .. }, Ok(_)) => {
                let Some(written) = look.ledger.by_call.get(&call.id) else { return Ok(()) }; // HONEST says so
                self.results.insert(written.pos, result.clone());
                self.result(written.pos, look)
            }
            (Command::Message(MessageCommand::Send(letter)), Ok(Answer::Message { thread, message, .. })) => {
                self.messages.insert((*thread, *message), letter.content.named(letter.media));
                self.message(*thread, *message, look)
            }
            (
                Command::Message(MessageCommand::Reply { content, media, .. }),
                Ok(Answer::Replied { thread, message, completed }),
            ) => {
                self.messages.insert((*thread, *message), content.named(*media));
                self.message(*thread, *message, look)?;
                let Some(pos) = look.ledger.completed_by.get(&call.id) else { return Ok(()) };
                ensure(completed.is_some(), || format!("op {pos} completed a step that nobody asked for"))?;
                self.results.insert(*pos, content.clone());
                self.result(*pos, look)
            }
            (_, Ok(Answer::Taken(Some(delivery)))) => handed_out(delivery, look),
            _ => Ok(()),
        }
    }

    /// An agent gets what was submitted, byte for byte; for an item, with the item filled in.
    fn work(&mut self, work: &Work, ledger: &Ledger) -> Verdict {
        let Some(seen) = ledger.tasks.get(&work.hold.step.task) else { return Ok(()) };
        let spec = &seen.rows.steps[usize::from(work.hold.step.index)].spec;
        let Some(input) = spec.input else { return Ok(()) };
        if let Some(item) = spec.item() {
            let expected = crate::actor::item_input(item.index);
            let same = work.input == Content::Inline(expected.into_bytes());
            return ensure(same, || format!("{} was given {:?} for item {}", work.hold.step, work.input, item.index));
        }
        let given = work.input.named(input.media);
        ensure(given == input, || format!("{} was given another input than was submitted", work.hold.step))
    }

    fn start(&mut self, look: &mut Look<'_>) -> Verdict {
        self.log(look)?;
        scopes(look)?;
        let purged = |scope: Scope| look.ledger.purged.contains_key(&scope);
        self.messages.retain(|(thread, _), _| !purged(Scope::Thread(*thread)));
        self.tasks.retain(|task, _| !purged(Scope::Task(*task)));
        self.results.retain(|pos, _| !purged(look.ledger.scopes[usize::try_from(*pos - 1).unwrap_or(0)]));
        let messages: Vec<_> = self.messages.keys().copied().collect();
        messages.into_iter().try_for_each(|(thread, message)| self.message(thread, message, look))?;
        let tasks: Vec<TaskId> = self.tasks.keys().copied().collect();
        tasks.into_iter().try_for_each(|task| self.task(task, look))
    }

    fn rest(&mut self, look: &mut Look<'_>, _rest: &Rest) -> Verdict {
        self.start(look)?;
        let results: Vec<u64> = self.results.keys().copied().collect();
        results.into_iter().try_for_each(|pos| self.result(pos, look))
    }
}

impl Durable {
    /// Every op that was ever on the disk is still there, unless it was let go of: then it is about the log itself or a
    /// repository, or about something that was purged before the horizon, and nothing else.
    fn log(&self, look: &mut Look<'_>) -> Verdict {
        let stored = look.reader.ops(0, usize::MAX).map_err(|error| error.to_string())?;
        let horizon = look.reader.life().map_err(|error| error.to_string())?.horizon;
        let stored: BTreeMap<u64, &StoredOp> = stored.iter().map(|op| (op.pos, op)).collect();
        let ledger = look.ledger;
        for ((pos, hash), scope) in (1..).zip(&ledger.hashes).zip(&ledger.scopes) {
            let op = stored.get(&pos);
            ensure(op.is_none_or(|op| op.hash == *hash), || format!("op {pos} is another one"))?;
            if op.is_some_and(|op| op.stub().is_none()) {
                continue;
            }
            let purges = ledger.purged.get(scope).map_or(&[][..], |purges| purges);
            let over = purges.iter().any(|purge| pos <= *purge && *purge <= horizon);
            let goes = pos <= horizon && (over || in_snapshot(*scope) || *scope == Scope::Log);
            ensure(goes, || format!("op {pos} about {scope} is gone; the horizon is {horizon}"))?;
        }
        let last = stored.keys().next_back().copied().unwrap_or(0);
        ensure(last == ledger.pos(), || format!("the log ends at op {last}; {} were on the disk", ledger.pos()))
    }

    fn task(&self, task: TaskId, look: &mut Look<'_>) -> Verdict {
        let rows = look.reader.task(task).map_err(|error| error.to_string())?;
        if rows.is_none() && look.ledger.purged.contains_key(&Scope::Task(task)) {
            return Ok(()); // decided before the purge, in the same batch
        }
        let rows = rows.ok_or_else(|| format!("{task} was acknowledged and is gone"))?;
        for (place, bytes) in self.tasks.get(&task).into_iter().flatten() {
            let key = ContentKey::new(rows.task.key, *place);
            let found = look.reader.content(key).map_err(|error| error.to_string())?;
            ensure(found.as_ref() == Some(bytes), || format!("input {place} of {task} is {found:?}"))?;
        }
        Ok(())
    }

    fn result(&self, pos: u64, look: &mut Look<'_>) -> Verdict {
        let found = look.reader.content(ContentKey::new(pos, 0)).map_err(|error| error.to_string())?;
        ensure(found.as_ref() == self.results.get(&pos), || format!("the result of op {pos} is {found:?}"))
    }

    fn message(&self, thread: ThreadId, message: MessageId, look: &mut Look<'_>) -> Verdict {
        let row = look.ledger.ever_message(thread, message);
        let row = row.ok_or_else(|| format!("{message} was acknowledged and is gone"))?;
        let said = self.messages.get(&(thread, message));
        ensure(Some(&row.draft.content) == said, || format!("{message} says {:?}", row.draft.content))?;
        readable(ContentKey::new(row.content_pos, 0), &row.draft.content, look)
    }
}

/// Whoever is handed a message can read it.
fn handed_out(delivery: &Delivery, look: &mut Look<'_>) -> Verdict {
    readable(delivery.content, &delivery.draft.content, look)
}

fn readable(key: ContentKey, named: &ContentRef, look: &mut Look<'_>) -> Verdict {
    let bytes = look.reader.bytes(key).map_err(|error| error.to_string())?;
    let bytes = bytes.ok_or_else(|| format!("the content of op {key:?} is gone"))?;
    named.check(&bytes).map_err(|damaged| damaged.to_string())
}

/// Threads, repositories, namespaces and plans are as their ops have left them: nothing of them is lost.
fn scopes(look: &mut Look<'_>) -> Verdict {
    let threads = look.ledger.threads.keys().map(|thread| Scope::Thread(*thread));
    let repositories = look.ledger.repositories.keys().map(|repository| Scope::Repository(*repository));
    let namespaces = look.ledger.namespaces.keys().map(|namespace| Scope::Namespace(*namespace));
    let plans = look.ledger.plans.keys().map(|plan| Scope::Plan(*plan));
    for scope in threads.chain(repositories).chain(namespaces).chain(plans) {
        let same = stored_rows(look.reader, scope) == look.ledger.rows(scope);
        ensure(same, || format!("{scope} is not as it was acknowledged"))?;
    }
    Ok(())
}
