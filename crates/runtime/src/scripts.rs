//! The agents of a root that are processes or are reached by HTTP, as the driver sees them.
//!
//! ```text
//! root/attempts/<task>/
//!   <step>.<epoch>/                       0700, where one attempt works
//!   <step>.<epoch>.stdout, .stderr        what it said
//!   <step>.<epoch>.ran                    what was run, and how it ended
//!   <step>.<epoch>.input                  what it was given, if that is long
//!   <step>.0/                             where all attempts of an agent tool work
//!   <step>.0.session                      its conversation
//! ```

use crate::{
    builtin::Builtin,
    driver::Handle,
    held::{self, Held},
    inference,
    ledger::{Account, Books, Ledger, Over, Payer},
    secrets::{Vault, reference},
    settings::{Settings, size},
    workspace,
    world::{Finished, Hold, Outcome, Pool, Work},
};
use relaymesh_agents::{Agents, End, Ended, Key, Launch, Meter, Pool as Processes, Script, http::Calls};
use relaymesh_core::{
    content::{ContentRef, Media},
    id::{NodeId, StepId, TaskId},
    name::Name,
    task::spec::StepSpec,
    trace::Context,
};
use relaymesh_store::{Blobs, Content};
use std::{
    collections::BTreeMap,
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The folder of all attempts, in the root.
const FOLDER: &str = "attempts";

/// The folder of all working trees, in the root, unless they are put elsewhere.
const WORKSPACES: &str = relaymesh_agents::workspace::FOLDER;

/// The pool that every process takes a place in.
const PROCESSES: &str = "processes";

/// The pool that every agent with `llm = true` takes a place in.
const LLM: &str = "llm";

/// How much at once, and how long the end may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Processes at once.
    pub processes: usize,
    /// Attempts at once of agents that use a language model.
    pub llm: usize,
    /// How long all of them have to end when the daemon does.
    pub grace: Duration,
    /// How many of a thousand traces are kept, as agents are told.
    pub traced_per_mille: u64,
}

impl From<&Settings> for Limits {
    fn from(settings: &Settings) -> Self {
        // The rest is for the driver and the store.
        let grace = Duration::from_millis(settings.graceful_timeout_ms) * 2 / 3;
        Self {
            processes: size(settings.thread_pool_max),
            llm: size(settings.llm_parallel_limit),
            grace,
            traced_per_mille: settings.traced_per_mille(),
        }
    }
}

/// The agents of a root that are processes or are reached by HTTP.
pub struct Scripts<B> {
    agents: BTreeMap<Name, (Arc<Script>, Vec<Pool>)>,
    named: Agents,
    processes: Processes,
    calls: Calls,
    holds: Holds,
    root: PathBuf,
    owner: String,
    blobs: B,
    limits: Limits,
    held: Held,
    vault: Vault,
    news: News,
    ledger: Ledger,
    accounts: Accounts,
    handle: Handle,
}

/// The accounts of attempts under way that are counted, with whose they are.
type Accounts = Arc<Mutex<BTreeMap<Key, (Account, Arc<Script>)>>>;

/// Where what is new is put for the driver to take up.
pub type News = Arc<Mutex<Changes>>;

/// What is new.
#[derive(Debug, Default)]
pub struct Changes {
    /// Other agents.
    pub agents: Option<Agents>,
    /// Other limits.
    pub limits: Option<Limits>,
}

/// What the tags of all processes of this root begin with. Not of the node: two roots have one node when a backup was restored beside its
/// original, and neither may end what the other has started.
pub fn owner(root: &Path, node: NodeId) -> io::Result<String> {
    let folder = std::fs::metadata(root)?;
    Ok(format!("{node}.{:x}-{:x}/", folder.dev(), folder.ino()))
}

/// What each attempt under way must show.
type Holds = Arc<Mutex<BTreeMap<Key, Hold>>>;

