//! What feeds promise: bytes, runs, branches and promises, by table; and that from every place of a log there is a way on.

mod branches;
mod bytes;
mod promises;
mod runs;

use super::*;
use relaymesh_bus::sign::Signer;
use relaymesh_core::{
    hlc::Hlc,
    id::OpId,
    name::Name,
    op::{Body, Chain, Header, Scope, WriteClass, log},
};

/// Somebody who writes a feed, honestly or not: a clone of it goes on from the same place.
#[derive(Clone)]
pub(crate) struct Author {
    pub(crate) signer: Signer,
    pub(crate) chain: Chain,
}

impl Author {
    pub(crate) fn new(number: u8) -> Self {
        let signer = Signer::from_seed(&[number; 32]);
        let feed = FeedId { origin: signer.public_key().node(), origin_epoch: 1 };
        Self { signer, chain: feed.chain() }
    }

    pub(crate) fn feed(&self) -> FeedId {
        FeedId { origin: self.chain.origin, origin_epoch: self.chain.origin_epoch }
    }

    pub(crate) fn place(&self) -> Place {
        Place { seq: self.chain.seq, hash: self.chain.head }
    }

    /// A stamp of its own.
    pub(crate) fn stamp(&self, wall_ms: u64) -> Hlc {
        Hlc { wall_ms, logical: 0, node: self.chain.origin }
    }

    /// The header of its next op.
    pub(crate) fn header(&self, wall_ms: u64) -> Header {
        let name = |text: &str| -> Name { text.parse().unwrap() };
        Header {
            op_id: OpId::new(self.chain.next_seq(), u128::from_be_bytes(self.chain.origin.to_bytes())),
            origin: self.chain.origin,
            origin_epoch: self.chain.origin_epoch,
            seq: self.chain.next_seq(),
            hlc: self.stamp(wall_ms),
            author: name("author"),
            source: name("test"),
            namespace: name("default"),
            scope: Scope::Log,
            write_class: WriteClass::AppendOnly,
            causal_deps: Vec::new(),
            via: None,
        }
    }

    /// Its next op with any header.
    pub(crate) fn say(&mut self, header: &Header, about: &str) -> Vec<u8> {
        let body = Body::Log(log::Body::AuditEvent {
            event: "test".parse().unwrap(),
            about: vec![("said".parse().unwrap(), about.into())],
        });
        self.chain.append(header, &body).bytes
    }

    /// So many ops, a millisecond apart, the first one at `from_ms`. `about` tells branches apart.
    pub(crate) fn write(&mut self, count: u64, from_ms: u64, about: &str) -> Vec<Vec<u8>> {
        let said = (0..count).map(|nth| {
            let header = self.header(from_ms + nth);
            self.say(&header, about)
        });
        said.collect()
    }

    /// A head of where it stands.
    pub(crate) fn head(&self, as_of_ms: u64) -> SignedHead {
        SignedHead::sign(&self.signer, self.chain.origin_epoch, self.place(), self.stamp(as_of_ms))
    }

    /// A run of so many new ops, with a head as of its last op.
    pub(crate) fn run(&mut self, count: u64, from_ms: u64, about: &str) -> Run {
        let after = self.place();
        let ops = self.write(count, from_ms, about);
        Run::new(after, ops, self.head(from_ms + count.saturating_sub(1)))
    }
}

/// Takes in a run that is news.
pub(crate) fn taken(log: &mut MemoryFeedLog, run: Run) -> Admitted {
    let Admission::News(admitted) = log.append(run).unwrap() else { panic!("it is known") };
    assert_eq!(log.validate(), Ok(()));
    *admitted
}
