//! What was seen of the root at one moment.

use crate::{
    agents,
    args::Context,
    error::{Code, Error},
    root, time,
};
use relaymesh_api::local::{Client, Status};
use relaymesh_core::id::NodeId;
use relaymesh_runtime::rate_limits;
use relaymesh_store::{Reader as _, StepKey};
use relaymesh_store_sqlite::{Gauges, SqliteReader};
use std::{
    collections::{BTreeMap, VecDeque},
    time::Instant,
};

/// Steps under way that are shown; of more the newest are left out.
const RUNNING_MAX: usize = 200;
/// Seconds that the curve remembers.
const SECONDS: usize = 120;

/// What is drawn.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) now_ms: u64,
    /// How the daemon is, or why it cannot be asked.
    pub(super) daemon: Option<Result<Status, String>>,
    pub(super) gauges: Gauges,
    pub(super) agents: Vec<Agent>,
    pub(super) running: Vec<Running>,
    /// Tasks that ended in each of the last seconds, the newest last.
    pub(super) throughput: Vec<u64>,
    /// What could not be read.
    pub(super) problem: Option<String>,
}

/// An agent and what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Agent {
    pub(super) name: String,
    pub(super) running: u64,
    /// Attempts at once; builtin ones have no limit of their own.
    pub(super) limit: Option<u64>,
    /// Until when it is held, and why.
    pub(super) held: Option<(u64, String)>,
}

/// A step under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Running {
    pub(super) task: String,
    pub(super) name: String,
    pub(super) step: String,
    pub(super) agent: String,
    pub(super) namespace: String,
    pub(super) attempt: u32,
    pub(super) since_ms: u64,
}

/// Looks at a root again and again.
pub(super) struct Looker {
    context: Context,
    reader: SqliteReader,
    node: NodeId,
    client: Option<Client>,
    /// When tasks were last counted, and how many had ended.
    counted: Option<(Instant, u64)>,
    throughput: VecDeque<u64>,
}

impl Looker {
    /// There must be a root and a daemon to begin with; later on the daemon may come and go.
    pub(super) fn new(context: &Context) -> Result<Self, Error> {
        let mut reader = root::read(&context.root)?;
        let node = reader.head()?.chain.origin;
        let client = Some(Client::connect(&context.root, &context.caller)?.ok_or_else(no_daemon)?);
        let throughput = VecDeque::from(vec![0; SECONDS]);
        Ok(Self { context: context.clone(), reader, node, client, counted: None, throughput })
    }

    /// Looks once.
    pub(super) fn look(&mut self) -> Seen {
        let daemon = self.ask();
        if let Ok(status) = &daemon {
            self.count(status.tasks_ended);
        }
        let mut seen = Seen {
            now_ms: time::now_ms(),
            daemon: Some(daemon.map_err(|error| error.message)),
            throughput: self.throughput.iter().copied().collect(),
            ..Seen::default()
        };
        if let Err(error) = self.read(&mut seen) {
            seen.problem = Some(error.message);
        }
        seen
    }

    /// A daemon that went away may be back.
    fn ask(&mut self) -> Result<Status, Error> {
        if self.client.is_none() {
            self.client = Client::connect(&self.context.root, &self.context.caller)?;
        }
        let status = self.client.as_ref().ok_or_else(no_daemon)?.status();
        if status.is_err() {
            (self.client, self.counted) = (None, None);
        }
        status
    }

    fn count(&mut self, ended: u64) {
        let now = Instant::now();
        if let Some((then, before)) = self.counted.filter(|(_, before)| *before <= ended) {
            let seconds = now.saturating_duration_since(then).as_secs_f64().max(0.001);
            self.throughput.push_back(((ended - before) as f64 / seconds).round() as u64);
            self.throughput.pop_front();
        }
        self.counted = Some((now, ended));
    }

    fn read(&mut self, seen: &mut Seen) -> Result<(), Error> {
        seen.gauges = self.reader.gauges(seen.now_ms)?;
        seen.running = self.running()?;
        seen.agents = self.agents()?;
        Ok(())
    }

    fn running(&mut self) -> Result<Vec<Running>, Error> {
        let keys = self.reader.leased(self.node, None, RUNNING_MAX)?;
        let mut found = Vec::new();
        for key in keys {
            found.extend(self.step(key)?);
        }
        found.sort_by(|one, other| {
            (one.since_ms, &one.task, &one.step).cmp(&(other.since_ms, &other.task, &other.step))
        });
        Ok(found)
    }

    fn step(&mut self, key: StepKey) -> Result<Option<Running>, Error> {
        let Some(rows) = self.reader.task_at(key.task())? else { return Ok(None) };
        let Some(step) = rows.steps.get(usize::from(key.place())) else { return Ok(None) };
        Ok(step.lease.as_ref().map(|lease| Running {
            task: rows.task.id.to_string(),
            name: rows.task.name.to_string(),
            step: step.spec.name.to_string(),
            agent: step.spec.agent.to_string(),
            namespace: rows.task.namespace.to_string(),
            attempt: step.attempt,
            since_ms: lease.claimed_ms,
        }))
    }

    /// Agents of agents.toml, and others that run something.
    fn agents(&mut self) -> Result<Vec<Agent>, Error> {
        let mut running: BTreeMap<String, u64> = self.reader.running_by_agent()?;
        let known = agents::read(&self.context.root)?;
        let held = rate_limits::entries(&self.context.root).unwrap_or_default();
        let mut found: Vec<Agent> = known
            .iter()
            .map(|(name, agent)| {
                let entry = rate_limits::of(&held, name, &agent.terms.provider);
                Agent {
                    name: name.to_string(),
                    running: running.remove(name.as_str()).unwrap_or(0),
                    limit: agent.terms.concurrency.map(|limit| limit as u64),
                    held: entry.map(|entry| (entry.until_ms, entry.reason.clone())),
                }
            })
            .collect();
        found.extend(running.into_iter().map(|(name, running)| Agent { name, running, limit: None, held: None }));
        // Held and busy agents come first.
        found.sort_by(|one, other| {
            let rank = |agent: &Agent| (agent.held.is_none(), std::cmp::Reverse(agent.running));
            rank(one).cmp(&rank(other)).then_with(|| one.name.cmp(&other.name))
        });
        Ok(found)
    }
}

fn no_daemon() -> Error {
    Error::new(Code::NoDaemon, "no daemon is running, so there is nothing to watch")
}
