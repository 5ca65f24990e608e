//! The watch over a process, from its start to its end, on the thread that started it.

use crate::{
    agent::Protocol,
    confine,
    crowd::Crowd,
    end::{self, End, Ended},
    output::{BUFFER_BYTES, Tap},
    pool::{Launch, Orders},
    process::Begun,
    ran::Ran,
    redact::{Redactor, clean_ended},
    schema,
    secret::Secret,
    spawn::Child,
    tool::Run,
    tree,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec},
    process::{Pid, Signal},
};
use std::{
    io,
    path::{Path, PathBuf},
    process::ExitStatus,
    time::{Duration, Instant},
};

/// The most that is kept of what an agent says about its progress.
pub(crate) const PROGRESS_BYTES_MAX: u64 = 10 << 20;
/// How long to wait for the end of a pipe that somebody who is dead still holds.
const DRAIN: Duration = Duration::from_secs(2);
/// How many of our buffers a pipe holds, and one more.
const PIPE_BUFFERS: usize = (64 << 10) / BUFFER_BYTES + 1;
/// How often to look whether it has ended, where the system does not say so.
const LOOK: Duration = Duration::from_millis(5);

/// How long a process is left to itself: many are done by then, and heard in one go.
const QUIET: Duration = Duration::from_millis(20);

/// What the files with its words are called.
pub(crate) const STDOUT: &str = "stdout";
pub(crate) const STDERR: &str = "stderr";

/// How much time an attempt has between SIGTERM and SIGKILL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grace {
    /// As much as its agent has.
    Own,
    /// That, but no more than this.
    AtMost(Duration),
}

/// A process under watch.
pub(crate) struct Watch<'a> {
    child: Child,
    result: Tap,
    said: Tap,
    /// What nobody may see of it.
    secrets: Vec<Secret>,
    /// The run of the agent tool that it is, if it is one.
    run: Option<Run>,
    /// What runs, for people.
    ran: Ran,
    launch: &'a Launch,
    orders: &'a Orders,
    /// What it was told last.
    told: Option<Grace>,
    /// When it is killed.
    due: Option<Instant>,
    /// When it has run for as long as it may.
    time_is_up: Option<Instant>,
    /// Why it may not go on: it has used what it may use.
    over: Option<String>,
    crowd: Crowd<'a>,
    /// Whether somebody who had left the group still held the result open when the leader ended.
    is_left_open: bool,
    buffer: [u8; BUFFER_BYTES],
}

impl<'a> Watch<'a> {
    pub(crate) fn new(begun: Begun, launch: &'a Launch, orders: &'a Orders, crowd: Crowd<'a>) -> Self {
        let Begun { started, secrets, run, ran } = begun;
        let path = |name| launch.files.with_added_extension(name);
        let redactor = || Redactor::new(&secrets);
        let result = Tap::new(started.stdout, path(STDOUT), redactor(), launch.process.output_bytes_max);
        let said = Tap::new(started.stderr, path(STDERR), redactor(), PROGRESS_BYTES_MAX);
        let time_is_up = launch.meter.time.as_ref().map(|(most, _)| Instant::now() + *most);
        Self {
            child: started.child,
            result,
            said,
            secrets,
            run,
            ran,
            launch,
            orders,
            told: None,
            due: None,
            time_is_up,
            over: None,
            crowd,
            is_left_open: false,
            buffer: [0; BUFFER_BYTES],
        }
    }

    /// Until it has ended by itself, or was ended because somebody ordered it or it said too much. When this returns, the group is gone;
    /// `strays` ends whoever has left it, and says how many of those held this pipe.
    pub(crate) fn run(mut self, strays: impl FnOnce(Pid, Option<u64>) -> usize) -> Ended {
        if self.child.end.is_some() && self.orders.stop().is_none() {
            self.rest();
        }
        let mut is_early = true;
        let status = loop {
            if let Some(status) = self.child.ended() {
                break status;
            }
            if std::mem::take(&mut is_early) {
                // Somebody may be reading along.
                self.result.go_live();
                self.said.go_live();
                let _ = self.ran.keep(&self.launch.files);
            }
            self.obey();
            let look = self.child.end.is_none().then(|| Instant::now() + LOOK);
            if self.crowd.look(self.child.leader) {
                tree::kill_group(self.child.leader, Signal::KILL);
            }
            self.listen([self.due, look, self.time_is_up, Some(self.crowd.next())].into_iter().flatten().min());
            if self.result.is_over() && self.result.pipe().is_some() {
                self.result.close();
                self.kill_by(Instant::now());
            }
        };
        // It stays readable now, and would keep us awake.
        self.child.end = None;
        let open = self.open_result();
        // Whatever it left has nobody to work for any more; and whoever is dead holds no pipe.
        tree::kill_group(self.child.leader, Signal::KILL);
        self.is_left_open = strays(self.child.leader, open) > 0;
        self.crowd.end();
        let until = Instant::now() + DRAIN;
        while (self.result.pipe().is_some() || self.said.pipe().is_some()) && Instant::now() < until {
            self.listen(Some(until));
        }
        self.judged(status)
    }

