//! Many submits in one request: a line of JSON each way for each.
//!
//! One by one each would wait for a commit of its own. Here nothing waits in between: lines are handed over as they come, share commits,
//! and each is answered as soon as it is durable, with the number of its line. A client that is cut off knows exactly which lines are
//! done; it repeats the others with the same `key` or `request_id`, and each is done once.

use super::{
    guard::House,
    json,
    principal::Principal,
    problem,
    routes::tasks::{Submitted, accepted},
};
use crate::error::{Code, Error};
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, stream};
use relaymesh_agents::Agents;
use relaymesh_runtime::{
    driver::{Answer, Command, Submit},
    settings::{Settings, size},
};
use serde_json::{Value, json};
use std::{convert::Infallible, fmt::Write as _, sync::Arc};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task,
};

/// Lines on their way to the driver at once, of all clients: far fewer than the driver lets wait. Whoever has more waits for the others, and
/// nobody is refused because many submit.
const UNDER_WAY_MAX: usize = 4_096;
/// Answers of all clients that may wait to be read. A client that sends more than this before it reads anything waits for itself.
const UNREAD_MAX: usize = 131_072;
/// Answers of one client that may wait to be read however many others have: nobody is held up because others do not read.
const OWN_UNREAD_MAX: usize = 128;
/// Lines after which others get a turn.
const TURN: usize = 32;
/// Bytes that are sent at once, if there are so many.
const WRITE_BYTES: usize = 32 << 10;

/// Room for the lines of all clients.
pub(super) struct UnderWay {
    /// On their way to the driver. Each gives its place back when it is durable, whether or not its client reads that.
    lines: Arc<Semaphore>,
    /// Answered, or about to be, and not read yet.
    unread: Arc<Semaphore>,
}

impl Default for UnderWay {
    fn default() -> Self {
        Self { lines: Arc::new(Semaphore::new(UNDER_WAY_MAX)), unread: Arc::new(Semaphore::new(UNREAD_MAX)) }
    }
}

/// The number of a line, its answer, and the room that this has until it is read.
type Answered = (u64, Result<Answer, Error>, Option<OwnedSemaphorePermit>);

/// Submits every line of the body. The answers are the body of the answer. `first` was read of the body already.
pub(super) fn submit(
    house: Arc<House>,
    principal: Principal,
    (first, body): (Option<Bytes>, Body),
) -> impl Stream<Item = Result<Bytes, Infallible>> + use<> {
    let (answers, unread) = mpsc::unbounded_channel::<Answered>();
    task::spawn(take(house, principal, (first, body), answers));
    stream::unfold(unread, |mut unread| async move {
        let mut answer = Some(unread.recv().await?);
        let mut text = String::new();
        while let Some((line, result, room)) = answer {
            let _ = writeln!(text, "{}", said(line, result));
            drop(room);
            answer = if text.len() < WRITE_BYTES { unread.try_recv().ok() } else { None };
        }
        Some((Ok(Bytes::from(text)), unread))
    })
}

async fn take(
    house: Arc<House>,
    principal: Principal,
    (mut first, mut body): (Option<Bytes>, Body),
    answers: mpsc::UnboundedSender<Answered>,
) {
    let (under_way, shared) = (Arc::clone(&house.under_way.lines), Arc::clone(&house.under_way.unread));
    let own = Arc::new(Semaphore::new(OWN_UNREAD_MAX));
    let (agents, settings) = ((house.desk.agents)(), house.desk.settings());
    let mut lines = Lines::new(size(settings.http_body_max_bytes));
    let mut handed_over = 0_usize;
    while !lines.is_over {
        let next = match first.take() {
            Some(part) => Ok(Some(part)),
            None => json::next(&mut body).await,
        };
        match next {
            Ok(Some(part)) => lines.put(&part),
            Ok(None) => lines.is_over = true,
            // What was handed over is done, the rest is not; the client is told where it ends.
            Err(error) => return drop(answers.send((lines.number + 1, Err(error), None))),
        }
        while let Some(line) = lines.next() {
            let number = lines.number;
            handed_over += 1;
            let line = match line {
                Ok(line) => line,
                Err(error) => return drop(answers.send((number, Err(error), None))),
            };
            // In this order, so that a client that does not read holds nothing that others wait for.
            let unread = tokio::select! {
                biased;
                room = Arc::clone(&own).acquire_owned() => room,
                room = Arc::clone(&shared).acquire_owned() => room,
            };
            let (Ok(unread), Ok(permit)) = (unread, Arc::clone(&under_way).acquire_owned().await) else { return };
            let reply = answers.clone();
            let tell = move |answer| {
                drop(permit);
                let _ = reply.send((number, answer, Some(unread))); // nobody reads any more once the client is gone
            };
            match prepare(&line, &principal, &agents, &settings) {
                Ok(submit) => {
                    if let Err(error) = house.desk.send(&principal.caller, Command::Submit(submit), tell).await {
                        let _ = answers.send((number, Err(error), None));
                    }
                }
                Err(error) => tell(Err(error)),
            }
            if handed_over.is_multiple_of(TURN) {
                task::yield_now().await;
            }
        }
    }
}