impl<B: Blobs> Scripts<B> {
    /// The agents of this root, within these limits, with secrets from this vault. Ends what a previous life left running.
    pub fn new(
        vault: Vault,
        node: NodeId,
        agents: Agents,
        limits: Limits,
        blobs: B,
        (handle, books): (Handle, Box<dyn Books>),
    ) -> io::Result<Self> {
        let (holds, accounts) = (Holds::default(), Accounts::default());
        let finished = handle.late();
        let (ended, counted, results) = (Arc::clone(&holds), Arc::clone(&accounts), blobs.clone());
        let owner = owner(vault.root(), node)?;
        let over = Arc::new(move |key, Ended { end, inference }: Ended| {
            let account = locked(&counted).remove(&key);
            let hold = locked(&ended).remove(&key);
            let mut left = None;
            if let Some((account, script)) = account {
                account.close(inference.as_ref().map(|inference| inference.usage));
                left = inference.and_then(|asked| inference::recorded(*asked, key, script.audit, &results));
            }
            if let Some(hold) = hold {
                finished(Finished { hold, outcome: outcome(end, &results), left: left.map(Box::new) });
            }
        });
        let hidden: Vec<_> = vault.files().into_iter().chain([vault.root().join(crate::token::FIRST_FILE)]).collect();
        let processes = Processes::new(&owner, &hidden, {
            let over = Arc::clone(&over);
            move |key, ended| over(key, ended)
        });
        let calls = Calls::new(move |key, ended| over(key, ended));
        processes.set_grace(limits.grace);
        let root = std::path::absolute(vault.root())?;
        let news = News::default();
        let held = Held::read(&root);
        let with_pools = with_pools(&agents, limits, &held);
        let ledger = Ledger::new(books, handle.spends());
        Ok(Self {
            agents: with_pools,
            named: agents,
            processes,
            calls,
            holds,
            root,
            owner,
            blobs,
            limits,
            held,
            vault,
            news,
            ledger,
            accounts,
            handle,
        })
    }

    /// Where what is new is put; the driver must be told ([`crate::driver::Handle::refresh`]).
    pub fn news(&self) -> News {
        Arc::clone(&self.news)
    }

