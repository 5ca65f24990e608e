//! A call and its answer: a future without a runtime.
//!
//! Whoever asks gets an [`Answer`]; the writer's thread gets the [`Call`], decides it, and answers once the decision is durable.
//! Invariant: every call is answered once, also if the thread ends with it in its hands.

use crate::store::Traffic;
use relaymesh_store::{Error, traffic::Changes};
use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// Something that a caller wants to have decided and made durable.
pub(super) trait Call: Send {
    /// Whether somebody still waits for it.
    fn is_wanted(&self) -> bool;
    /// Decides, and notes down what changed.
    fn decide(&mut self, traffic: &mut Traffic, changes: &mut Changes);
    /// Tells the caller: what was decided, or why that is not durable.
    fn answer(&mut self, outcome: &Result<(), Error>);
}

/// What a caller waits for.
#[derive(Debug)]
pub(super) struct Answer<T>(Arc<Slot<T>>);

#[derive(Debug)]
struct Slot<T>(Mutex<Waiting<T>>);

#[derive(Debug)]
struct Waiting<T> {
    answer: Option<Result<T, Error>>,
    waker: Option<Waker>,
}

struct Asked<T, F> {
    step: Option<F>,
    decided: Option<T>,
    slot: Option<Arc<Slot<T>>>,
}

/// A call for a step, and its answer.
pub(super) fn ask<T, F>(step: F) -> (Box<dyn Call>, Answer<T>)
where
    T: Send + 'static,
    F: FnOnce(&mut Traffic, &mut Changes) -> T + Send + 'static,
{
    let slot = Arc::new(Slot(Mutex::new(Waiting { answer: None, waker: None })));
    let call = Asked { step: Some(step), decided: None, slot: Some(slot.clone()) };
    (Box::new(call), Answer(slot))
}

impl<T> Slot<T> {
    fn look(&self) -> MutexGuard<'_, Waiting<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fill(&self, answer: Result<T, Error>) {
        let mut waiting = self.look();
        waiting.answer = Some(answer);
        let waker = waiting.waker.take();
        drop(waiting);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Future for Answer<T> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut waiting = self.0.look();
        match waiting.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                waiting.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T, F> Call for Asked<T, F>
where
    T: Send,
    F: FnOnce(&mut Traffic, &mut Changes) -> T + Send,
{
    fn is_wanted(&self) -> bool {
        self.slot.as_ref().is_some_and(|slot| Arc::strong_count(slot) > 1)
    }

    fn decide(&mut self, traffic: &mut Traffic, changes: &mut Changes) {
        self.decided = self.step.take().map(|step| step(traffic, changes));
    }

    fn answer(&mut self, outcome: &Result<(), Error>) {
        let Some(slot) = self.slot.take() else { return };
        slot.fill(match (outcome, self.decided.take()) {
            (Ok(()), Some(decided)) => Ok(decided),
            (Ok(()), None) => Err(ended()),
            (Err(error), _) => Err(error.clone()),
        });
    }
}

impl<T, F> Drop for Asked<T, F> {
    /// The thread ended: whether the call is durable is unknown.
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            slot.fill(Err(ended()));
        }
    }
}

/// What everybody is told once there is no writer any more.
pub(super) fn ended() -> Error {
    Error::Poisoned {
        detail: "the writer of the mesh store has ended. It is unknown what is durable: open the store again"
            .to_owned(),
    }
}