/// The submit in a line.
pub(super) fn prepare(
    line: &[u8],
    principal: &Principal,
    agents: &Agents,
    settings: &Settings,
) -> Result<Submit, Error> {
    json::parse::<Submitted>(line)?.prepare(principal, None, agents, settings)
}

/// A body that comes in parts, line by line. No more of it is kept than the longest line and a part.
pub(super) struct Lines {
    rest: BytesMut,
    /// So many bytes of it have no end of a line among them; nobody looks for one twice.
    seen: usize,
    max: usize,
    /// Whether no more parts come. Then the last line needs no end of its own.
    pub(super) is_over: bool,
    /// The number of the line that came last, from 1: as an editor counts, empty lines too.
    pub(super) number: u64,
}

impl Lines {
    /// Of lines of up to so many bytes.
    pub(super) fn new(max: usize) -> Self {
        Self { rest: BytesMut::new(), seen: 0, max, is_over: false, number: 0 }
    }

    pub(super) fn put(&mut self, part: &[u8]) {
        self.rest.extend_from_slice(part);
    }

    /// The next line that is not empty, as far as they have come. One that is too long is the end of everything: nobody knows where it ends.
    pub(super) fn next(&mut self) -> Option<Result<BytesMut, Error>> {
        loop {
            let end = self.rest[self.seen..].iter().position(|byte| *byte == b'\n').map(|at| self.seen + at);
            self.seen = if end.is_some() { 0 } else { self.rest.len() };
            if end.unwrap_or(self.rest.len()) > self.max {
                self.is_over = true;
                self.number += 1;
                (self.rest, self.seen) = (BytesMut::new(), 0);
                return Some(Err(json::too_long(self.max)));
            }
            let line = match end {
                Some(at) => self.rest.split_to(at + 1),
                None if self.is_over && !self.rest.is_empty() => {
                    self.seen = 0;
                    self.rest.split()
                }
                None => return None,
            };
            self.number += 1;
            if !line.trim_ascii().is_empty() {
                return Some(Ok(line));
            }
        }
    }
}

fn said(line: u64, result: Result<Answer, Error>) -> Value {
    let mut value = match result.and_then(|answer| accepted(&answer).ok_or_else(unexpected)) {
        Ok(value) => value,
        Err(error) => json!({ "error": problem::to_json(&error) }),
    };
    value["line"] = json!(line);
    value
}

fn unexpected() -> Error {
    Error::new(Code::Internal, "unexpected answer from the driver")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_as_they_are_whole_and_the_last_needs_no_end() {
        let mut lines = Lines::new(20);
        let next =
            |lines: &mut Lines| lines.next().map(|line| line.map(|line| line.to_vec()).map_err(|error| error.code));
        lines.put(b"{\"a\":1}\n\n  \n{\"b\"");
        assert_eq!(next(&mut lines), Some(Ok(b"{\"a\":1}\n".to_vec())));
        assert_eq!(lines.number, 1);
        assert_eq!(next(&mut lines), None);
        lines.put(b":2}");
        assert_eq!(next(&mut lines), None, "it may go on");
        lines.is_over = true;
        assert_eq!(next(&mut lines), Some(Ok(b"{\"b\":2}".to_vec())));
        assert_eq!(lines.number, 4, "empty lines count");
        assert_eq!(next(&mut lines), None);
    }

    #[test]
    fn a_line_that_is_too_long_is_the_last_whether_it_ends_or_not() {
        for (text, before) in [("1\n12345\n2\n", 1), ("12345", 0), ("1234\n1234\n     \n", 2)] {
            let mut lines = Lines::new(4);
            lines.put(text.as_bytes());
            for _ in 0..before {
                assert!(lines.next().unwrap().is_ok(), "{text}");
            }
            assert_eq!(lines.next().unwrap().unwrap_err().code, Code::TooLong, "{text}");
            assert!(lines.next().is_none() && lines.is_over, "{text}");
        }
    }
}
