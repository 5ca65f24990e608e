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
use relaymesh_runtime::{
    driver::{Answer, Command},
    settings::size,
};
use serde_json::{Value, json};
use std::{convert::Infallible, fmt::Write as _, sync::Arc};
use tokio::{
    sync::{Semaphore, mpsc},
    task,
};

/// Lines on their way to the driver at once: far fewer than the driver lets wait.
const UNDER_WAY_MAX: usize = 4_096;
/// Answers that may wait to be read. A client that sends more than this before it reads anything waits for itself.
const UNREAD_MAX: usize = 131_072;
/// Lines after which others get a turn.
const TURN: usize = 32;
/// Bytes that are sent at once, if there are so many.
const WRITE_BYTES: usize = 32 << 10;

type Answered = (u64, Result<Answer, Error>);

/// Submits every line of the body. The answers are the body of the answer.
pub(super) fn submit(
    house: Arc<House>,
    principal: Principal,
    body: Body,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let (answers, unread) = mpsc::unbounded_channel::<Answered>();
    let room = Arc::new(Semaphore::new(UNREAD_MAX));
    task::spawn(take(house, principal, body, answers, Arc::clone(&room)));
    stream::unfold((unread, room), |(mut unread, room)| async move {
        let mut answer = Some(unread.recv().await?);
        let mut text = String::new();
        while let Some((line, result)) = answer {
            let _ = writeln!(text, "{}", said(line, result));
            room.add_permits(1);
            answer = if text.len() < WRITE_BYTES { unread.try_recv().ok() } else { None };
        }
        Some((Ok(Bytes::from(text)), (unread, room)))
    })
}

async fn take(
    house: Arc<House>,
    principal: Principal,
    mut body: Body,
    answers: mpsc::UnboundedSender<Answered>,
    room: Arc<Semaphore>,
) {
    let under_way = Arc::new(Semaphore::new(UNDER_WAY_MAX));
    let max = size(house.desk.settings().http_body_max_bytes);
    let (agents, settings) = ((house.desk.agents)(), house.desk.settings());
    let (mut rest, mut number) = (BytesMut::new(), 0);
    let mut is_over = false;
    while !is_over {
        match json::next(&mut body).await {
            Ok(Some(part)) => rest.extend_from_slice(&part),
            Ok(None) => is_over = true,
            // What was handed over is done; the rest is not, and the client is told where it ends.
            Err(error) => return drop(answers.send((number + 1, Err(error)))),
        }
        while let Some(line) = line(&mut rest, is_over) {
            number += 1;
            let (Ok(permit), Ok(unread)) = (Arc::clone(&under_way).acquire_owned().await, room.acquire().await) else {
                return;
            };
            unread.forget();
            let reply = answers.clone();
            let tell = move |answer| {
                drop(permit);
                let _ = reply.send((number, answer)); // nobody reads any more once the client is gone
            };
            let submit =
                json::parse::<Submitted>(&line).and_then(|one| one.prepare(&principal, None, &agents, &settings));
            match submit {
                Ok(submit) => {
                    if let Err(error) = house.desk.send(&principal.caller, Command::Submit(submit), tell).await {
                        let _ = answers.send((number, Err(error)));
                    }
                }
                Err(error) => tell(Err(error)),
            }
            if number.is_multiple_of(TURN as u64) {
                task::yield_now().await;
            }
        }
        if rest.len() > max {
            return drop(answers.send((number + 1, Err(json::too_long(max)))));
        }
    }
}

/// The next line that is not empty; at the end of the body also one without an end of its own.
fn line(rest: &mut BytesMut, is_over: bool) -> Option<BytesMut> {
    loop {
        let line = match rest.iter().position(|byte| *byte == b'\n') {
            Some(at) => rest.split_to(at + 1),
            None if is_over && !rest.is_empty() => rest.split(),
            None => return None,
        };
        if !line.trim_ascii().is_empty() {
            return Some(line);
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
    Error::new(Code::Internal, "the driver answered another question")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_as_they_are_whole_and_the_last_needs_no_end() {
        let mut rest = BytesMut::from(&b"{\"a\":1}\n\n  \n{\"b\""[..]);
        assert_eq!(line(&mut rest, false).as_deref(), Some(&b"{\"a\":1}\n"[..]));
        assert_eq!(line(&mut rest, false), None);
        rest.extend_from_slice(b":2}");
        assert_eq!(line(&mut rest, false), None, "it may go on");
        assert_eq!(line(&mut rest, true).as_deref(), Some(&b"{\"b\":2}"[..]));
        assert_eq!(line(&mut rest, true), None);
    }
}
