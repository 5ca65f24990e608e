//! The chain: links from the owner's key down to whoever acts, and the one check that makes them count.
//!
//! Bytes: for each link its length in four bytes, the greatest first, and the link. The check goes from the top down and
//! the first signature is the owner's, so whoever sends rubbish costs one signature at most.

use super::{
    CHAIN_BYTES_MAX, CHAIN_LINKS_MAX,
    attenuate::attenuates,
    delegation::{Att, Delegation, Link},
    error::Error,
};
use relaymesh_bus::sign::PublicKey;
use std::collections::BTreeSet;

/// Links as they came. They count for nothing before [`verify`](Self::verify).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    links: Vec<Link>,
}

/// A chain that was verified against the owner's key: what its last audience may do, while it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    root: PublicKey,
    links: Vec<Link>,
}

impl Chain {
    /// The chain of these links, the first one first.
    pub fn new(links: Vec<Link>) -> Result<Self, Error> {
        let bytes = links.iter().map(|link| 4 + link.as_bytes().len()).sum();
        if bytes > CHAIN_BYTES_MAX {
            return Err(Error::ChainSize { bytes });
        }
        if !(1..=CHAIN_LINKS_MAX).contains(&links.len()) {
            return Err(Error::Links { links: links.len() });
        }
        Ok(Self { links })
    }

    /// The bytes that travel.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for link in &self.links {
            // A link is never longer than DELEGATION_BYTES_MAX.
            bytes.extend_from_slice(&(link.as_bytes().len() as u32).to_be_bytes());
            bytes.extend_from_slice(link.as_bytes());
        }
        bytes
    }

    /// Reads what travelled. No signature is looked at yet.
    pub fn decode(mut bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > CHAIN_BYTES_MAX {
            return Err(Error::ChainSize { bytes: bytes.len() });
        }
        let short = || Error::Damaged { detail: "the chain ends within a link".to_owned() };
        let mut links = Vec::new();
        while !bytes.is_empty() {
            if links.len() == CHAIN_LINKS_MAX {
                return Err(Error::Links { links: CHAIN_LINKS_MAX + 1 });
            }
            let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
            let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| short())?;
            let (link, rest) = rest.split_at_checked(length).ok_or_else(short)?;
            links.push(Link::decode(link)?);
            bytes = rest;
        }
        Self::new(links)
    }

    /// The links, the owner's first.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Checks everything that does not depend on time: root, audiences, proofs, cycles, attenuation, signatures.
    pub fn verify(self, root: PublicKey) -> Result<Authority, Error> {
        let mut seen = BTreeSet::new();
        let mut parent: Option<&Link> = None;
        for (index, link) in self.links.iter().enumerate() {
            let child = link.delegation();
            follows(index, child, parent, root)?;
            seen.insert(child.iss);
            if seen.contains(&child.aud) {
                return Err(Error::Cyclic { link: index, key: child.aud });
            }
            link.verify().map_err(|refusal| Error::Signature { link: index, refusal })?;
            if let Some(parent) = parent {
                attenuates(child, parent.delegation()).map_err(|exceeds| Error::Exceeds { link: index, exceeds })?;
            }
            parent = Some(link);
        }
        Ok(Authority { root, links: self.links })
    }
}

/// Whether a link follows from the one before it, or from the root.
fn follows(link: usize, child: &Delegation, parent: Option<&Link>, root: PublicKey) -> Result<(), Error> {
    let wanted = usize::from(parent.is_some());
    if child.prf.len() != wanted {
        return Err(Error::Proofs { link, found: child.prf.len(), wanted });
    }
    let Some(parent) = parent else {
        return if child.iss == root { Ok(()) } else { Err(Error::WrongRoot { found: child.iss }) };
    };
    let aud = parent.delegation().aud;
    if child.iss != aud {
        return Err(Error::Audience { link, found: child.iss, wanted: aud });
    }
    match child.prf.first() {
        Some(cited) if *cited == parent.cid() => Ok(()),
        Some(_) | None => {
            Err(Error::Proof { link, found: child.prf.first().copied().unwrap_or_default(), wanted: parent.cid() })
        }
    }
}

impl Authority {
    /// The key that it comes from.
    pub fn root(&self) -> PublicKey {
        self.root
    }

    /// Who has it.
    pub fn holder(&self) -> PublicKey {
        self.links.last().map_or(self.root, |link| link.delegation().aud)
    }

    /// The links, the owner's first.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// What it grants, while it holds.
    pub fn grants(&self) -> &[Att] {
        self.links.last().map_or(&[], |link| &link.delegation().att)
    }

    /// Whether the owner's key gave it at first hand.
    pub fn is_first_hand(&self) -> bool {
        self.links.len() == 1
    }
}
