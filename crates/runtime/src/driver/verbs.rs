//! One function per command.

use super::{
    audience::ended,
    caller::Caller,
    command::{Answer, Command, LifeCommand, Recorded, Reply, Request, Submit, Until, Within},
    engine::Engine,
    error::Error,
};
use crate::world::{Finished, Hold, Outcome, Weighed, World};
use relaymesh_core::{
    content::{CONTENT_BYTES_MAX, INLINE_BYTES_MAX, Media},
    id::{LeaseToken, StepId, TaskId, WorkerId},
    op::{BODY_BYTES_MAX, Subject, WriteClass},
    task::{self, Refusal, Status, Step, fail::shortened, spec::IdempotencyKey},
};
use relaymesh_store::{Content, ContentKey, ContentPut, Heartbeat, LeaseConflict, MessageFiles, Reader, Spend};

impl<R: Reader, W: World> Engine<R, W> {
    /// Decides one command. Its answer waits for the commit of the batch that it was decided in.
    pub fn handle_request(&mut self, request: Request) {
        let Request { caller, command, reply } = request;
        if let Some(why) = self.pipeline.poisoned() {
            reply(Err(Error::Indeterminate(why.to_owned())));
            return;
        }
        let answer = match command {
            Command::Submit(submit) => match self.submit(&caller, submit) {
                Ok((answer, Until::Accepted)) => Ok(answer),
                Ok((Answer::Accepted { task, .. }, Until::Ended)) => return self.wait(task, reply),
                Ok((answer, Until::Ended)) => Ok(answer),
                Err(error) => Err(error),
            },
            Command::Wait { task } => return self.wait(task, reply),
            Command::Lock(command) => self.lock(&caller, command),
            Command::Message(command) => self.message(&caller, command),
            Command::Note { event, namespace, about } => self.note(&caller, event, namespace, about),
            Command::CreateNamespace { name, about } => self.create_namespace(&caller, name, about),
            Command::Life(LifeCommand::Checkpoint) => return self.upkeep.ask(caller, reply),
            Command::Life(command) => self.life(&caller, command),
            Command::Record { hold, artifact } => self.record(&caller, hold, artifact).map(done),
            Command::Claim { step, worker, lease_ms } => {
                self.claim_outside(&caller, step, worker, lease_ms).map(Answer::Claimed)
            }
            Command::Heartbeat { worker, within } => self.heartbeat(worker, within.as_ref()),
            Command::Filed { message, meta_path, payload_path } => {
                self.pipeline.batch().files.push(MessageFiles { message, meta_path, payload_path });
                Ok(done(Status::Running))
            }
            Command::Finish { hold, outcome } => self.finish_outside(&caller, hold, outcome),
            Command::Yield { hold, reason } => {
                let body = task::Body::YieldWork { held: hold.in_task(), reason: shortened(&reason) };
                self.fenced(&caller, hold, "yield", body).map(done)
            }
            Command::Cancel { task, mode, reason } => {
                self.write(task, &caller, task::Body::CancelTask { mode, reason: shortened(&reason) }).map(done)
            }
            Command::Redrive { task, reason } => self.redrive(task, &caller, &reason).map(done),
            Command::Approve { step, ask } => {
                self.write(step.task, &caller, task::Body::ApproveStep { step: step.index, ask }).map(done)
            }
            Command::Deny { step, ask, reason } => {
                let body = task::Body::DenyStep { step: step.index, ask, reason: shortened(&reason) };
                self.write(step.task, &caller, body).map(done)
            }
        };
        self.pipeline.reply(reply, answer);
    }

    /// The node is about to stop: start nothing more, and give back what its own agents have not finished. Their
    /// attempts do not count.
    pub fn handle_close(&mut self) {
        self.attempts.close();
        let caller = self.identity.driver.clone();
        for step in self.attempts.own_steps() {
            let Some((row, _)) = self.step(step.task, step.index) else { continue };
            let (epoch, Some(lease)) = (row.epoch, row.lease.as_ref()) else { continue };
            let held = Hold { step: step.index, epoch, token: lease.token };
            let body = task::Body::YieldWork { held, reason: "the node stopped".to_owned() };
            if self.write(step.task, &caller, body).is_ok() {
                // It ends as given back, which says nothing about who gave it back.
                self.pipeline.after().effects.stops.push((step, epoch));
            }
        }
    }

