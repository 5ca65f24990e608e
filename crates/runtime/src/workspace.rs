//! A working tree for a step, with a lock on its branch for as long as an attempt works there.
//!
//! The lock is one of the lock machine, on the log like any other: `relaymesh lock list` shows who works on which branch, and whoever
//! wants to keep agents off a branch takes the same lock. Its token follows from the step, so that after a crash the step finds its own lock
//! and not a stranger's.

use crate::{
    driver::{Answer, Caller, Command, Error, Handle, LockCommand},
    world::Work,
};
use relaymesh_agents::{Agents, End, Place, Prepare, workspace::Plan};
use relaymesh_core::{
    hash::Hash,
    id::LeaseToken,
    lock::{Case, Key, Mode, Refusal, RepositoryName},
    name::Name,
    op::HeldLock,
    task::spec::Workspace,
};
use std::{
    path::Path,
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::Duration,
};

/// How long the lock lasts if nobody renews it.
const TTL_MS: u64 = 60_000;
/// How often it is renewed.
const RENEWAL: Duration = Duration::from_secs(20);
/// How long the driver may take to answer. One that is about to stop does not.
const PATIENCE: Duration = Duration::from_secs(10);

/// What makes the working tree of this attempt.
pub(crate) fn prepare(handle: &Handle, work: &Work, asked: &Workspace, agents: &Agents, root: &Path) -> Prepare {
    let task = work.hold.step.task.to_string();
    let plan = Plan::new(asked, agents.workspaces(), root, (&task, work.name.as_str()));
    let want = Want {
        handle: handle.clone(),
        namespace: work.namespace.clone(),
        holder: work.agent.clone(),
        token: token(work),
        purpose: format!("step {} of {task}", work.name),
    };
    Box::new(move || {
        let failed = |error: String| End::Failed { error, retryable: true };
        // Where there is no repository now there is none at the next attempt.
        let plan = plan.in_repository().map_err(|error| End::Failed { error, retryable: false })?;
        let guard = want.lock(&plan.repository, &plan.branch).map_err(failed)?;
        let tree = plan.make().map_err(failed)?;
        Ok(Place { tree, guard: Box::new(guard) })
    })
}

/// The same for all attempts of a step, and for no other step.
fn token(work: &Work) -> LeaseToken {
    let hash = Hash::sha256(format!("workspace of {}", work.hold.step).as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.0[..16]);
    LeaseToken::from_bytes(bytes)
}

/// A lock that is wanted.
struct Want {
    handle: Handle,
    namespace: Name,
    holder: Name,
    token: LeaseToken,
    purpose: String,
}

impl Want {
    /// Takes the lock, or says who has it.
    fn lock(self, repository: &Path, branch: &str) -> Result<Guard, String> {
        let named = repository.display().to_string();
        let repository: RepositoryName =
            named.parse().map_err(|error| format!("`{named}` cannot be locked: {error}"))?;
        let key: Key = format!("branch/{branch}").parse().map_err(|error| format!("branch `{branch}`: {error}"))?;
        let caller = Caller::new(self.holder.clone(), self.holder.clone());
        let acquire = LockCommand::Acquire {
            namespace: self.namespace.clone(),
            repository: repository.clone(),
            key,
            mode: Mode::Exclusive,
            case: Case::Sensitive,
            holder: self.holder,
            token: Some(self.token),
            ttl_ms: TTL_MS,
            purpose: self.purpose,
        };
        match ask(&self.handle, &caller, acquire)? {
            Ok(Answer::Locked { held, .. }) => {
                let kept = Kept { handle: self.handle, caller, namespace: self.namespace, repository, held };
                Guard::new(kept).map_err(|error| format!("cannot keep the lock on branch `{branch}`: {error}"))
            }
            Ok(_) => Err(format!("branch `{branch}` of {named} cannot be locked")),
            Err(Error::Lock(Refusal::Conflict { holder, .. })) => Err(format!(
                "branch `{branch}` of {named} is in use by `{holder}`; the step is retried later (see `relaymesh lock list`)"
            )),
            Err(error) => Err(format!("branch `{branch}` of {named} cannot be locked: {error}")),
        }
    }
}

fn ask(handle: &Handle, caller: &Caller, command: LockCommand) -> Result<Result<Answer, Error>, String> {
    let (answer, answered) = mpsc::sync_channel(1);
    handle.send(caller.clone(), Command::Lock(command), move |result| drop(answer.send(result)));
    answered.recv_timeout(PATIENCE).map_err(|_| "the daemon is stopping".to_owned())
}

/// A lock that is held.
struct Kept {
    handle: Handle,
    caller: Caller,
    namespace: Name,
    repository: RepositoryName,
    held: HeldLock,
}

impl Kept {
    fn renew(&self) {
        let (namespace, repository) = (self.namespace.clone(), self.repository.clone());
        // If it is somebody else's by now, the fence of git's own branch still holds: nobody checks it out twice.
        self.send(LockCommand::Renew { namespace, repository, held: self.held, ttl_ms: TTL_MS });
    }

    fn release(&self) {
        let (namespace, repository) = (self.namespace.clone(), self.repository.clone());
        self.send(LockCommand::Release { namespace, repository, held: self.held });
    }

    /// Nobody waits for the answer: a driver that is about to stop gives none.
    fn send(&self, command: LockCommand) {
        self.handle.send(self.caller.clone(), Command::Lock(command), drop);
    }
}

/// Renews the lock until it is dropped, and then gives it back.
struct Guard {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Guard {
    fn new(kept: Kept) -> std::io::Result<Self> {
        let (end, ended) = mpsc::channel::<()>();
        let keep = move || {
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(RENEWAL) {
                kept.renew();
            }
            kept.release();
        };
        let thread = thread::Builder::new().name("branch".to_owned()).stack_size(128 << 10).spawn(keep)?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
