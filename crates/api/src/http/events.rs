//! What happens, as it happens: server-sent events, made from the log itself.
//!
//! ```text
//!  commit ─► head ─► feeder reads what is new, once for everybody ─► broadcast ─► client ─► client
//!                                                                     log ────────► client that came late or fell behind
//! ```
//!
//! The id of an event is its position on the log, so whoever comes again with the last one it saw goes on right after it, after a restart
//! as well, and misses nothing. A client that falls behind what is kept in memory reads from the log again until it has caught up; one
//! that does not read at all is let go of by its connection. Nothing is kept for anybody.

use super::{desk::Desk, principal::Principal, readers::Readers};
use crate::{error::Error, view::entry};
use bytes::Bytes;
use futures_util::{Stream, stream};
use relaymesh_core::{
    id::TaskId,
    name::Name,
    op::{Kind, Scope},
};
use relaymesh_store::{Proven, Reader, proven};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    convert::Infallible,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::{
    broadcast::{self, error::RecvError},
    watch,
};

/// Events that a client may be behind before it has to read the log.
const KEPT: usize = 2_048;
/// Ops read at once.
const PAGE: usize = 256;
/// Bytes of events that are read at once for one client: what it holds while it does not read.
const PAGE_BYTES: usize = 64 << 10;
/// Events up to this length are kept in memory for everybody; a longer one is read from the log by each client.
const KEPT_BYTES: usize = 8 << 10;
/// How often a keep-alive comment is sent when there are no events.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// One event, ready to be sent.
struct Line {
    pos: u64,
    namespace: Option<Name>,
    kind: Option<Kind>,
    task: Option<TaskId>,
    /// `None`: it is too long to be kept, and on the log.
    text: Option<Bytes>,
}

/// What a client wants to hear.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    /// Only of this namespace.
    pub(super) namespace: Option<Name>,
    /// Only of these kinds; of all if there is none.
    pub(super) kinds: Vec<Kind>,
    /// Only ops of this task.
    pub(super) task: Option<TaskId>,
}

impl Wanted {
    fn fits(&self, line: &Line, principal: &Principal) -> bool {
        if self.task.is_some() && self.task != line.task {
            return false;
        }
        let Some(namespace) = &line.namespace else { return principal.grant.namespaces.is_none() };
        principal.grant.admits(namespace)
            && self.namespace.as_ref().is_none_or(|wanted| wanted == namespace)
            && (self.kinds.is_empty() || line.kind.is_some_and(|kind| self.kinds.contains(&kind)))
    }
}

/// Reads what is new once for everybody.
pub(super) struct Feed {
    live: broadcast::Sender<Arc<Line>>,
}

impl Feed {
    /// Follows the driver from now on.
    pub(super) async fn start(desk: &Arc<Desk>) -> Self {
        let (told, head) = watch::channel(0);
        let (live, _) = broadcast::channel(KEPT);
        desk.handle.follow(move |pos| told.send(pos).is_ok());
        // There is no subscriber yet, so events that are already durable are not missed.
        let pos = desk.look().await.map_or(0, |glance| glance.pos);
        tokio::spawn(feed(Arc::clone(desk), pos, head, live.clone()));
        Self { live }
    }

    /// What fits after this position, for ever, as the body of an answer. A position that the log does not have (`head` is its newest) is told, and then the
    /// client hears what is new: the log is another one or was put back, and what the client missed nobody knows.
    pub(super) fn after(
        &self,
        (asked, head): (u64, u64),
        wanted: Wanted,
        principal: Principal,
        (desk, is_good): (Arc<Desk>, Box<dyn Fn() -> bool + Send + Sync>),
    ) -> impl Stream<Item = Result<Bytes, Infallible>> + use<> {
        let mut ready = VecDeque::from([Bytes::from_static(b"retry: 1000\n\n")]);
        let pos = asked.min(head);
        if asked > head {
            let data = json!({ "pos": head, "asked": asked, "rewound": true });
            ready.push_back(format!("id: {head}\nevent: Rewound\ndata: {data}\n\n").into());
        }
        // Subscribe first, then catch up: everything that becomes durable after the read is sent.
        let client = Client {
            live: self.live.subscribe(),
            desk,
            pos,
            wanted,
            principal,
            is_live: false,
            checked: Instant::now(),
            ready,
        };
        stream::unfold((client, is_good), |(mut client, is_good)| async move {
            let next = client.next(is_good.as_ref()).await?;
            Some((Ok(next), (client, is_good)))
        })
    }
}

