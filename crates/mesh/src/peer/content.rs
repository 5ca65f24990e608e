//! Content (F16, L13): kept here for whoever may see it, and fetched from whoever has it.

use super::node::Peer;
use crate::sync::{Fetched, Outcome};
use rand_core::Rng;
use relaymesh_core::{
    content::{ContentRef, Media},
    hash::Hash,
    op::Scope,
};

impl<R: Rng> Peer<R> {
    /// Keeps a content, and gives it to peers that may see it. What is kept and for how long is for the caller to say.
    pub fn keep_content(&mut self, media: Media, bytes: Vec<u8>) -> ContentRef {
        let content = ContentRef::of(media, &bytes);
        self.contents.insert(content.hash, bytes);
        content
    }

    /// Keeps a content no longer.
    pub fn drop_content(&mut self, content: &Hash) {
        self.contents.remove(content);
    }

    /// A content that is kept here.
    pub fn content(&self, content: &Hash) -> Option<&[u8]> {
        self.contents.get(content).map(Vec::as_slice)
    }

    /// Fetches a content that is named in `scope`, going on after the bytes that are `held` already. False if too many wait: ask again later.
    pub fn want_content(&mut self, content: ContentRef, scope: Scope, held: Vec<u8>, now_ms: u64) -> bool {
        self.sync.want_content(content, scope, held, now_ms)
    }

    /// A content whose fetching ended. What came whole was checked, and is kept.
    pub fn poll_fetched(&mut self) -> Option<Fetched> {
        let fetched = self.sync.poll_fetched()?;
        if let Outcome::Complete(bytes) = &fetched.outcome {
            self.contents.insert(fetched.content.hash, bytes.clone());
        }
        Some(fetched)
    }
}
