//! How much of all answers together may wait to be read.
//!
//! What one answer holds is bounded, and as many of them may wait as there are connections: a few hundred clients that ask for something long
//! and do not read would hold all of it. So answers that are longer than a little share a room. One that finds no room is refused with 503
//! before anything of it is sent; the answer to a write, which is done, waits for room instead. Clients that do not read are let go of after
//! a while (`stall.rs`), and what they held is free again.

use super::problem::Problem;
use crate::error::{Code, Error};
use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The room, in KiB.
const ROOM_KIB: u32 = 48 << 10;
/// Answers up to this length need none: all connections together hold little of them.
const SMALL_BYTES: u64 = 16 << 10;
/// What an answer needs that is written part by part: a part, what stands in it in one piece, and what the connection has taken of it.
const PARTS_KIB: u32 = 256;

/// For an answer that is bounded by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounded;

/// Room for answers that wait to be read.
pub(super) struct Unread(Arc<Semaphore>);

impl Default for Unread {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ROOM_KIB as usize)))
    }
}

impl Unread {
    /// The answer with its share of the room.
    pub(super) async fn admit(&self, response: Response, is_write: bool) -> Response {
        if response.extensions().get::<Bounded>().is_some() {
            return response;
        }
        let kib = match response.body().size_hint().exact() {
            Some(bytes) if bytes <= SMALL_BYTES => return response,
            Some(bytes) => u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(ROOM_KIB).min(ROOM_KIB),
            None => PARTS_KIB,
        };
        let room = Arc::clone(&self.0);
        let share =
            if is_write { room.acquire_many_owned(kib).await.ok() } else { room.try_acquire_many_owned(kib).ok() };
        match share {
            Some(share) => response.map(|body| Body::new(Sharing { body, _share: share })),
            None => Problem::from(Error::new(Code::Busy, "too many long answers wait to be read")).into_response(),
        }
    }
}

/// An answer that has its share of the room until it is read.
struct Sharing {
    body: Body,
    _share: OwnedSemaphorePermit,
}

impl http_body::Body for Sharing {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().build().unwrap()
    }

    fn long(kib: usize) -> Response {
        Response::new(Body::from(vec![b'x'; kib << 10]))
    }

    #[test]
    fn long_answers_share_a_room_small_ones_need_none_and_a_write_waits_for_its_turn() {
        runtime().block_on(async {
            let unread = Unread::default();
            let half = (ROOM_KIB / 2) as usize;
            let first = unread.admit(long(half), false).await;
            let second = unread.admit(long(half), false).await;
            assert_eq!((first.status().as_u16(), second.status().as_u16()), (200, 200));
            assert_eq!(unread.admit(long(17), false).await.status(), 503, "there is no room");
            assert_eq!(unread.admit(long(16), false).await.status(), 200, "a small one needs none");
            let stream = || Response::new(Body::from_stream(futures_util::stream::empty::<std::io::Result<Bytes>>()));
            assert_eq!(unread.admit(stream(), false).await.status(), 503);
            let mut bounded = stream();
            bounded.extensions_mut().insert(Bounded);
            assert_eq!(unread.admit(bounded, false).await.status(), 200);
            let write = unread.admit(long(half), true);
            let mut write = std::pin::pin!(write);
            assert!(futures_util::poll!(write.as_mut()).is_pending(), "what was done is told when there is room");
            drop(first);
            let written = write.await;
            assert_eq!(written.status(), 200);
            drop(second);
            assert_eq!(unread.admit(long(2 * half), false).await.status(), 503, "the write has its share");
            drop(written);
            assert_eq!(unread.admit(long(2 * half), false).await.status(), 200);
        });
    }
}