async fn feed(desk: Arc<Desk>, mut pos: u64, mut head: watch::Receiver<u64>, live: broadcast::Sender<Arc<Line>>) {
    while head.changed().await.is_ok() {
        loop {
            // In this order: whoever subscribes after the count has a look of their own, which goes at least this far.
            let newest = *head.borrow_and_update();
            if live.receiver_count() == 0 {
                pos = newest;
            }
            if pos >= newest {
                break;
            }
            let Ok(lines) = page(&desk, pos).await else { break };
            let Some(last) = lines.last() else { break };
            pos = last.pos;
            for mut line in lines {
                line.text = line.text.filter(|text| text.len() <= KEPT_BYTES);
                let _ = live.send(Arc::new(line)); // everybody may have gone meanwhile
            }
        }
    }
}

struct Client {
    live: broadcast::Receiver<Arc<Line>>,
    desk: Arc<Desk>,
    pos: u64,
    wanted: Wanted,
    principal: Principal,
    /// Whether everything up to the broadcast has been told.
    is_live: bool,
    /// When the token was last seen to be good.
    checked: Instant,
    ready: VecDeque<Bytes>,
}

impl Client {
    async fn next(&mut self, is_good: &(dyn Fn() -> bool + Send + Sync)) -> Option<Bytes> {
        loop {
            // A token that was revoked ends the stream, however much there is to tell.
            if self.checked.elapsed() >= HEARTBEAT {
                if !is_good() {
                    return None;
                }
                self.checked = Instant::now();
            }
            if let Some(text) = self.ready.pop_front() {
                return Some(text);
            }
            if !self.is_live {
                // A look that fails ends the stream: the client comes again, with where it was.
                let lines = page(&self.desk, self.pos).await.ok()?;
                self.is_live = lines.is_empty();
                lines.iter().for_each(|line| self.take(line));
                continue;
            }
            match tokio::time::timeout(HEARTBEAT, self.live.recv()).await {
                Ok(Ok(line)) if line.text.is_none() => {
                    self.is_live = line.pos <= self.pos || !self.wanted.fits(&line, &self.principal);
                }
                Ok(Ok(line)) => self.take(&line),
                Ok(Err(RecvError::Lagged(_))) => self.is_live = false,
                Ok(Err(RecvError::Closed)) => return None,
                Err(_) => self.ready.push_back(Bytes::from_static(b":\n\n")),
            }
        }
    }

    fn take(&mut self, line: &Line) {
        if line.pos > self.pos {
            self.pos = line.pos;
            if self.wanted.fits(line, &self.principal) {
                self.ready.extend(line.text.clone());
            }
        }
    }
}

/// The next events after this position.
async fn page(desk: &Desk, pos: u64) -> Result<Vec<Line>, Error> {
    let readers = desk.readers.clone();
    let read = desk.readers.read(move |reader: &mut dyn Reader| {
        let mut lines: Vec<Line> = Vec::new();
        let mut bytes = 0;
        for proven in proven::ops(reader, pos, PAGE)? {
            if bytes >= PAGE_BYTES {
                break;
            }
            let line = line(&readers, proven);
            bytes += line.text.as_ref().map_or(0, Bytes::len);
            lines.push(line);
        }
        Ok(lines)
    });
    read.await
}

/// The event of an op. A damaged one is told as such and the stream goes on; whose it was is unknown, so it is for those who see all.
fn line(readers: &Readers, proven: Proven) -> Line {
    let nobodys = |pos: u64, event: &str, data: Value| {
        let text = Some(format!("id: {pos}\nevent: {event}\ndata: {data}\n\n").into());
        Line { pos, namespace: None, kind: None, task: None, text }
    };
    match proven {
        Proven::Gone(pos, chain) => nobodys(pos, "Gone", json!({ "pos": pos, "gone": true, "hash": chain.head })),
        Proven::Damaged(pos, why) => {
            readers.tell_damage(&why);
            nobodys(pos, "Damaged", json!({ "pos": pos, "damaged": true, "detail": why }))
        }
        Proven::Op(op, hash) => {
            let (pos, kind, data) = (op.pos, op.body.kind(), json!(entry::shown(&op, hash)));
            let text = Some(format!("id: {pos}\nevent: {kind:?}\ndata: {data}\n\n").into());
            let task = if let Scope::Task(task) = op.header.scope { Some(task) } else { None };
            Line { pos, namespace: Some(op.header.namespace), kind: Some(kind), task, text }
        }
    }
}