    /// Takes in what was said so far. If somebody has the pipe still open, gives its number: another child of ours may, for the moment until it
    /// runs its own program.
    fn open_result(&mut self) -> Option<u64> {
        // A pipe that is not empty after so many buffers is being filled.
        for _ in 0..PIPE_BUFFERS {
            if self.result.pipe().is_none() || !self.listen(Some(Instant::now())) {
                break;
            }
        }
        self.result.pipe().and_then(|pipe| Some(rustix::fs::fstat(pipe).ok()?.st_ino))
    }

    /// SIGTERM to the group, time to clean up, SIGKILL.
    fn obey(&mut self) {
        if self.time_is_up.is_some_and(|at| at <= Instant::now()) {
            self.time_is_up = None;
            self.over = self.launch.meter.time.as_ref().map(|(_, why)| why.clone());
        }
        let is_over = self.over.is_some() || self.run.as_ref().is_some_and(Run::is_hopeless);
        let over = is_over.then_some(Grace::Own);
        let order = self.orders.stop().or(over);
        if order != self.told {
            let grace = Duration::from_millis(self.launch.process.grace_ms);
            let now = Instant::now();
            if self.told.is_none() && !grace.is_zero() {
                tree::kill_group(self.child.leader, Signal::TERM);
                // One that is stopped does not hear it otherwise.
                tree::kill_group(self.child.leader, Signal::CONT);
            }
            self.kill_by(match order {
                Some(Grace::AtMost(most)) => now + most.min(grace),
                Some(Grace::Own) | None => now + grace,
            });
            self.told = order;
        }
        if self.due.is_some_and(|due| due <= Instant::now()) {
            tree::kill_group(self.child.leader, Signal::KILL);
            self.due = None;
        }
    }

    fn kill_by(&mut self, due: Instant) {
        self.due = Some(self.due.map_or(due, |known| known.min(due)));
    }

    /// Waits for its end, or for news, but not for long, and hears nothing meanwhile: each word would wake us.
    fn rest(&self) {
        let quiet = Timespec { tv_sec: 0, tv_nsec: i64::from(QUIET.subsec_nanos()) };
        let mut events: Vec<PollFd<'_>> = vec![PollFd::new(self.orders.bell(), PollFlags::IN)];
        events.extend(self.child.end.iter().map(|end| PollFd::new(end, PollFlags::IN)));
        // Interrupted or not, whoever called looks around.
        let _ = rustix::event::poll(&mut events, Some(&quiet));
    }

    /// Waits until something happens, and takes in what is said; `true` if anything was. No later than `until` it looks around.
    fn listen(&mut self, until: Option<Instant>) -> bool {
        let wait = until.map(|until| until.saturating_duration_since(Instant::now()));
        let wait = wait.map(|wait| Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() });
        let pipes = [self.result.pipe(), self.said.pipe()];
        let mut events: Vec<PollFd<'_>> = Vec::with_capacity(4);
        events.extend(pipes.into_iter().flatten().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        let heard = events.len();
        events.push(PollFd::new(self.orders.bell(), PollFlags::IN));
        events.extend(self.child.end.iter().map(|end| PollFd::new(end, PollFlags::IN)));
        if rustix::event::poll(&mut events, wait.as_ref()).is_err() {
            // Interrupted: whoever called looks around and comes again.
            return false;
        }
        let mut ready = events[..heard].iter().map(|event| !event.revents().is_empty());
        let mut next = |is_open: bool| is_open && ready.next().unwrap_or(false);
        let (result, said) = (next(pipes[0].is_some()), next(pipes[1].is_some()));
        let is_rung = !events[heard].revents().is_empty();
        drop(events);
        if result {
            let kept = self.result.take(&mut self.buffer);
            let told = self.run.as_mut().map(|run| run.take_in(&kept)).unwrap_or_default();
            told.iter().for_each(|line| self.said.note(line));
            self.count();
        }
        if said {
            let kept = self.said.take(&mut self.buffer);
            if let Some(run) = &mut self.run {
                run.take_in_aside(&kept);
            }
        }
        if is_rung {
            self.orders.heard();
        }
        result || said
    }