    /// Takes up what is new. Attempts under way go on as they began.
    pub fn refresh(&mut self) -> bool {
        let Changes { agents, limits } = std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner));
        if agents.is_none() && limits.is_none() {
            return false;
        }
        if let Some(agents) = agents {
            // Budgets may be others now. Whoever has used up the new one is told so again.
            self.held.release_themselves();
            self.named = agents;
        }
        self.limits = limits.unwrap_or(self.limits);
        self.processes.set_grace(self.limits.grace);
        self.agents = with_pools(&self.named, self.limits, &self.held);
        true
    }

    /// Holds the agent, and whoever shares its provider unless it is meant `alone`; says until when. `None`: there is no such agent.
    pub fn hold(
        &mut self,
        agent: &Name,
        reason: &str,
        (until_ms, alone): (Option<u64>, bool),
        now_ms: u64,
    ) -> Option<u64> {
        let (script, _) = self.agents.get(agent)?;
        let whose = if alone { held::itself(agent) } else { Agents::provider(agent, script) };
        let until_ms = self.held.hold(&whose, reason, until_ms, now_ms);
        self.agents = with_pools(&self.named, self.limits, &self.held);
        Some(until_ms)
    }

    /// Lets go of those whose time is over; says when the next one's is.
    pub fn held_until(&mut self, now_ms: u64) -> Option<u64> {
        if self.held.release(now_ms) {
            self.agents = with_pools(&self.named, self.limits, &self.held);
        }
        self.held.next_ms()
    }

    /// Whether there is an agent of this name.
    pub fn knows(&self, agent: &Name) -> bool {
        self.agents.contains_key(agent)
    }

    /// Whether the agent runs nothing here, and its steps wait for an answer.
    pub fn asks(&self, agent: &Name) -> bool {
        self.agents.get(agent).is_some_and(|(script, _)| script.inbox)
    }

    /// Adds to a step that is submitted what its agent asks of every step.
    pub fn impose(&self, step: &mut StepSpec, input: Option<&Content>) {
        let Some((script, _)) = self.agents.get(&step.agent) else { return };
        let bytes = match input {
            Some(Content::Inline(bytes)) => Some(bytes.as_slice()),
            Some(Content::Blob(_)) | None => None,
        };
        let agent = step.agent.clone();
        script.impose(&agent, step, bytes);
    }

    /// What an attempt of this agent takes a place in.
    pub fn pools(&self, agent: &Name) -> &[Pool] {
        self.agents.get(agent).map_or(&[], |(_, pools)| pools)
    }

    /// Begins an attempt. Its outcome comes later, unless it cannot begin.
    pub fn start(&self, work: Work, now_ms: u64) -> Option<Outcome> {
        let failed = |error: String, retryable| Some(Outcome::Failed { error, retryable });
        let Some((script, _)) = self.agents.get(&work.agent) else {
            return failed(format!("there is no agent `{}`", work.agent), true);
        };
        let input = match &work.input {
            Content::Inline(bytes) => Some(bytes.as_slice()),
            Content::Blob(_) => None,
        };
        if let Err(why) = script.may_begin(&work.agent, work.asked.as_deref(), input) {
            return failed(why, false);
        }
        let asked = work.terms.as_ref().and_then(|terms| terms.workspace.as_ref());
        if let (Some(_), true) = (asked, script.http.is_some()) {
            return failed(
                format!("agent `{}` is reached by HTTP and cannot work in a `workspace`", work.agent),
                false,
            );
        }
        let workspace = asked.map(|asked| workspace::prepare(&self.handle, &work, asked, &self.named, &self.root));
        let key = (work.hold.step, work.hold.epoch);
        let meter = match self.account(&work, script, now_ms) {
            Ok(meter) => meter,
            Err(outcome) => return Some(outcome),
        };
        let files = folder(&self.root, work.hold.step.task, &work.name, work.hold.epoch);
        // A tool finds its conversation by its folder, so all attempts of a step work in the same.
        let shared = script.tool.map(|_| folder(&self.root, work.hold.step.task, &work.name, 0));
        locked(&self.holds).insert(key, work.hold);
        let launch = Launch {
            key,
            script: Arc::clone(script),
            folder: shared.unwrap_or_else(|| files.clone()),
            files,
            env: self.environment(&work),
            tag: format!("{}{}.{}", self.owner, work.hold.step, work.hold.epoch),
            meter,
            workdir: script.folder.clone(),
            opened: Vec::new(),
            workspace,
            result_schema: work.terms.as_ref().and_then(|terms| terms.result_schema.clone()),
            input: Box::new({
                let (blobs, vault, script) = (self.blobs.clone(), self.vault.clone(), Arc::clone(script));
                move || reference::given(bytes(work.input, &blobs)?, &script, &vault)
            }),
        };
        match script.http {
            Some(_) => self.calls.launch(launch),
            None => self.processes.launch(launch),
        }
        None
    }

    /// Opens an account for the attempt, if it is counted, and says what it may use.
    fn account(&self, work: &Work, script: &Arc<Script>, now_ms: u64) -> Result<Meter, Outcome> {
        let payer = Payer { namespace: work.namespace.clone(), agent: work.agent.clone(), task: work.hold.step.task };
        match self.ledger.open(payer, script, self.named.budgets(), now_ms) {
            Ok(None) => Ok(Meter::default()),
            Ok(Some(account)) => {
                let meter = account.meter();
                locked(&self.accounts).insert((work.hold.step, work.hold.epoch), (account, Arc::clone(script)));
                Ok(meter)
            }
            Err(Over::Today { why, until_ms }) => {
                Err(Outcome::Limited { reason: why, until_ms: Some(until_ms), alone: true })
            }
            Err(Over::ForGood(error)) => Err(Outcome::Failed { error, retryable: false }),
            Err(Over::Unreadable(error)) => Err(Outcome::Failed { error, retryable: true }),
        }
    }

    /// Ends whatever works on this attempt.
    pub fn stop(&self, step: StepId, epoch: u32) {
        locked(&self.holds).remove(&(step, epoch));
        self.processes.stop(step, epoch);
        self.calls.stop(step, epoch);
    }

    fn environment(&self, work: &Work) -> Vec<(String, String)> {
        let Hold { step, epoch, .. } = work.hold;
        let context = Context::of_attempt(step, epoch, work.trace_id, self.limits.traced_per_mille);
        let named = [
            ("RELAYMESH_ROOT", self.root.display().to_string()),
            ("RELAYMESH_NAMESPACE", work.namespace.to_string()),
            ("RELAYMESH_TASK", work.hold.step.task.to_string()),
            ("RELAYMESH_STEP", work.name.to_string()),
            ("RELAYMESH_AGENT", work.agent.to_string()),
            ("RELAYMESH_ATTEMPT", work.attempt.to_string()),
            (relaymesh_agents::TRACEPARENT, context.to_string()),
        ];
        named.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }
}

