//! What honest nodes do: they submit, claim, finish, renew, yield, expire, lock and talk; and the owner says where work goes.

use super::node::{Job, LEASE_MS, Node, signer};
use crate::{
    rng::Rng,
    time::{MS, Ns},
};
use relaymesh_core::{
    backoff::Backoff,
    content::{ContentRef, Media},
    hash::Hash,
    hlc::Hlc,
    id::{LeaseToken, MessageId, NodeId, OpId, RepositoryId, StepId, TaskId, ThreadId, WorkerId},
    lanes::Priority,
    lock::{self, Case, Mode},
    message::{self, Draft},
    name::Name,
    op::{Body, CancelMode, ExpireReason, HeldLock, Scope},
    register,
    task::{
        self,
        spec::{IdempotencyKey, RetryPolicy, Schedule, StepSpec},
    },
};
use relaymesh_mesh::{
    capability::{Action, Att, Caveats, Chain, Delegation, Link, Nonce, Resource},
    peer::{Command, Refused},
    register::{Register, RegisterRow, Words},
    rows::Rows,
};

/// The kinds of work in here.
pub(super) const KINDS: [&str; 3] = ["x.a", "x.b", "x.c"];
const REPOSITORY: &str = "app";

pub(super) fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

/// Something to be said in the default namespace.
pub(super) fn command(scope: Scope, body: impl Into<Body>) -> Command {
    let (author, source, namespace) = (name("somebody"), name("sim"), name("default"));
    Command { author, source, namespace, scope, causal_deps: Vec::new(), body: body.into() }
}

pub(super) fn word(body: register::Body) -> Command {
    command(Scope::Register(body.register()), body)
}

/// What a node may do: everything but what is the owner's alone, or only work of these kinds.
pub(super) fn grants(is_liar: bool) -> Vec<Att> {
    let with = |resource, action, prefix: Option<&str>| {
        let kind_prefix = prefix.map(|prefix| prefix.parse().expect("a kind"));
        Att { resource, action, caveats: Caveats { kind_prefix, ..Caveats::default() } }
    };
    if is_liar {
        return [Action::Claim, Action::Complete].map(|action| with(Resource::Job, action, Some("x"))).to_vec();
    }
    let work = [Action::Read, Action::Schedule, Action::Claim, Action::Complete];
    let writes = [Resource::Entity, Resource::Claim, Resource::UserAssertion, Resource::Registration];
    let work = work.map(|action| with(Resource::Job, action, None));
    work.into_iter().chain(writes.map(|resource| with(resource, Action::Write, None))).collect()
}

/// The owner's link to a node, one of several. It may run out.
pub(super) fn link(to: usize, att: Vec<Att>, turn: u8, exp: Option<u64>) -> Link {
    let delegation = Delegation {
        iss: signer(0).public_key(),
        aud: signer(to).public_key(),
        att,
        nbf: 0,
        exp,
        prf: Vec::new(),
        depth: 2,
        nnc: Nonce([turn; 16]),
    };
    Link::issue(&signer(0), &delegation).expect("it can be meant")
}

/// A task of up to three steps in a row. Two nodes may well think of the same one.
pub(super) fn submit(rng: &mut Rng) -> (Scope, Body) {
    let key = format!("k{}", if rng.chance(150) { rng.between(0, 3) } else { rng.between(4, 1 << 40) });
    let count = rng.index(3) + 1;
    let step = |index: usize, agent: &str| StepSpec {
        name: name(&format!("s{index}")),
        agent: name(agent),
        priority: Priority::Normal,
        depends_on: index.checked_sub(1).map(|before| before as u16).into_iter().collect(),
        compensates: None,
        input: None,
        retry: RetryPolicy { max_attempts: 20, backoff: Backoff { base_ms: 100, max_ms: 1_000 } },
        timeout_ms: None,
        approve: None,
        flow: None,
        terms: None,
    };
    let steps = (0..count).map(|index| step(index, KINDS[rng.index(KINDS.len())])).collect();
    let schedule = Schedule {
        name: name("task"),
        fingerprint: Hash::sha256(key.as_bytes()),
        key: IdempotencyKey::Given(name(&key).into()),
        trace_id: 1,
        input: None,
        steps,
    };
    (Scope::Task(TaskId::new(1, rng.wide() >> 48)), Body::Task(task::Body::ScheduleJob { schedule }))
}

