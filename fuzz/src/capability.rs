//! Chains of delegations: whoever wants something brings one.

use crate::say;
use relaymesh_bus::sign::Signer;
use relaymesh_core::{hash::Hash, hlc::Hlc, id::NodeId};
use relaymesh_mesh::capability::{Action, Att, Caveats, Chain, Delegation, Link, Nonce, Resource, Revocations};

fn signer(number: u8) -> Signer {
    Signer::from_seed(&[number; 32])
}

/// A chain is read and written alike, and counts only if it is one that was really signed. The text of one link is read as well,
/// behind a signature that is none.
pub fn target(data: &[u8]) {
    match Link::decode(&[&[0; 64], data].concat()) {
        Ok(link) => assert_eq!(&link.as_bytes()[64..], data),
        Err(error) => say(&error),
    }
    let chain = match Chain::decode(data) {
        Ok(chain) => chain,
        Err(error) => return say(&error),
    };
    assert_eq!(chain.encode(), data, "one spelling");
    match chain.verify(signer(0).public_key()) {
        Ok(authority) => {
            assert!(whole().starts_with(data), "a chain that nobody signed");
            let time = Hlc { wall_ms: 5, logical: 0, node: NodeId::new(1, 1) };
            assert_eq!(authority.holds(&Revocations::default(), time), Ok(()));
        }
        Err(error) => say(&error),
    }
}

fn link(from: u8, parent: Option<&Link>) -> Link {
    let caveats = Caveats { kind_prefix: "com.example".parse().ok(), ..Caveats::default() };
    let delegation = Delegation {
        iss: signer(from).public_key(),
        aud: signer(from + 1).public_key(),
        att: vec![Att { resource: Resource::Job, action: Action::Claim, caveats }],
        nbf: 0,
        exp: Some(10),
        prf: parent.map(Link::cid).into_iter().collect::<Vec<Hash>>(),
        depth: 5 - from,
        nnc: Nonce([from; 16]),
    };
    Link::issue(&signer(from), &delegation).expect("a good delegation")
}

fn whole() -> Vec<u8> {
    let first = link(0, None);
    let second = link(1, Some(&first));
    Chain::new(vec![first, second]).expect("a good chain").encode()
}

/// A chain of two links, and the text of one.
pub fn seeds() -> Vec<Vec<u8>> {
    vec![whole(), link(0, None).as_bytes()[64..].to_vec()]
}