    /// Takes the outcome of an attempt of this node's own agents.
    pub fn handle_finished(&mut self, finished: Finished) {
        if self.pipeline.poisoned().is_some() {
            return;
        }
        let caller = self.identity.driver.clone();
        let finished = Finished { outcome: self.sized(finished.outcome), ..finished };
        if let Some(left) = finished.left.as_deref().filter(|_| self.is_held(finished.hold)) {
            // Before the outcome: after it nobody holds the step. A list that is full is no reason to lose the outcome.
            let _ = self.record(&caller, finished.hold, left.clone());
        }
        // A refusal needs no answer: a fenced outcome is in the journal, and its attempt is over.
        if let Err(error @ Error::Store(_)) = self.finish(&caller, finished.hold, finished.outcome.clone()) {
            self.world.alert(crate::world::Alert::Unreadable(error.to_string()));
            self.attempts.tell_again(finished);
            self.look_again();
        } else {
            self.pipeline.after().attempts.note_outcome(finished);
        }
    }

    /// Something was used. It is written down with whatever else is on its way.
    pub fn handle_spent(&mut self, spend: Spend) {
        self.pipeline.batch().spends.push(spend);
    }

    fn is_held(&self, hold: Hold) -> bool {
        let held = |(step, _): (&Step, _)| step.status == Status::Running && step.epoch == hold.epoch;
        self.step(hold.step.task, hold.step.index).is_some_and(held)
    }

    fn submit(&mut self, caller: &Caller, submit: Submit) -> Result<(Answer, Until), Error> {
        let Submit { namespace, mut schedule, inputs, until } = submit;
        let key = &schedule.key;
        if let Some((task, fingerprint)) = self.known(&namespace, key)? {
            if fingerprint != schedule.fingerprint {
                return Err(Error::KeyReused { key: key.to_string(), task });
            }
            self.live.load(task, &mut self.reader).map_err(Error::Store)?;
            let status = self.status(task);
            return Ok((Answer::Accepted { task, status, merged: true, class: WriteClass::Strong }, until));
        }
        self.check_namespace(&namespace)?;
        let max = self.config.payload_max_bytes.min(CONTENT_BYTES_MAX);
        if let Some(found) = inputs.iter().map(|(_, content)| content.len()).find(|length| *length > max) {
            return Err(Error::TooLong { found, max });
        }
        let key = key.clone();
        for (place, step) in (0u16..).zip(&mut schedule.steps) {
            let input = inputs.iter().find(|(of, _)| *of == place).map(|(_, content)| content);
            self.world.impose(step, input);
        }
        let found = schedule.body_len();
        if found > BODY_BYTES_MAX {
            // What cannot be read again must not get on the log.
            return Err(Error::TooLong { found, max: BODY_BYTES_MAX });
        }
        let task = TaskId::new(self.world.now().wall_ms, self.world.random());
        let pos = self.write_new(task, namespace.clone(), caller, schedule)?;
        let put = |(index, content)| ContentPut { key: ContentKey::new(pos, index), content };
        self.pipeline.batch().content.extend(inputs.into_iter().map(put));
        self.note_key(namespace, key, Some(task));
        let status = self.status(task);
        Ok((Answer::Accepted { task, status, merged: false, class: WriteClass::Strong }, until))
    }

    /// The task that a submit with this key would repeat, with its fingerprint.
    pub(super) fn known(
        &mut self,
        namespace: &relaymesh_core::name::Name,
        key: &IdempotencyKey,
    ) -> Result<Option<(TaskId, relaymesh_core::hash::Hash)>, Error> {
        self.live.task_of_key(namespace, key, &mut self.reader).map_err(Error::Store)
    }

    fn wait(&mut self, task: TaskId, reply: Reply) {
        let answer = match self.live.load(task, &mut self.reader) {
            Ok(Some(rows)) if rows.task.status.is_terminal() => Ok(ended(&rows.task)),
            Ok(Some(_)) => return self.audience.wait(task, reply),
            Ok(None) => Err(Refusal::NoTask.into()),
            Err(error) => Err(Error::Store(error)),
        };
        self.pipeline.reply(reply, answer);
    }

    /// A claim of a worker from outside. What is to be worked out about a step is for the node: a worker would have nothing to do.
    fn claim_outside(&mut self, caller: &Caller, step: StepId, worker: WorkerId, lease_ms: u64) -> Result<Hold, Error> {
        self.live.load(step.task, &mut self.reader).map_err(Error::Store)?;
        if let Some((row, _)) = self.step(step.task, step.index).filter(|(row, _)| row.is_inward()) {
            return Err(Refusal::NotReady { name: row.spec.name.clone() }.into());
        }
        self.claim(caller, step, worker, lease_ms)
    }