    /// Tells the meter what has been used, if that has changed.
    fn count(&mut self) {
        let Some(used) = self.run.as_mut().and_then(Run::newly_used) else { return };
        if let Err(why) = (self.launch.meter.used)(used) {
            self.over.get_or_insert(why);
        }
    }

    fn judged(mut self, status: io::Result<ExitStatus>) -> Ended {
        self.said.end();
        self.result.end();
        self.said.go_live();
        self.ran.ended(status.as_ref().ok().copied(), self.result.said_bytes(), self.said.said_bytes());
        // It is for people, and no reason to fail.
        let _ = self.ran.keep(&self.launch.files);
        let ended = match (self.run.take(), self.ended_by_us()) {
            (Some(run), Some(end)) => run.ended(end),
            (Some(run), None) => run.judge(self.exited(status)),
            (None, Some(end)) => end.into(),
            (None, None) => self.held_to_its_schema(status).into(),
        };
        let ended = clean_ended(ended, &self.secrets);
        if self.launch.process.tool().is_some() || !matches!(ended.end, End::Done { .. }) {
            // A short result is kept as the result; anything else is in the file alone.
            self.result.go_live();
        }
        ended
    }

    /// How a command ended: well only with a result that its step wants.
    fn held_to_its_schema(&mut self, status: io::Result<ExitStatus>) -> End {
        let end = self.exited(status);
        match &self.launch.result_schema {
            Some(wanted) => schema::held_to(wanted, end),
            None => end,
        }
    }

    /// How it ended, if it did not end by itself.
    fn ended_by_us(&self) -> Option<End> {
        let failed = |error: String, retryable| Some(End::Failed { error, retryable });
        if self.orders.stop().is_some() {
            return failed("stopped".to_owned(), true);
        }
        if let Some(why) = &self.over {
            return failed(why.clone(), false);
        }
        if let Some(why) = self.crowd.verdict() {
            return failed(why, false);
        }
        if self.result.is_over() {
            let max = self.launch.process.output_bytes_max;
            return failed(format!("stopped: the result is longer than {max} bytes"), false);
        }
        None
    }

    fn exited(&mut self, status: io::Result<ExitStatus>) -> End {
        let failed = |error: String, retryable| End::Failed { error, retryable };
        let is_text = match self.launch.process.protocol {
            Protocol::Plain { is_text } => Some(is_text),
            // What it says counts, not that its output is whole.
            Protocol::Tool(_) => None,
        };
        if self.is_left_open && is_text.is_some() && status.as_ref().is_ok_and(ExitStatus::success) {
            let why = "it left a process behind with its output open, which was stopped: the result may be incomplete";
            return failed(why.to_owned(), false);
        }
        let status = match status {
            Ok(status) => status,
            Err(error) => return failed(format!("cannot wait for the process: {error}"), true),
        };
        let said = self.said.last_line();
        let end = match is_text.map(|is_text| (self.result.read(), is_text)) {
            None => end::of_exit(status, Vec::new(), false, &said),
            Some((Ok(output), is_text)) => end::of_exit(status, output, is_text, &said),
            Some((Err(error), _)) => failed(format!("cannot store its result: {error}"), true),
        };
        match end {
            End::Failed { error, retryable } if !status.success() => match self.refusal() {
                Some(refusal) => failed(format!("{error} ({refusal})"), retryable),
                None => failed(error, retryable),
            },
            End::Done { .. } | End::Failed { .. } | End::Limited { .. } => end,
        }
    }

    /// What its confinement refused it, as far as it said so itself.
    fn refusal(&mut self) -> Option<String> {
        let said = self.said.read().ok()?;
        let Launch { process, folder, workdir, opened, .. } = self.launch;
        let places: Vec<&Path> = [folder].into_iter().chain(workdir).chain(opened).map(PathBuf::as_path).collect();
        confine::refusal(process, &places, workdir.as_ref().unwrap_or(folder), &said)
    }
}
