//! Feeds on their way: heads, runs and the frames of sync, and a node that is sent them.

use crate::{
    samples::{NOW_MS, name},
    say,
};
use rand_core::TryRng;
use relaymesh_bus::sign::Signer;
use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    id::{NodeId, OpId},
    op::{Body, Header, Scope, WriteClass, log},
};
use relaymesh_mesh::{
    feed::{Branch, FeedId, FeedLog, MemoryFeedLog, Run, SignedHead},
    sync::{Around, Config, Frame, Frontier, Gate, Span, Sync, Transmit, Want},
};
use std::{convert::Infallible, sync::OnceLock};

/// Heads, runs and frames have one spelling, and none counts that nobody signed. A node takes in nothing but what was really written, and stays
/// within what it may send.
pub fn target(data: &[u8]) {
    match SignedHead::decode(data) {
        Ok(head) => {
            assert_eq!(head.encode(), data, "one spelling");
            assert!(head.verify().is_err() || written().heads.contains(&head), "a head that nobody signed");
        }
        Err(error) => say(&error),
    }
    match Run::decode(data) {
        Ok(run) => {
            assert_eq!(run.encode(), data, "one spelling");
            let head = run.head;
            match run.verify(None) {
                Ok(_) => assert!(written().heads.contains(&head), "a run that nobody signed"),
                Err(refusal) => say(&refusal),
            }
        }
        Err(error) => say(&error),
    }
    match Frame::decode(data) {
        Ok(frame) => assert_eq!(frame.encode(), data, "one spelling"),
        Err(error) => say(&error),
    }
    a_node_is_sent(data);
}

/// A node that has half of what was written, and a peer.
fn a_node_is_sent(data: &[u8]) {
    let around = Around { log: &written().half, gate: &Open, now_ms: NOW_MS };
    let (own, peer) = (NodeId::new(1, 1), NodeId::new(1, 2));
    let mut sync = Sync::new(own, Config::default(), Still, NOW_MS);
    sync.handle_peer_up(peer, &around);
    if let Err(refused) = sync.handle_frame(peer, data, &around) {
        say(&refused);
    }
    sync.handle_timeout(&Around { now_ms: NOW_MS + 10_000, ..around });
    while let Some(Transmit { bytes, .. }) = sync.poll_transmit() {
        assert!(Frame::decode(&bytes).is_ok(), "what is sent can be read");
    }
    while let Some(accepted) = sync.poll_accepted() {
        assert!(written().heads.contains(&accepted.news.head), "ops that nobody wrote");
        let mut log = written().half.clone();
        log.take(accepted.news).expect("what was accepted fits");
        assert_eq!(log.validate(), Ok(()));
    }
}

/// A feed of four ops, signed in the middle and at its end.
struct Written {
    heads: Vec<SignedHead>,
    whole: MemoryFeedLog,
    half: MemoryFeedLog,
    feed: FeedId,
}

fn written() -> &'static Written {
    static WRITTEN: OnceLock<Written> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        let signer = Signer::from_seed(&[1; 32]);
        let origin = signer.public_key().node();
        let feed = FeedId { origin, origin_epoch: 1 };
        let (mut whole, mut halves, mut heads) = (MemoryFeedLog::default(), Vec::new(), Vec::new());
        let mut chain = feed.chain();
        for _ in 0..2 {
            let mut ops = Vec::new();
            for _ in 0..2 {
                let hlc = Hlc { wall_ms: NOW_MS + chain.next_seq(), logical: 0, node: origin };
                let header = Header {
                    op_id: OpId::new(NOW_MS, u128::from(chain.seq)),
                    origin,
                    origin_epoch: 1,
                    seq: chain.next_seq(),
                    hlc,
                    author: name("alice"),
                    source: name("cli"),
                    namespace: name("default"),
                    scope: Scope::Log,
                    write_class: WriteClass::AppendOnly,
                    causal_deps: Vec::new(),
                    via: None,
                };
                ops.push(
                    chain
                        .append(&header, &Body::Log(log::Body::AuditEvent { event: name("test"), about: Vec::new() }))
                        .bytes,
                );
            }
            let as_of = Hlc { wall_ms: NOW_MS + chain.seq, logical: 0, node: origin };
            heads.push(whole.author(&signer, 1, ops, as_of).expect("its own feed"));
            halves.push(whole.clone());
        }
        Written { heads, whole, half: halves.remove(0), feed }
    })
}

/// A head, a run, and frames of every kind.
pub fn seeds() -> Vec<Vec<u8>> {
    let Written { heads, whole, feed, .. } = written();
    let run = |after| whole.run(*feed, Branch::TRUNK, after, u64::MAX).expect("a run");
    let content = Hash::sha256(b"content");
    let (target, place) = (feed.head(heads[1].place()), heads[0].place());
    let complete = Some(Span { after: None, through: Some(*feed) });
    let frames = [
        Frame::Frontier(Frontier { complete, heads: vec![heads[1]] }),
        Frame::Want(Want { target, locator: vec![place, feed.start()], until_ms: NOW_MS }),
        Frame::Want(Want { target: feed.head(place), locator: Vec::new(), until_ms: 0 }),
        Frame::Run(run(2)),
        Frame::Lacking { target, start: Some(place) },
        Frame::ContentWant { content, scope: Scope::Log, offset: 0 },
        Frame::ContentPart { content, offset: 0, bytes: vec![1, 2, 3] },
        Frame::ContentWithheld { content },
        Frame::Notice { origin: feed.origin, ahead_ms: 90_000 },
    ];
    let mut seeds = vec![heads[0].encode(), run(0).encode()];
    seeds.extend(frames.iter().map(Frame::encode));
    seeds
}

/// Lets in everything, and has one content.
struct Open;

impl Gate for Open {
    fn enrolled(&self, _origin: NodeId) -> bool {
        true
    }

    fn may_see(&self, _peer: NodeId, _content: &Hash, _scope: Scope) -> bool {
        true
    }

    fn content(&self, content: &Hash, offset: u32, len_max: usize) -> Option<Vec<u8>> {
        let bytes = b"content".get(offset as usize..).filter(|_| *content == Hash::sha256(b"content"))?;
        Some(bytes[..bytes.len().min(len_max)].to_vec())
    }
}

/// A generator that always draws the same.
struct Still;

impl TryRng for Still {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(7)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(7)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill(7);
        Ok(())
    }
}