impl Node {
    /// Does something that comes to mind.
    pub(super) fn act(&mut self, now: Ns, drain: bool, targets: &[(usize, NodeId)]) -> Vec<Result<OpId, Refused>> {
        let mut done = self.work(now, drain);
        if drain {
            return done;
        }
        let said = match self.rng.weighted(&[50, 8, 6, 6, 4, 3]) {
            0 => Some(submit(&mut self.rng)),
            1 => self.lock(now),
            2 => Some(self.message()),
            3 => self.cancel(),
            4 => self.release(),
            _ => None,
        };
        done.extend(said.and_then(|(scope, body)| self.say(now, command(scope, body))));
        if self.number == 0 && self.rng.chance(60) {
            let body = self.owners_word(now, targets);
            done.extend(self.say(now, word(body)));
        }
        done
    }

    pub(super) fn say(&mut self, now: Ns, command: Command) -> Option<Result<OpId, Refused>> {
        let wall_ms = self.wall_ms(now);
        self.peer.as_mut().map(|peer| peer.handle_command(command, wall_ms))
    }

    /// The owner lets a node in.
    pub(super) fn enrol(&mut self, to: usize, is_liar: bool, exp: Option<u64>) -> register::Body {
        self.given += 1;
        let chain = Chain::new(vec![link(to, grants(is_liar), self.given, exp)]).expect("one link is a chain");
        register::Body::DelegateUcan { ucan_bytes: chain.encode() }
    }

    /// The owner takes back what a node was given, or lets it in again, perhaps for a while only.
    fn change_rights(&mut self, now: Ns, of: usize) -> register::Body {
        if let Some(ucan_cid) = self.rights(now, of).first() {
            return register::Body::RevokeUcan { ucan_cid: *ucan_cid };
        }
        let until_ms = self.wall_ms(now) + self.rng.between(3_000, 20_000);
        let exp = self.rng.chance(400).then_some(until_ms);
        self.enrol(of, false, exp)
    }

    /// The links to a node that hold, as far as the owner knows.
    fn rights(&self, now: Ns, of: usize) -> Vec<Hash> {
        let rows = self.peer.as_ref().and_then(|peer| peer.fold().rows(Scope::Register(Register::Delegations)));
        let Some(Rows::Register(RegisterRow { words: Words::Delegations(words), .. })) = rows else {
            return Vec::new();
        };
        let links = words.given().filter_map(|(_, bytes)| Chain::decode(bytes).ok()?.links().last().cloned());
        let holds = |link: &Link| {
            let Delegation { aud, exp, .. } = link.delegation();
            let is_taken = words.taken().any(|(cid, _, _)| cid == link.cid());
            *aud == signer(of).public_key() && exp.is_none_or(|exp| exp > self.wall_ms(now)) && !is_taken
        };
        links.filter(holds).map(|link| link.cid()).collect()
    }

    fn owners_word(&mut self, now: Ns, targets: &[(usize, NodeId)]) -> register::Body {
        let (number, node) = targets[self.rng.index(targets.len())];
        if number != 0 && self.rng.chance(250) {
            return self.change_rights(now, number);
        }
        let pattern = ["x.*", "x.a", "x.b"][self.rng.index(3)].parse().expect("a pattern");
        match self.rng.index(6) {
            0 | 1 => register::Body::RouteKind { pattern, target: Some(node) },
            2 => register::Body::RouteKind { pattern, target: None },
            3 => register::Body::DesignateCoordinator { coordinator: node },
            _ => register::Body::SetSetting {
                name: name("lease_timeout_ms"),
                value: Some(self.rng.index(9).to_string()),
            },
        }
    }

