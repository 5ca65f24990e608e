//! What happened, in order. The hash of all of it tells whether two runs were the same run.

use crate::{
    call::{Actor, CallId},
    fault::Fault,
    time::{MS, Ns},
};
use relaymesh_core::{
    id::TaskId,
    op::{Kind, Scope},
};
use serde::Serialize;
use std::fmt::{self, Write as _};

/// One thing that happened.
#[derive(Debug, Clone, Serialize)]
pub struct Record {
    /// When, in nanoseconds since the world began.
    pub at_ns: Ns,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum What {
    /// A command left its caller.
    Sent {
        /// Its number.
        call: CallId,
        /// Who sent it.
        from: Actor,
        /// What it asks for.
        verb: &'static str,
        /// What that is about.
        about: Option<Scope>,
    },
    /// A command or an answer got lost on its way.
    Lost {
        /// Its number.
        call: CallId,
    },
    /// The node answered.
    Answered {
        /// Which command.
        call: CallId,
        /// What kind of answer.
        how: &'static str,
    },
    /// The caller gave up waiting, or the process died: unknown.
    Unknown {
        /// Which command.
        call: CallId,
    },
    /// Nobody was there to take the command.
    Unreachable {
        /// Which command.
        call: CallId,
    },
    /// A batch went to the disk.
    Handed {
        /// The node.
        node: usize,
        /// How many ops.
        ops: usize,
        /// How long it will take.
        takes_ns: Ns,
    },
    /// The disk said how that ended.
    Written {
        /// The node.
        node: usize,
        /// How.
        how: &'static str,
    },
    /// An op is on the disk.
    Op {
        /// Its place.
        pos: u64,
        /// Its kind.
        kind: Kind,
        /// What it is about.
        about: Scope,
        /// The command it was written for, if not by the driver itself.
        call: Option<CallId>,
    },
    /// An attempt of an own agent began.
    Begun {
        /// The task.
        task: TaskId,
        /// The step's place in it.
        step: u16,
        /// Its fence.
        epoch: u32,
    },
    /// An attempt that was about to begin may not.
    Refused {
        /// The task.
        task: TaskId,
        /// The step's place in it.
        step: u16,
    },
    /// An attempt has given account of what it used.
    Used {
        /// The task.
        task: TaskId,
        /// The step's place in it.
        step: u16,
        /// Whether it may go on.
        goes_on: bool,
    },
    /// An agent is held.
    Held {
        /// Which.
        agent: String,
        /// Until when, in the node's time.
        until_ms: u64,
    },
    /// A process runs.
    Started {
        /// The node.
        node: usize,
        /// Which of its lives.
        life: u64,
        /// Where the log stands.
        pos: u64,
    },
    /// A process could not start.
    NotStarted {
        /// The node.
        node: usize,
    },
    /// A process is gone.
    Died {
        /// The node.
        node: usize,
        /// Why.
        why: &'static str,
        /// Whether a commit that was on its way reached the disk.
        torn: Option<bool>,
    },
    /// A fault took effect.
    Fault {
        /// Which node.
        node: usize,
        /// What kind.
        kind: Fault,
        /// How much of it: milliseconds, parts per million or events.
        much: i64,
    },
    /// A new phase began.
    Phase {
        /// Which.
        name: &'static str,
    },
}

/// All that happened, and the hash of it.
#[derive(Debug)]
pub struct Trace {
    records: Vec<Record>,
    hash: u64,
}

impl Trace {
    pub(crate) fn new() -> Self {
        Self { records: Vec::new(), hash: 0xcbf2_9ce4_8422_2325 }
    }

    pub(crate) fn note(&mut self, at_ns: Ns, what: What) {
        let record = Record { at_ns, what };
        write!(Fnv(&mut self.hash), "{record}").expect("a hash takes every text");
        self.records.push(record);
    }

    /// Everything that happened, in order.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The hash of everything that happened.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

/// FNV-1a over the text that people see: short, and the same everywhere.
struct Fnv<'a>(&'a mut u64);

impl fmt::Write for Fnv<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            *self.0 = (*self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>11}.{:06} ms  {}", self.at_ns / MS, self.at_ns % MS, self.what)
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sent { call, from, verb, about: None } => write!(f, "{from:?} sends call {call}: {verb}"),
            Self::Sent { call, from, verb, about: Some(about) } => {
                write!(f, "{from:?} sends call {call}: {verb} {about}")
            }
            Self::Lost { call } => write!(f, "call {call}: a message is lost"),
            Self::Answered { call, how } => write!(f, "call {call} is answered: {how}"),
            Self::Unknown { call } => write!(f, "call {call}: nobody knows"),
            Self::Unreachable { call } => write!(f, "call {call}: nobody is there"),
            Self::Handed { node, ops, takes_ns } => {
                write!(f, "node {node} hands {ops} ops to the disk, which takes {} us", takes_ns / 1_000)
            }
            Self::Written { node, how } => write!(f, "node {node}: the disk says {how}"),
            Self::Op { pos, kind, about, call: Some(call) } => {
                write!(f, "op {pos} {kind:?} of {about} for call {call}")
            }
            Self::Op { pos, kind, about, call: None } => write!(f, "op {pos} {kind:?} of {about} by the driver"),
            Self::Begun { task, step, epoch } => write!(f, "work begins on step {step} of {task}, epoch {epoch}"),
            Self::Refused { task, step } => write!(f, "step {step} of {task} may not begin"),
            Self::Used { task, step, goes_on: true } => write!(f, "step {step} of {task} has used something"),
            Self::Used { task, step, goes_on: false } => write!(f, "step {step} of {task} has used too much"),
            Self::Held { agent, until_ms } => write!(f, "{agent} is held until {until_ms}"),
            Self::Started { node, life, pos } => write!(f, "node {node} starts life {life} at op {pos}"),
            Self::NotStarted { node } => write!(f, "node {node} could not start"),
            Self::Died { node, why, torn: None } => write!(f, "node {node} dies: {why}"),
            Self::Died { node, why, torn: Some(true) } => {
                write!(f, "node {node} dies: {why}; its last batch reached the disk")
            }
            Self::Died { node, why, torn: Some(false) } => write!(f, "node {node} dies: {why}; its last batch is gone"),
            Self::Fault { node, kind, much } => write!(f, "node {node} FAULT {kind:?} {much}"),
            Self::Phase { name } => write!(f, "---- {name} ----"),
        }
    }
}