    pub(super) fn claim(
        &mut self,
        caller: &Caller,
        step: StepId,
        worker: WorkerId,
        lease_ms: u64,
    ) -> Result<Hold, Error> {
        let token = LeaseToken::from_bytes(self.world.random().to_be_bytes());
        let rows = self.live.load(step.task, &mut self.reader).map_err(Error::Store)?;
        let seen = rows.map(|rows| rows.task.head).ok_or(Refusal::NoTask)?;
        let owner = self.identity.node;
        let body = task::Body::ClaimWork { step: step.index, owner, worker, token, lease_ms, seen };
        self.write(step.task, caller, body)?;
        let rows = self.live.task(step.task).ok_or(Refusal::NoTask)?;
        Ok(Hold { step, epoch: rows.steps[usize::from(step.index)].epoch, token })
    }

    /// A caller that may act on some steps alone renews those alone. To it, a worker that holds none of them is one that holds nothing.
    fn heartbeat(&mut self, worker: WorkerId, within: Option<&Within>) -> Result<Answer, Error> {
        let now = self.world.now();
        let mut held = self.attempts.held_by(worker);
        if let Some(within) = within {
            for step in std::mem::take(&mut held) {
                if self.is_within(step, within)? {
                    held.push(step);
                }
            }
            if held.is_empty() {
                return Ok(Answer::Renewed { steps: held });
            }
        }
        for step in &held {
            self.attempts.renew(*step, now.mono_ms);
        }
        self.pipeline.batch().heartbeats.push(Heartbeat { worker, at_ms: now.wall_ms });
        Ok(Answer::Renewed { steps: held })
    }

    fn is_within(&mut self, step: StepId, Within { namespaces, agent }: &Within) -> Result<bool, Error> {
        let rows = self.live.load(step.task, &mut self.reader).map_err(Error::Store)?;
        Ok(rows.is_some_and(|rows| {
            let row = rows.steps.get(usize::from(step.index));
            namespaces.as_ref().is_none_or(|all| all.contains(&rows.task.namespace))
                && agent.as_ref().is_none_or(|agent| row.is_some_and(|row| row.spec.agent == *agent))
        }))
    }

    pub(super) fn finish(&mut self, caller: &Caller, hold: Hold, outcome: Outcome) -> Result<Status, Error> {
        match outcome {
            Outcome::Done { media, result } => {
                self.fits(&result)?;
                let body = task::Body::CompleteJob { held: hold.in_task(), result: result.named(media) };
                let status = self.fenced(caller, hold, "complete", body)?;
                // The op's own position: what it led to, such as the next step's claim, came after it.
                let rows = self.live.task(hold.step.task);
                let pos = rows.map_or(0, |rows| rows.steps[usize::from(hold.step.index)].result_pos);
                self.put_content(ContentPut { key: ContentKey::new(pos, 0), content: result });
                let rows = self.live.task(hold.step.task);
                if let Some(step) = rows.and_then(|rows| rows.steps.get(usize::from(hold.step.index))) {
                    self.world.answered(&step.spec.agent);
                }
                Ok(status)
            }
            Outcome::Failed { error, retryable } => {
                let jitter_ms = self.jitter_ms(hold.step);
                let body = task::Body::FailJob { held: hold.in_task(), retryable, jitter_ms, error: shortened(&error) };
                self.fenced(caller, hold, "fail", body)
            }
            Outcome::Limited { reason, until_ms, alone } => {
                let step = self.step(hold.step.task, hold.step.index);
                let agent = step.map(|(step, _)| step.spec.agent.clone()).ok_or(Refusal::NoTask)?;
                // Before the step is given back: it must not be claimed again at once.
                let Some(until_ms) = self.world.hold(&agent, &reason, until_ms, alone) else {
                    return self.finish(caller, hold, Outcome::Failed { error: reason, retryable: true });
                };
                self.timers.due_at(Some(until_ms));
                self.world.alert(crate::world::Alert::Held { agent, reason: reason.clone(), until_ms });
                let body = task::Body::YieldWork { held: hold.in_task(), reason: shortened(&reason) };
                self.fenced(caller, hold, "yield", body)
            }
            Outcome::Weighed(found) => {
                let (verb, body) = match found {
                    Weighed::Passed => ("pass", task::Body::PassWork { held: hold.in_task() }),
                    Weighed::Skipped { reason } => {
                        ("skip", task::Body::SkipWork { held: hold.in_task(), reason: shortened(&reason) })
                    }
                    Weighed::Fanned { count } => ("fan out", task::Body::FanOut { held: hold.in_task(), count }),
                };
                self.fenced(caller, hold, verb, body)
            }
        }
    }