    /// Everything about work: finishes what is done, renews, claims, and says that others' leases are over.
    fn work(&mut self, now: Ns, drain: bool) -> Vec<Result<OpId, Refused>> {
        let mut said = Vec::new();
        for job in std::mem::take(&mut self.jobs) {
            let Some(held) = self.held(&job) else { continue };
            let scope = Scope::Task(job.step.task);
            if job.done_at <= now {
                let yields = self.rng.chance(40);
                let text = format!("{} {}", job.step, job.claimed);
                let result = ContentRef::of(Media::Text, text.as_bytes());
                let body = if yields {
                    Body::Task(task::Body::YieldWork { held, reason: String::new() })
                } else {
                    Body::Task(task::Body::CompleteJob { held, result })
                };
                said.extend(self.say(now, command(scope, body)));
            } else if job.renew_at <= now {
                let body = self.claim(job.step, job.token);
                said.extend(self.say(now, command(scope, body)));
                self.jobs.push(Job { renew_at: now + LEASE_MS / 3 * MS, ..job });
            } else {
                self.jobs.push(job);
            }
        }
        said.extend(self.expire(now));
        let (wall_ms, pulls) =
            (self.wall_ms(now), self.peer.as_ref().is_some_and(|peer| peer.may_pull(self.wall_ms(now))));
        if pulls && (drain || self.etiquette.look_ms() <= wall_ms) {
            let jitter = self.rng.between(0, 1 << 40);
            self.etiquette.looked(wall_ms, jitter);
            said.extend(self.take_some(now, jitter));
        }
        said
    }

    fn take_some(&mut self, now: Ns, jitter: u64) -> Vec<Result<OpId, Refused>> {
        let (Some(peer), Some(at)) = (self.peer.as_ref(), self.now()) else { return Vec::new() };
        let wall_ms = self.wall_ms(now);
        let kinds: relaymesh_mesh::capability::Kind = "x".parse().expect("a kind");
        let at = Hlc { wall_ms: wall_ms.max(at.wall_ms), ..at };
        let pending = peer.fold().pending(&kinds, self.id, at);
        let chosen = self.etiquette.choose(&pending, self.jobs.len(), wall_ms, jitter);
        let mut said = Vec::new();
        for step in chosen {
            let token = LeaseToken::new(wall_ms, self.rng.wide() >> 48);
            let cites = self.inputs(step);
            let body = self.claim(step, token);
            let claimed = Command { causal_deps: cites, ..command(Scope::Task(step.task), body) };
            let outcome = self.say(now, claimed);
            if let Some(Ok(claimed)) = outcome {
                let takes = self.rng.spread(10, 9_000) * MS;
                self.jobs.push(Job { step, token, claimed, done_at: now + takes, renew_at: now + LEASE_MS / 3 * MS });
            }
            said.extend(outcome);
        }
        said
    }

    /// The ops whose results the work on a step stands on.
    fn inputs(&self, step: StepId) -> Vec<OpId> {
        let Some(peer) = self.peer.as_ref() else { return Vec::new() };
        let rows = peer.fold().rows(Scope::Task(step.task)).and_then(Rows::task);
        let before = rows.and_then(|rows| rows.steps.get(usize::from(step.index)));
        let depends_on = before.map(|step| step.spec.depends_on.clone()).unwrap_or_default();
        depends_on.into_iter().filter_map(|before| peer.fold().result_op(step.task, before)).collect()
    }

    fn claim(&self, step: StepId, token: LeaseToken) -> Body {
        let nothing = Hlc { wall_ms: 0, logical: 0, node: self.id };
        let rows = self.peer.as_ref().and_then(|peer| peer.fold().rows(Scope::Task(step.task)));
        let seen = rows.map_or(nothing, Rows::head);
        let worker = WorkerId::from_bytes(self.id.to_bytes());
        Body::Task(task::Body::ClaimWork { step: step.index, owner: self.id, worker, token, lease_ms: LEASE_MS, seen })
    }

