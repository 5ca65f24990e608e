//! The agents of a root that are processes or are reached by HTTP, as the driver sees them.

mod folders;

pub use folders::{folder, left_folders, said, sweep_folders};

use crate::{
    builtin::Builtin,
    driver::Handle,
    inference,
    ledger::{self, Account, Books, Ledger},
    quota::{AgentQuota, Places, Quotas},
    rate_limits::RateLimits,
    secrets::{Vault, reference},
    settings::{Settings, size},
    workspace,
    world::{Finished, Hold, Outcome, Pool, Work},
};
use relaymesh_agents::{
    Agent, Agents, End, Ended, Input, Key, Kind, Launch, Meter, Pool as Processes, Process, Protocol,
    http::{self, Calls, Http},
};
use relaymesh_core::{
    content::{ContentRef, Media},
    id::{NodeId, StepId},
    name::Name,
    task::spec::StepSpec,
    trace::Context,
};
use relaymesh_store::{Blobs, Content, Spend};
use std::{
    collections::BTreeMap,
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// How much at once, and how long the end may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Processes at once.
    pub processes: usize,
    /// Idle threads that are kept for them.
    pub idle: usize,
    /// Attempts at once of agents that use a language model.
    pub llm: usize,
    /// How long all of them have to end when the daemon does.
    pub grace: Duration,
    /// How many of a thousand traces are kept, as agents are told.
    pub traced_per_mille: u64,
}

impl Limits {
    fn places(&self) -> Places {
        Places { processes: self.processes, llm: self.llm }
    }
}

impl From<&Settings> for Limits {
    fn from(settings: &Settings) -> Self {
        // The rest is for the driver and the store.
        let grace = Duration::from_millis(settings.graceful_timeout_ms) * 2 / 3;
        Self {
            processes: size(settings.thread_pool_max),
            idle: size(settings.thread_pool_core),
            llm: size(settings.llm_parallel_limit),
            grace,
            traced_per_mille: settings.traced_per_mille(),
        }
    }
}

/// Runs the agents of a root.
pub struct Runner<B> {
    agents: BTreeMap<Name, Arc<Agent>>,
    named: Agents,
    quotas: Quotas,
    processes: Processes,
    calls: Calls,
    holds: Holds,
    root: PathBuf,
    owner: String,
    blobs: B,
    limits: Limits,
    vault: Vault,
    news: News,
    accounts: Accounts,
    handle: Handle,
}

/// The accounts of attempts under way that are counted, with whose they are.
type Accounts = Arc<Mutex<BTreeMap<Key, (Account, Arc<Agent>)>>>;

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

