//! Keys by number, and chains that are good until a test breaks them.

use super::super::*;
use relaymesh_bus::{
    contract::samples::signer,
    sign::{PublicKey, Signer},
};
use relaymesh_core::{hash::Hash, hlc::Hlc, id::NodeId};

/// The owner's key; 1, 2, … are those whom it gives something.
pub(super) const ROOT: u8 = 0;

pub(super) fn key(number: u8) -> PublicKey {
    signer(number).public_key()
}

pub(super) fn root() -> PublicKey {
    key(ROOT)
}

pub(super) fn at(wall_ms: u64) -> Hlc {
    Hlc { wall_ms, logical: 0, node: NodeId::new(1, 1) }
}

pub(super) fn kind(text: &str) -> Kind {
    text.parse().unwrap()
}

pub(super) fn att(resource: Resource, action: Action) -> Att {
    Att { resource, action, caveats: Caveats::default() }
}

pub(super) fn of_kind(resource: Resource, action: Action, prefix: &str) -> Att {
    let caveats = Caveats { kind_prefix: Some(kind(prefix)), ..Caveats::default() };
    Att { resource, action, caveats }
}

/// Every action on every resource.
pub(super) fn everything() -> Vec<Att> {
    Action::ALL.into_iter().map(|action| att(Resource::Ops, action)).collect()
}

/// The delegation from `iss` to the next key, before anything is broken.
pub(super) fn plain(iss: u8, parent: Option<&Link>) -> Delegation {
    Delegation {
        iss: key(iss),
        aud: key(iss + 1),
        att: everything(),
        nbf: 1_000,
        exp: Some(9_000),
        prf: parent.map(Link::cid).into_iter().collect(),
        depth: 10 - iss,
        nnc: Nonce([iss; 16]),
    }
}

pub(super) fn issue(delegation: &Delegation) -> Link {
    let signer = (0..=20).map(signer).find(|signer| signer.public_key() == delegation.iss).unwrap();
    Link::issue(&signer, delegation).unwrap()
}

/// A chain of so many links, each of which `change` may change before it is signed.
pub(super) fn links(count: u8, change: impl Fn(u8, &mut Delegation)) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    for number in 0..count {
        let mut delegation = plain(number, links.last());
        change(number, &mut delegation);
        links.push(issue(&delegation));
    }
    links
}

pub(super) fn authority(count: u8, change: impl Fn(u8, &mut Delegation)) -> Authority {
    Chain::new(links(count, change)).unwrap().verify(root()).unwrap()
}

/// Signs any text at all as a link.
pub(super) fn forge(signer: &Signer, text: &str) -> Vec<u8> {
    let signature = signer.sign(relaymesh_bus::sign::Domain::Delegation, text.as_bytes());
    [&signature.0[..], text.as_bytes()].concat()
}

pub(super) fn cid(number: u8) -> Hash {
    Hash([number; 32])
}
