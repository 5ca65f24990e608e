//! What is said in messages, and to whom.

use super::View;
use crate::{call::name, rng::Rng};
use relaymesh_core::{
    content::{INLINE_BYTES_MAX, Media},
    id::{MessageId, ThreadId},
    lanes::Priority,
    name::Name,
};
use relaymesh_runtime::driver::Letter;
use relaymesh_store::Content;

/// Agents that have an inbox and somebody who looks into it.
pub(crate) const AGENTS: [&str; 3] = ["ann", "ben", "cat"];

/// An agent that nobody is: what is sent to it becomes too old.
pub(super) const NOBODY: &str = "nobody";

/// A namespace that nobody makes.
const NOWHERE: &str = "nowhere";

/// A letter with names of its own, so that it can be sent again.
pub(super) fn random(from: &Name, rng: &mut Rng, view: &View<'_>) -> Letter {
    Letter {
        namespace: name(if !view.healthy() && rng.chance(20) { NOWHERE } else { "default" }),
        thread: Some(ThreadId::new(view.now_ms(), rng.wide())),
        message: Some(MessageId::new(view.now_ms(), rng.wide())),
        from: from.clone(),
        to: name(AGENTS[rng.index(AGENTS.len())]),
        priority: Priority::ALL[rng.index(Priority::ALL.len())],
        reply_to: None,
        asks: None,
        media: Media::Json,
        content: content(rng, view),
        trace_id: rng.wide(),
        ttl_ms: None,
        max_deliveries: u32::try_from(rng.between(1, 4)).unwrap_or(1),
    }
}

/// Something to say: mostly short, now and then so long that it becomes a blob.
pub(super) fn content(rng: &mut Rng, view: &View<'_>) -> Content {
    let number = rng.between(0, 1_000_000);
    let filling = if rng.chance(80) { INLINE_BYTES_MAX + rng.index(4_000) } else { rng.index(40) };
    let text = format!("{{\"n\":{number},\"text\":\"{}\"}}", "x".repeat(filling));
    Content::stow(text.into_bytes(), view.blobs).expect("a memory disk takes every blob")
}

/// Something that is too long to stand beside the log and was not made a blob.
pub(super) fn too_long() -> Content {
    Content::Inline(vec![b' '; INLINE_BYTES_MAX + 1])
}