    /// Says that leases are over which nobody renewed for a full term.
    fn expire(&mut self, now: Ns) -> Vec<Result<OpId, Refused>> {
        let (Some(peer), Some(at)) = (self.peer.as_ref(), self.now()) else { return Vec::new() };
        let at = Hlc { wall_ms: self.wall_ms(now).max(at.wall_ms), ..at };
        let overdue = peer.fold().overdue(at);
        let over = self.watch.over(&overdue, LEASE_MS, now / MS);
        let mut said = Vec::new();
        for step in over {
            let rows = self.peer.as_ref().and_then(|peer| peer.fold().rows(Scope::Task(step.task)));
            let Some(epoch) = rows.and_then(Rows::task).map(|rows| rows.steps[usize::from(step.index)].epoch) else {
                continue;
            };
            let reason = ExpireReason::DeadlinePassed;
            let body = Body::Task(task::Body::ExpireWork { step: step.index, epoch, reason, jitter_ms: 5 });
            said.extend(self.say(now, command(Scope::Task(step.task), body)));
        }
        said
    }

    fn lock(&mut self, now: Ns) -> Option<(Scope, Body)> {
        let scope = Scope::Repository(RepositoryId::of(&name("default"), REPOSITORY));
        let nothing = Hlc { wall_ms: 0, logical: 0, node: self.id };
        let seen = self.peer.as_ref()?.fold().rows(scope).map_or(nothing, Rows::head);
        let body = Body::Lock(lock::Body::AcquireLock {
            repository: REPOSITORY.parse().ok()?,
            key: format!("src/{}.rs", self.rng.index(3)).parse().ok()?,
            mode: if self.rng.chance(500) { Mode::Shared } else { Mode::Exclusive },
            case: Case::Sensitive,
            holder: name("somebody"),
            owner: self.id,
            token: LeaseToken::new(self.wall_ms(now), self.rng.wide() >> 48),
            ttl_ms: self.rng.between(200, 5_000),
            purpose: String::new(),
            seen,
        });
        Some((scope, body))
    }

    fn release(&mut self) -> Option<(Scope, Body)> {
        let scope = Scope::Repository(RepositoryId::of(&name("default"), REPOSITORY));
        let rows = self.peer.as_ref()?.fold().rows(scope)?.node()?.repository()?;
        let own = rows.locks.values().find(|lock| lock.owner == self.id)?;
        Some((scope, Body::Lock(lock::Body::ReleaseLock { held: HeldLock { token: own.token, fence: own.fence } })))
    }

    fn message(&mut self) -> (Scope, Body) {
        let draft = Draft {
            id: MessageId::new(1, self.rng.wide() >> 48),
            from: name("one"),
            to: name("other"),
            priority: Priority::Normal,
            reply_to: None,
            asks: None,
            content: ContentRef::of(Media::Text, b"hello"),
            trace_id: 1,
            ttl_ms: None,
            max_deliveries: 3,
            backoff: Backoff { base_ms: 10, max_ms: 40 },
        };
        (
            Scope::Thread(ThreadId::new(1, u128::from(self.rng.between(0, 3)))),
            Body::Message(message::Body::SendMessage { draft }),
        )
    }

    fn cancel(&mut self) -> Option<(Scope, Body)> {
        let open: Vec<TaskId> = {
            let rows = self.peer.as_ref()?.fold().all_rows().filter_map(Rows::task);
            rows.filter(|rows| !rows.task.status.is_terminal()).map(|rows| rows.task.id).collect()
        };
        let task = *self.rng.pick(&open)?;
        let mode = if self.rng.chance(500) { CancelMode::Hard } else { CancelMode::Soft };
        Some((Scope::Task(task), Body::Task(task::Body::CancelTask { mode, reason: String::new() })))
    }
}
