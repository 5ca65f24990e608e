//! Nodes with a bus each, on a store that can be restarted.

pub(crate) mod random;

use relaymesh_bus::store::{Disk, Limits, MemoryMeshStore, MeshStore};
use relaymesh_bus::{
    Bus, Drain,
    bus::{Draft, Incoming, Kind, Parcel, Polled, Receipt, Received},
    sqlite::{Options, SqliteMeshStore},
};
use relaymesh_bus::{
    envelope::{Expected, Header, Nonce, open},
    inbound,
    outbound::{self, OutboxId},
    sign::{Fingerprint, Signer},
};
use relaymesh_core::id::NodeId;
use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};
use tempfile::TempDir;

/// A place for a store, which outlives it.
pub(crate) trait Backend {
    type Store: MeshStore;

    fn fresh(limits: Limits) -> Self;

    fn open(&self) -> Self::Store;
}

pub(crate) struct Memory(Disk);

impl Backend for Memory {
    type Store = MemoryMeshStore;

    fn fresh(limits: Limits) -> Self {
        Self(Disk::new(limits.inbound, limits.outbound))
    }

    fn open(&self) -> MemoryMeshStore {
        self.0.open()
    }
}

pub(crate) struct Sqlite(TempDir, Limits);

impl Backend for Sqlite {
    type Store = SqliteMeshStore;

    fn fresh(limits: Limits) -> Self {
        Self(tempfile::tempdir().expect("a folder for the test"), limits)
    }

    fn open(&self) -> SqliteMeshStore {
        let node = NodeId::new(1, 1);
        SqliteMeshStore::open(self.0.path(), node, &Options::default(), self.1).expect("a store on this disk")
    }
}

type Open<S> = (Bus<S>, Drain<S>);

/// Somebody with a bus, and what they heard.
pub(crate) struct Node<B: Backend> {
    who: u8,
    backend: B,
    bus: Option<Open<B::Store>>,
    pub(crate) incoming: Vec<Incoming>,
}

impl<B: Backend> Node<B> {
    pub(crate) fn new(who: u8) -> Self {
        Self::with_limits(who, Limits::default())
    }

    pub(crate) fn with_limits(who: u8, limits: Limits) -> Self {
        Self::at(who, limits, 7)
    }

    /// With a store that knows nothing, at this time.
    pub(crate) fn at(who: u8, limits: Limits, now_ms: u64) -> Self {
        let mut node = Self { who, backend: B::fresh(limits), bus: None, incoming: Vec::new() };
        node.restart(now_ms);
        node
    }

    /// Ends, and begins again with what its store knows.
    pub(crate) fn restart(&mut self, now_ms: u64) {
        drop(self.bus.take());
        let signer = Signer::from_seed(&[self.who; 32]);
        let opened = wait(Bus::open(self.backend.open(), signer, NodeId::new(1, self.who.into()), now_ms));
        self.bus = Some(opened.expect("the store opens"));
    }

    pub(crate) fn bus(&self) -> &Bus<B::Store> {
        &self.bus.as_ref().expect("it is open").0
    }

    pub(crate) fn drain(&mut self) -> &mut Drain<B::Store> {
        &mut self.bus.as_mut().expect("it is open").1
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.bus().fingerprint()
    }

    pub(crate) fn send(&mut self, to: &Self, number: u64, now_ms: u64) {
        wait(self.bus().send(draft(to.fingerprint(), number), now_ms)).expect("there is room");
    }

    pub(crate) fn poll(&mut self, now_ms: u64) -> Polled {
        wait(self.drain().poll(now_ms, 9)).expect("the store works")
    }

    /// Sends all that can go to somebody who is there, and gives the bytes.
    pub(crate) fn deliver(&mut self, to: &mut Self, now_ms: u64) -> Vec<Vec<u8>> {
        let mut sent = Vec::new();
        for Parcel { id, bytes, .. } in self.poll(now_ms).parcels {
            let receipt = to.receive(&bytes);
            self.told(id, receipt, now_ms);
            sent.push(bytes);
        }
        sent
    }

    /// What the other side said about a parcel.
    pub(crate) fn told(&mut self, id: OutboxId, receipt: Receipt, now_ms: u64) {
        match receipt {
            Receipt::Taken => wait(self.drain().handle_taken(id)).expect("the store works"),
            Receipt::Refused { reason } => {
                drop(wait(self.drain().handle_failed(id, &reason, now_ms, 0)).expect("the store works"));
            }
        }
    }

    /// Tries to send to nobody; how many it tried.
    pub(crate) fn fail(&mut self, now_ms: u64) -> usize {
        let parcels = self.poll(now_ms).parcels;
        for parcel in &parcels {
            wait(self.drain().handle_failed(parcel.id, "unreachable", now_ms, 0)).expect("the store works");
        }
        parcels.len()
    }

    pub(crate) fn receive(&mut self, bytes: &[u8]) -> Receipt {
        let received = wait(self.bus().receive(bytes, None)).expect("the store works");
        let receipt = received.receipt();
        if let Received::Message(incoming) = received {
            self.incoming.push(incoming);
        }
        receipt
    }

    /// The numbers of what it heard, in order.
    pub(crate) fn heard(&self) -> Vec<u64> {
        let number = |incoming: &Incoming| {
            let bytes = incoming.message.body[..8].try_into().expect("eight bytes");
            u64::from_be_bytes(bytes)
        };
        self.incoming.iter().map(number).collect()
    }
}

pub(crate) fn small() -> Limits {
    let outbound = outbound::Limits { items_max: 3, attempts_max: 3, ..outbound::Limits::default() };
    Limits { inbound: inbound::Limits::default(), outbound }
}

pub(crate) fn nonce(number: u64) -> Nonce {
    let mut bytes = [5; 24];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    Nonce(bytes)
}

pub(crate) fn draft(to: Fingerprint, number: u64) -> Draft {
    let topic = "test".parse().expect("a topic");
    let body = number.to_be_bytes().to_vec();
    Draft { to, nonce: nonce(number), kind: Kind::Note, topic, body, expires_ms: u64::MAX }
}

/// What an envelope says, for whom it is for.
pub(crate) fn header(bytes: &[u8], recipient: Fingerprint) -> Header {
    open(bytes, Expected { recipient, carrier: None }).expect("an envelope").header().clone()
}

/// Epoch and sequence of an envelope.
pub(crate) fn place<B: Backend>(bytes: &[u8], to: &Node<B>) -> (u64, u64) {
    let header = header(bytes, to.fingerprint());
    (header.sender_epoch, header.sequence)
}

struct Bell(std::thread::Thread);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Bell(std::thread::current())));
    let (mut context, mut future) = (Context::from_waker(&waker), pin!(future));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
