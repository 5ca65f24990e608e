//! Ops: the bytes of a log that somebody else may have written.

use crate::{samples, say, survives_json};
use relaymesh_core::{
    hash::Hash,
    op::{BODY_BYTES_MAX, Body, Chain, Kind, Op, link_hash},
    task,
};

/// The bytes of a kind and a version before the body: a varint of two bytes at most for now, three at the most ever.
const KIND_BYTES_MAX: usize = 4;

/// An op decodes to one that encodes to no more bytes in the same form and is read again, as bytes and as JSON. A stub is read again, and is
/// no op.
pub fn target(data: &[u8]) {
    let hash = Hash::sha256(data);
    if let Some(chain) = Chain::at_stub(data, hash) {
        assert_eq!(Chain::at_stub(&chain.stub(), hash), Some(chain));
        assert!(Op::decode(7, data).is_err(), "a stub that is an op");
    }
    let op = match Op::decode(7, data) {
        Ok(op) => op,
        Err(error) => return say(&error),
    };
    let mut bytes = Vec::new();
    Op::encode(&op.header, &op.body, &mut bytes);
    // A submit in an earlier form is encoded in the newest, which says of the task and of each step what it does not have.
    let more =
        if let Body::Task(task::Body::ScheduleJob { schedule }) = &op.body { 1 + 2 * schedule.steps.len() } else { 0 };
    assert!(bytes.len() <= data.len() + more, "{} bytes became {}", data.len(), bytes.len());
    let again = Op::decode(7, &bytes);
    assert!(again.as_ref() == Ok(&op) || (more > 0 && bytes.len() > BODY_BYTES_MAX), "{again:?}");
    let header = postcard::to_stdvec(&op.header).expect("a header encodes").len();
    assert!(bytes.len() - 1 - header <= BODY_BYTES_MAX + KIND_BYTES_MAX + more);

    survives_json(&op.header);
    survives_json(&op.body);
    serde_json::to_string(&op).expect("an op can be shown");

    let mut chain = Chain::new(op.header.origin, op.header.origin_epoch);
    let hash = link_hash(&chain.head, data);
    match chain.verify(1, data, hash) {
        Ok(first) => assert_eq!((first.header, first.body), (op.header, op.body)),
        Err(broken) => say(&broken),
    }
}

/// One op of every kind, and a stub.
pub fn seeds() -> Vec<Vec<u8>> {
    let bytes = |(seq, kind): (u64, &Kind)| {
        let mut bytes = Vec::new();
        Op::encode(&samples::header(seq), &samples::body(*kind), &mut bytes);
        bytes
    };
    let header = samples::header(9);
    let stub = Chain::after(&header, Hash::default()).stub();
    (1u64..).zip(Kind::ALL).map(bytes).chain([stub]).collect()
}