    /// The end of an attempt that is made outside. A worker that did not hear the answer says it again.
    fn finish_outside(&mut self, caller: &Caller, hold: Hold, outcome: Outcome) -> Result<Answer, Error> {
        let outcome = self.as_asked(hold.step, outcome)?;
        let held = hold.in_task();
        let body = match &outcome {
            Outcome::Done { media, result } => Some(task::Body::CompleteJob { held, result: result.named(*media) }),
            Outcome::Failed { error, retryable } => {
                Some(task::Body::FailJob { held, retryable: *retryable, jitter_ms: 0, error: shortened(error) })
            }
            Outcome::Limited { .. } | Outcome::Weighed(_) => None,
        };
        let Some(word) = body.map(|body| Subject::Task(hold.step.task, body)) else {
            return self.finish(caller, hold, outcome).map(done);
        };
        if let Some(answer) = self.said_before(&word)? {
            return Ok(answer);
        }
        let answer = self.finish(caller, hold, outcome).map(done)?;
        self.note_said(word, &answer);
        Ok(answer)
    }

    /// An outcome from outside, if it is what its step asks for.
    fn as_asked(&mut self, step: StepId, outcome: Outcome) -> Result<Outcome, Error> {
        let Outcome::Done { media, result } = outcome else { return Ok(outcome) };
        self.live.load(step.task, &mut self.reader).map_err(Error::Store)?;
        let (media, result) = self.result_as_asked(step, media, result)?;
        Ok(Outcome::Done { media, result })
    }

    /// A result from outside, if it is what its step asks for. The task is loaded.
    pub(super) fn result_as_asked(
        &mut self,
        StepId { task, index }: StepId,
        media: Media,
        result: Content,
    ) -> Result<(Media, Content), Error> {
        let schema = self.step(task, index).and_then(|(step, _)| step.spec.terms.as_ref()?.result_schema.clone());
        match schema {
            Some(schema) => self.world.held_to(&schema, media, result).map_err(Error::NotAsAsked),
            None => Ok((media, result)),
        }
    }

    /// Content is kept in the order of its keys; an op that came after may have brought some already.
    pub(super) fn put_content(&mut self, put: ContentPut) {
        let content = &mut self.pipeline.batch().content;
        let at = content.iter().rposition(|other| other.key < put.key).map_or(0, |index| index + 1);
        content.insert(at, put);
    }

    /// Something that an attempt left behind besides its result.
    fn record(&mut self, caller: &Caller, hold: Hold, artifact: Recorded) -> Result<Status, Error> {
        let Recorded { kind, name, media, content, about } = artifact;
        self.fits(&content)?;
        let pos = self.pipeline.tip().pos + 1;
        let body =
            task::Body::RecordArtifact { held: hold.in_task(), kind, name, content: content.named(media), about };
        let status = self.fenced(caller, hold, "record", body)?;
        self.put_content(ContentPut { key: ContentKey::new(pos, 0), content });
        Ok(status)
    }

    /// A worker's word; if the fence refuses it, the journal keeps it (D7).
    fn fenced(&mut self, caller: &Caller, hold: Hold, verb: &'static str, body: task::Body) -> Result<Status, Error> {
        let written = self.write(hold.step.task, caller, body);
        if let Err(Error::Refused(Refusal::Fenced { found, epoch, given, .. })) = &written {
            let at_ms = self.world.now().wall_ms;
            let conflict = LeaseConflict { at_ms, step: hold.step, verb, found: *found, epoch: *epoch, given: *given };
            self.pipeline.batch().conflicts.push(conflict);
        }
        written
    }

    /// A result that cannot be kept is a failure: nobody would ever finish the attempt otherwise.
    fn sized(&self, outcome: Outcome) -> Outcome {
        match &outcome {
            Outcome::Done { result, .. } => match self.fits(result) {
                Ok(()) => outcome,
                Err(error) => Outcome::Failed { error: error.to_string(), retryable: false },
            },
            Outcome::Failed { .. } | Outcome::Weighed(_) | Outcome::Limited { .. } => outcome,
        }
    }

    /// Whether content can be kept: what is long must be a blob, and no content is longer than the settings say, nor than the
    /// contract's limit (R9).
    pub(super) fn fits(&self, content: &Content) -> Result<(), Error> {
        let most = if matches!(content, Content::Inline(_)) { INLINE_BYTES_MAX } else { CONTENT_BYTES_MAX };
        let max = most.min(self.config.payload_max_bytes);
        if content.len() <= max { Ok(()) } else { Err(Error::TooLong { found: content.len(), max }) }
    }

    /// The jitter before the next try of a step whose attempt is lost: a share of what it is going to wait.
    pub(super) fn jitter_ms(&mut self, step: StepId) -> u32 {
        let drawn = self.world.random();
        // What cannot be read, the write that follows will say.
        let _ = self.live.load(step.task, &mut self.reader);
        let row = self.step(step.task, step.index);
        row.map_or(0, |(row, _)| row.spec.retry.backoff.jitter_ms(row.attempt.max(1), drawn))
    }
}

fn done(status: Status) -> Answer {
    Answer::Done { status }
}