impl<B: Blobs> Runner<B> {
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
            if let Some((account, agent)) = account {
                account.close(inference.as_ref().map(|inference| inference.usage));
                left = inference.and_then(|asked| inference::recorded(*asked, key, agent.terms.audit, &results));
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
        processes.set_core(limits.idle);
        let root = std::path::absolute(vault.root())?;
        let news = News::default();
        let ledger = Ledger::new(books, handle.spends(), ledger::elapsed());
        let mut quotas = Quotas::new(RateLimits::read(&root), ledger);
        quotas.configure(quotas_of(&agents), agents.budgets().clone(), limits.places());
        Ok(Self {
            agents: ours(&agents),
            named: agents,
            quotas,
            processes,
            calls,
            holds,
            root,
            owner,
            blobs,
            limits,
            vault,
            news,
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
        self.limits = limits.unwrap_or(self.limits);
        self.processes.set_grace(self.limits.grace);
        self.processes.set_core(self.limits.idle);
        self.quotas.set_places(self.limits.places());
        if let Some(agents) = agents {
            self.quotas.configure(quotas_of(&agents), agents.budgets().clone(), self.limits.places());
            self.agents = ours(&agents);
            self.named = agents;
        }
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
        self.quotas.hold(agent, reason, (until_ms, alone), now_ms)
    }

    /// An attempt of this agent succeeded.
    pub fn answered(&mut self, agent: &Name) {
        self.quotas.answered(agent);
    }

    /// Lets go of those whose time is over; says when the next one's is.
    pub fn held_until(&mut self, now_ms: u64) -> Option<u64> {
        self.quotas.held_until(now_ms)
    }

    /// These are durable now.
    pub fn spent(&self, spends: &[Spend]) {
        self.quotas.spent(spends);
    }

    /// Whether there is an agent of this name.
    pub fn knows(&self, agent: &Name) -> bool {
        self.agents.contains_key(agent)
    }

    /// Whether the agent runs nothing here, and its steps wait for an answer.
    pub fn asks(&self, agent: &Name) -> bool {
        self.quotas.asks(agent)
    }

    /// Adds to a step that is submitted what its agent asks of every step.
    pub fn impose(&self, step: &mut StepSpec, input: Option<&Content>) {
        let Some(agent) = self.agents.get(&step.agent) else { return };
        let bytes = match input {
            Some(Content::Inline(bytes)) => Some(bytes.as_slice()),
            Some(Content::Blob(_)) | None => None,
        };
        let name = step.agent.clone();
        agent.impose(&name, step, bytes);
    }

    /// What an attempt of this agent takes a place in.
    pub fn pools(&self, agent: &Name) -> &[Pool] {
        self.quotas.pools(agent)
    }

    /// Begins an attempt. Its outcome comes later, unless it cannot begin.
    pub fn start(&self, work: Work, now_ms: u64) -> Option<Outcome> {
        let failed = |error: String, retryable| Some(Outcome::Failed { error, retryable });
        let Some(agent) = self.agents.get(&work.agent) else {
            return failed(format!("there is no agent `{}`", work.agent), true);
        };
        let input = match &work.input {
            Content::Inline(bytes) => Some(bytes.as_slice()),
            Content::Blob(_) => None,
        };
        if let Err(why) = agent.may_begin(&work.agent, work.asked.as_deref(), input) {
            return failed(why, false);
        }
        let wants_tree = work.terms.as_ref().is_some_and(|terms| terms.workspace.is_some());
        match &agent.kind {
            Kind::Process(_) => {}
            Kind::Http(_) if wants_tree => {
                let why = format!("agent `{}` is an HTTP agent and cannot use a `workspace`", work.agent);
                return failed(why, false);
            }
            Kind::Http(_) => {}
            Kind::Inbox => {
                return failed(format!("agent `{}` runs nothing here: its steps wait in its inbox", work.agent), false);
            }
        }
        let meter = match self.account(&work, agent, now_ms) {
            Ok(meter) => meter,
            Err(outcome) => return Some(outcome),
        };
        locked(&self.holds).insert((work.hold.step, work.hold.epoch), work.hold);
        match &agent.kind {
            Kind::Process(process) => self.processes.launch(self.process(process, work, agent, meter)),
            Kind::Http(http) => self.calls.launch(self.call(http, work, agent, meter)),
            Kind::Inbox => {}
        }
        None
    }

    fn process(&self, process: &Arc<Process>, work: Work, agent: &Arc<Agent>, meter: Meter) -> Launch {
        let Hold { step, epoch, .. } = work.hold;
        let asked = work.terms.as_ref().and_then(|terms| terms.workspace.as_ref());
        let workspace = asked.map(|asked| workspace::prepare(&self.handle, &work, asked, &self.named, &self.root));
        let files = folder(&self.root, step.task, &work.name, epoch);
        // A tool finds its conversation by its folder, so all attempts of a step work in the same.
        let shared = match &process.protocol {
            Protocol::Tool(_) => Some(folder(&self.root, step.task, &work.name, 0)),
            Protocol::Plain { .. } => None,
        };
        Launch {
            key: (step, epoch),
            process: Arc::clone(process),
            folder: shared.unwrap_or_else(|| files.clone()),
            files,
            env: self.environment(&work),
            tag: format!("{}{step}.{epoch}", self.owner),
            meter,
            workdir: process.folder.clone(),
            opened: Vec::new(),
            workspace,
            result_schema: work.terms.as_ref().and_then(|terms| terms.result_schema.clone()),
            input: self.input(work.input, agent),
        }
    }

    fn call(&self, http: &Arc<Http>, work: Work, agent: &Arc<Agent>, meter: Meter) -> http::Launch {
        let Hold { step, epoch, .. } = work.hold;
        http::Launch {
            key: (step, epoch),
            http: Arc::clone(http),
            files: folder(&self.root, step.task, &work.name, epoch),
            env: self.environment(&work),
            meter,
            result_schema: work.terms.as_ref().and_then(|terms| terms.result_schema.clone()),
            input: self.input(work.input, agent),
        }
    }

    /// Gives the attempt its input and its secrets, once it is asked.
    fn input(&self, input: Content, agent: &Arc<Agent>) -> Input {
        let (blobs, vault, agent) = (self.blobs.clone(), self.vault.clone(), Arc::clone(agent));
        Box::new(move || reference::given(bytes(input, &blobs)?, &agent.terms, &vault))
    }

    /// Opens an account for the attempt, if it is counted, and says what it may use.
    fn account(&self, work: &Work, agent: &Arc<Agent>, now_ms: u64) -> Result<Meter, Outcome> {
        let Some(account) = self.quotas.open(work, now_ms)? else { return Ok(Meter::default()) };
        let meter = account.meter();
        locked(&self.accounts).insert((work.hold.step, work.hold.epoch), (account, Arc::clone(agent)));
        Ok(meter)
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

/// The agents by name. An agent with the name of a built-in one does not get its work.
fn ours(agents: &Agents) -> BTreeMap<Name, Arc<Agent>> {
    let named = agents.iter().filter(|(name, _)| !Builtin::knows(name));
    named.map(|(name, agent)| (name.clone(), Arc::new(agent.clone()))).collect()
}

/// What the file says of the share of each.
fn quotas_of(agents: &Agents) -> BTreeMap<Name, AgentQuota> {
    let quota = |(name, agent): (&Name, &Agent)| {
        let quota = AgentQuota {
            provider: agent.terms.provider.clone(),
            concurrency: agent.terms.concurrency.unwrap_or(usize::MAX),
            is_process: matches!(agent.kind, Kind::Process(_)),
            llm: agent.terms.llm,
            inbox: agent.is_inbox(),
            budget: agent.terms.budget,
        };
        (name.clone(), quota)
    };
    agents.iter().filter(|(name, _)| !Builtin::knows(name)).map(quota).collect()
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
