//! Commands straight to a daemon's socket, for tests that ask for more than the command line does.

#![allow(dead_code, reason = "not every test uses everything")]

use super::house::House;
use relaymesh_api::{error::Error, local::Client};
use relaymesh_core::{
    content::Media,
    id::{RequestId, StepId, TaskId, WorkerId},
    task::{request::Request, spec::IdempotencyKey},
};
use relaymesh_runtime::{
    driver::{Answer, Caller, Command, Submit, Until},
    world::{Hold, Outcome},
};
use relaymesh_store::Content;
use serde_json::{Value, json};
use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

/// Answers that one client waits for at once.
const OPEN_MAX: usize = 500;

/// A connection to the daemon of a house, which is started if it is not up.
pub(crate) struct Wire(pub(crate) Client);

impl Wire {
    pub(crate) fn to(house: &House) -> Self {
        let up = house.run(&["up", "--detach"]);
        assert_eq!(up.code, 0, "{}", up.stderr);
        let name = |text: &str| text.parse().unwrap();
        let caller = Caller::new(name("tester"), name("test"));
        Self(Client::connect(&house.0.root(), &caller).unwrap().expect("a daemon"))
    }

    /// All of these at once; the answers in the same order.
    pub(crate) fn all(&self, commands: impl IntoIterator<Item = Command>) -> Vec<Answer> {
        let (tell, told) = mpsc::channel();
        let mut answers = Vec::new();
        let mut open = 0;
        let take = |answers: &mut Vec<(usize, Answer)>| {
            let (place, answer): (usize, Result<Answer, Error>) = told.recv().unwrap();
            answers.push((place, answer.unwrap()));
        };
        for (place, command) in commands.into_iter().enumerate() {
            let tell = tell.clone();
            self.0.send(command, move |answer| drop(tell.send((place, answer))));
            open += 1;
            if open == OPEN_MAX {
                take(&mut answers);
                open -= 1;
            }
        }
        (0..open).for_each(|_| take(&mut answers));
        answers.sort_unstable_by_key(|(place, _)| *place);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// Submits one step and gives the task's id.
    pub(crate) fn submit(&self, number: u64, step: Value) -> TaskId {
        let answer = self.0.call(submit(number, json!([step]), Until::Accepted)).unwrap();
        let Answer::Accepted { task, .. } = answer else { panic!("{answer:?}") };
        task
    }

    /// Takes the first step of a task, as a worker from outside.
    pub(crate) fn claim(&self, task: TaskId, worker: WorkerId, lease_ms: u64) -> Hold {
        self.try_claim(task, worker, lease_ms).unwrap()
    }

    /// The same; refused when it is not there to be taken.
    pub(crate) fn try_claim(&self, task: TaskId, worker: WorkerId, lease_ms: u64) -> Result<Hold, Error> {
        let claim = Command::Claim { step: StepId { task, index: 0 }, worker, lease_ms };
        let answer = self.0.call(claim)?;
        let Answer::Claimed(hold) = answer else { panic!("{answer:?}") };
        Ok(hold)
    }

    pub(crate) fn heartbeat(&self, worker: WorkerId) {
        self.0.call(Command::Heartbeat { worker, within: None }).unwrap();
    }

    pub(crate) fn finish(&self, hold: Hold) -> Result<Answer, Error> {
        let result = Content::Inline(b"1".to_vec());
        self.0.call(Command::Finish { hold, outcome: Outcome::Done { media: Media::Json, result } })
    }
}

/// A submit with a request id of its own: the same number is the same submit.
pub(crate) fn submit(number: u64, steps: Value, until: Until) -> Command {
    let request: Request = serde_json::from_value(json!({ "name": "t", "steps": steps })).unwrap();
    let key = IdempotencyKey::RequestId(RequestId::new(1_700_000_000_000 + number, u128::from(number)));
    let namespace = "default".parse().unwrap();
    let prepared = request.prepare(&namespace, Some(key), number.into()).unwrap();
    Command::Submit(Submit::new(namespace, prepared, until))
}

/// Waits until there is something.
pub(crate) fn until<T>(what: &str, patience: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + patience;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain until {what}");
        // Whoever looks without a pause takes the processor from what it waits for.
        std::thread::park_timeout(Duration::from_millis(1));
    }
}
