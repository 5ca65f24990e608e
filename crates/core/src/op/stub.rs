//! Stubs: what is left of ops that were let go (D33).
//!
//! A run of dropped ops leaves one stub in the place of its last op: where the chain stood there. The op after it can
//! then still be checked against the hash before it, and nobody has to be believed about what came in between.

use super::{Chain, append};
use crate::{hash::Hash, hlc::Hlc, id::NodeId};

/// What a stub begins with. No format of an op has this number.
const STUB: u8 = 0;

impl Chain {
    /// The bytes that stand in the place of the op at which the chain stands. Its hash stays beside them.
    pub fn stub(&self) -> Vec<u8> {
        let mut bytes = vec![STUB];
        append(&(self.origin, self.origin_epoch, self.seq, self.hlc), &mut bytes);
        bytes
    }

    /// Where the chain stood, if `bytes` are a stub.
    pub fn at_stub(bytes: &[u8], hash: Hash) -> Option<Self> {
        let rest = bytes.strip_prefix(&[STUB])?;
        let (origin, origin_epoch, seq, hlc) = postcard::from_bytes::<(NodeId, u32, u64, Option<Hlc>)>(rest).ok()?;
        Some(Self { origin, origin_epoch, seq, head: hash, hlc })
    }

    /// Where the chain stands after an op that is not checked against anything.
    pub fn after(header: &super::Header, hash: Hash) -> Self {
        Self {
            origin: header.origin,
            origin_epoch: header.origin_epoch,
            seq: header.seq,
            head: hash,
            hlc: Some(header.hlc),
        }
    }

    /// Whether the chain can have come from `before` to here with `ops` ops in between, all of one node.
    pub fn follows(&self, before: &Self, ops: u64) -> bool {
        let is_later = self.hlc > before.hlc && self.origin == before.origin;
        match self.origin_epoch.cmp(&before.origin_epoch) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => is_later && self.seq == before.seq.saturating_add(ops),
            std::cmp::Ordering::Greater => is_later && self.seq > 0 && self.seq <= ops,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(origin_epoch: u32, seq: u64, wall_ms: u64) -> Chain {
        let origin = NodeId::new(0, 7);
        let hlc = Some(Hlc { wall_ms, logical: 3, node: origin });
        Chain { origin, origin_epoch, seq, head: Hash::sha256(&seq.to_be_bytes()), hlc }
    }

    #[test]
    fn a_stub_says_where_the_chain_stood_and_is_no_op() {
        let stood = chain(2, 9, 77);
        let bytes = stood.stub();
        assert_eq!(Chain::at_stub(&bytes, stood.head), Some(stood.clone()));
        assert!(super::super::Op::decode(9, &bytes).is_err());
        for cut in 0..bytes.len() {
            assert_eq!(Chain::at_stub(&bytes[..cut], stood.head), None, "{cut} bytes");
        }
        assert_eq!(Chain::at_stub(&[1, 2, 3], stood.head), None);
    }

    #[test]
    fn a_chain_follows_itself_and_its_later_epochs() {
        let before = chain(1, 5, 100);
        assert!(chain(1, 8, 101).follows(&before, 3));
        assert!(!chain(1, 8, 101).follows(&before, 4), "one op is not accounted for");
        assert!(!chain(1, 8, 100).follows(&before, 3), "no later");
        assert!(chain(2, 3, 101).follows(&before, 3) && chain(3, 1, 101).follows(&before, 3));
        assert!(!chain(2, 4, 101).follows(&before, 3) && !chain(2, 0, 101).follows(&before, 3));
        assert!(!chain(1, 8, 200).follows(&chain(2, 1, 100), 3), "epochs only grow");
    }
}