/// The agents with what their attempts take a place in. Whoever takes the name of a builtin agent does not get its work.
fn with_pools(agents: &Agents, limits: Limits, held: &Held) -> BTreeMap<Name, (Arc<Script>, Vec<Pool>)> {
    let pools = |name: &Name, script: &Script| {
        if script.inbox {
            return Vec::new();
        }
        let is_held = held.is_held(&Agents::provider(name, script)) || held.is_held(&held::itself(name));
        let agent = Pool { name: format!("agent {name}").into(), places: if is_held { 0 } else { script.concurrency } };
        let llm = script.llm.then(|| Pool { name: LLM.into(), places: limits.llm });
        let is_process = script.http.is_none();
        let processes = is_process.then(|| Pool { name: PROCESSES.into(), places: limits.processes });
        [agent].into_iter().chain(processes).chain(llm).collect()
    };
    let named = |(name, script): (&Name, &Script)| (name.clone(), (Arc::new(script.clone()), pools(name, script)));
    agents.iter().filter(|(name, _)| !Builtin::knows(name)).map(named).collect()
}

/// The file with what an attempt said on `stdout` or `stderr`. It is there once there is something in it.
pub fn said(root: &Path, task: TaskId, step: &Name, epoch: u32, stream: &str) -> PathBuf {
    folder(root, task, step, epoch).with_added_extension(stream)
}

/// Where an attempt works.
pub fn folder(root: &Path, task: TaskId, step: &Name, epoch: u32) -> PathBuf {
    root.join(FOLDER).join(task.to_string()).join(format!("{step}.{epoch}"))
}

/// Removes the folders of tasks that are no more. Says how many; what is not understood stays.
pub fn sweep_folders<E: From<io::Error>>(
    root: &Path,
    is_there: &mut dyn FnMut(TaskId) -> Result<bool, E>,
) -> Result<usize, E> {
    let left = left_folders(root, is_there)?;
    left.iter().try_for_each(std::fs::remove_dir_all)?;
    Ok(left.len())
}

/// The folders of tasks that are no more.
pub fn left_folders<E: From<io::Error>>(
    root: &Path,
    is_there: &mut dyn FnMut(TaskId) -> Result<bool, E>,
) -> Result<Vec<PathBuf>, E> {
    let mut left = Vec::new();
    for around in [FOLDER, WORKSPACES] {
        let entries = match std::fs::read_dir(root.join(around)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let Some(task) = entry.file_name().to_str().and_then(|name| name.parse::<TaskId>().ok()) else { continue };
            if !is_there(task)? {
                left.push(entry.path());
            }
        }
    }
    Ok(left)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checked when read (D3).
fn bytes<B: Blobs>(input: Content, blobs: &B) -> Result<Vec<u8>, String> {
    let blob = match input {
        Content::Inline(bytes) => return Ok(bytes),
        Content::Blob(blob) => blob,
    };
    let found = blobs.get(&blob.hash).map_err(|error| error.to_string())?;
    let bytes = found.ok_or_else(|| format!("the blob {} is missing", blob.hash))?;
    ContentRef { hash: blob.hash, len: blob.len, media: Media::Json }
        .check(&bytes)
        .map_err(|damaged| damaged.to_string())?;
    Ok(bytes)
}

/// What became of an attempt that ended like this. What is long is durable when this returns.
pub(crate) fn outcome<B: Blobs>(end: End, blobs: &B) -> Outcome {
    match end {
        End::Done { media, result } => match Content::stow(result, blobs) {
            Ok(result) => Outcome::Done { media, result },
            Err(error) => Outcome::Failed { error: error.to_string(), retryable: true },
        },
        End::Failed { error, retryable } => Outcome::Failed { error, retryable },
        End::Limited { reason, until_ms } => Outcome::Limited { reason, until_ms, alone: false },
    }
}
